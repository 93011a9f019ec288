"""From a source to batches of records, in file order: in parallel, and exact all the same.

The file is cut into segments. Each worker guesses where the first record of its segment starts,
and walks from there. The segments are then joined in file order by one who knows where the true
chain of records stands: what a segment found is taken from the place where the chain meets it. If
it does not meet it at once, the chain is walked on until it does, or until the segment ends. So
the result is always that of one walk from the first byte; a guess only decides how fast that is.
"""

from __future__ import annotations

import os
import time
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, BinaryIO

from . import _walk
from .damage import error_of
from .errors import WorkerError
from .segments import BATCH, NEVER, Batch, Segment, Walker, walk_segment, walk_segment_at
from .sources import LocalFile, Source, Stream, StrPath, opened
from .streams import scan_stream

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# A segment should hold so many records that starting it costs nothing beside walking it, and so few
# that many of them fit into memory: 16 bytes a record are kept.
SEGMENT_RECORDS = 1 << 16
SEGMENT_BYTES = 1 << 26
# Before a file is cut into segments, so many bytes of it are walked, for so many seconds, to see
# what is in it; and it is not cut where the rest takes no longer than threads take to start.
FIRST_BYTES = 1 << 20
LOOK = 0.005
WORTH = 0.05
FEW_RECORDS = 256  # a segment has at least so many, or searching for its start costs too much
# Segments under way at once where waiting for storage is what takes the time.
MOST_WAITING = 32
REMOTE_JOBS = 16
LARGE = 1 << 15  # bytes a record, from which single headers are read where storage is slow


