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
from .sources import LocalFile, Source

# Whole records for which the chain from a candidate must hold. In a file that a conforming writer
# wrote, a magic at the distances at which parts lie starts a part, so that few records are enough;
# one at another distance, or in a record that may be whole, may be the payload's, which may even be
# a RecordIO file.
SEVERAL, MANY = 2, 16
CLOSE = 1 << 16  # bytes behind an odd place in which one that is not odd is looked for
# The reads that may be spent on all chains of a file: some, and one for so many bytes before the
# place where a chain begins.
FREE_READS, BYTES_A_READ = 4096, 16
PATIENCE = 64  # reads after which a chain without a whole record is given up
FIRST_READ, LARGEST_READ = 1 << 12, 1 << 20  # bytes of one read of a search
# Bytes that are read with a header: in small records, the next ones.
WINDOW, REMOTE_WINDOW = 1 << 10, 1 << 16


class Resumption(NamedTuple):
    """Where the chain goes on.

    Attributes:
        start: first byte of what is lost.
        stop: byte behind it: the start of a record, or the end of the file.
    """

    start: int
    stop: int


class Resync:
    """Finds where the chain of records goes on behind damage, place after place in a file.

    Args:
        source: the file.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._broken = 0  # where the chain breaks
        self._reads = 0  # that were needed to follow chains, so far
        self._window = WINDOW if isinstance(source, LocalFile) else REMOTE_WINDOW

    def resume(self, walk: Walk, before: int) -> Resumption:
        """Return what is lost where a walk has stopped, and where the chain goes on.

        Args:
            walk: a walk that stopped at damage.
            before: where the last whole record starts that ends where the damaged one begins,
                or -1.
        """
        self._broken = broken = walk.position
        if walk.status == _walk.BAD_MAGIC and walk.opened < 0:
            behind = self._behind_damaged_magic()
            if behind >= 0:
                return Resumption(broken, behind)
        first = walk.opened if walk.opened >= 0 else before
        last = self._last_part(first) if first >= 0 else -1
        if last >= 0:
            inside = self._first(last + HEADER_SIZE, broken, past=broken)
            if inside >= 0:
                return Resumption(first, inside)
        begin = broken + (0 if walk.status == _walk.NOT_ENDED else 1)
        found = self._first(begin, self._source.size)
        stop = found if found >= 0 else self._source.size
        leads_nowhere = walk.opened < 0 and last >= 0 and walk.status == _walk.BAD_MAGIC
        if leads_nowhere and self._is_short(last, found):
            return Resumption(before, stop)
        return Resumption(walk.opened if walk.opened >= 0 else broken, stop)

    def _behind_damaged_magic(self) -> int:
        """Return where the record at the break ends if only its magic is damaged, or -1."""
        head = self._source.read(self._broken, HEADER_SIZE)
        cflag, length = split_lrec(int.from_bytes(head[4:], "little"))
        end = self._broken + HEADER_SIZE + padded(length)
        if _bytes_left(head) < 2 or cflag != WHOLE or end >= self._source.size:
            return -1
        return end if self._believe(end, end, MANY) else -1

    def _last_part(self, record: int) -> int:
        """Return where the last part starts before the break, of the record that starts there."""
        at = last = record
        while at < self._broken:
            last = at
            at += HEADER_SIZE + padded(split_lrec(self._lrec(at))[1])
        return last

    def _first(self, start: int, stop: int, past: int = -1) -> int:
        """Return the first believable start of a record in [start, stop), or -1.

        One at a distance at which no part may lie counts only if there is no other close behind.

        Args:
            start: the first place to look at.
            stop: the place behind the last one.
            past: the chain must lead behind this byte, or hold for many records.
        """
        odd = -1
        for place in _candidates(self._source, start, stop):
            if odd >= 0 and place > odd + CLOSE:
                break
            if (place - self._broken) % 4 == 0:
                if self._believe(place, past, SEVERAL if odd < 0 else MANY):
                    return place
            elif odd < 0 and self._believe(place, past, MANY):
                odd = place
        return odd

    def _believe(self, place: int, past: int, enough: int) -> bool:
        """Return whether the chain from a place holds for enough records, or to the end."""
        walk = Walk(place, self._source.size, HEADER_SIZE)
        whole = idle = 0
        # Of many places, each may begin a long chain: all together may not take long.
        most = FREE_READS + place // BYTES_A_READ
        while walk.status == _walk.WALKING and idle < PATIENCE and self._reads < most:
            self._reads += 1
            data = self._source.read(walk.position, self._window)
            found = len(walk.feed(data, walk.position, MANY - whole)[0])
            whole += found
            idle = 0 if found else idle + 1
            led_past = walk.position > past and walk.opened < 0
            if whole == MANY or (whole >= enough and led_past):
                return True
        if walk.status in (_walk.CUT_HEADER, _walk.CUT_PART) and walk.position > past:
            # As far as can be seen, a second damage: the end of the file is missing.
            near = (place - self._broken) % 4 == 0
            if lacks_padding(walk):
                return near or whole >= SEVERAL
            return whole >= (1 if near else MANY)
        return walk.status == _walk.END

    def _is_short(self, part: int, found: int) -> bool:
        """Return whether the length of a part, which leads to the break, seems to be too small.

        A bit of it that is missing is what tells. Bytes that somebody put between two records, just
        as many, cannot be told from that.

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


def _bytes_left(word: bytes) -> int:
    """Return how many bytes of a word are as those of the magic."""
    return sum(one == other for one, other in zip(word, MAGIC_BYTES, strict=False))


def _was_magic(word: bytes) -> bool:
    """Return whether a word may once have been the magic: some of it is left, or zeros."""
    if _bytes_left(word) >= 2 or word[:1] == MAGIC_BYTES[:1]:
        return True
    return all(one in (0, other) for one, other in zip(word, MAGIC_BYTES, strict=False))
