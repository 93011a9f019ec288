"""Every chain of records after a break, in one sweep through the bytes.

Any header heads a chain, at any byte. What lies inside a chain's records is covered by it, and not
looked at. So the sweep goes on in a chain's last part only, whose length may be the damaged one,
and then after the chain: no byte is searched twice, no record is followed twice, and chains that
meet are one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum

from . import _walk
from ._magic import find_header
from ._walk import Walk
from .damage import lacks_padding
from .framing import FIRST, HEADER_SIZE, LAST, MIDDLE, WHOLE, padded, split_lrec
from .segments import BATCH
from .sources import LocalFile, Source
from .spans import part_at

FIRST_READ, LARGEST_READ = 1 << 12, 1 << 20  # bytes of one read of a search
LARGE_JUMP = 1 << 15  # bytes a record, from which little is read of each
SMALL_STEP, LARGE_STEP = 1 << 9, 1 << 19  # bytes of one read where a chain is followed
REMOTE_LEAST = 1 << 16  # bytes of the smallest read from a network
KNOWN = 8  # reads that are remembered


class State(Enum):
    """How a chain ends."""

    BROKEN = "where a record ends, none starts"
    INSIDE = "it breaks between the parts of a record"
    CUT = "the end of the file cuts off its last record"
    END = "it leads to the end of the file"
    ON = "it goes on for longer than it was followed"


@dataclass
class Chain:
    """Records that lead from one to the next.

    Attributes:
        start: its first byte. Parts that continue a record whose first part is lost may come
            before the first record.
        first: where its first record starts.
        second: where the next one starts.
        count: whole records in it.
        last: where the last whole record starts.
        done: where that ends.
        tail: where the last part starts, whose length may be wrong.
        end: where the chain can be followed no more.
        state: why.
        closed: whether the parts before the first record are the last ones of a record.
    """

    start: int
    first: int
    second: int
    count: int
    last: int
    done: int
    tail: int
    end: int
    state: State = State.BROKEN
    closed: bool = False

    @property
    def mean(self) -> int:
        """Bytes of its whole records, on average."""
        return (self.done - self.first) // max(self.count, 1)

    @property
    def ends_whole(self) -> bool:
        """Whether it breaks after a whole record."""
        return self.state is State.BROKEN and self.count > 0


class Reads:
    """A source of which the latest reads are remembered, and which is never read byte by byte."""

    def __init__(self, source: Source) -> None:
        self.path = source.path
        self.size = source.size
        self.count = 0  # reads
        self._source = source
        self._least = HEADER_SIZE if isinstance(source, LocalFile) else REMOTE_LEAST
        self._known: deque[tuple[int, bytes]] = deque(maxlen=KNOWN)

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer where the file ends."""
        length = min(length, self.size - offset)
        for at, data in self._known:
            if at <= offset and offset + length <= at + len(data):
                return data[offset - at : offset - at + length]
        self.count += 1
        data = self._source.read(offset, max(length, self._least))
        if len(data) > SMALL_STEP:
            self._known.append((offset, data))
        return data[:length]


