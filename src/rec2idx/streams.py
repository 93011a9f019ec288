"""Records of what can only be read once, from the beginning: a pipe, a socket, a response."""

from __future__ import annotations

from collections.abc import Iterator

from . import _walk
from ._walk import Walk
from .damage import error_of
from .segments import BATCH, Batch, Piece
from .sources import Stream


def scan_stream(stream: Stream, heads: int = 0) -> Iterator[Batch]:
    """Walk through a stream; yield and raise what `scan` does for a file with the same bytes.

    However long a record is, no more of it is kept than its head.
    """
    walk = Walk(0, 0, heads=heads)
    count = 0
    kept = b""  # the part at which the walk stands, as far as it is wanted and has come
    while True:
        at = stream.size
        chunk = stream.next()
        walk.grow(stream.size)
        start = walk.position
        if start + len(kept) == at:  # it goes on in what has come now
            blocks = [(kept + chunk, start)]
        else:
            blocks = [(kept, start), (chunk, at)]
        for data, where in blocks:
            for piece in _feed(walk, data, where):
                yield Batch(count, *piece)
                count += len(piece.offsets)
        if not chunk:
            break
        data, where = blocks[-1]
        if walk.position >= where:
            kept = data[walk.position - where :][: walk.need]
        if walk.status not in MORE_MAY_FOLLOW:
            break
    if walk.status != _walk.END:
        raise error_of(walk, stream, count)


# How a walk may stand where the bytes so far end, and more of them may come.
MORE_MAY_FOLLOW = (
    _walk.WALKING,
    _walk.END,
    _walk.ENDS_INSIDE,
    _walk.CUT_HEADER,
    _walk.CUT_PART,
)


def _feed(walk: Walk, data: bytes, at: int) -> Iterator[Piece]:
    while True:
        offsets, sizes, heads = walk.feed(data, at, BATCH)
        if offsets:
            end = walk.opened if walk.opened >= 0 else walk.position
            yield Piece(offsets, sizes, end, heads)
        if len(offsets) < BATCH or walk.status != _walk.WALKING:
            return