def scan(
    record: StrPath | BinaryIO | Source | Stream,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    segment_size: int | None = None,
    block_size: int | None = None,
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

    Raises, after the last whole record was yielded:
        NotRecordIOError: the file is something else.
        DamagedRecordError: the chain of parts breaks.
        FileChangedError: the file changed while it was read.
        WorkerError: a worker of `executor` does not see the file.
        OSError: a read failed.

    >>> for batch in scan("examples/sample.rec"):
    ...     print(batch.first, len(batch), list(batch.offsets[:2]), list(batch.sizes[:2]))
    0 24 [0, 2444] [2435, 2440]
    """
    if jobs is not None and jobs < 1:
        raise ValueError(f"jobs is {jobs}, expected at least 1")
    if segment_size is not None and segment_size < 4:
        raise ValueError(f"segment_size is {segment_size}, expected at least 4 bytes")
    with opened(record) as source:
        if isinstance(source, Stream):
            yield from scan_stream(source)
            return
        chain = _Chain(source, block_size)
        if jobs == 1 and executor is None:
            yield from chain.walk_on()
        else:
            seconds = yield from _look(chain, min(segment_size or FIRST_BYTES, FIRST_BYTES))
            if segment_size is None and executor is None and seconds < WORTH:
                yield from chain.walk_on()
            elif not chain.ended:
                yield from _in_parallel(chain, _Plan(chain, jobs, segment_size), executor)
        source.require_unchanged()


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

    def __init__(self, source: Source, block: int | None) -> None:
        self.source = source
        self.block = block
        self.position = 0  # where the next record starts
        self.count = 0  # records before it
        self.ended = False

    def walk_on(self, stop: int = NEVER, segment: Segment | None = None) -> Iterator[Batch]:
        """Walk until `stop` is passed, or the chain meets the records of `segment`."""
        if self.position >= stop or self._meets(segment):
            return
        walker = Walker(self.source, self.position, stop, self.block)
        walk = walker.walk
        while walk.status == _walk.WALKING:
            # A few records at first: the chain mostly meets a segment soon or never.
            offsets, sizes = walker.records(64 if segment else BATCH)
            if offsets:
                yield self._take(offsets, sizes, walker.end)
                if self._meets(segment):
                    return
        if walk.status == _walk.END:
            self.ended = True
        elif walk.status != _walk.PASSED:
            raise error_of(walk, self.source, self.count)

    def join(self, segment: Segment) -> Iterator[Batch]:
        """Take the records of a segment that belong to the chain, and walk those it lacks."""
        yield from self.walk_on(segment.stop, segment)
        if self.ended or self.position >= segment.stop:
            return
        at = bisect_left(segment.offsets, self.position)
        if at == 0:
            yield self._take(segment.offsets, segment.sizes, segment.end)
        elif at < len(segment.offsets):
            yield self._take(segment.offsets[at:], segment.sizes[at:], segment.end)
        yield from self.walk_on(segment.stop)

    def _take(self, offsets: array[int], sizes: array[int], end: int) -> Batch:
        batch = Batch(self.count, offsets, sizes, end)
        self.count += len(offsets)
        self.position = end
        return batch

    def _meets(self, segment: Segment | None) -> bool:
        if segment is None:
            return False
        at = bisect_left(segment.offsets, self.position)
        return at < len(segment.offsets) and segment.offsets[at] == self.position


class _Plan:
    """How the rest of a file is cut into segments, and how many are under way at once."""

    def __init__(self, chain: _Chain, jobs: int | None, segment_size: int | None) -> None:
        self.mean = chain.position // max(chain.count, 1)  # bytes a record
        if segment_size is None:
            segment_size = min(SEGMENT_RECORDS * self.mean, SEGMENT_BYTES)
            segment_size = max(segment_size, FEW_RECORDS * self.mean)
        self.segment_size = (segment_size + 3) & ~3
        self.local = isinstance(chain.source, LocalFile)
        self.fixed = jobs is not None
        self.jobs = jobs or (_cores() if self.local else REMOTE_JOBS)
        self.search = max(4 * self.mean, 1 << 16)

    def learn(self, segment: Segment) -> None:
        """Have more segments under way where each of them waits for storage, header by header."""
        if self.local and not self.fixed and self.mean >= LARGE and segment.waiting > 0.5:
            self.jobs = min(2 * self.jobs, MOST_WAITING)


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def _in_parallel(chain: _Chain, plan: _Plan, executor: Executor | None) -> Iterator[Batch]:
    """Have the rest of the file walked in segments, and join them."""
    size = chain.source.size
    if executor is None and size - chain.position <= plan.segment_size:
        yield from chain.walk_on()
        return
    starts = iter(range(chain.position, size, plan.segment_size))
    with _Workers(chain, plan, executor) as workers:
        pending: deque[tuple[int, Future[Segment] | None]] = deque()
        while not chain.ended:
            # One more than can be walked, so that nobody waits while the result is written.
            while len(pending) <= plan.jobs and (start := next(starts, None)) is not None:
                pending.append((start, workers.submit(start)))
            if not pending:
                yield from chain.walk_on()
                break
            start, future = pending.popleft()
            segment = workers.result(future, start)
            plan.learn(segment)
            yield from chain.join(segment)


class _Workers:
    """Who walks the segments: threads of this process, or somebody else's executor."""

    def __init__(self, chain: _Chain, plan: _Plan, executor: Executor | None) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._chain = chain
        self._plan = plan
        self._abandoned = False
        self._own = None
        if executor is None:
            executor = self._own = ThreadPoolExecutor(max(plan.jobs, MOST_WAITING))
        self._executor = executor
        self._shares = isinstance(executor, ThreadPoolExecutor)  # this process's open files

    def submit(self, start: int) -> Future[Segment] | None:
        """Ask for a segment; None where the executor takes no more."""
        plan = self._plan
        stop = min(start + plan.segment_size, self._chain.source.size)
        args = (start, stop, 4 * SEGMENT_RECORDS, plan.search, self._chain.block)
        source = self._chain.source
        try:
            if self._shares:
                return self._executor.submit(walk_segment, source, *args, lambda: self._abandoned)
            return self._executor.submit(walk_segment_at, source.location(), *args)
        except RuntimeError:  # broken or shut down: the chain is then walked here
            return None

    def result(self, future: Future[Segment] | None, start: int) -> Segment:
        """Return a segment. Where its worker failed it is empty, and the chain is walked here."""
        stop = min(start + self._plan.segment_size, self._chain.source.size)
        if future is not None:
            try:
                return future.result()
            except WorkerError:
                raise
            except Exception:
                # A worker died, or met a fault that concerns us only if the chain gets there.
                pass
        return Segment(start, stop, array("q"), array("q"), start)

    def __enter__(self) -> _Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self._abandoned = True
        if self._own is not None:
            self._own.shutdown(wait=True, cancel_futures=True)
