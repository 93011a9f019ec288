"""The installed command `recordio`, as a process: what it prints, where, and its exit status."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND
from damage import flip_byte
from reference import part
from samples import SIX, SIX_INDEX

import rec2idx

RECORDIO = COMMAND.with_name("recordio")
A, B = SIX[:132], SIX[132:]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """a.rec and b.rec hold SIX between them; c/d.rec is SIX."""
    (tmp_path / "a.rec").write_bytes(A)
    (tmp_path / "b.rec").write_bytes(B)
    (tmp_path / "c").mkdir()
    (tmp_path / "c/d.rec").write_bytes(SIX)
    return tmp_path


@pytest.fixture
def index(folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `recordio index` in the folder."""

    def index(*args, **options):
        return subprocess.run(
            [RECORDIO, "index", *args],
            **{"cwd": folder, "capture_output": True, "text": True, "timeout": 60, **options},
        )

    return index


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr, without the name of the command and the number of seconds."""
    lines = done.stderr.splitlines()
    assert all(line.startswith("recordio: ") for line in lines)
    return [re.sub(r"[0-9.]+(e-\d+)? s\b", "S s", line[len("recordio: ") :]) for line in lines]


def indexes(folder: Path) -> dict[str, bytes]:
    """All files in the folder that are no records."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".rec"
    }


THREE_INDEX = b"0\t0\n1\t44\n2\t88\n"


def test_each_file_its_own_index(folder, index):
    done = index("a.rec", "c/d.rec")
    assert (done.returncode, done.stdout) == (0, "")
    assert said(done) == ["2 of 2 files indexed, 9 records, 396 bytes, S s"]
    assert indexes(folder) == {"a.idx": THREE_INDEX, "c/d.idx": SIX_INDEX}


def test_a_folder_into_another(folder, index):
    done = index("-r", ".", "--out-dir", "made/here")
    assert done.returncode == 0
    assert said(done)[0] == "3 of 3 files indexed, 12 records, 528 bytes, S s"
    assert indexes(folder) == {
        "made/here/a.idx": THREE_INDEX,
        "made/here/b.idx": THREE_INDEX,
        "made/here/c/d.idx": SIX_INDEX,
    }


def test_one_damaged_file_is_named_at_the_end(folder, index):
    """Case C30. What was passed over is named, too."""
    (folder / "b.rec").write_bytes(flip_byte(SIX, 44))
    (folder / "c/zip.rec").write_bytes(b"PK\x03\x04")
    (folder / "link.rec").symlink_to("a.rec")
    done = index("-r", ".", "none.rec")
    assert done.returncode == 1
    assert said(done) == [
        "./link.rec: the same file as ./a.rec, so taken once",
        "./c/zip.rec: record 0 at byte 0: not a RecordIO file, but a zip archive: expected the "
        "magic 0a 23 d7 ce, found 50 4b 03 04; unpack it and index the .rec inside; skipped",
        "./b.rec: record 1 at byte 44: wrong magic: expected 0xced7230a, found 0xced723f5; "
        "copy or download the file again; rec2idx --salvage indexes what is whole",
        "none.rec: No such file or directory",
        "2 of 4 files indexed, 9 records, 396 bytes, S s",
    ]
    assert indexes(folder) == {"a.idx": THREE_INDEX, "c/d.idx": SIX_INDEX}


def test_a_folder_without_the_option(folder, index):
    done = index("c")
    assert done.returncode == 1
    assert said(done)[0] == "c: Is a directory; -r indexes the files in it"


@pytest.mark.parametrize("combine", [[], ["--combine", "all.idx"]])
def test_a_folder_without_files(folder, index, combine):
    (folder / "empty").mkdir()
    done = index("-r", "empty", *combine)
    assert (done.returncode, said(done)) == (1, ["empty: no RecordIO file there"])


def test_the_same_index_for_two(folder, index):
    (folder / "c/a.rec").write_bytes(SIX)
    done = index("a.rec", "c/a.rec", "--out-dir", "out")
    assert done.returncode == 1
    assert said(done) == [
        "out/a.idx: the indexes of a.rec and of c/a.rec would be the same file; nothing was "
        "written; give them names that differ, or index them apart"
    ]
    assert indexes(folder) == {}


