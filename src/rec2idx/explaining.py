"""Which of the chains after a break are records of the file.

A selection of chains that do not overlap explains the bytes: so many damages, and all other chains
are payload that looks like records. The explanation that takes the least is believed. What it takes
is a sum of costs, in bits, about: how unlikely it is that a file comes to look like that.

Neither the distance nor the alignment of a chain decides. A chain that is left out must be payload
of a damaged record. That is unlikely where its records are like those of the file, where a writer
would have escaped its magics, or where that record would be larger than all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .chains import Chain, Reads, State
from .framing import HEADER_SIZE
from .headers import lacks_bit, leads_to, length_at, may_lead_to, was_magic, wrong_byte
from .judging import Judge
from .likeness import Verdict

OPEN = 24  # explanations that are followed at once

# What is how unlikely. Those in parentheses are by verdict: unlike, unknown, ends otherwise, like,
# sure.
DAMAGE = 12
MISFIT = 8  # more, where a record does not end near to where the next one starts
EXPLAINED = 8  # a damage after which the header, though damaged, leads to the next record
SHIFTED = 2  # more, for a damage that moves what follows by other than a multiple of 4
TWICE = 4  # more, where the length of that record is damaged, too
PAYLOAD = 8  # a payload that holds a chain
MORE_PAYLOAD = 4  # each further chain in it, times those that are not unlike the file's
ALIKE = (0, 10, 12, 15, 25)  # more, for how its records look
MORE_ALIKE = 6  # more, for each time that there are twice as many of them
TO_THE_END = 20  # more, if it leads to the end of the file, or goes on
UNESCAPED = 22  # more, if its magics are where a writer escapes them
UNLIKE = 20  # a chain of the file whose records are not like the others, to which nothing leads
CUT_CHAIN = 4  # a record of the file that its end cuts off
LONE_CUT_CHAIN = 12  # the same, where no other record leads to it
TOO_LARGE = 4  # a record larger than all others, for each time that it is twice as large, or more
DROPPED = (0, 3, 0, 6, 30)  # the last record before a damage is lost, too
ITS_SIZE = 6  # more, where it has the size that all others have
WAS_MAGIC = 6  # more, where a damaged magic stands at its end
PARTS_LOST = 10  # a whole record, after which its last part comes
SHIFTED_HEADER = 6  # a header that leads to the next record if some bytes in it are left out
WRONG_BYTE = (8, 8, 2, 2)  # a length of which only the first byte is wrong, the second, ...
CREDIBLE = 16  # at most, for a record whose header is known to be what holds a chain
LOST_BIT = -2  # less, where that is one missing bit


class Kept(NamedTuple):
    """A chain that is kept.

    Attributes:
        number: which.
        dropped: whether its last record, or the part before a break in a record, is not kept.
    """

    number: int
    dropped: bool


@dataclass(frozen=True)
class _Path:
    """An explanation up to a chain that is kept.

    Attributes:
        cost: of all before the chain, and of the chain.
        number: of the chain.
        before: the explanation up to the chain that is kept before it.
        dropped: whether the last record of that chain is lost.
    """

    cost: int
    number: int
    before: _Path | None = None
    dropped: bool = False


@dataclass
class _Gap:
    """What is lost after a chain, as far as the sweep has come.

    Attributes:
        path: the explanation up to that chain.
        cost: of what is known of the gap.
        dropped: whether the chain's last record is lost, too.
        place: where it begins.
        begin: where the record starts that is lost first.
        beyond: where the next chain starts at the earliest.
        claim: where the last record before it ends by its own length.
        leads: where the damaged header at its beginning leads, or -1.
        may_lead: where that leads if bytes were put into it or taken out of it.
        length: the length in a header that stands at its beginning, or -1.
        skipped: chains in it.
        likely: of which so many are not unlike those of the file.
        aligned: how many of them are at a multiple of 4 from its beginning.
        alike: what it costs that they are payload, though they look like records of the file.
        held: the same, if a record holds them whose header is known.
        lost: what it costs that the chain's last record is lost, too.
    """

    path: _Path
    cost: int
    dropped: bool
    place: int
    begin: int
    beyond: int
    claim: int
    leads: int = -1
    may_lead: frozenset[int] = frozenset()
    length: int = -1
    skipped: int = 0
    likely: int = 0
    aligned: int = 0
    alike: int = 0
    held: int = 0
    lost: int = 0

    def so_far(self) -> int:
        return self.path.cost + self.cost + self.lost + min(self.alike, self.held)


class Explainer:
    """Chooses among chains.

    Args:
        reads: the file.
        judge: compares its records.
    """

    def __init__(self, reads: Reads, judge: Judge) -> None:
        self._reads = reads
        self._judge = judge

    def select(self, chains: list[Chain], is_all: bool) -> list[Kept]:
        """Return the chains that are kept, in order; the first one is, in any case.

        Args:
            chains: in order.
            is_all: whether these are all up to the end of the file, or up to one that goes on.
        """
        gaps = list(self._gaps(chains[0], _Path(0, 0), True))
        ends: list[tuple[int, _Path, bool]] = []
        for number, chain in enumerate(chains[1:], 1):
            verdict = self._judge.chain(chain, chains[0])
            path = self._closed(gaps, chain, number, verdict)
            for gap in gaps:
                self._skip(gap, chain, verdict)
            if path is None:
                continue
            if chain.state in (State.END, State.ON):
                ends.append((path.cost, path, False))
            elif chain.count > 1 or verdict is not Verdict.UNLIKE:
                gaps = sorted(gaps, key=_Gap.so_far)[:OPEN]
                gaps += self._gaps(chain, path, False)
        for gap in gaps:
            whole = gap.path.cost + self._cost_of(gap, self._reads.size, None)
            ends.append((whole if is_all else gap.so_far(), gap.path, gap.dropped))
        _, path, dropped = min(ends, key=lambda end: end[0])
        kept = [Kept(path.number, dropped)]
        while path.before is not None:
            kept.append(Kept(path.before.number, path.dropped))
            path = path.before
        return kept[::-1]

    def _gaps(self, chain: Chain, path: _Path, is_first: bool) -> Iterator[_Gap]:
        """Yield what may be lost after a chain: without its last record, and with it."""
        whole = chain.ends_whole
        begin = chain.done if chain.count else chain.start
        gap = _Gap(path, 0, False, chain.end, begin, chain.end, chain.end)
        gap.leads = leads_to(self._reads, chain.end)
        if is_first or chain.count > 1:
            gap.may_lead = may_lead_to(self._reads, chain.end)
        yield gap
        if chain.tail >= 0 and (chain.count > 1 or is_first or not whole):
            cost, begin = 0, chain.done
            if whole:
                verdict, begin = self._judge.record(chain.last), chain.last
                cost = DROPPED[verdict]
                its_size = self._judge.likeness.has_size(length_at(self._reads, begin))
                cost += ITS_SIZE if verdict >= Verdict.LIKE and its_size else 0
                cost += WAS_MAGIC if was_magic(self._reads, chain.end) else 0
            gap = _Gap(path, 0, True, chain.tail, begin, chain.tail + 4, chain.end)
            gap.lost = cost
            gap.length = length_at(self._reads, chain.tail)
            yield gap

    def _skip(self, gap: _Gap, chain: Chain, verdict: Verdict) -> None:
        """Count a chain as payload in a gap."""
        if chain.start == gap.place and chain.count == 0:
            # It is what is left of the first record in the gap.
            gap.length = length_at(self._reads, gap.place)
            return
        alike = ALIKE[verdict] if chain.count else 0
        if chain.count and verdict >= Verdict.UNKNOWN and self._judge.fits(chain):
            alike += MORE_ALIKE * min(chain.count.bit_length() - 1, 6)
        gap.alike += alike
        gap.held += alike // 3
        gap.cost += MORE_PAYLOAD * max(gap.likely, 1) if gap.skipped else PAYLOAD
        gap.likely += verdict is not Verdict.UNLIKE and chain.count > 0
        if chain.state in (State.END, State.ON):
            gap.cost += TO_THE_END
        gap.skipped += 1
        gap.aligned += (chain.start - gap.place) % 4 == 0

    def _closed(
        self, gaps: list[_Gap], chain: Chain, number: int, verdict: Verdict
    ) -> _Path | None:
        """Return the best explanation in which a chain is kept; None if there is none."""
        costs = [
            (gap.path.cost + self._cost_of(gap, chain.start, chain), gap)
            for gap in gaps
            if chain.start >= gap.beyond
        ]
        if not costs:
            return None
        cost, gap = min(costs, key=lambda one: one[0])
        if verdict is Verdict.UNLIKE and gap.leads != chain.start:
            cost += UNLIKE
        if chain.state is State.CUT and not chain.count:
            cost += CUT_CHAIN if gap.place == chain.start else LONE_CUT_CHAIN
        return _Path(cost, number, gap.path, gap.dropped)

    def _cost_of(self, gap: _Gap, stop: int, chain: Chain | None) -> int:
        """Return what it costs that a gap goes to byte `stop`, where `chain` starts."""
        if stop == gap.leads:
            return gap.cost + EXPLAINED + 2 * gap.skipped
        misfit = _misfit(gap, stop)
        cost = gap.cost + DAMAGE + min(misfit, MISFIT)
        cost += min(gap.alike, gap.held + misfit) if misfit <= CREDIBLE else gap.alike
        if chain is not None and (stop - gap.place) % 4:
            cost += SHIFTED
            cost += TWICE if gap.length >= 0 and misfit >= MISFIT else 0
        else:
            cost += UNESCAPED * min(gap.aligned, 3)
        if gap.skipped:
            cost += self._too_large(stop - gap.begin)
        if chain is not None and chain.closed and stop == gap.place and chain.count:
            cost += PARTS_LOST
        # Of a whole record, nothing but padding may be missing.
        cost += min(gap.lost, DROPPED[3]) if 0 < gap.claim - stop < 4 else gap.lost
        if gap.dropped and lacks_bit(gap.length, stop - gap.place - HEADER_SIZE):
            cost += LOST_BIT
        return cost

    def _too_large(self, length: int) -> int:
        largest = self._judge.likeness.largest
        times = 3 * length // (4 * largest + 64) if largest else 0
        return TOO_LARGE * max(times.bit_length(), times // 4)


def _misfit(gap: _Gap, stop: int) -> int:
    """Return how unlikely it is that the record ends, by what is left of it, where a gap ends."""
    misfit = _changed(stop - gap.claim)
    if gap.leads >= 0:
        misfit = min(misfit, _changed(stop - gap.leads))
    if stop in gap.may_lead:
        misfit = min(misfit, SHIFTED_HEADER)
    if gap.length >= 0:
        byte = wrong_byte(gap.length, stop - gap.place - HEADER_SIZE)
        misfit = misfit if byte is None else min(misfit, WRONG_BYTE[byte])
    return misfit


def _changed(number: int) -> int:
    """Return how unlikely it is that so many bytes were put into a record or taken out of it."""
    digits = abs(number).bit_length()
    return digits * digits // 3
