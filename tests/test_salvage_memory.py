"""Memory of salvage(): however long a record is, and of however many parts, it stays small."""

import os
import struct
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from reference import MAGIC, part

MB = 1 << 20

# Salvages a file and prints the most bytes that the process held.
METER = """if True:
    import resource, sys
    from rec2idx import salvage
    summary = salvage("in.rec", "out.rec", "out.idx")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(summary.records, summary.rewritten, peak * (1 if sys.platform == "darwin" else 1024))
"""


def peak_of(folder: Path) -> tuple[int, int, int]:
    """Salvage in.rec in a process of its own; return records, those rewritten, most bytes held."""
    # A process begins with the peak of the one that starts it, which here is a small shell.
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", METER]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True, timeout=300)
    records, rewritten, peak = map(int, done.stdout.split())
    return records, rewritten, peak


LONG = (1 << 29) - 1


@pytest.mark.parametrize("magics", [[], [0, 200 * MB, LONG - 11, LONG - 7], [200 * MB + 2]])
def test_a_record_as_long_as_can_be(tmp_path, magics):
    """It is copied, split or not, in pieces. The file takes little room on the disk."""
    with (tmp_path / "in.rec").open("wb") as file:
        file.write(part(0, b"first") + struct.pack("<4sI", MAGIC, LONG))
        start = file.tell()
        for at in magics:
            file.seek(start + at)
            file.write(MAGIC)
        file.seek(start + LONG + 1)
        file.write(part(0, b"last"))
    records, rewritten, peak = peak_of(tmp_path)
    splits = [at for at in magics if at % 4 == 0]
    assert (records, rewritten) == (3, int(bool(splits)))
    assert peak < 64 * MB
    assert_laid_out(tmp_path / "out.rec", splits, [at for at in magics if at % 4])
    for path in tmp_path.iterdir():
        path.unlink()


def assert_laid_out(path: Path, splits: list[int], others: list[int]) -> None:
    """Require the three records, the middle one with magics, split or not, among zeros."""
    first, last = part(0, b"first"), part(0, b"last")
    content = len(first) + len(last) - (first + last).count(0)
    edges = [-4, *splits, LONG]
    with path.open("rb") as file:
        assert file.read(len(first)) == first
        for number, (start, stop) in enumerate(pairwise(edges)):
            flag = 0 if not splits else 1 if number == 0 else 3 if stop == LONG else 2
            length = stop - start - 4
            head = struct.pack("<4sI", MAGIC, flag << 29 | length)
            assert file.read(8) == head
            content += 8 - head.count(0)
            file.seek(length + -length % 4, os.SEEK_CUR)
        assert file.read() == last
        for at in others:
            file.seek(len(first) + 8 + at)
            assert file.read(4) == MAGIC
        content += 4 * len(others)
        file.seek(0)
        while piece := file.read(MB):
            content -= len(piece) - piece.count(0)
    assert content == 0


def test_a_record_of_very_many_parts(tmp_path):
    """Memory does not grow with them."""
    parts = 1_000_000
    (tmp_path / "in.rec").write_bytes(part(1, b"") + part(2, b"") * parts + part(3, b""))
    few = tmp_path / "few"
    few.mkdir()
    (few / "in.rec").write_bytes(part(1, b"") + part(2, b"") + part(3, b""))
    records, rewritten, peak = peak_of(tmp_path)
    assert (records, rewritten) == (1, 0)
    assert peak < peak_of(few)[2] + 8 * MB
    assert (tmp_path / "out.rec").read_bytes() == (tmp_path / "in.rec").read_bytes()
