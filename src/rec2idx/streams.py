"""Records of what can only be read once, from the beginning: a pipe, a socket, a response."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from . import _walk
from ._walk import Walk
from .damage import error_of
from .framing import HEADER_SIZE
from .segments import BATCH, Batch
from .sources import Stream


def scan_stream(stream: Stream) -> Iterator[Batch]:
    """Walk through a stream; yield and raise what `scan` does for a file with the same bytes.

    However long a record is, no more of it is kept than a header.
    """
    walk = Walk(0, 0)
    count = 0
    kept = b""  # the header at which the walk stands, as far as it has come
    while True:
        at = stream.size
        chunk = stream.next()
        walk.grow(stream.size)
        start = walk.position
        header = kept + chunk[: HEADER_SIZE - len(kept)]
        for data, where in ((header, start), (chunk, at)) if kept else ((chunk, at),):
            for offsets, sizes in _feed(walk, data, where):
                end = walk.opened if walk.opened >= 0 else walk.position
                yield Batch(count, offsets, sizes, end)
                count += len(offsets)
        if not chunk:
            break
        behind = walk.position - at
        kept = header if behind < 0 else chunk[behind : behind + HEADER_SIZE]
        if walk.status not in _MORE_MAY_FOLLOW:
            break
    if walk.status != _walk.END:
        raise error_of(walk, stream, count)


# How a walk may stand where the bytes so far end, and more of them may come.
_MORE_MAY_FOLLOW = (
    _walk.WALKING,
    _walk.END,
    _walk.ENDS_INSIDE,
    _walk.CUT_HEADER,
    _walk.CUT_PART,
)


def _feed(walk: Walk, data: bytes, at: int) -> Iterator[tuple[array[int], array[int]]]:
    while True:
        found = walk.feed(data, at, BATCH)
        if found[0]:
            yield found
        if len(found[0]) < BATCH or walk.status != _walk.WALKING:
            return
