"""Where the chain of records goes on after damage.

After a break, the sweep of `chains` gives every chain there is, and `explaining` says which of them
are records of the file. What is decided for one break holds for those that follow it, as far as the
sweep has seen enough: so each byte is looked at a bounded number of times, and of a file with
millions of chains a few hundred are in memory.
"""

from __future__ import annotations

from typing import NamedTuple

from ._walk import Walk
from .causes import Cause, cause_of
from .chains import Chain, Reads, State, Sweep, chain_before
from .explaining import Explainer, Kept
from .framing import HEADER_SIZE
from .headers import has_header, leads_to, length_at, was_magic
from .judging import Judge
from .likeness import MOST, Verdict
from .sources import Source

LOOK = 1 << 20  # bytes of chains from which the file is learned, if its first records are damaged
CHAINS = 256  # that are looked at together
FEW_CHAINS = 8  # however long they are


class Resumption(NamedTuple):
    """Where the chain goes on.

    Attributes:
        start: first byte of what is lost.
        stop: byte after it: the start of a record, or the end of the file.
        doubtful: whether the record before it is kept, though its own bytes may have changed.
        cause: what probably happened.
    """

    start: int
    stop: int
    doubtful: bool
    cause: Cause | None


class Resync:
    """Finds where the chain of records goes on after damage, place after place in a file.

    Args:
        source: the file.

    Attributes:
        followed: headers of records and parts that were followed, so far.
    """

    def __init__(self, source: Source) -> None:
        self.followed = 0
        self._reads = Reads(source)
        self._judge = Judge(self._reads)
        self._explainer = Explainer(self._reads, self._judge)
        self._plan: dict[int, tuple[Chain, int, bool]] = {}  # by where a chain breaks

    def resume(self, walk: Walk, before: int) -> Resumption:
        """Return what is lost where a walk has stopped, and where the chain goes on.

        Args:
            walk: a walk that stopped at damage.
            before: where the last whole record starts that ends where the damaged one begins,
                or -1.
        """
        broken = walk.position
        if broken not in self._plan:
            self._plan_on(chain_before(self._reads, before, walk), broken)
        chain, stop, dropped = self._plan[broken]
        start = chain.last if dropped and chain.ends_whole else chain.done
        doubtful = chain.ends_whole and not dropped and not self._is_sure(chain, stop)
        cause = cause_of(self._reads, self._judge.likeness, chain, start, stop)
        return Resumption(start, stop, doubtful, cause)

    def _plan_on(self, chain: Chain, broken: int) -> None:
        """Plan how to go on after a chain, and after those that follow it."""
        start = min(broken, chain.tail + 4) if chain.tail >= 0 else broken
        self._learn(chain, start)
        ahead = self._judge.ahead
        sweep = Sweep(self._reads, start, ahead)
        chains, kept = [chain], [Kept(0, False)]
        is_all = False
        while not is_all and len(kept) == 1:  # none of them is the file's, and more may follow
            chains = [chain]
            is_all = _add(chains, sweep, ahead)
            kept = [
                one
                for one in self._explainer.select(chains, is_all)
                if one.number == 0 or chains[one.number].count
            ]
        self.followed += sweep.followed
        # What comes last may look different when more is known.
        steps = kept if is_all else kept[: max(len(kept) // 2, 1)]
        self._plan = {}
        for at, (number, dropped) in enumerate(steps):
            chain = chains[number]
            if at + 1 < len(kept):
                stop = chains[kept[at + 1].number].first
            elif chain.state in (State.ON, State.END):
                break
            else:
                stop = self._reads.size
            place = chain.done if chain.state is State.CUT else chain.end
            self._plan[place] = chain, stop, dropped or self._is_damaged(chain, stop)

    def _learn(self, chain: Chain, start: int) -> None:
        """Learn what the records of the file are like, if only of the chains that come next."""
        if not self._judge.learn([]):
            sweep, chains = Sweep(self._reads, start, LOOK), [chain]
            _add(chains, sweep, LOOK)
            self.followed += sweep.followed
            self._judge.learn(chains)

    def _is_damaged(self, chain: Chain, stop: int) -> bool:
        """Return whether the content of a chain's last record says that it is not whole."""
        if not chain.ends_whole or self._is_followed(chain, stop):
            return False
        if self._judge.record(chain.last) not in (Verdict.UNLIKE, Verdict.ENDS_OTHERWISE):
            return False
        # Its length is right if a magic was where it ends, and none is where a writer escapes it.
        start, length = chain.last + HEADER_SIZE, length_at(self._reads, chain.last)
        if length < self._judge.likeness.smallest // 2 or not was_magic(self._reads, chain.end):
            return True
        return has_header(self._reads.read(start, min(length, MOST)))

    def _is_sure(self, chain: Chain, stop: int) -> bool:
        """Return whether a chain's last record is as it was written, as far as can be told."""
        return self._is_followed(chain, stop) or self._judge.record(chain.last) is Verdict.SURE

    def _is_followed(self, chain: Chain, stop: int) -> bool:
        """Return whether a damaged header or a few bytes at the end of the file follow a chain."""
        is_last = stop == self._reads.size and stop - chain.end < HEADER_SIZE
        return is_last or stop == leads_to(self._reads, chain.end)


def _add(chains: list[Chain], sweep: Sweep, ahead: int) -> bool:
    """Add the chains of a sweep, of some more bytes; return whether they are all that matter."""
    length = 0
    while len(chains) < CHAINS and (length < 4 * ahead or len(chains) < FEW_CHAINS):
        chain = sweep.next()
        if chain is None:
            return True
        chains.append(chain)
        length += chain.done - chain.first
        if chain.state is State.ON:
            return True
    return False
