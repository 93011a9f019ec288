"""Small records behind a URL take few requests, and large ones few bytes (case C27)."""

from pathlib import Path

import pytest
from reference import index, part
from servers import OwnServer, S3Server

import rec2idx

SMALL = part(0, bytes(10_000)) * 10_000
MB = 1 << 20


class LargeRecords:
    """The bytes of a file of large records, made as they are asked for.

    Args:
        count: of the records.
        size: of the payload of each, a multiple of 4; it is all zeros.
    """

    def __init__(self, count: int, size: int) -> None:
        self.count = count
        self.header = part(0, b"")[:4] + size.to_bytes(4, "little")
        self.step = size + 8

    def __len__(self) -> int:
        return self.count * self.step

    def __getitem__(self, place: slice) -> "LargeRecords | bytes":
        start, stop, _ = place.indices(len(self))
        if (start, stop) == (0, len(self)):
            return self  # for a HEAD, which sends none of it
        # From the start of a record on, so that headers need not be cut.
        before = start % self.step
        data = bytearray(before + stop - start)
        for at in range(0, len(data), self.step):
            data[at : at + 8] = self.header
        return bytes(data[before : before + stop - start])

    def index(self) -> bytes:
        return "".join(f"{key}\t{key * self.step}\n" for key in range(self.count)).encode()


def test_what_is_made_is_what_a_writer_makes():
    """In whole and in pieces, so that what the other tests read is what they mean."""
    made, written = LargeRecords(5, 20), part(0, bytes(20)) * 5
    assert len(made) == len(written)
    for start in range(len(written)):
        for stop in range(start, len(written) + 1):
            if stop - start < len(written):
                assert made[start:stop] == written[start:stop]
    assert made.index() == index(written)


every_number = pytest.mark.parametrize("jobs", [None, 1, 16])


@every_number
def test_small_records_on_a_web_server(own: OwnServer, tmp_path: Path, jobs: int | None):
    """10,000 records of 10 KB, 100 MB: a few dozen requests, and each byte of it once."""
    url = own.put("small.rec", SMALL)
    rec2idx.create_index(url, tmp_path / "a.idx", jobs=jobs)
    assert (tmp_path / "a.idx").read_bytes() == index(SMALL)
    assert len(own.traffic.requests) <= 48
    assert own.traffic.sent <= len(SMALL)


@every_number
def test_large_records_on_a_web_server(own: OwnServer, tmp_path: Path, jobs: int | None):
    """20 records of 64 MB, 1.3 GB: the headers, and a few blocks until their size was seen."""
    data = LargeRecords(20, 64 * MB)
    url = own.put("large.rec", data)  # type: ignore[arg-type] # all that is done to bytes here
    rec2idx.create_index(url, tmp_path / "a.idx", jobs=jobs)
    assert (tmp_path / "a.idx").read_bytes() == data.index()
    assert len(own.traffic.requests) <= 30
    assert own.traffic.sent <= 16 * MB


def test_small_records_in_a_bucket(s3: S3Server, run):
    """By the command, the index beside them."""
    url = s3.put("few", "small.rec", SMALL)
    assert run(url, "-q").returncode == 0
    asked = s3.traffic.requests
    assert s3.get("few", "small.idx") == index(SMALL)
    assert len(asked) <= 48
    assert sum(request.sent for request in asked) <= len(SMALL)
    # All that is sent to the bucket is the index, in one go.
    assert [r.path for r in asked if r.method in ("PUT", "POST")] == ["/few/small.idx"]


def test_large_records_in_a_bucket(s3: S3Server, run):
    data = part(0, bytes(16 * MB)) * 20
    url = s3.put("few", "large.rec", data)
    assert run(url, "-q").returncode == 0
    asked = s3.traffic.requests
    assert s3.get("few", "large.idx") == LargeRecords(20, 16 * MB).index()
    assert len(asked) <= 36
    assert sum(request.sent for request in asked) <= 16 * MB
