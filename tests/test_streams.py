"""What comes once is indexed as it comes, without seeking (case C26)."""

import io
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import COMMAND
from reference import index
from samples import SIX, SIX_INDEX

import rec2idx


class Forward(io.BytesIO):
    """Bytes that are read, at most so many at once; whether more is asked for is noted."""

    def __init__(self, data: bytes, most: int = 1 << 30) -> None:
        super().__init__(data)
        self.most = most
        self.asked: list[str] = []

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        assert size > 0
        return super().read(min(size, self.most))

    def seek(self, *arguments: int) -> int:
        self.asked.append("seek")
        raise io.UnsupportedOperation

    def tell(self) -> int:
        self.asked.append("tell")
        raise io.UnsupportedOperation

    def seekable(self) -> bool:
        self.asked.append("seekable")
        return False


@contextmanager
def pipe(data: bytes) -> Iterator[int]:
    """The end of a pipe from which data is read; it comes in pieces of seven bytes."""
    reader, writer = os.pipe()

    def write() -> None:
        for start in range(0, len(data), 7):
            os.write(writer, data[start : start + 7])
        os.close(writer)

    thread = threading.Thread(target=write)
    thread.start()
    yield reader
    thread.join()


@pytest.mark.parametrize("most", [1 << 30, 7, 1])
def test_a_file_object_is_only_read(most):
    source, target = Forward(SIX, most), Forward(b"")
    summary = rec2idx.create_index(source, target)
    assert (source.asked, target.asked) == ([], [])
    assert target.getvalue() == SIX_INDEX
    assert (summary.records, summary.bytes) == (6, 264)


@pytest.mark.parametrize("most", [1 << 30, 7, 1])
def test_offsets_and_sizes_of_a_file_object(most):
    source = Forward(SIX, most)
    offsets, sizes = [], []
    for batch in rec2idx.scan(source):
        offsets += batch.offsets
        sizes += batch.sizes
    assert (offsets, sizes) == ([0, 44, 88, 132, 176, 220], [36] * 6)
    assert source.asked == []


@pytest.mark.parametrize(
    ("data", "facts"),
    [
        (SIX[:250], ("cut-part", 5, 220)),
        (SIX[:222], ("cut-header", 5, 220)),
        (SIX + b"\r\n", ("stray-bytes", 6, 264)),
        (SIX[:88] + b"?" + SIX[89:], ("wrong-magic", 2, 88)),
    ],
)
@pytest.mark.parametrize("most", [1 << 30, 7])
def test_damage_is_found_without_going_back(data, facts, most):
    source = Forward(data, most)
    with pytest.raises(rec2idx.DamagedRecordError) as caught:
        rec2idx.create_index(source, io.BytesIO())
    error = caught.value
    assert (error.reason, error.record, error.offset) == facts
    assert source.asked == []


def test_a_file_object_is_read_from_where_it_stands():
    """Offsets count from there."""
    source = io.BytesIO(b"a header of somebody's" + SIX)
    source.seek(22)
    target = io.BytesIO()
    rec2idx.create_index(source, target)
    assert target.getvalue() == SIX_INDEX


def test_a_pipe_as_file_object():
    target = io.BytesIO()
    with pipe(SIX) as reader, open(reader, "rb") as source:
        rec2idx.create_index(source, target)
    assert target.getvalue() == SIX_INDEX


def test_a_pipe_as_standard_input(tmp_path: Path):
    """Into standard output; whatever ends with a piece is in the middle of a record."""
    data = SIX * 100
    with pipe(data) as reader:
        done = subprocess.run(
            [COMMAND, "-q", "-", "-"], stdin=reader, capture_output=True, cwd=tmp_path, timeout=60
        )
        os.close(reader)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == index(data)
    assert list(tmp_path.iterdir()) == []
