"""The installed command `recordio extract`, as a process: what it prints, leaves and returns."""

import errno
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import COMMAND
from extracting import Expected, tree
from reference import record
from samples import FACE, SIX, image, labelled

from rec2idx import extract
from rec2idx.list_files import read_list

RECORDIO = COMMAND.with_name("recordio")
JPEG = b"\xff\xd8\xff\xe0 a JPEG"


@pytest.fixture(autouse=True)
def here(folder: Path) -> Path:
    """The folder has a.rec, with six images."""
    Path("a.rec").write_bytes(SIX)
    return folder


def run(*args, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RECORDIO, "extract", *args],
        **{"capture_output": True, "text": True, "timeout": 60, **options},
    )


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on stderr, without the name of the command, seconds and speed."""
    assert done.stdout in ("", None)
    lines = done.stderr.splitlines()
    assert all(line.startswith("recordio: ") for line in lines)
    number = r"[0-9.]+(e-\d+)?"
    return [
        re.sub(f"{number} s, {number} MB/s$", "S s, M MB/s", line[len("recordio: ") :])
        for line in lines
    ]


@pytest.mark.parametrize("jobs", [[], ["-j", "1"], ["--jobs", "3"]])
def test_folders(jobs):
    done = run("a.rec", "out", *jobs)
    assert done.returncode == 0
    assert said(done) == [
        "a.rec: 6 records: 6 images extracted; 6 of unknown kind (.bin); 72 bytes written to out, "
        "S s, M MB/s"
    ]
    assert tree(Path("out")) == Expected(SIX).by_label()
    again = run("a.rec", "out", *jobs)
    assert said(again) == [
        "a.rec: 6 records: 0 images extracted, 6 already there; 6 of unknown kind (.bin); "
        "0 bytes written to out, S s, M MB/s"
    ]


def test_an_insightface_file():
    Path("a.rec").write_bytes(FACE)
    assert said(run("a.rec", "out")) == [
        "a.rec: 8 records: 5 images extracted; left out 1 file header, 2 identity records; 5 of "
        "unknown kind (.bin); 40 bytes written to out, S s, M MB/s"
    ]


def test_all_there_is_to_say():
    contents = [image(1, 7, JPEG), labelled([1], 7, JPEG), b"short"]
    Path("a.rec").write_bytes(b"".join(map(record, contents)))
    Path("a.idx").write_text("0\t0\n1\t44\n")
    assert said(run("a.rec", "out", "--to", "flat", "--index", "a.idx")) == [
        "a.rec: 3 records: 2 images extracted; left out 1 record that the index does not name; "
        "1 with an id that was there before, named by offset, too; "
        "1 of whose header the list does not say all; 22 bytes written to out, S s, M MB/s"
    ]


def test_a_list_and_names_from_it():
    assert run("-q", "a.rec", "one", "--to", "flat").stderr == ""
    lines = list(read_list("one/images.lst"))
    Path("a.lst").write_text("".join(f"{line.number}\t0\tcat/{line.number}\n" for line in lines))
    assert run("-q", "a.rec", "two", "--to", "flat", "--lst", "a.lst").returncode == 0
    assert [line.name for line in read_list("two/images.lst")] == [f"cat/{n}" for n in range(6)]
    assert Path("two/cat/5").read_bytes() == bytes([5]) * 12


def test_shards():
    assert said(run("a.rec", "out", "--to", "wds", "--shard-count", "4")) == [
        "a.rec: 6 records: 6 images extracted; 6 of unknown kind (.bin); 72 bytes written to out "
        "in 2 shards, S s, M MB/s"
    ]
    extract("a.rec", "again", to="wds", shard_count=4)
    assert tree(Path("out")) == tree(Path("again"))
    run("a.rec", "small", "--to", "wds", "--shard-bytes", "10.24kB")
    assert len(os.listdir("small")) == 2  # four images fit


def fails(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 1
    assert said(done)[-1].startswith(message)


def test_what_it_refuses():
    Path("text.rec").write_text("<html>")
    os.makedirs("full/00000000")
    Path("full/00000000/0000000000.bin").write_text("theirs")
    fails(run("text.rec", "out"), "text.rec: record 0 at byte 0: not a RecordIO file, but")
    fails(run("none.rec", "out"), "none.rec: No such file or directory")
    fails(run("a.rec", "none/out"), "none/out: No such file or directory")
    fails(run("a.rec", "full"), "full/00000000/0000000000.bin: a file of another size stands th")
    fails(run("a.rec", "out", "--index", "a.rec"), "a.rec: not an index, but a RecordIO file")
    fails(run("a.rec", "out", "--lst", "a.rec"), "a.rec: line 2 is not one of an im2rec list")
    Path("b.rec").write_bytes(SIX[:250])
    fails(run("b.rec", "cut"), "b.rec: record 5 at byte 220: cut off by the end of the file")
    assert tree(Path("cut")) == Expected(SIX[:220]).by_label()
    assert not Path("out").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        ["a.rec"],
        ["a.rec", "out", "a.idx"],
        ["-", "out"],
        ["a.rec", "-"],
        ["a.rec", "out", "--to", "tar"],
        ["a.rec", "out", "-j", "0"],
        ["a.rec", "out", "--shard-count", "5"],
        ["a.rec", "out", "--to", "flat", "--shard-bytes", "1GB"],
        ["a.rec", "out", "--to", "wds", "--shard-bytes", "0"],
        ["a.rec", "out", "--to", "wds", "--shard-bytes", "1 GB"],
        ["a.rec", "s3://bucket/out"],
    ],
)
def test_wrong_usage(wrong):
    done = run(*wrong)
    assert done.returncode == 2
    assert os.listdir() == ["a.rec"]


def test_help():
    done = run("-h")
    assert done.returncode == 0
    assert "OUT" in done.stdout
    assert len(done.stdout.splitlines()) <= 30


# Runs that end early


def big_file(images: int = 2000, size: int = 2000) -> bytes:
    """Write big.rec; return its bytes."""
    data = b"".join(record(image(n % 7, n, JPEG + bytes(size))) for n in range(images))
    Path("big.rec").write_bytes(data)
    return data


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk"
)
@pytest.mark.parametrize("to", ["imagefolder", "flat", "wds"])
def test_a_small_disk_that_is_full(here, to):
    """A real file system of 1 MB; once it has more room, the run goes on."""
    data = big_file()
    disk = here / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        args = ["big.rec", "disk/out", "--to", to]
        if to == "wds":
            args += ["--shard-count", "100"]
        fails(run(*args), "disk/out/")
        assert said(run(*args))[-1].endswith(": No space left on device")
        found = tree(disk)
        assert 1 < len(found) < 2000
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        assert run(*args).returncode == 0
        whole = tree(disk / "out")
        assert found.items() <= {f"out/{name}": text for name, text in whole.items()}.items()
        if to == "imagefolder":
            assert whole == Expected(data).by_label()
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_limit_on_the_size_of_files(here):
    """Which stops a write in its middle, as a full disk may do: nothing of that file is left."""
    Path("a.rec").write_bytes(SIX + record(image(6, 6, JPEG + bytes(100_000))))
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))}
    fails(run("a.rec", "out", **limit), f"out/00000006/0000000006.jpg: {os.strerror(errno.EFBIG)}")
    assert tree(Path("out")) == Expected(SIX).by_label()
    fails(run("a.rec", "wds", "--to", "wds", **limit), "wds/000000.tar: File too large")
    assert not Path("wds").exists()


ENDS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
IMAGES = 4000


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("to", ["imagefolder", "flat", "wds"])
def test_an_interrupted_run(here, to, number):
    """It is caught in the middle; what it leaves is whole, and the next run goes on from there."""
    data = big_file(IMAGES, 4000)
    args = ["big.rec", "out", "--to", to, *(["--shard-count", "100"] if to == "wds" else [])]
    process = subprocess.Popen(
        [RECORDIO, "extract", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests themselves run under nohup, SIGHUP would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    out = Path("out")
    deadline = time.monotonic() + 60
    while not out.exists() or len(os.listdir(out)) < 2:
        assert time.monotonic() < deadline
        assert process.poll() is None
    process.send_signal(number)
    printed, errors = process.communicate(timeout=60)
    if number == signal.SIGKILL:
        assert process.returncode == -number
    else:
        assert (process.returncode, printed) == (130, "")
        assert errors == f"recordio: interrupted by {number.name}; no unfinished file was left\n"
    found = tree(out)
    done = run(*args)
    assert done.returncode == 0
    whole = tree(out)
    assert 0 < len(found) < len(whole)
    assert found.items() <= whole.items()
    there = 100 * len(found) if to == "wds" else len(found)
    assert f" {IMAGES - there} images extracted, {there} already there; " in done.stderr
    if to == "wds":
        extract("big.rec", "whole", to=to, shard_count=100)
        assert whole == tree(Path("whole"))
        return
    whole.pop("images.lst", None)
    expected = Expected(data)
    assert whole == (expected.flat() if to == "flat" else expected.by_label())
