"""The scan of generated and damaged files: the same from all kinds of source, however it is cut."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import read
from samples import damaged_files, files
from servers import Manners, Nginx, OwnServer, S3Server

import rec2idx
from rec2idx import segments, workers


class Trickle:
    """A stream that cannot seek, and gives a few bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self._data = data
        self._most = most

    def read(self, size: int) -> bytes:
        size = min(size, self._most)
        piece, self._data = self._data[:size], self._data[size:]
        return piece


def outcome(source: Any, **options: int | None) -> tuple[list[tuple[int, int]], tuple | None]:
    """The records as (offset, size), and all that the error says but for the path."""
    found: list[tuple[int, int]] = []
    stop = 0
    try:
        for batch in rec2idx.scan(source, **options):
            assert batch.first == len(found)
            assert batch.offsets[0] >= stop
            found += zip(batch.offsets, batch.sizes, strict=True)
            stop = batch.stop
    except rec2idx.DamagedRecordError as error:
        facts = (error.reason, error.record, error.offset, error.record_offset, error.describe())
        return found, (type(error), *facts)
    return found, None


@pytest.fixture
def place(
    request: pytest.FixtureRequest, nginx: Nginx, web_folder: Path, own: OwnServer, s3: S3Server
) -> Callable[[bytes], Any]:
    """Put bytes where the test is told to; returns what is scanned."""

    def on_nginx(data: bytes) -> str:
        (web_folder / "same.rec").write_bytes(data)
        return f"{nginx.url}same.rec"

    def in_memory(data: bytes) -> str:
        fsspec.filesystem("memory").pipe_file("/same.rec", data)
        return "memory://same.rec"

    return {
        "stream": lambda data: Trickle(data, 7),
        "memory": in_memory,
        "nginx": on_nginx,
        "own": lambda data: own.put("same.rec", data),
        "own without ranges": lambda data: own.put("same.rec", data, Manners(ranges=False)),
        "s3": lambda data: s3.put("same", "a b/ü.rec", data),
    }[request.param]


@pytest.mark.parametrize(
    ("place", "examples"),
    [
        ("stream", 300),
        ("memory", 300),
        ("nginx", 150),
        ("own", 150),
        ("own without ranges", 100),
        ("s3", 100),
    ],
    indirect=["place"],
)
def test_scan_is_that_of_a_local_file(place, examples: int, tmp_path: Path, monkeypatch):
    """Records are those of the reference, and errors those of one walk through a file on a disk.

    Where the usual block is small, many of these records are as large ones are: only their headers
    are asked for.
    """
    path = tmp_path / "a.rec"

    @settings(max_examples=examples)
    @given(
        st.one_of(files, damaged_files()),
        st.sampled_from([None, 1, 2, 5]),
        st.sampled_from([None, 4, 20, 64, 500]),
        st.sampled_from([None, 8, 13, 100]),
        st.sampled_from([segments.REMOTE_BLOCK, 32]),
    )
    def same(
        data: bytes, jobs: int | None, segment: int | None, block: int | None, usual: int
    ) -> None:
        for module in (segments, workers):
            monkeypatch.setattr(module, "REMOTE_BLOCK", usual)
        path.write_bytes(data)
        records, broken = read(data)
        expected, error = outcome(path, jobs=1)
        assert expected == [(at, len(payload)) for at, payload in records]
        assert (error and error[1:4]) == (broken and broken.args)
        options = {"jobs": jobs, "segment_size": segment, "block_size": block}
        assert outcome(path, **options) == (expected, error)
        assert outcome(place(data), **options) == (expected, error)

    same()
