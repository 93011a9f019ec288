"""The installed command `recordio pack`, as a process: what it prints, and its exit status."""

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
from reference import record
from samples import SIX_INDEX, image, labelled

RECORDIO = COMMAND.with_name("recordio")
JPEG = b"\xff\xd8\xff\xe0 and so on"

Pack = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """Run `recordio pack` in the folder, where there are two pictures and a list of them."""
    (tmp_path / "pics" / "cats").mkdir(parents=True)
    (tmp_path / "pics" / "dogs").mkdir()
    for name in ("cats/a.jpg", "dogs/b.jpg"):
        (tmp_path / "pics" / name).write_bytes(JPEG)
    (tmp_path / "pics" / "all.lst").write_text("0\t2\t3\tcats/a.jpg\n7\t1\tdogs/b.jpg\n")

    def pack(*args, **options):
        return subprocess.run(
            [RECORDIO, "pack", *args],
            **{"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60, **options},
        )

    return pack


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr, without the name of the command and the number of seconds."""
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert all(line.startswith("recordio: ") for line in lines)
    return [re.sub(r"[0-9.]+(e-\d+)? s\b", "S s", line[len("recordio: ") :]) for line in lines]


def test_a_folder(tmp_path, pack):
    done = pack("pics", "out.rec")
    assert done.returncode == 0
    assert said(done) == [
        "pics: 2 records packed, 2 labels, S s; 1 other file passed over; 96 bytes written to "
        "out.rec, with the index out.idx and the list out.lst; check it with: recordio check "
        "--full out.rec out.idx"
    ]
    assert folder_content(tmp_path) == {
        "out.rec": record(image(0, 0, JPEG)) + record(image(1, 1, JPEG)),
        "out.idx": b"0\t0\n1\t48\n",
        "out.lst": b"0\t0.000000\tcats/a.jpg\n1\t1.000000\tdogs/b.jpg\n",
    }


@pytest.mark.parametrize("jobs", [[], ["-j", "1"], ["--jobs", "3"]])
def test_a_list(tmp_path, pack, jobs):
    done = pack("pics/all.lst", "out.rec", *jobs)
    assert done.returncode == 0
    assert said(done) == [
        "pics/all.lst: 2 records packed, S s; of 1 record only the first of several labels "
        "(--pack-label packs all); 96 bytes written to out.rec, with the index out.idx; check it "
        "with: recordio check --full out.rec out.idx"
    ]
    assert folder_content(tmp_path) == {
        "out.rec": record(image(2, 0, JPEG)) + record(image(1, 7, JPEG)),
        "out.idx": b"0\t0\n7\t48\n",
    }


def test_all_labels_from_another_root(tmp_path, pack):
    os.rename(tmp_path / "pics/all.lst", tmp_path / "all.lst")
    (tmp_path / "out.idx").write_bytes(SIX_INDEX)
    done = pack("all.lst", "--root", "pics", "--pack-label", "out.rec")
    assert done.returncode == 0
    assert said(done) == [
        "all.lst: 2 records packed, S s; 104 bytes written to out.rec, with the index out.idx "
        "(replaced); check it with: recordio check --full out.rec out.idx"
    ]
    assert (tmp_path / "out.rec").read_bytes() == (
        record(labelled([2, 3], 0, JPEG)) + record(image(1, 7, JPEG))
    )


def test_pictures_that_cannot_be_packed(tmp_path, pack):
    """They are named, also with -q, and the files are complete without them."""
    (tmp_path / "pics/empty").write_bytes(b"")
    (tmp_path / "pics/page").write_bytes(b"<html>404</html>")
    (tmp_path / "pics/odd.lst").write_text(
        "0\t0\tcats\n1\t0\tempty\n2\t0\tnone\n3\t0\tpage\n3\t0\tdogs/b.jpg\n"
    )
    done = pack("pics/odd.lst", "out.rec")
    assert done.returncode == 1
    failures = [
        "pics/cats: Is a directory; left out",
        "pics/none: No such file or directory; left out",
    ]
    warning = (
        "out.rec: warning: 1 record with the number of a record before them, such as 3; by such a "
        "key, readers find only one of them"
    )
    assert said(done) == [
        *failures,
        warning,
        "pics/odd.lst: 3 records packed, S s; 2 pictures left out; 1 record without an image: the "
        "file is empty; 1 record with an image of no known kind; 128 bytes written to out.rec, "
        "with the index out.idx; check it with: recordio check --full out.rec out.idx",
    ]
    assert (tmp_path / "out.idx").read_bytes() == b"1\t0\n3\t32\n3\t80\n"
    done = pack("-q", "pics/odd.lst", "quiet.rec")
    assert (done.returncode, said(done)) == (
        1,
        [*failures, warning.replace("out.rec", "quiet.rec")],
    )
    assert (tmp_path / "quiet.rec").read_bytes() == (tmp_path / "out.rec").read_bytes()


def test_quiet(pack):
    done = pack("-q", "pics", "out.rec")
    assert (done.returncode, done.stderr) == (0, "")


def fails(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 1
    assert said(done)[-1].startswith(message)


def test_what_it_refuses(tmp_path, pack):
    (tmp_path / "old.rec").write_bytes(b"old")
    (tmp_path / "bad.lst").write_text("0\t0\tnone.jpg\n-5\t0\tpics/cats/a.jpg\n")
    (tmp_path / "missing.lst").write_text("0\t0\tnone.jpg\n")
    before = folder_content(tmp_path)
    fails(pack("pics", "old.rec"), "old.rec: a file stands there already, and a new record file")
    fails(pack("pics", "bad.lst"), "bad.lst: a file stands there already, and a new record file")
    fails(pack("none.lst", "out.rec"), "none.lst: No such file or directory")
    fails(pack("pics", "none/out.rec"), "none/out.rec: the folder it should be in does not exist")
    fails(
        pack("bad.lst", "out.rec"),
        "bad.lst: line 2 is not one of an im2rec list: expected a whole number from 0 to 2^64 - "
        "1, one label or more, and a file name, with tabs between them, found -5 as "
        "number, which no id can be; mend the line",
    )
    fails(pack("missing.lst", "out.rec"), "missing.lst: none of its pictures can be packed")
    fails(
        pack("pics/cats/a.jpg", "out.rec"), "pics/cats/a.jpg: line 1 is not one of an im2rec list: "
    )
    assert folder_content(tmp_path) == before


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["pics"],
        ["pics", "out.rec", "more"],
        ["-", "out.rec"],
        ["pics", "-"],
        ["pics", "out.rec", "-j", "0"],
        ["pics", "out.rec", "--root", "pics"],
        ["pics/all.lst", "out.rec", "--shuffle"],
    ],
)
def test_wrong_usage(tmp_path, pack, wrong):
    done = pack(*wrong)
    assert done.returncode == 2
    assert re.match(r"usage: recordio |recordio: \S+: --(root|shuffle) is for a ", done.stderr)
    assert folder_content(tmp_path) == {}


def test_a_disk_that_is_full(tmp_path, pack):
    """As a limit on the size of files, which stops a write in its middle as a full disk does."""
    (tmp_path / "a.jpg").write_bytes(bytes(5000))
    (tmp_path / "all.lst").write_text("".join(f"{n}\t0\ta.jpg\n" for n in range(500)))
    (tmp_path / "out.idx").write_bytes(SIX_INDEX)
    before = folder_content(tmp_path)
    limit = 1_234_567
    done = pack(
        *("all.lst", "out.rec"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    fails(done, f"out.rec: {os.strerror(errno.EFBIG)}")
    assert folder_content(tmp_path) == before


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk"
)
@pytest.mark.parametrize("full", ["out.rec", "out.idx", "out.lst"])
def test_a_small_disk_that_is_full(tmp_path, pack, full):
    """A real file system of 64 KB, where one of the files goes by a link."""
    many = tmp_path / "pics" / ("n" * 100)
    many.mkdir()
    for number in range(5000):
        (many / f"{number}.jpg").touch()
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], check=True)
    try:
        (tmp_path / full).symlink_to(disk / full)
        done = pack("pics", "out.rec")
        assert done.returncode == 1
        assert said(done)[-1] == f"{full}: No space left on device"
        assert folder_content(disk) == {}
        assert folder_content(tmp_path) == {}
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing(tmp_path, number):
    """It is caught where the record file is half written."""
    (tmp_path / "a.jpg").write_bytes(bytes(1000))
    (tmp_path / "all.lst").write_text("0\t0\ta.jpg\n" * 200_000)
    (tmp_path / "out.idx").write_bytes(SIX_INDEX)
    before = folder_content(tmp_path)
    process = subprocess.Popen(
        [RECORDIO, "pack", "all.lst", "out.rec"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests themselves run under nohup, SIGHUP would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while len(sizes := temporary_sizes(tmp_path)) < 2 or max(sizes) < 1_000_000:
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(number)
    printed, errors = process.communicate(timeout=60)
    assert (process.returncode, printed) == (130, "")
    assert errors == f"recordio: interrupted by {number.name}; no unfinished file was left\n"
    assert folder_content(tmp_path) == before


def temporary_sizes(folder: Path) -> list[int]:
    """Bytes in each of the files that are being written."""
    return [path.stat().st_size for path in folder.glob(".rec2idx-*.tmp")]


def test_help(pack):
    done = pack("-h")
    assert done.returncode == 0
    assert "LIST_OR_FOLDER" in done.stdout
    assert len(done.stdout.splitlines()) <= 30