def test_one_index_over_all_and_how_to_read_it(folder, index):
    """Case C9: the reader calls, for the files in this order and without the empty one."""
    (folder / "e.rec").touch()
    done = index("--combine", "all.idx", "a.rec", "e.rec", "b.rec")
    assert done.returncode == 0
    assert done.stdout == (
        "fn.readers.mxnet(path=['a.rec', 'b.rec'], index_path=['all.idx'])\n"
        "mx.io.ImageRecordIter(path_imgrec='a.rec;b.rec', path_imgidx='all.idx', "
        "data_shape=..., batch_size=...)\n"
    )
    assert said(done) == [
        "e.rec: empty, so left out of the index; leave it out of the reader's path too",
        "2 files in one index, 6 records, 264 bytes, S s; index written to all.idx",
    ]
    assert indexes(folder) == {"all.idx": SIX_INDEX}


def test_one_index_over_a_folder(folder, index):
    """In sorted order; a file that is met twice counts once."""
    (folder / "z.rec").symlink_to("a.rec")
    done = index("-r", ".", "--combine", "all.idx")
    assert done.returncode == 0
    assert "path=['./a.rec', './b.rec', './c/d.rec']," in done.stdout
    assert said(done)[0] == "./z.rec: the same file as ./a.rec, so taken once"
    assert indexes(folder)["all.idx"].endswith(b"\n11\t484\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (A + b"\n\n", "x.rec: record 3 at byte 132: stray bytes after the last record: "),
        (b"PK\x03\x04", "x.rec: record 0 at byte 0: not a RecordIO file, but a zip archive: "),
    ],
)
def test_nothing_is_combined_with_a_damaged_file(folder, index, content, message):
    (folder / "x.rec").write_bytes(content)
    done = index("--combine", "all.idx", "a.rec", "x.rec", "b.rec")
    assert (done.returncode, done.stdout) == (1, "")
    assert said(done)[0].startswith(message)
    assert indexes(folder) == {}


def test_quiet(folder, index):
    """Errors and warnings are said all the same."""
    assert (index("-q", "a.rec").stderr, index("-q", "none.rec").returncode) == ("", 1)
    (folder / "e.rec").touch()
    done = index("-q", "--combine", "all.idx", "a.rec", "e.rec")
    assert (done.stdout, len(said(done))) == ("", 1)


@pytest.mark.parametrize("locale", ["C.UTF-8", "en_US.ISO-8859-1"])
def test_names_that_standard_output_has_no_characters_for(folder, index, locale):
    """The call still names the file, and can be pasted into Python."""
    name = "训练.rec"
    (folder / name).write_bytes(A)
    environment = {**os.environ, "PYTHONIOENCODING": "ascii" if "8859" in locale else "utf-8"}
    done = index("--combine", "all.idx", name, env=environment, encoding="utf-8")
    assert done.returncode == 0
    shown = name.encode("ascii", "backslashreplace").decode() if "8859" in locale else name
    assert done.stdout.startswith(f"fn.readers.mxnet(path=['{shown}']")


