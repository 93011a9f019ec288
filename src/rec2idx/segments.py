"""A stretch of a file, walked by itself: what a worker does, in a thread or on another machine."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ._walk import WALKING, Walk, find_start
from .damage import shrunk
from .errors import MissingExtraError, RemoteError, WorkerError
from .sources import LocalFile, Place, Source

BATCH = 8192  # records: their offsets and index lines fit into a processor's cache
LOCAL_BLOCK = 1 << 17  # bytes; as large as the kernel's own, which says why
REMOTE_BLOCK = 1 << 22  # bytes: takes about as long to transfer as a request takes to be answered
REMOTE_HEADER = 64  # bytes asked for where one header is wanted, and no long head
GUESS_BLOCK = 1 << 16  # bytes read at once in search of a record's start
NEVER = (1 << 63) - 1


@dataclass(frozen=True)
class Batch:
    """Records that follow each other in a file.

    Attributes:
        first: number of the first record, counted from 0.
        offsets: byte offset of each record's first part, an array of int64.
        sizes: payload size of each record in bytes, an array of int64. Where a record has several
            parts, the magics between them belong to the payload and count.
        stop: byte offset where the next record starts.
        heads: None, or with ``scan(..., heads=n)`` an array of bytes with 8 + n for each record, in
            little-endian byte order: uint32 payload length of the first part, uint32 number of
            parts, and the first n bytes of the payload, followed by zeros if it is shorter. In
            image records these begin with the IRHeader: uint32 flag, float32 label, uint64 id,
            uint64 id2. With n = 24, ``struct.iter_unpack("<IIIfQQ", batch.heads)`` yields all.
    """

    first: int
    offsets: array[int]
    sizes: array[int]
    stop: int
    heads: array[int] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    def without_last(self) -> Batch | None:
        """Return it without its last record; None where it has no other."""
        if len(self) < 2:
            return None
        heads = self.heads
        if heads is not None:
            heads = heads[: -(len(heads) // len(self))]
        return Batch(self.first, self.offsets[:-1], self.sizes[:-1], self.offsets[-1], heads)


class Piece(NamedTuple):
    """Records of a segment that follow each other, as many as a batch has.

    Attributes:
        offsets: byte offset of each record's first part, int64; at least one.
        sizes: payload size of each record in bytes, int64.
        end: where the record after the last one starts.
        heads: as in a `Batch`.
    """

    offsets: array[int]
    sizes: array[int]
    end: int
    heads: array[int] | None = None

    def cut(self, at: int) -> Piece:
        """Return it without the first `at` records."""
        heads = self.heads
        if heads is not None:
            heads = heads[at * (len(heads) // len(self.offsets)) :]
        return Piece(self.offsets[at:], self.sizes[at:], self.end, heads)


@dataclass(frozen=True)
class Segment:
    """What was found from a guessed start on.

    Attributes:
        start: first byte of the segment.
        stop: byte behind it. Records that start before it belong to the segment.
        pieces: the records, in file order. They end at or behind `stop` if all went well; before
            it where the walk was stopped by what looks like damage, or had found enough, or where
            the last record has parts behind `stop`.
        waiting: share of the time that was spent on waiting for storage, 0 to 1.
    """

    start: int
    stop: int
    pieces: list[Piece]
    waiting: float = 0.0

    def from_record(self, offset: int) -> list[Piece]:
        """Return the records from that which starts at `offset` on; none if none starts there."""
        number = bisect_right(self.pieces, offset, key=lambda piece: piece.offsets[0]) - 1
        if number < 0:
            return []
        piece = self.pieces[number]
        at = bisect_left(piece.offsets, offset)
        if at == len(piece.offsets) or piece.offsets[at] != offset:
            return []
        if at > 0:
            piece = piece.cut(at)
        return [piece, *self.pieces[number + 1 :]]


@dataclass(frozen=True)
class Manner:
    """How the segments of a file are walked.

    Attributes:
        most: records after which to stop, so that memory stays bounded.
        within: bytes in which to look for the first record.
        step: bytes to read at once in search of it.
        block: bytes of one read after that; None to suit the source.
        heads: bytes of each payload that are wanted in the heads of records; 0 for no heads.
    """

    most: int
    within: int
    step: int = GUESS_BLOCK
    block: int | None = None
    heads: int = 0


def reads_headers(jump: int) -> bool:
    """Return whether to ask a storage for single headers where they lie so many bytes apart."""
    return jump >= REMOTE_BLOCK // 2


class Walker:
    """Walks on from a record's start in any source that can be read at any position."""

    def __init__(
        self,
        source: Source,
        start: int,
        stop: int = NEVER,
        block: int | None = None,
        heads: int = 0,
        data: bytes = b"",
        past: bool = True,
    ):
        self._source = source
        self._local = isinstance(source, LocalFile)
        self._block = max(block or (LOCAL_BLOCK if self._local else REMOTE_BLOCK), 8 + heads)
        size = source.size
        own = self._block if self._local else 8
        self.walk = Walk(start, size, own, min(stop, NEVER), heads, past)
        self._limit = min(stop, size)
        self._alone = max(self.walk.need, REMOTE_HEADER)
        self._data = data  # the bytes from `start` on, as far as they are known
        self._at = start

    def restart(self, at: int) -> None:
        """Walk on from byte `at`, where a record starts."""
        self.walk.restart(at)

    @property
    def end(self) -> int:
        """Where the record after the last whole one starts."""
        return self.walk.opened if self.walk.opened >= 0 else self.walk.position

    def records(self, most: int) -> Piece | None:
        """Return the next records, None where it takes long to find one."""
        if isinstance(self._source, LocalFile):
            offsets, sizes, heads = self.walk.records(self._source.fd, most)
        else:
            offsets, sizes, heads = self.walk.feed(self._data, self._at, most)
            if self.walk.status == WALKING and len(offsets) < most:
                self._read_on()
        return Piece(offsets, sizes, self.end, heads) if offsets else None

    def _read_on(self) -> None:
        """Read from the next header on: a block, or little where whole blocks were jumped over."""
        position = self.walk.position
        jumped = position - (self._at + len(self._data))
        wanted = self._alone if jumped >= self._block // 2 else self._block
        # A header behind the segment's last record may still be wanted, to see a record's end.
        wanted = min(wanted, max(self._limit - position, 0) + self._alone)
        self._data = self._source.read(position, min(wanted, self.walk.size - position))
        self._at = position


