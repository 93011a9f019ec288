"""Where the chain of records goes on after damage.

After a break, the sweep of `chains` gives every chain there is. Which of them are records of the
file, and which are bytes of a payload? Each selection of chains that do not overlap is an
explanation of the stretch: so many damages, and so many chains that are payload by chance. The one
that takes the least is believed. Costs are those of `_Costs`, in bits, as far as such things can
be told: how unlikely it is that a file looks like this if the explanation is true.

Neither the distance nor the alignment of a chain decides. A chain that is left out must be payload
of a damaged record, which is unlikely where its records are like those of the file, where a writer
would have escaped its magics, or where that record would be larger than all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ._walk import WALKING, Walk
from .chains import Chain, Reads, Sweep, chain_before
from .chains import State as Ends
from .framing import HEADER_SIZE, LAST, MAGIC_BYTES, padded, split_lrec
from .likeness import MOST, Likeness, Verdict, content_of
from .sources import Source

SAMPLE = 64  # records of the file's beginning with which others are compared
READ = 1 << 12  # bytes that are read at once in search of them
CHAINS = 256  # chains that are looked at together
OPEN = 24  # explanations that are followed at once
MOST_INSERTED = 64  # bytes that are looked for inside a header
FREE_BYTES = 1 << 24  # of contents that may be looked at in any file


class Resumption(NamedTuple):
    """Where the chain goes on.

    Attributes:
        start: first byte of what is lost.
        stop: byte after it: the start of a record, or the end of the file.
        doubtful: whether the record before it is kept, though its own bytes may have changed.
    """

    start: int
    stop: int
    doubtful: bool


class _Costs:
    """What is how unlikely, in bits."""

    DAMAGE = 12
    MISFIT = 8  # at most, where the last record does not end near to where the next one starts
    EXPLAINED = 8  # the same, where a damaged header leads to where the next chain starts
    SHIFTED = 2  # of the bytes after it, by other than a multiple of 4
    TWICE = 4  # the length of a record is damaged, and bytes are put into it or taken out of it
    PAYLOAD = 8  # a payload that holds a chain
    MORE_PAYLOAD = 3  # each further chain of the same payload
    END = 20  # a payload's chain that leads to the end of the file, or does not end
    UNESCAPED = 22  # of a writer that leaves magics in payloads at multiples of 4
    ALIKE = (0, 5, 10, 15, 25)  # by verdict: payload that looks like a record of the file
    OTHER = (20, 0, 6, 0, 0)  # by verdict: a record of the file that looks like that
    CUT_CHAIN = 4  # a record of the file that its end cuts off
    TOO_LARGE = 4  # a record twice as large as the largest, for each time it is twice as large
    DROPPED = (0, 3, 0, 6, 30)  # by verdict: the last record before a damage is lost, too
    KEPT = (8, 0, 8, 0, 0)  # by verdict: it is not
    ITS_SIZE = 6  # more, to drop a record that has the size of all others
    PARTS_LOST = 30  # a whole record, after which its second part comes
    MORE_ALIKE = 6  # for each time that there are twice as many records
    MISSED = 2  # bytes put into a record or taken out of it, for each time they are twice as many
    SHIFTED_HEADER = 6  # a header that leads to where the next chain starts, bytes in it left out
    WRONG_BYTE = (8, 8, 2, 2)  # by byte: a length of which only that one is wrong
    LOST_BIT = -4  # a length of which a single bit is missing
    LOST_BYTE = -1


@dataclass
class _Path:
    """An explanation up to a chain that is kept.

    Attributes:
        cost: of all before it, and of the chain.
        number: of the chain.
        before: the explanation up to the chain that is kept before it.
        dropped: whether the last record of that chain is not kept.
    """

    cost: float
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
        leads: where the damaged header leads that stands at the break, or -1.
        may_lead: where it does if bytes were put into it or taken out of it.
        skipped: chains in it.
        aligned: how many of them are at a multiple of 4 from where it begins.
        alike: what it costs that they are payload, though they look like records of the file.
        headed: whether a part's header stands where it begins.
        claim: where the last record before the gap ends by its own length.
        held: the same as `alike`, if that record holds them and only bytes of it were changed.
    """

    path: _Path
    cost: float
    dropped: bool
    place: int
    begin: int
    beyond: int
    claim: int
    leads: int = -1
    may_lead: frozenset[int] = frozenset()
    skipped: int = 0
    alike: int = 0
    held: int = 0
    headed: bool = False
    aligned: int = 0

    def so_far(self) -> float:
        return self.path.cost + self.cost + min(self.alike, self.held)