def test_options_between_the_paths(folder, index):
    done = index("a.rec", "--combine", "all.idx", "b.rec", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    assert indexes(folder) == {"all.idx": SIX_INDEX}


def test_standard_output_that_is_closed(folder, index):
    done = index("--combine", "all.idx", "a.rec", preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert (
        said(done)[-1] == "cannot write to standard output: it is closed; -q prints nothing there"
    )
    with open("/dev/full", "w") as full:
        done = index(
            *("--combine", "all.idx", "a.rec"),
            stdout=full,
            capture_output=False,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert (
        said(done)[-1]
        == "cannot write to standard output: No space left on device; -q prints nothing there"
    )
    assert indexes(folder) == {"all.idx": THREE_INDEX}


@pytest.mark.parametrize("combine", [[], ["--combine", "all.idx"]])
def test_an_interrupted_run_leaves_whole_indexes_only(folder, combine):
    """It is caught in its second file, whose index is half written."""
    records = 12_000_000
    (folder / "b.rec").write_bytes(part(0, b"") * records)
    process = subprocess.Popen(
        [RECORDIO, "index", "-j", "1", "a.rec", "b.rec", *combine],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while temporary_size(folder) < 1000:
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    whole = "written, and whole: a.idx; " if (folder / "a.idx").exists() else ""
    assert errors == f"recordio: interrupted by SIGTERM; {whole}no unfinished file was left\n"
    assert indexes(folder) == ({} if combine else {"a.idx": THREE_INDEX})


def temporary_size(folder: Path) -> int:
    """Bytes in the index that is being written."""
    try:
        return sum(path.stat().st_size for path in folder.glob(".rec2idx-*.tmp"))
    except FileNotFoundError:  # it has just become whole
        return 0


def test_a_bar_over_all_files_on_a_terminal(folder):
    """It counts the bytes of all of them; without a terminal there is none."""
    script = (
        "import sys; from rec2idx.cli import progress, recordio; progress.Bar.DELAY = 0;"
        "sys.argv[0] = 'recordio'; sys.exit(recordio.main())"
    )
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script, "index", "a.rec", "b.rec"], cwd=folder, stderr=its_end
    )
    os.close(its_end)
    shown = b""
    while piece := read_terminal(terminal):
        shown += piece
    os.close(terminal)
    assert process.wait(timeout=60) == 0
    assert re.search(r"recordio: +\d+%\|.*\| \S+/264 \[", shown.decode())


def read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 10_000)
    except OSError:  # how Linux says that the other side has closed it
        return b""


def test_keys_of_an_old_index(folder, index):
    """One old index and several files are wrong usage: they may be combined, or be one file."""
    old = b"".join(b"%d.jpg\t%d\n" % (n, 44 * n) for n in range(6))
    (folder / "all.idx").write_bytes(old)
    for files, several in ((2, ["a.rec", "b.rec"]), (3, ["-r", "."])):
        done = index(*several, "--keys", "keep=all.idx")
        assert (done.returncode, done.stdout) == (2, "")
        assert said(done) == [
            f"all.idx: the old index of one file cannot have the keys of {files} files; index "
            "each file by itself, with its own old index; or, if this one is over all of them, use "
            "--combine"
        ]
        assert indexes(folder) == {"all.idx": old}
    done = index("a.rec", "--keys", "keep=all.idx")
    assert done.returncode == 0
    assert said(done) == [
        "1 of 1 file indexed, 3 records, 132 bytes, S s; 3 keys of all.idx fit no record"
    ]
    (folder / "all.idx").write_bytes(b"x\t1\n" + old)
    done = index("--combine", "all.idx", "a.rec", "b.rec", "--keys", "keep=all.idx")
    assert done.returncode == 0
    assert said(done) == [
        "2 files in one index, 6 records, 264 bytes, S s; 1 key of all.idx fits no record; index "
        "written to all.idx"
    ]
    assert indexes(folder) == {"all.idx": old, "a.idx": old[: old.index(b"3.jpg")]}


def test_a_file_without_the_keys_of_an_old_index(folder, index):
    """It fails as any other file does."""
    (folder / "old.idx").write_bytes(b"0\t0\n")
    done = index("a.rec", "--keys", "keep=old.idx")
    assert done.returncode == 1
    assert said(done)[0].startswith("a.rec: record 1 at byte 44: old.idx has no key for 2 of 3 rec")
    assert indexes(folder) == {"old.idx": b"0\t0\n"}


def test_version_and_help():
    def recordio(*args):
        done = subprocess.run([RECORDIO, *args], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0
        return done.stdout

    assert recordio("--version") == f"recordio {rec2idx.__version__}\n"
    for page in (recordio("-h"), recordio("index", "-h")):
        assert page.count("  recordio index ") == 2
        assert len(page.splitlines()) <= 30


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["nonsense"],
        ["index"],
        ["index", "a.rec", "--nonsense"],
        ["index", "a.rec", "-j", "0"],
        ["index", "a.rec", "--combine", "all.idx", "--out-dir", "out"],
    ],
)
def test_wrong_usage(folder, wrong):
    done = subprocess.run(
        [RECORDIO, *wrong], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: recordio ")
    assert indexes(folder) == {}


def test_a_cluster_needs_a_package(folder, index):
    """One of that name which cannot be imported stands for one that is not there."""
    (folder / "distributed.py").write_text("raise ImportError")
    done = index("a.rec", "--dask", "10.0.0.1:8786", env={**os.environ, "PYTHONPATH": str(folder)})
    assert done.returncode == 1
    assert said(done) == ["the package distributed is not installed; pip install 'rec2idx[dask]'"]
    assert not (folder / "a.idx").exists()
