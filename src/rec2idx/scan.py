"""From a source to batches of records, in file order: in parallel, and exact all the same.

The file is cut into segments. Each worker guesses where the first record of its segment starts,
and walks from there. The segments are then joined in file order by one who knows where the true
chain of records stands: what a segment found is taken from the place where the chain meets it. If
it does not meet it at once, the chain is walked on until it does, or until the segment ends. So
the result is always that of one walk from the first byte; a guess only decides how fast that is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from . import _walk
from .damage import DamagedRegion, error_of, is_damage, region_of, wrong_length
from .errors import DamagedRecordError
from .paths import StrPath
from .segments import BATCH, NEVER, Batch, Piece, Segment, Walker, without_padding
from .sources import Source, Stream, opened
from .streams import scan_stream
from .workers import SEGMENT_BYTES, Plan, Workers, is_elsewhere, require_positive

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .resync import Resync

# Before a file is cut into segments, so many bytes of it are walked, for so many seconds, to see
# what is in it; and it is not cut where the rest takes no longer than threads take to start.
FIRST_BYTES = 1 << 20
LOOK = 0.005
WORTH = 0.05


# Called with each damaged region; None to raise at the first one.
Salvage: TypeAlias = Callable[[DamagedRegion], object] | None


def scan(
    record: StrPath | BinaryIO | Source | Stream,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    segment_size: int | None = None,
    block_size: int | None = None,
    heads: int = 0,
    salvage: Salvage = None,
    strict: bool = False,
) -> Generator[Batch, None, None]:
    """Walk through a file; yield its records in batches, in file order.

    What is yielded, but for the lengths of the batches, and what is raised depends only on the
    bytes of the file.

    Args:
        record: path of the record file; or a file object, which is read once, without seeking.
        jobs: segments of the file walked at once; None for what suits the machine and the storage.
        executor: who walks them; None for threads of this process.
        segment_size: bytes of a segment; None to suit the records.
        block_size: bytes of one read; None to suit the storage.
        heads: so many bytes of each payload are wanted in the batches, 120 at most: 24 for the
            IRHeader of image records, for instance.
        salvage: called with each damaged region, in file order, after the records before it were
            yielded; the walk then goes on at the next record of the file. None to raise at the
            first one. A stream cannot be read again after damage, so there it raises too.
        strict: with `salvage`, leave out the records, too, that are whole as far as can be seen,
            but next to damage that may have changed their own bytes.

    Raises, after the last whole record was yielded:
        NotRecordIOError: the file is something else.
        DamagedRecordError: the chain of parts breaks; with `salvage`, no record at all is whole.
        FileChangedError: the file changed while it was read.
        WorkerError: a worker of `executor` does not see the file.
        OSError: a read failed.

    >>> for batch in scan("examples/sample.rec"):
    ...     print(batch.first, len(batch), list(batch.offsets[:2]), list(batch.sizes[:2]))
    0 24 [0, 2444] [2435, 2440]
    """
    require_positive("jobs", jobs)
    if segment_size is not None and segment_size < 4:
        raise ValueError(f"segment_size is {segment_size}, expected at least 4 bytes")
    if block_size is not None and block_size < 8:
        raise ValueError(f"block_size is {block_size}, expected at least 8 bytes")
    with opened(record) as source:
        if isinstance(source, Stream):
            yield from scan_stream(source, heads)
            return
        chain = _Chain(source, block_size, heads, salvage, strict)
        if jobs == 1 and executor is None:
            yield from chain.walk_on()
        else:
            yield from _share(chain, jobs, executor, segment_size)
        yield from chain.rest()
        source.require_unchanged()


def _share(
    chain: _Chain, jobs: int | None, executor: Executor | None, segment_size: int | None
) -> Iterator[Batch]:
    """Walk the file together with others, as far as that is worth it."""
    source = chain.source
    elsewhere = is_elsewhere(executor)
    if segment_size is None and elsewhere and source.size <= SEGMENT_BYTES:
        segment_size = max(source.size, 4)  # so that others do even the first look
    else:
        seconds = yield from _look(chain, min(segment_size or FIRST_BYTES, FIRST_BYTES))
        if segment_size is None and not elsewhere and seconds < WORTH:
            yield from chain.walk_on()
    if chain.ended:
        return
    mean = chain.position // max(chain.count, 1)
    plan = Plan(
        source, chain.position, mean, jobs, segment_size, chain.block, chain.heads, elsewhere
    )
    if not elsewhere and source.size - chain.position <= plan.segment_size:
        yield from chain.walk_on()
        return
    with Workers(source, plan, executor) as workers:
        for segment in workers.segments(chain.position):
            yield from chain.join(segment)
            if chain.ended:
                return
    yield from chain.walk_on()


def _look(chain: _Chain, stop: int) -> Generator[Batch, None, float]:
    """Walk the first records, which tell how large they are; return the seconds the rest takes."""
    began = time.perf_counter()
    elapsed = 0.0
    while not chain.ended and chain.position < chain.source.size:
        yield from chain.walk_on(stop)
        elapsed = time.perf_counter() - began
        if elapsed > LOOK or stop < FIRST_BYTES:
            break
        stop = 2 * chain.position
    if chain.ended or chain.position == 0:
        return 0.0
    return elapsed * (chain.source.size - chain.position) / chain.position


class _Chain:
    """The true chain of records, from the first byte on."""

    def __init__(
        self, source: Source, block: int | None, heads: int, salvage: Salvage, strict: bool
    ) -> None:
        self.source = source
        self.block = block
        self.heads = heads
        self.position = 0  # where the next record starts
        self.count = 0  # records before it
        self.ended = False
        self._salvage = salvage
        self._strict = strict
        # With salvage, the last batch is held back: its last record may turn out to be damaged.
        self._held: Batch | None = None
        self._search: Resync | None = None

    def walk_on(self, stop: int = NEVER, segment: Segment | None = None) -> Iterator[Batch]:
        """Walk until `stop` is passed, or the chain meets the records of `segment`."""
        if self.ended or self.position >= stop or self._meets(segment):
            return
        walker = Walker(self.source, self.position, stop, self.block, self.heads)
        walk = walker.walk
        while not self.ended:
            while walk.status == _walk.WALKING:
                # A few records at first: the chain mostly meets a segment soon or never.
                if piece := walker.records(64 if segment else BATCH):
                    yield from self._take(piece)
                    if self._meets(segment):
                        return
            if walk.status == _walk.PASSED:
                return
            if walk.status == _walk.END:
                self.ended = True
                return
            yield from self._pass_over(walk)
            if self._meets(segment):
                return
            walker.restart(self.position)

    def join(self, segment: Segment) -> Iterator[Batch]:
        """Take the records of a segment that belong to the chain, and walk those it lacks."""
        yield from self.walk_on(segment.stop, segment)
        if self.ended or self.position >= segment.stop:
            return
        for piece in segment.from_record(self.position):
            yield from self._take(piece)
        yield from self.walk_on(segment.stop)

    def rest(self) -> Iterator[Batch]:
        """Yield what is held back."""
        if self._held is not None:
            yield self._held
            self._held = None

    def _take(self, piece: Piece) -> Iterator[Batch]:
        yield from self.rest()
        batch = Batch(self.count, *piece)
        self.count += len(batch)
        self.position = batch.stop
        if self._salvage is None:
            yield batch
        else:
            self._held = batch

    def _pass_over(self, walk: _walk.Walk) -> Iterator[Batch]:
        """Go on behind the damage at which a walk has stopped, or raise what says so."""
        error = error_of(walk, self.source, self.count)
        if self._salvage is None or not is_damage(error):
            raise error
        if isinstance(error, DamagedRecordError) and error.reason == "cut-padding":
            yield from self._take(without_padding(self.source, self.position, self.heads))
            yield from self.rest()
            self._salvage(region_of(error, walk.size, walk.size, self.count))
            self.ended = True
            return
        held = self._held
        before = held.offsets[-1] if held is not None and held.stop == self.position else -1
        lost = self._resync().resume(walk, before)
        start = before if lost.doubtful and self._strict else lost.start
        if start == before and held is not None:
            self.count -= 1
            self._held = held.without_last()
            if lost.start == before:
                error = wrong_length(error, before, walk.position)
        if self.count == 0 and lost.stop == self.source.size:
            raise error  # nothing is whole
        yield from self.rest()
        region = region_of(error, start, lost.stop, self.count, lost.doubtful, lost.cause)
        self._salvage(region)
        self.position = lost.stop
        self.ended = lost.stop == self.source.size

    def _resync(self) -> Resync:
        if self._search is None:
            from .resync import Resync  # few files are damaged

            self._search = Resync(self.source)
        return self._search

    def _meets(self, segment: Segment | None) -> bool:
        return segment is not None and bool(segment.from_record(self.position))
