"""Where the chain of records goes on behind damage.

A magic alone is a guess: payloads may hold it, escaped by nobody or at an odd place. A candidate
counts as the start of a record when the chain from it holds, to the end of the file or for several
records. Which record the damage costs is told from where the candidates lie:

* One inside the record before the break, from which the chain leads past the break or far on: the
  length of that record is wrong. It is lost, and those that it would have swallowed are not.
* None there: the record before the break is whole, and the damage begins where it ends; unless its
  padding, or a single bit in its length, tells that it is too short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from . import _walk
from ._magic import find_opening
from ._walk import Walk
from .damage import lacks_padding
from .framing import HEADER_SIZE, MAGIC_BYTES, WHOLE, padded, split_lrec
from .sources import Source

# Whole records for which the chain from a candidate must hold. In a file that a conforming writer
# wrote, a magic at the distances at which parts lie starts a part, so that few records are enough;
# one at another distance, or in a record that may be whole, may be the payload's, which may even be
# a RecordIO file.
SEVERAL, MANY = 2, 16
PATIENCE = 64  # reads after which a chain without a whole record is given up
FIRST_READ, LARGEST_READ = 1 << 12, 1 << 20  # bytes of one read of a search
WINDOW = 1024  # bytes that are read with a header: in small records, the next ones


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
    if walk.status == _walk.BAD_MAGIC and walk.opened < 0:
        behind = search.behind_damaged_magic()
        if behind >= 0:
            return Resumption(walk.position, behind)
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
            past: the chain must lead behind this byte, or hold for many records.
        """
        for place in _candidates(self._source, start, stop):
            if self._believe(place, past):
                return place
        return -1

    def behind_damaged_magic(self) -> int:
        """Return where the record at the break ends if only its magic is damaged, or -1."""
        cflag, length = split_lrec(self._lrec(self._broken))
        end = self._broken + HEADER_SIZE + padded(length)
        if cflag != WHOLE or end >= self._source.size or not self._believe(end, end, MANY):
            return -1
        return end

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

    def _believe(self, place: int, past: int, enough: int = SEVERAL) -> bool:
        """Return whether the chain from a place holds long enough."""
        near = (place - self._broken) % 4 == 0
        enough = enough if near else MANY
        walk = Walk(place, self._source.size, HEADER_SIZE)
        whole = idle = 0
        while walk.status == _walk.WALKING and idle < PATIENCE:
            data = self._source.read(walk.position, WINDOW)
            found = len(walk.feed(data, walk.position, MANY - whole)[0])
            whole += found
            idle = 0 if found else idle + 1
            led_past = walk.position > past and walk.opened < 0
            if whole == MANY or (whole >= enough and led_past):
                return True
        if walk.status in (_walk.CUT_HEADER, _walk.CUT_PART) and walk.position > past:
            # As far as can be seen, a second damage: the end of the file is missing.
            least = (0 if lacks_padding(walk) else 1) if near else SEVERAL
            return whole >= least
        return walk.status == _walk.END

    def _lrec(self, part: int) -> int:
        return int.from_bytes(self._source.read(part + 4, 4), "little")


def _candidates(source: Source, start: int, stop: int) -> Iterator[int]:
    """Yield where in [start, stop) a magic stands whose cflag opens a record."""
    step = FIRST_READ
    while start < stop:
        # Seven bytes more, so that a header which begins before `stop` is seen whole.
        data = source.read(start, min(step, stop - start) + HEADER_SIZE - 1)
        at = find_opening(data, 0)
        while at >= 0:
            yield start + at
            at = find_opening(data, at + 4)
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
