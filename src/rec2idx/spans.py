"""Records as bytes: their parts and payloads. The file may have changed since it was walked."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from ._spans import find_magic, tidy
from .framing import FIRST, HEADER_SIZE, LAST, MAGIC_BYTES, MIDDLE, WHOLE, padded, split_lrec
from .redaction import redacted_repr
from .sources import Readable


@redacted_repr
@dataclass(frozen=True)
class Records:
    """Records that follow each other, and the bytes of the file that hold them.

    Attributes:
        path: the file.
        data: its bytes from `base` on.
        base: where the first record starts.
        first: number of the first record.
        offsets: where each starts in the file, an array of int64.
        sizes: payload size of each, an array of int64.
    """

    path: str
    data: bytes
    base: int
    first: int
    offsets: array[int]
    sizes: array[int]

    def __len__(self) -> int:
        return len(self.offsets)

    def parts(self, at: int) -> Iterator[tuple[int, int]]:
        """Yield where in `data` the payload of each part of a record starts and ends.

        Args:
            at: which record, counted from 0.
        """
        start = self.offsets[at] - self.base
        while (part := part_at(self.data[start : start + HEADER_SIZE])) is not None:
            cflag, length = part
            start += HEADER_SIZE
            if start + length > len(self.data):
                return
            yield start, start + length
            if cflag in (WHOLE, LAST):
                return
            start += padded(length)

    def payload(self, at: int) -> bytes:
        """Return the payload of a record, with the magics between its parts."""
        return MAGIC_BYTES.join(self.data[start:stop] for start, stop in self.parts(at))


def untidy(records: Records) -> Iterator[int]:
    """Yield which records are not what a conforming writer writes, or of several parts."""
    at = 0
    while at < len(records):
        run = tidy(records.data, records.base, records.offsets, records.sizes, at)
        at += run
        if run == 0:
            yield at
            at += 1


def unescaped(records: Records) -> int:
    """Return how many records hold a magic that their writer should have escaped."""
    view = memoryview(records.data)
    return sum(
        any(find_magic(view[start:stop]) >= 0 for start, stop in records.parts(at))
        for at in untidy(records)
    )


def part_at(header: bytes) -> tuple[int, int] | None:
    """Return (cflag, payload length) of a part's header, or None if it is none.

    >>> part_at(bytes.fromhex("0a 23 d7 ce  0c 00 00 60"))
    (3, 12)
    """
    if len(header) < HEADER_SIZE or header[:4] != MAGIC_BYTES:
        return None
    cflag, length = split_lrec(int.from_bytes(header[4:8], "little"))
    return (cflag, length) if cflag in (WHOLE, FIRST, MIDDLE, LAST) else None


def parts_of(source: Readable, offset: int) -> Iterator[tuple[int, int]]:
    """Yield where in a file the payload of each part of a record starts and ends."""
    while (part := part_at(source.read(offset, HEADER_SIZE))) is not None:
        cflag, length = part
        start = offset + HEADER_SIZE
        yield start, start + length
        if cflag in (WHOLE, LAST):
            return
        offset = start + padded(length)