class Sweep:
    """Finds the chains of a stretch, in file order.

    Args:
        reads: the file.
        at: where the search begins.
        ahead: a chain that holds for so many bytes goes on, which is left to the walk.
    """

    def __init__(self, reads: Reads, at: int, ahead: int) -> None:
        self.followed = 0  # records and parts, for tests that count them
        self._reads = reads
        self._ahead = ahead
        self._at = at
        self._data = b""
        self._base = at
        self._step = FIRST_READ

    def next(self) -> Chain | None:
        """Return the next chain, None where the file has no other."""
        if self._at < 0:
            return None
        head = self._next_header()
        if head < 0:
            self._at = -1
            return None
        chain = self._follow(head)
        self._at = -1 if chain.state is State.ON else max(chain.tail + 4, head + 4)
        return chain

    def _next_header(self) -> int:
        size = self._reads.size
        while True:
            here = self._at - self._base
            if 0 <= here <= len(self._data) - HEADER_SIZE:
                found = find_header(self._data, here)
                if found >= 0:
                    return self._base + found
                self._at = self._base + len(self._data) - HEADER_SIZE + 1
                self._step = min(2 * self._step, LARGEST_READ)
            else:
                self._step = FIRST_READ
            if self._at > size - HEADER_SIZE:
                return -1
            # Seven bytes more, so that a header which begins before the end is seen whole.
            self._data = self._reads.read(self._at, self._step + HEADER_SIZE - 1)
            self._base = self._at
            if len(self._data) < HEADER_SIZE:
                return -1

    def _head(self, at: int) -> tuple[int, int] | None:
        """Return (cflag, payload length) of the header there, None where there is none."""
        here = at - self._base
        if 0 <= here <= len(self._data) - HEADER_SIZE:
            return part_at(self._data[here : here + HEADER_SIZE])
        if at > self._reads.size - HEADER_SIZE:
            return None
        return part_at(self._reads.read(at, HEADER_SIZE))

    def _follow(self, head: int) -> Chain:
        """Follow the chain from a header."""
        size = self._reads.size
        chain = Chain(head, head, head, 0, head, head, head, head)
        part = self._head(head)
        while part is not None and part[0] in (MIDDLE, LAST):  # a record without its first part
            self.followed += 1
            chain.tail, chain.end = chain.end, chain.end + HEADER_SIZE + padded(part[1])
            if chain.end >= size:
                chain.state = State.END if chain.end == size and part[0] == LAST else State.CUT
                chain.end = size
                break
            chain.closed = part[0] == LAST
            part = self._head(chain.end)
            if chain.closed or (part is not None and part[0] in (WHOLE, FIRST)):
                break
        chain.first = chain.second = chain.last = chain.done = chain.end
        if chain.state is State.BROKEN and part is not None and part[0] in (WHOLE, FIRST):
            self._follow_records(chain, part)
        return chain

    def _follow_records(self, chain: Chain, part: tuple[int, int]) -> None:
        """Follow records from the first one on, whose first part is given."""
        end = chain.first + HEADER_SIZE + padded(part[1])
        # Most false heads lead nowhere, and that is seen at once.
        if part[0] == WHOLE and end < self._reads.size:
            following = self._head(end)
            if following is None or following[0] not in (WHOLE, FIRST):
                self.followed += 1
                chain.count, chain.tail, chain.second = 1, chain.first, end
                chain.done = chain.end = end
                if end <= self._reads.size - HEADER_SIZE:
                    return
        self._walk(chain)

    def _walk(self, chain: Chain) -> None:
        walk = Walk(chain.first, self._reads.size, HEADER_SIZE, chain.first + self._ahead)
        chain.count, step = 0, SMALL_STEP
        while walk.status == _walk.WALKING:
            at = walk.position
            data = self._reads.read(at, step)
            offsets, _, _ = walk.feed(data, at, BATCH)
            if offsets:
                if chain.count < 2:
                    starts = [*([chain.first] * chain.count), *offsets[:2]]
                    chain.second = starts[1] if len(starts) > 1 else chain.second
                chain.count += len(offsets)
                chain.last = offsets[-1]
                chain.done = walk.opened if walk.opened >= 0 else walk.position
            if walk.position > at + len(data) + max(step, LARGE_JUMP):
                step = max(step // 2, SMALL_STEP)
            elif walk.position > at:
                step = min(2 * step, LARGE_STEP)
        self.followed += chain.count
        chain.end = walk.position
        self._conclude(chain, walk)

    def _conclude(self, chain: Chain, walk: Walk) -> None:
        size = self._reads.size
        chain.tail = chain.last if chain.count else chain.first
        if walk.status == _walk.PASSED:
            chain.state = State.ON
        elif walk.status == _walk.END:
            chain.state = State.END
        elif walk.status == _walk.CUT_PART and lacks_padding(walk):
            chain.last = chain.tail = walk.opened if walk.opened >= 0 else walk.position
            chain.count, chain.done, chain.end = chain.count + 1, size, size
            chain.state = State.END
        elif walk.status in (_walk.CUT_PART, _walk.ENDS_INSIDE) or (
            walk.status == _walk.CUT_HEADER and walk.opened >= 0
        ):
            chain.tail = walk.opened if walk.opened >= 0 else walk.position
            chain.end, chain.state = size, State.CUT
        elif walk.opened >= 0:
            chain.state = State.INSIDE
        if walk.opened >= 0 or chain.count:
            chain.tail = self._last_part(chain.tail if walk.opened < 0 else walk.opened, walk)
        if chain.count == 1:
            chain.second = chain.done

    def _last_part(self, record: int, walk: Walk) -> int:
        """Return where the last part before the break starts, of the record that starts there."""
        at = last = record
        while at < walk.position and (part := self._head(at)) is not None:
            self.followed += 1
            last = at
            at += HEADER_SIZE + padded(part[1])
        return last


def chain_before(reads: Reads, before: int, walk: Walk) -> Chain:
    """Return the chain that ends where a walk has stopped, as far as that matters.

    Args:
        reads: the file.
        before: where the last whole record starts that ends where the damaged one begins, or -1.
        walk: a walk that stopped at damage.
    """
    end = walk.position
    done = walk.opened if walk.opened >= 0 else end
    record = walk.opened if walk.opened >= 0 else before
    state = State.INSIDE if walk.opened >= 0 else State.BROKEN
    at = tail = record
    while 0 <= at < end:
        tail = at
        lrec = int.from_bytes(reads.read(at + 4, 4), "little")
        at += HEADER_SIZE + padded(split_lrec(lrec)[1])
    start = before if before >= 0 else done
    return Chain(start, start, done, int(before >= 0), before, done, tail, end, state)