def without_padding(source: Source, offset: int, heads: int) -> Piece:
    """Return the last record of a file, which is whole but for its padding.

    Args:
        source: the file.
        offset: where the record starts.
        heads: bytes of its payload that are wanted in its head; 0 for no head.
    """
    walk = Walk(offset, source.size + 3, 8, NEVER, heads)
    while walk.status == WALKING:
        data = source.read(walk.position, max(walk.need, REMOTE_HEADER))
        if not data:
            raise shrunk(source.path, source.size, walk.position)
        offsets, sizes, found = walk.feed(data, walk.position, 1)
        if offsets:
            break
    return Piece(offsets, sizes, source.size, found)


def walk_segment(
    source: Source, start: int, stop: int, manner: Manner, abandoned: Callable[[], bool] = bool
) -> Segment:
    """Guess the first record of a segment and walk until its end is passed.

    Args:
        source: the file.
        start: first byte, a multiple of 4.
        stop: byte behind the segment.
        manner: how.
        abandoned: asked from time to time; True to give up.
    """
    began, busy = time.perf_counter(), time.thread_time()
    guess, data = guess_start(source, start, stop, manner)
    if guess < 0:
        return Segment(start, stop, [])
    # The records of many segments may share parts up to the end of the file. Whoever joins the
    # segments walks these parts, once.
    walker = Walker(source, guess, stop, manner.block, manner.heads, data, past=False)
    # Not one large array: memory of that size is mapped anew each time, which two threads that walk
    # would spend half of their time on.
    pieces: list[Piece] = []
    most = manner.most
    while walker.walk.status == WALKING and most > 0 and not abandoned():
        if piece := walker.records(min(most, BATCH)):
            pieces.append(piece)
            most -= len(piece.offsets)
    wall = time.perf_counter() - began
    waiting = 1 - (time.thread_time() - busy) / wall if wall > 0 else 0.0
    return Segment(start, stop, pieces, waiting)


def walk_segment_again(
    source: Source, start: int, stop: int, manner: Manner, abandoned: Callable[[], bool]
) -> Segment:
    """Do what `walk_segment` does, in one thread of several that have the same file."""
    if not isinstance(source, LocalFile):
        return walk_segment(source, start, stop, manner, abandoned)
    with source.again() as own:
        return walk_segment(own, start, stop, manner, abandoned)


def walk_segment_at(place: Place, start: int, stop: int, manner: Manner) -> Segment:
    """Open the file and do what `walk_segment` does, on whatever machine this runs.

    Raises:
        WorkerError: the file cannot be opened here, or is another one.
    """
    try:
        opened = place.open()
    except RemoteError:  # it may pass, and says nothing of what this machine sees
        raise
    except (OSError, MissingExtraError) as error:
        import platform

        raise WorkerError(
            f"a worker on {platform.node()} cannot open it: {error}",
            path=place.path,
            advice="give a path or URL that is the same file for every worker",
        ) from error
    with opened as source:
        return walk_segment(source, start, stop, manner)


def guess_start(source: Source, start: int, stop: int, manner: Manner) -> tuple[int, bytes]:
    """Return the first place in [start, stop) where a record seems to start, or -1.

    Returns:
        That place, and the bytes from there on that were read in search of it.
    """
    at, stop = start, min(stop, start + manner.within)
    step = manner.step & ~3 or 4
    while at < stop:
        # Seven bytes more, so that a header which begins before `stop` is seen whole.
        data = source.read(at, min(step, stop - at) + 7)
        guess = find_start(data, at)
        if guess >= 0:
            return (guess, data[guess - at :]) if guess < stop else (-1, b"")
        if len(data) < step:
            break
        at += step
    return -1, b""