class Resync:
    """Finds where the chain of records goes on after damage, place after place in a file.

    Args:
        source: the file.
    """

    def __init__(self, source: Source) -> None:
        self.reads = Reads(source)
        self.followed = 0  # parts and records, and bytes of contents, for tests that count them
        self.looked_at = 0
        self._likeness: Likeness | None = None
        self._sample = -1  # where the last record starts that it is learned from
        self._plan: dict[int, Resumption] = {}  # by where a chain breaks

    def resume(self, walk: Walk, before: int) -> Resumption:
        """Return what is lost where a walk has stopped, and where the chain goes on.

        Args:
            walk: a walk that stopped at damage.
            before: where the last whole record starts that ends where the damaged one begins,
                or -1.
        """
        planned = self._plan.get(walk.position)
        if planned is None or (before < 0 and planned.start < walk.position):
            self._plan_on(chain_before(self.reads, before, walk), walk.position)
            planned = self._plan[walk.position]
        return planned

    def _plan_on(self, chain: Chain, broken: int) -> None:
        """Plan how to go on after a chain, and after those that follow it."""
        self._plan = {}
        start = min(broken, chain.tail + 4) if chain.tail >= 0 else broken
        sweep = Sweep(self.reads, start)
        chains = [chain]
        while True:
            chains, is_all = _more(chains, sweep)
            self.followed = sweep.followed
            if self._likeness is None:
                self._likeness = self._learn(chains)
            kept = self._select(chains, is_all)
            if is_all or len(kept) > 1:
                break
            chains = chains[:1]  # none of them is the file's, and more may follow
        self._keep_plan(chains, kept, is_all)

    def _keep_plan(self, chains: list[Chain], kept: list[tuple[int, bool]], is_all: bool) -> None:
        kept = [step for step in kept if step[0] == 0 or chains[step[0]].count]
        # What comes last may look different when more is known.
        steps = kept if is_all else kept[: max(len(kept) // 2, 2)]
        for at, (number, dropped) in enumerate(steps):
            chain = chains[number]
            if at + 1 < len(kept):
                stop = chains[kept[at + 1][0]].first
            elif is_all and chain.state not in (Ends.ON, Ends.END):
                stop = self.reads.size
            else:
                break
            start = chain.done
            if dropped and chain.state is Ends.BROKEN and chain.count:
                start = chain.last
            whole = chain.state is Ends.BROKEN and chain.count > 0 and not dropped
            doubtful = whole and not self._is_sure(chain, stop)
            place = chain.done if chain.state is Ends.CUT else chain.end
            self._plan[place] = Resumption(start, stop, doubtful)

    def _is_sure(self, chain: Chain, stop: int) -> bool:
        """Return whether the last record of a chain is as it was written, as far as can be told."""
        rest = self.reads.size - chain.end
        if stop == self.reads.size and rest < HEADER_SIZE:
            return True
        if stop == _leads(self.reads, chain.end):
            return True
        return self._verdict(chain.last) is Verdict.SURE

    # What the chains hold.

    def _learn(self, chains: list[Chain]) -> Likeness:
        """Return what records of the file are like: the first ones, or those of the best chain."""
        offsets = self._starts(0)
        if len(offsets) < 8:
            best = max(chains, key=lambda chain: chain.done - chain.first)
            if best.count > 2:
                offsets += self._starts(best.first)
        looked_at = list(dict.fromkeys(offsets))
        self._sample = looked_at[-1] if looked_at else -1
        return Likeness(
            [content_of(self.reads, at, MOST if n < 8 else 0) for n, at in enumerate(looked_at)]
        )

    def _starts(self, at: int) -> list[int]:
        """Return where records start, from one on, but for the last before a break."""
        walk = Walk(at, self.reads.size, HEADER_SIZE)
        found: list[int] = []
        for _ in range(SAMPLE):
            data = self.reads.read(walk.position, READ)
            found += walk.feed(data, walk.position, SAMPLE)[0]
            if walk.status != WALKING or len(found) >= SAMPLE:
                break
        return found[:-1]

    def _verdict(self, record: int) -> Verdict:
        assert self._likeness is not None
        content = content_of(self.reads, record, 0)
        self.looked_at += min(content.size, 1 << 12)
        verdict = self._likeness.judge(content)
        if verdict is not Verdict.UNLIKE and content.over is None and content.kind is not None:
            if self.looked_at < FREE_BYTES + record:
                content = content_of(self.reads, record, MOST)
                self.looked_at += min(content.size, MOST)
                verdict = self._likeness.judge(content)
        return verdict

    def _likeness_of(self, chain: Chain, before: Chain) -> Verdict:
        """Return how like a chain's records are to those of the file; leave out a false first one."""
        assert self._likeness is not None
        verdicts = []
        size = (chain.done - chain.first) // max(chain.count, 1) - HEADER_SIZE
        most = Verdict.SURE if self._likeness.fits(size) else Verdict.UNKNOWN
        if chain.count:
            verdicts.append(self._verdict(chain.first))
        if chain.count > 2:
            verdicts.append(self._verdict(chain.second))
            if verdicts[0] is Verdict.UNLIKE and verdicts[1] >= Verdict.LIKE:
                chain.start = chain.first = chain.second
                verdicts = verdicts[1:]
        verdict = min(max(verdicts, default=Verdict.UNKNOWN), most)
        if chain.count and self._comes_later(chain, before) is False:
            return Verdict.UNLIKE
        return verdict

    def _comes_later(self, chain: Chain, before: Chain) -> bool | None:
        """Return whether ids say that a chain comes after another one; None if they say nothing."""
        assert self._likeness is not None
        first = content_of(self.reads, chain.first, 0)
        places = [self._sample] if 0 <= self._sample < chain.first else []
        places += [before.last] if before.count else []
        said = [
            self._likeness.comes_later(first, content_of(self.reads, at, 0), at) for at in places
        ]
        return False if False in said else True if True in said else None

    # The selection.

    def _select(self, chains: list[Chain], is_all: bool) -> list[tuple[int, bool]]:
        """Return the numbers of the chains that are kept, and whether each loses its last record.

        The first chain is kept in any case.
        """
        gaps = list(self._gaps(chains[0], _Path(0, 0), True))
        best: tuple[float, _Path, bool] | None = None
        for number, chain in enumerate(chains[1:], 1):
            verdict = self._likeness_of(chain, chains[0])
            path = self._closed(gaps, chain, number, verdict)
            for gap in gaps:
                _skip(gap, chain, verdict)
            if path is not None:
                opened = list(self._gaps(chain, path, False))
                gaps = sorted(gaps, key=_Gap.so_far)[:OPEN] + opened
                if chain.state in (Ends.END, Ends.ON) and (best is None or path.cost < best[0]):
                    best = path.cost, path, False
        ends = [] if best is None else [best]
        for gap in gaps:
            cost = gap.so_far()
            if is_all:
                cost = gap.path.cost + self._cost_of(gap, self.reads.size, None)
            ends.append((cost, gap.path, gap.dropped))
        _, path, dropped = min(ends, key=lambda end: end[0])
        kept = [(path.number, dropped)]
        while path.before is not None:
            kept.append((path.before.number, path.dropped))
            path = path.before
        return kept[::-1]

    def _gaps(self, chain: Chain, path: _Path, is_first: bool) -> Iterator[_Gap]:
        """Yield what may be lost after a chain: without its last record, and with it."""
        if chain.state in (Ends.ON, Ends.END):
            return
        verdict = Verdict.UNKNOWN
        whole = chain.count > 0 and chain.state is Ends.BROKEN
        if whole:
            verdict = self._verdict(chain.last)
        keeping = _Costs.KEPT[verdict] if whole else 0
        place = chain.end
        gap = _Gap(path, keeping, False, place, chain.done, place, place)
        gap.leads = _leads(self.reads, place)
        gap.may_lead = _may_lead(self.reads, place)
        yield gap
        if chain.tail >= 0 and (chain.count > 1 or is_first or not whole):
            dropping = _Costs.DROPPED[verdict] if whole else 0
            if whole and verdict >= Verdict.LIKE and self._has_its_size(chain.last):
                dropping += _Costs.ITS_SIZE
            begin = chain.last if whole else chain.done
            yield _Gap(
                path, dropping, True, chain.tail, begin, chain.tail + 4, chain.end, headed=True
            )

    def _has_its_size(self, record: int) -> bool:
        assert self._likeness is not None
        return self._likeness.has_size(_length_at(self.reads, record))

    def _closed(
        self, gaps: list[_Gap], chain: Chain, number: int, verdict: Verdict
    ) -> _Path | None:
        """Return the best explanation in which a chain is kept; None if there is none."""
        least, best = 0.0, None
        for gap in gaps:
            if chain.start < gap.beyond:
                continue
            cost = gap.path.cost + self._cost_of(gap, chain.start, chain)
            if best is None or cost < least:
                least, best = cost, gap
        if best is None:
            return None
        least += _Costs.OTHER[verdict]
        if chain.state is Ends.CUT and not chain.count:
            least += _Costs.CUT_CHAIN
        return _Path(least, number, best.path, best.dropped)

    def _cost_of(self, gap: _Gap, stop: int, chain: Chain | None) -> float:
        """Return what it costs that a gap goes to byte `stop`, where a chain starts."""
        if stop == gap.leads:
            return gap.cost + _Costs.EXPLAINED + 2 * gap.skipped
        missed = self._misfit(gap, stop)
        cost = gap.cost + _Costs.DAMAGE + min(missed, _Costs.MISFIT)
        cost += min(gap.alike, gap.held + missed)
        shift = (stop - gap.place) % 4 if chain is not None else 0
        if shift:
            cost += _Costs.SHIFTED
            if gap.headed and missed >= _Costs.MISFIT:
                cost += _Costs.TWICE
        elif gap.aligned:
            cost += _Costs.UNESCAPED * min(gap.aligned, 3)
        if gap.skipped:
            cost += self._too_large(stop - gap.begin)
        if chain is not None and chain.closed and stop == gap.place and chain.count:
            cost += _Costs.PARTS_LOST
        if gap.dropped:
            cost += self._wrong_length(gap.place, stop)
        return cost

    def _misfit(self, gap: _Gap, stop: int) -> int:
        """Return what tells that a record does not end, by its own length, where a gap ends."""
        misfit = _Costs.MISSED * abs(stop - gap.claim).bit_length()
        if gap.leads >= 0:
            misfit = min(misfit, _Costs.MISSED * abs(stop - gap.leads).bit_length())
        if stop in gap.may_lead:
            misfit = min(misfit, _Costs.SHIFTED_HEADER)
        if gap.headed:
            true = stop - gap.place - HEADER_SIZE
            wrong = (_length_at(self.reads, gap.place) ^ true) & ~3
            for byte, cost in enumerate(_Costs.WRONG_BYTE):
                if true > 0 and true % 4 == 0 and wrong & ~(0xFF << 8 * byte) == 0:
                    return min(misfit, cost)
        return misfit

    def _too_large(self, length: int) -> int:
        assert self._likeness is not None
        if not self._likeness.largest:
            return 0
        times = 3 * length // (4 * self._likeness.largest + 64)
        return _Costs.TOO_LARGE * times.bit_length()

    def _wrong_length(self, part: int, stop: int) -> int:
        """Return what tells that the length of a part, which should end at `stop`, was damaged."""
        length, true = _length_at(self.reads, part), stop - part - HEADER_SIZE
        if true < 0 or true % 4 or padded(length) == true:
            return 0
        missing = (length ^ true) & ~3
        if length % 4 == 0 and missing & (missing - 1) == 0:
            return _Costs.LOST_BIT
        changed = missing & -missing
        return _Costs.LOST_BYTE if missing < changed << 8 else 0


def _more(chains: list[Chain], sweep: Sweep) -> tuple[list[Chain], bool]:
    """Add chains of a sweep; return them, and whether they are all that matter."""
    while len(chains) < CHAINS:
        chain = sweep.next()
        if chain is None:
            return chains, True
        chains.append(chain)
        if chain.state is Ends.ON:
            return chains, True
    return chains, False


def _skip(gap: _Gap, chain: Chain, verdict: Verdict) -> None:
    """Count a chain as payload in a gap."""
    if chain.start == gap.place and chain.count == 0:
        gap.headed = True  # it is what is left of the first record in the gap
        return
    alike = 0
    if chain.count:
        alike = _Costs.ALIKE[verdict]
    if verdict >= Verdict.LIKE:
        alike += _Costs.MORE_ALIKE * min(chain.count.bit_length() - 1, 6)
    gap.alike += alike
    gap.held += alike // 3
    gap.cost += _Costs.MORE_PAYLOAD if gap.skipped else _Costs.PAYLOAD
    if chain.state in (Ends.END, Ends.ON):
        gap.cost += _Costs.END
    gap.skipped += 1
    gap.aligned += (chain.start - gap.place) % 4 == 0


def _length_at(reads: Reads, part: int) -> int:
    return split_lrec(int.from_bytes(reads.read(part + 4, 4), "little"))[1]


def _leads(reads: Reads, place: int) -> int:
    """Return where the part ends whose damaged header is at a place; -1 if its length is, too."""
    head = reads.read(place, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return reads.size if head else -1
    cflag, length = split_lrec(int.from_bytes(head[4:], "little"))
    left = sum(one == other for one, other in zip(head[:4], MAGIC_BYTES, strict=True))
    end = place + HEADER_SIZE + padded(length)
    return end if end <= reads.size and (left > 1 or (length and cflag <= LAST)) else -1


def _may_lead(reads: Reads, place: int) -> frozenset[int]:
    """Return where that part may end if bytes were put into its header or taken out of it."""
    data = reads.read(place, HEADER_SIZE + MOST_INSERTED)
    found = set()
    for lrec, extra in _lrecs(data):
        cflag, length = split_lrec(int.from_bytes(lrec, "little"))
        if cflag <= LAST and length:
            found.add(place + HEADER_SIZE + extra + padded(length))
    return frozenset(end for end in found if end <= reads.size)


def _lrecs(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the lrec of a header into which bytes were put, or from whose magic some are missing.

    With each comes how many bytes there are more.
    """
    for extra in range(-4, len(data) - HEADER_SIZE + 1):
        if extra == 0:
            continue
        yield data[4 + extra : 8 + extra], extra
        if extra > 0:
            for at in (5, 6, 7):
                yield data[4:at] + data[at + extra : 8 + extra], extra
