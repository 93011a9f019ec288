"""Where the chain of records goes on behind damage.

A magic alone is a guess: payloads may hold it, escaped by nobody or at an odd place. A candidate
counts as the start of a record when the chain from it holds, to the end of the file or for several
records. Which record the damage costs is told from where the candidates lie:

* One inside the record before the break, from which the chain leads past the break: the length of
  that record is wrong. It is lost, and those that it would have swallowed are not.
* None there: the record before the break is whole, and the damage begins where it ends; unless its
  padding, or a single bit in its length, tells that it is too short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import _walk
from ._walk import Walk
from .framing import FIRST, HEADER_SIZE, LAST, MAGIC_BYTES, WHOLE, padded, split_lrec
from .sources import Source

# Whole records for which the chain from a candidate must hold. In a file that a conforming writer
# wrote, a magic at the distances at which parts lie starts a part; one at another distance may be
# the payload's, which may even be a RecordIO file.
SEVERAL = 2
SEVERAL_ELSEWHERE = 16
MOST_PARTS = 4096  # that are followed; a chain that holds so long is believed
FIRST_READ, LARGEST_READ = 1 << 12, 1 << 20  # bytes of one read of a search
WINDOW = 512  # bytes that are read with a header: in small records, the next ones


class Resumption(NamedTuple):
    """Where the chain goes on.

    Attributes:
        start: first byte of what is lost.
        stop: byte behind it: the start of a record, or the end of the file.
    """

    start: int
    stop: int


def resume(source: Source, walk: Walk, before: int) -> Resumption:
    """Return what is lost where a walk has stopped, and where the chain goes on.

    Args:
        source: the file.
        walk: a walk that stopped at damage.
        before: where the last whole record starts that ends where the damaged one begins, or -1.
    """
    search = _Search(source, walk.position)
    first = walk.opened if walk.opened >= 0 else before
    last = search.last_part(first) if first >= 0 else -1
    if last >= 0:
        inside = search.first(last + HEADER_SIZE, walk.position, past=walk.position)
        if inside >= 0:
            return Resumption(first, inside)
    begin = walk.position + (0 if walk.status == _walk.NOT_ENDED else 1)
    found = search.first(begin, source.size)
    stop = found if found >= 0 else source.size
    leads_nowhere = walk.opened < 0 and last >= 0 and walk.status == _walk.BAD_MAGIC
    if leads_nowhere and search.is_short(last, found):
        return Resumption(before, stop)
    start = walk.opened if walk.opened >= 0 else walk.position
    return Resumption(start, stop)


class _Search:
    """The search for the next record in a file whose chain breaks at a byte."""

    def __init__(self, source: Source, broken: int) -> None:
        self._source = source
        self._broken = broken
        self._window = b""
        self._at = 0  # where the window begins

    def last_part(self, record: int) -> int:
        """Return where the last part starts before the break, of the record that starts there."""
        at = last = record
        while at < self._broken:
            last = at
            at += HEADER_SIZE + padded(split_lrec(self._lrec(at))[1])
        return last

    def first(self, start: int, stop: int, past: int = -1) -> int:
        """Return the first believable start of a record in [start, stop), or -1.

        Args:
            start: the first place to look at.
            stop: the place behind the last one.
            past: the chain must lead behind this byte, or to the end of the file.
        """
        for place in _candidates(self._source, start, stop):
            if self._believe(place, past):
                return place
        return -1

    def is_short(self, part: int, found: int) -> bool:
        """Return whether the length of a part, which leads to the break, seems to be too small.

        Args:
            part: where it starts.
            found: where the next record starts, or -1.
        """
        length = split_lrec(self._lrec(part))[1]
        padding = self._source.read(part + HEADER_SIZE + length, padded(length) - length)
        if any(padding):
            return True
        if length % 4 or found < 0 or _was_magic(self._source.read(self._broken, 4)):
            return False
        missing = (found - part - HEADER_SIZE) ^ length
        return missing > 3 and missing & (missing - 1) == 0

    def _believe(self, place: int, past: int) -> bool:
        """Return whether the chain from a place holds long enough."""
        near = (place - self._broken) % 4 == 0
        enough = SEVERAL if near else SEVERAL_ELSEWHERE
        size = self._source.size
        at, whole, inside = place, 0, False
        for _ in range(MOST_PARTS):
            if at == size or (near and whole > 0 and size - at < HEADER_SIZE):
                return not inside
            if whole >= enough and at > past and not inside:
                return True
            header = self._header(at)
            if len(header) < HEADER_SIZE or header[:4] != MAGIC_BYTES:
                return False
            cflag, length = split_lrec(int.from_bytes(header[4:], "little"))
            if cflag > LAST or inside != (cflag not in (WHOLE, FIRST)):
                return False
            end = at + HEADER_SIZE + length
            if end > size:  # as far as can be seen, the file is cut off here
                return near and whole > 0
            inside = cflag not in (WHOLE, LAST)
            whole += not inside
            at = end + padded(length) - length
            if at > size:  # the padding of the last record may be missing
                return near and not inside
        return True

    def _lrec(self, part: int) -> int:
        return int.from_bytes(self._header(part)[4:], "little")

    def _header(self, at: int) -> bytes:
        if not 0 <= at - self._at <= len(self._window) - HEADER_SIZE:
            self._window, self._at = self._source.read(at, WINDOW), at
        return self._window[at - self._at :][:HEADER_SIZE]


def _candidates(source: Source, start: int, stop: int) -> Iterator[int]:
    """Yield where in [start, stop) a magic stands whose cflag opens a record."""
    step = FIRST_READ
    while start < stop:
        # Seven bytes more, so that a header which begins before `stop` is seen whole.
        data = source.read(start, min(step, stop - start) + HEADER_SIZE - 1)
        at = data.find(MAGIC_BYTES)
        while 0 <= at <= len(data) - HEADER_SIZE:
            if data[at + 7] >> 5 < 2:
                yield start + at
            at = data.find(MAGIC_BYTES, at + 4)
        if len(data) < HEADER_SIZE:
            return
        start += len(data) - HEADER_SIZE + 1
        step = min(2 * step, LARGEST_READ)


def _was_magic(word: bytes) -> bool:
    """Return whether a word may once have been the magic: two bytes of it are left, or zeros."""
    same = sum(one == other for one, other in zip(word, MAGIC_BYTES, strict=False))
    return same >= 2 or all(
        one in (0, other) for one, other in zip(word, MAGIC_BYTES, strict=False)
    )
