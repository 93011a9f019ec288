"""The installed command `recordio salvage`, as a process: what it prints, and its exit status."""

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, folder_content
from damage import flip_byte
from reference import MAGIC, part, record
from samples import SIX, SIX_INDEX

RECORDIO = COMMAND.with_name("recordio")
KEPT = SIX[:44] + SIX[88:]
KEPT_INDEX = SIX_INDEX[: SIX_INDEX.index(b"5\t")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """a.rec is SIX with a damaged second record."""
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 44))
    return tmp_path


Salvage = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def salvage(folder: Path) -> Salvage:
    """Run `recordio salvage` in the folder."""

    def salvage(*args, **options):
        return subprocess.run(
            [RECORDIO, "salvage", *args],
            **{"cwd": folder, "capture_output": True, "text": True, "timeout": 60, **options},
        )

    return salvage


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr, without the name of the command and the number of seconds."""
    assert done.stdout in ("", None)
    lines = done.stderr.splitlines()
    assert all(line.startswith("recordio: ") for line in lines)
    return [re.sub(r"[0-9.]+(e-\d+)? s\b", "S s", line[len("recordio: ") :]) for line in lines]


LOST = (
    "a.rec: bytes 44 to 88 lost (44 bytes), after 1 record: wrong magic: expected 0xced7230a, "
    "found 0xced723f5"
)


@pytest.mark.parametrize("jobs", [[], ["-j", "1"], ["--jobs", "3"]])
def test_a_damaged_file(folder, salvage, jobs):
    before = (folder / "a.rec").read_bytes()
    done = salvage("a.rec", "b.rec", "--index", "b.idx", *jobs)
    assert done.returncode == 3
    assert said(done) == [
        LOST,
        "a.rec: 5 records kept, none rewritten, S s; lost 44 bytes in 1 damaged region, about 1 "
        "record, none of them whole; "
        "220 bytes written to b.rec; check it with: recordio check b.rec b.idx",
    ]
    assert folder_content(folder) == {"a.rec": before, "b.rec": KEPT, "b.idx": KEPT_INDEX}


def test_an_index_that_is_replaced(folder, salvage):
    (folder / "b.idx").write_bytes(SIX_INDEX)
    assert said(salvage("a.rec", "b.rec", "--index", "b.idx"))[-1].endswith(
        "; 220 bytes written to b.rec; index b.idx replaced; check it with: recordio check b.rec "
        "b.idx"
    )
    assert (folder / "b.idx").read_bytes() == KEPT_INDEX


def test_what_is_no_file_cannot_be_checked(folder, salvage):
    done = salvage("a.rec", "/dev/null")
    assert said(done)[-1].endswith("; 220 bytes written to /dev/null")
    done = salvage("a.rec", "b.rec", "--index", "/dev/null")
    assert said(done)[-1].endswith("; check it with: recordio check b.rec")


def test_options_between_the_paths(folder, salvage):
    done = salvage("a.rec", "-q", "b.rec", "--index", "b.idx")
    assert (done.returncode, said(done)) == (3, [LOST])
    assert (folder / "b.idx").read_bytes() == KEPT_INDEX


def test_without_an_index(folder, salvage):
    done = salvage("a.rec", "it's new.rec")
    assert done.returncode == 3
    assert said(done)[-1].endswith("check it with: recordio check 'it'\"'\"'s new.rec'")
    assert set(folder_content(folder)) == {"a.rec", "it's new.rec"}


def test_a_whole_file(folder, salvage):
    (folder / "a.rec").write_bytes(SIX)
    done = salvage("a.rec", "b.rec")
    assert done.returncode == 0
    assert said(done) == [
        "a.rec: 6 records kept, none rewritten, S s; nothing was damaged; "
        "264 bytes written to b.rec; check it with: recordio check b.rec"
    ]
    assert (folder / "b.rec").read_bytes() == SIX


def test_a_whole_file_that_nobody_has_escaped(folder, salvage):
    """That records are laid out oddly is no damage."""
    payload = b"abcd" + MAGIC + b"e"
    (folder / "a.rec").write_bytes(SIX + part(0, payload))
    done = salvage("a.rec", "b.rec")
    assert done.returncode == 0
    assert said(done) == [
        "a.rec: 7 records kept, 1 rewritten, S s; nothing was damaged; "
        "288 bytes written to b.rec; check it with: recordio check b.rec"
    ]
    assert (folder / "b.rec").read_bytes() == SIX + record(payload)


def test_a_file_that_lacks_only_padding(folder, salvage):
    """Case C14. It was damaged, but nothing is lost."""
    whole = SIX + part(0, b"ab")
    (folder / "a.rec").write_bytes(whole[:-2])
    done = salvage("a.rec", "b.rec")
    assert done.returncode == 3
    region, summary = said(done)
    assert region.startswith(
        "a.rec: nothing lost: at byte 264, the record is whole, but its padding "
    )
    assert summary.startswith(
        "a.rec: 7 records kept, 1 rewritten, S s; lost 0 bytes in 1 damaged region; "
    )
    assert (folder / "b.rec").read_bytes() == whole


def test_quiet(folder, salvage):
    """What is lost is said all the same."""
    done = salvage("-q", "a.rec", "b.rec")
    assert (done.returncode, said(done)) == (3, [LOST])
    (folder / "a.rec").write_bytes(SIX)
    assert salvage("-q", "a.rec", "c.rec").stderr == ""


def fails(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 1
    assert said(done)[-1].startswith(message)


def test_what_it_refuses(folder, salvage):
    (folder / "old.rec").write_bytes(SIX)
    (folder / "text.rec").write_text("<html>")
    (folder / "link.rec").symlink_to("a.rec")
    before = folder_content(folder)
    itself = "the new file would replace the record file a.rec itself; give the new file another"
    fails(salvage("a.rec", "a.rec"), f"a.rec: {itself}")
    fails(salvage("a.rec", "link.rec"), f"link.rec: {itself}")
    fails(
        salvage("a.rec", "old.rec"),
        "old.rec: a file stands there already, and a new record file replaces none; give it "
        "another name, or remove that file first",
    )
    fails(salvage("a.rec", "b.rec", "--index", "a.rec"), "a.rec: the index would replace the rec")
    fails(salvage("a.rec", "b.rec", "--index", "old.rec"), "old.rec: the index would replace a Re")
    fails(salvage("a.rec", "b.rec", "--index", "b.rec"), "b.rec: the new record file and its ind")
    fails(salvage("text.rec", "b.rec"), "text.rec: record 0 at byte 0: not a RecordIO file, but")
    fails(salvage("none.rec", "b.rec"), "none.rec: No such file or directory")
    fails(salvage("a.rec", "none/b.rec"), "none/b.rec: the folder it should be in does not exist")
    fails(
        salvage("a.rec", "b.rec", "--index", "none/b.idx"),
        "none/b.idx: the folder it should be in does not exist",
    )
    assert folder_content(folder) == before


def test_nothing_to_keep(folder, salvage):
    for content in (b"", SIX[:40], bytes(5000)):
        (folder / "a.rec").write_bytes(content)
        done = salvage("a.rec", "b.rec", "--index", "b.idx")
        assert done.returncode == 1
        assert len(said(done)) == 1
        assert folder_content(folder) == {"a.rec": content}


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["a.rec"],
        ["a.rec", "b.rec", "b.idx"],
        ["-", "b.rec"],
        ["a.rec", "-"],
        ["a.rec", "b.rec", "--index", "-"],
        ["a.rec", "b.rec", "-j", "0"],
    ],
)
def test_wrong_usage(folder, salvage, wrong):
    done = salvage(*wrong)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: recordio ")
    assert set(folder_content(folder)) == {"a.rec"}


def test_a_pipe(folder, salvage):
    """Past damage, reading goes back."""
    os.mkfifo(folder / "pipe")
    with subprocess.Popen(["sh", "-c", "cat a.rec > pipe"], cwd=folder, stderr=subprocess.DEVNULL):
        fails(salvage("pipe", "b.rec"), "pipe: to go on behind damage, a file must be readable at")
    assert set(folder_content(folder)) == {"a.rec"}


@pytest.mark.parametrize("what", ["record", "index"])
def test_a_disk_that_is_full(folder, salvage, what):
    """As a limit on the size of files, which stops a write in its middle as a full disk does."""
    small = part(0, b"") * 100_000
    (folder / "a.rec").write_bytes(small + b"x")
    (folder / "b.idx").write_bytes(SIX_INDEX)
    # The index has about 1.3 bytes for each one of the file.
    index = ["--index", "b.idx"] if what == "index" else []
    limit = 700_000 if what == "record" else 810_000
    done = salvage(
        *("a.rec", "b.rec", *index),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    name = "b.rec" if what == "record" else "b.idx"
    fails(done, f"{name}: {os.strerror(errno.EFBIG)}")
    assert folder_content(folder) == {"a.rec": small + b"x", "b.idx": SIX_INDEX}


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk"
)
@pytest.mark.parametrize("index", ["disk/b.idx", "b.idx"])
def test_a_small_disk_that_is_full(folder, salvage, index):
    """A real file system of 64 KB."""
    (folder / "a.rec").write_bytes(part(0, b"") * 100_000)
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        done = salvage("a.rec", "disk/b.rec", "--index", index)
        assert done.returncode == 1
        assert said(done)[-1].endswith(": No space left on device")
        assert folder_content(disk) == {}
        assert set(folder_content(folder)) == {"a.rec"}
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(folder, number):
    """It is caught where both files are half written."""
    (folder / "a.rec").write_bytes(part(0, b"") * 12_000_000)
    (folder / "b.idx").write_bytes(SIX_INDEX)
    process = subprocess.Popen(
        [RECORDIO, "salvage", "a.rec", "b.rec", "--index", "b.idx"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests themselves run under nohup, SIGHUP would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while len(sizes := temporary_sizes(folder)) < 2 or min(sizes) < 1000:
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(number)
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert errors == f"recordio: interrupted by {number.name}; no unfinished file was left\n"
    assert set(folder_content(folder)) == {"a.rec", "b.idx"}
    assert (folder / "b.idx").read_bytes() == SIX_INDEX


def temporary_sizes(folder: Path) -> list[int]:
    """Bytes in each of the files that are being written."""
    try:
        return [path.stat().st_size for path in folder.glob(".rec2idx-*.tmp")]
    except FileNotFoundError:  # it has just become whole
        return []


def test_help(salvage):
    done = salvage("-h")
    assert done.returncode == 0
    assert "OUT.rec" in done.stdout
    assert len(done.stdout.splitlines()) <= 30
