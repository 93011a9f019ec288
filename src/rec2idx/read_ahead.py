"""A file behind a URL that is read once from its beginning to its end: many requests at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from .sources import LocalFile, Place, Source

BLOCK = 1 << 22  # bytes of one request: about as long to transfer as a request to be answered
AHEAD = 8  # requests under way at once
BEHIND = 3  # blocks that are kept: who walks a file is a block or two ahead of who reads it


@contextmanager
def read_ahead(source: Source) -> Iterator[Source]:
    """Give a source with the same bytes, to be read by one thread, more or less in order.

    Each byte is transferred once, if nobody goes back farther than some blocks. A file on this
    machine is given as it is: its system reads ahead.
    """
    if isinstance(source, LocalFile):
        yield source
        return
    pool = ThreadPoolExecutor(AHEAD)
    try:
        yield _Ahead(source, pool)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class _Ahead:
    def __init__(self, source: Source, pool: ThreadPoolExecutor) -> None:
        self.path = source.path
        self.size = source.size
        self._source = source
        self._pool = pool
        self._blocks: dict[int, Future[bytes]] = {}

    @property
    def modified(self) -> int | None:
        return self._source.modified

    def require_unchanged(self) -> None:
        self._source.require_unchanged()

    def location(self) -> Place:
        return self._source.location()

    def read(self, offset: int, length: int) -> bytes:
        stop = min(offset + length, self.size)
        pieces = []
        while offset < stop:
            number, start = divmod(offset, BLOCK)
            piece = self._block(number)[start : start + stop - offset]
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _block(self, number: int) -> bytes:
        last = (self.size - 1) // BLOCK
        for wanted in range(number, min(number + AHEAD, last + 1)):
            if wanted not in self._blocks:
                self._blocks[wanted] = self._pool.submit(self._source.read, wanted * BLOCK, BLOCK)
        for old in [known for known in self._blocks if known < number - BEHIND]:
            self._blocks.pop(old).cancel()
        return self._blocks[number].result()
