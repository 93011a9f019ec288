"""An index that is there when it is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import folder_content
from folders import all_but_records, put
from reference import index, part
from samples import FACE, SIX, SIX_INDEX, THREE_INDEX, A, B, whole_file

import rec2idx

NEWER = 10**9  # nanoseconds


def stamp(path: str) -> tuple[int, int]:
    """What tells whether a file was written anew."""
    status = os.stat(path)
    return status.st_ino, status.st_mtime_ns


def age(path: str, nanoseconds: int) -> None:
    """Let the file seem older by so much."""
    then = os.stat(path).st_mtime_ns - nanoseconds
    os.utime(path, ns=(then, then))


def test_a_missing_index_is_made_and_a_fresh_one_is_kept(folder):
    put(a_rec=SIX)
    assert rec2idx.ensure_index("a.rec") == "a.idx"
    assert all_but_records() == {"a.idx": SIX_INDEX}
    made = stamp("a.idx")
    assert rec2idx.ensure_index(Path("a.rec"), Path("a.idx")) == "a.idx"
    assert stamp("a.idx") == made


@pytest.mark.parametrize(
    "stale",
    [
        b"",
        THREE_INDEX,
        SIX_INDEX[4:],
        SIX_INDEX + b"6\t264\n",
        SIX_INDEX[:-1],
        SIX_INDEX.replace(b"\t", b" "),
        SIX_INDEX.replace(b"5\t220", b"5\t221"),
        SIX_INDEX.replace(b"5\t220", b"5\t22000"),
        SIX_INDEX.replace(b"5\t220", b"five\t220"),
        b"0\t0\n1\t9999999999999999999999\n",
        b"\n" + SIX_INDEX,
        SIX_INDEX + b"\n",
    ],
)
def test_an_index_that_does_not_fit_is_made_anew(folder, stale):
    put(a_rec=SIX, a_idx=stale)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": SIX_INDEX}


@pytest.mark.parametrize("fresh", [SIX_INDEX, b"0\t0\n3\t132\n5\t220\n", b"7\t0\n12\t44\n9\t220\n"])
def test_an_index_that_reaches_from_end_to_end_stays(folder, fresh):
    """Also with other keys, as im2rec writes them, or without some of the records."""
    put(a_rec=SIX, a_idx=fresh)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": fresh}


def test_an_older_index_is_made_anew(folder):
    """The file was overwritten with other records that end in the same way."""
    other = whole_file([b"x" * 36, b"y" * 80]) + SIX[132:]
    assert len(other) == len(SIX)
    put(a_rec=SIX)
    rec2idx.ensure_index("a.rec")
    age("a.idx", NEWER)
    put(a_rec=other)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": index(other)}


def test_a_file_that_grew(folder):
    """Also where nothing but its end tells, as with a clock that stands still."""
    put(a_rec=A)
    rec2idx.ensure_index("a.rec")
    put(a_rec=SIX)
    age("a.rec", NEWER)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": SIX_INDEX}


def test_a_file_from_the_future_is_not_indexed_at_every_call(folder):
    """The clock of a file server may be ahead of ours."""
    put(a_rec=SIX)
    age("a.rec", -3600 * NEWER)
    rec2idx.ensure_index("a.rec")
    made = stamp("a.idx")
    rec2idx.ensure_index("a.rec")
    assert stamp("a.idx") == made


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", rec2idx.EmptyFileError), (SIX[:250], rec2idx.TruncatedError)],
)
@pytest.mark.parametrize("old", [None, SIX_INDEX])
def test_a_file_without_a_right_index(folder, content, error, old):
    """Case C12. What was there stays, but its path is not returned."""
    put(a_rec=content, **({"a_idx": old} if old else {}))
    with pytest.raises(error):
        rec2idx.ensure_index("a.rec")
    assert all_but_records() == ({"a.idx": old} if old else {})


def test_nothing_but_an_index_is_replaced(folder):
    put(a_rec=SIX, other_rec=A, junk=b"junk")
    for name in ("other.rec", "junk"):
        with pytest.raises(rec2idx.UnsafeTargetError):
            rec2idx.ensure_index("a.rec", name)
    assert Path("other.rec").read_bytes() == A
    assert Path("junk").read_bytes() == b"junk"


@pytest.mark.parametrize("before", [None, b"0\t0\n"])
def test_eight_processes_at_once(folder, before):
    """Case C30: each finds one whole index at the path that it gets, and nothing is left beside."""
    records = 300_000
    put(a_rec=part(0, b"") * records, **({"a_idx": before} if before else {}))
    code = (
        "import sys, rec2idx; sys.stdin.read(1);"
        "print(open(rec2idx.ensure_index('a.rec'), 'rb').read().count(b'\\n'))"
    )
    starts, begin = os.pipe()
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdin=starts, stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    os.write(begin, b"12345678")
    os.close(begin)
    os.close(starts)
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"300000\n"] * 8
    assert sorted(folder_content(folder)) == ["a.idx", "a.rec"]
    assert Path("a.idx").read_bytes().endswith(b"\n299999\t2399992\n")


def test_an_index_of_images_stays(folder):
    """It begins behind the file header, and ends before the identity records."""
    put(a_rec=FACE)
    rec2idx.create_index("a.rec", images_only=True, keys="id")
    made = stamp("a.idx")
    rec2idx.ensure_index("a.rec", images_only=True, keys="id")
    assert stamp("a.idx") == made
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": index(FACE)}
    rec2idx.ensure_index("a.rec", images_only=True)
    lines = b"".join(b"%d\t%d\n" % (key, 40 + 40 * key) for key in range(5))
    assert all_but_records() == {"a.idx": lines}


@pytest.mark.parametrize("lines", [b"0\t80\n4\t200\n", b"0\t40\n4\t160\n", b"0\t0\n4\t200\n"])
def test_an_index_that_lacks_an_image_at_an_end_is_made_anew(folder, lines):
    put(a_rec=FACE, a_idx=lines)
    rec2idx.ensure_index("a.rec", images_only=True)
    assert Path("a.idx").read_bytes().startswith(b"0\t40\n1\t80\n")


def test_an_index_that_is_made_has_the_date_of_its_file(folder):
    """So a file that takes its place later is newer, by whatever clock it was written."""
    put(a_rec=SIX)
    age("a.rec", 3600 * NEWER)
    rec2idx.ensure_index("a.rec")
    assert os.stat("a.idx").st_mtime_ns == os.stat("a.rec").st_mtime_ns
    put(b_rec=B + A)
    age("b.rec", 1800 * NEWER)
    os.replace("b.rec", "a.rec")
    made = stamp("a.idx")
    rec2idx.ensure_index("a.rec")
    assert stamp("a.idx") != made


def test_a_file_that_is_replaced_while_it_is_indexed(folder):
    put(a_rec=SIX, b_rec=SIX)

    def replace(progress):
        if progress.records:
            os.replace("b.rec", "a.rec")

    with pytest.raises(rec2idx.FileChangedError, match="replaced by another one while it was read"):
        rec2idx.create_index("a.rec", progress=replace)
    assert not Path("a.idx").exists()
