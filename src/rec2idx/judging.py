"""Whether the records of a chain look like those of its file."""

from __future__ import annotations

from ._walk import WALKING, Walk
from .chains import Chain, Reads
from .framing import HEADER_SIZE
from .likeness import FEW, HEAD, MOST, Likeness, Verdict, content_of

SAMPLE = 64  # records of the file's beginning with which others are compared
CLOSELY = 8  # of which so many are looked at up to the end of their images
MUCH = 16  # records of the largest size: so large is no payload
AHEAD, LEAST_AHEAD = 1 << 24, 1 << 16  # bytes for which chains are followed: see `Judge.ahead`
READ = 1 << 12  # bytes that are read at once in search of them
FREE_BYTES = 1 << 24  # of contents that may be looked at in any file, and as many as it has bytes


class Judge:
    """Compares records with those of their file that are whole beyond doubt.

    Args:
        reads: the file.

    Attributes:
        looked_at: bytes of contents that were looked at.
    """

    def __init__(self, reads: Reads) -> None:
        self.looked_at = 0
        self._reads = reads
        self._likeness: Likeness | None = None
        self._first = self._starts(0)
        self._is_known = False
        self._sample = -1  # where the last record starts with which others are compared

    @property
    def likeness(self) -> Likeness:
        """What the records of the file have in common."""
        assert self._likeness is not None
        return self._likeness

    def learn(self, chains: list[Chain]) -> bool:
        """Learn what records are like: from the first ones, and of a chain where these are few.

        Returns whether it is known now.
        """
        offsets = list(self._first)
        if self._likeness is not None:
            return True
        if len(offsets) < FEW and not chains:
            return False
        if len(offsets) < FEW:
            longest = max(chains, key=lambda chain: chain.done - chain.first)
            if longest.count > 2:
                offsets += self._starts(longest.first)
        offsets = list(dict.fromkeys(offsets))
        self._sample = offsets[-1] if offsets else -1
        self._is_known = len(offsets) >= FEW
        self._likeness = Likeness(
            [
                content_of(self._reads, at, MOST if number < CLOSELY else HEAD)
                for number, at in enumerate(offsets)
            ]
        )
        return True

    @property
    def ahead(self) -> int:
        """Bytes after which a chain is too large to be payload, as far as the file is known."""
        if self._likeness is None or not self._is_known:
            return AHEAD
        return max(MUCH * self._likeness.largest, LEAST_AHEAD)

    def _starts(self, at: int) -> list[int]:
        """Return where records start, from one on, but for the last before a break."""
        walk = Walk(at, self._reads.size, HEADER_SIZE)
        found: list[int] = []
        for _ in range(SAMPLE):
            data = self._reads.read(walk.position, READ)
            found += walk.feed(data, walk.position, SAMPLE)[0]
            if walk.status != WALKING or len(found) >= SAMPLE:
                break
        return found[:-1]

    def record(self, offset: int) -> Verdict:
        """Return how like the whole record at an offset is to the others."""
        content = content_of(self._reads, offset, HEAD)
        self.looked_at += min(content.size, HEAD)
        verdict = self.likeness.judge(content)
        more = content.over is None and content.kind is not None and verdict is not Verdict.UNLIKE
        if more and self.looked_at < FREE_BYTES + offset:
            content = content_of(self._reads, offset, MOST)
            self.looked_at += min(content.size, MOST)
            verdict = self.likeness.judge(content)
        return verdict

    def chain(self, chain: Chain, before: Chain) -> Verdict:
        """Return how like the records of a chain are to the others.

        A first record that is unlike them, and leads to one that is not, is taken off the chain.

        Args:
            chain: the chain.
            before: the one that is known to be the file's, before it.
        """
        if not chain.count:
            return Verdict.UNKNOWN
        best = self.record(chain.first)
        if chain.count > 2:
            second = self.record(chain.second)
            if best is Verdict.UNLIKE and second >= Verdict.LIKE:
                chain.start = chain.first = chain.second
                chain.closed = False
            best = max(best, second)
        # What is much larger than any record is in no payload, whatever its ids are: files may have
        # been laid end to end.
        small = chain.done - chain.first <= MUCH * self.likeness.largest
        if small and best is not Verdict.UNLIKE and self._comes_earlier(chain, before):
            return Verdict.UNLIKE
        return best if self.fits(chain) else min(best, Verdict.UNKNOWN)

    def fits(self, chain: Chain) -> bool:
        """Return whether records of the file are about as large as those of a chain."""
        return self.likeness.fits(chain.mean - HEADER_SIZE)

    def _comes_earlier(self, chain: Chain, before: Chain) -> bool:
        """Return whether ids say that a chain does not come after records that are before it."""
        places = [self._sample] if 0 <= self._sample < chain.first else []
        places += [before.last] if before.count else []
        if 0 <= self._sample < before.last and self._is_earlier(before.last, self._sample):
            return False  # ids start anew in the file
        return any(self._is_earlier(chain.first, place) for place in places)

    def _is_earlier(self, record: int, other: int) -> bool:
        content, earlier = (content_of(self._reads, at, HEAD) for at in (record, other))
        return self.likeness.comes_earlier(content, earlier, other)
