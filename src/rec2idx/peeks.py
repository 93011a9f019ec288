"""The first bytes of records, of which nothing else is read: many at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ._walk import WALKING
from .concurrency import in_parallel
from .damage import error_of
from .framing import HEADER_SIZE, MAGIC_BYTES, MAX_LENGTH, padded
from .overlaps import Room
from .segments import Walker
from .sources import LocalFile, Place, Source

REQUESTS = 16  # reads from a network under way at once


@dataclass(frozen=True)
class Manner:
    """How a storage is read, in bytes.

    Attributes:
        peek: what is read of a record at first.
        gap: what may lie between two records that are read at once.
        window: what is read at once.
    """

    peek: int
    gap: int
    window: int


LOCAL = Manner(1 << 12, 1 << 12, 1 << 18)
REMOTE = Manner(1 << 14, 1 << 17, 1 << 22)


def manner_of(source: Source) -> Manner:
    """Return how to read a source."""
    return LOCAL if isinstance(source, LocalFile) else REMOTE


class Span(NamedTuple):
    """A whole record in a file.

    Attributes:
        offset: where it starts.
        end: where it ends, padding included.
        size: payload size in bytes.
        parts: how many it has.
    """

    offset: int
    end: int
    size: int
    parts: int


class Recent:
    """A source behind a network that still knows what was read of it last.

    What a walk has read of a file is what else is wanted of it, so that it comes once.

    Args:
        source: the source.

    Attributes:
        path: its path.
        size: bytes in it.
    """

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self.size = source.size
        self._source = source
        # A walk reads on before it hands out what it has found in the block before.
        self._blocks: deque[tuple[int, bytes]] = deque(maxlen=2)

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer where the file ends; and know them."""
        data = self._source.read(offset, min(max(length, REMOTE.peek), self.size - offset))
        self._blocks.append((offset, data))
        return data[:length]

    def look(self, offset: int, length: int) -> bytes:
        """Return them, without reading where they are known."""
        for at, data in self._blocks:
            if at <= offset and offset + length <= at + len(data):
                return data[offset - at : offset - at + length]
        return self._source.read(offset, length)

    @property
    def modified(self) -> int | None:
        """When it was last changed, in nanoseconds since 1970; None if that is not known."""
        return self._source.modified

    def require_unchanged(self) -> None:
        """Raise `FileChangedError` if it was written to since it was opened."""
        self._source.require_unchanged()

    def location(self) -> Place:
        """Return where another process finds it."""
        return self._source.location()


def peek(source: Source, ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of each range (start, stop); those close together are read at once.

    Args:
        source: the file.
        ranges: by their starts, in order.
    """
    if isinstance(source, Recent):
        for start, stop in ranges:
            yield source.look(start, stop - start)
        return
    manner = manner_of(source)
    windows = list(_windows(ranges, manner))
    at_once = 1 if manner is LOCAL else min(REQUESTS, max(len(windows), 1))

    def read(window: tuple[int, int, int]) -> bytes:
        start, stop, _ = window
        return source.read(start, stop - start)

    waiting = iter(ranges)
    for (first, _, count), data in zip(windows, in_parallel(read, windows, at_once), strict=True):
        for _ in range(count):
            start, stop = next(waiting)
            yield data[start - first : stop - first]


def _windows(ranges: Sequence[tuple[int, int]], manner: Manner) -> Iterator[tuple[int, int, int]]:
    """Yield start and stop of what is read at once, and how many ranges it serves."""
    first = end = count = 0
    for start, stop in ranges:
        if count and (start - end > manner.gap or stop - first > manner.window):
            yield first, end, count
            count = 0
        if count == 0:
            first, end = start, stop
        end = max(end, stop)
        count += 1
    if count:
        yield first, end, count


def span_at(source: Source, offset: int, head: bytes, room: Room | None = None) -> Span:
    """Return the record at an offset.

    Args:
        source: the file.
        offset: where the record starts, below the size of the file.
        head: the bytes from there on, as far as they are known.
        room: counts the headers of the record's parts, which may be many.

    Raises:
        BadIndexError: there is no more room.
        DamagedRecordError: there is no whole record.
        NotRecordIOError: that is the start of the file, which is of another kind.
        OSError: reading failed.
    """
    if len(head) >= HEADER_SIZE and head.startswith(MAGIC_BYTES):
        lrec = int.from_bytes(head[4:HEADER_SIZE], "little")
        end = offset + HEADER_SIZE + padded(lrec)
        if lrec <= MAX_LENGTH and end <= source.size:  # a record of one part
            return Span(offset, end, lrec, 1)
    walker = Walker(source, offset, block=LOCAL.peek)
    walk, piece = walker.walk, None
    while walk.status == WALKING and piece is None:
        piece = walker.records(1)
    if room is not None:
        room.take(HEADER_SIZE * walk.followed)
    if piece is None:
        raise error_of(walk, source, 0)
    return Span(offset, walker.end, piece.sizes[0], walk.followed)
