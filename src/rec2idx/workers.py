"""Who walks the segments of a file, how large they are, and how many are under way at once."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .errors import RecordIOError, WorkerError
from .progress import Stopped
from .segments import (
    GUESS_BLOCK,
    REMOTE_BLOCK,
    Manner,
    Segment,
    reads_headers,
    walk_segment_again,
    walk_segment_at,
)
from .sources import LocalFile, Source

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# A segment should hold so many records that starting it costs nothing beside walking it, and so few
# that many of them fit into memory: 16 bytes a record are kept.
SEGMENT_RECORDS = 1 << 16
SEGMENT_BYTES = 1 << 26
FEW_RECORDS = 256  # a segment has at least so many, or searching for its start costs too much
LARGE = 1 << 15  # bytes a record, from which single headers are read where a disk is slow
# Segments under way at once: on a disk that has to be waited for; at a storage that sends blocks,
# which are kept in memory; at one that is asked for single headers; and on other machines.
DISK_JOBS = 32
BLOCK_JOBS = 16
HEADER_JOBS = 64
ELSEWHERE_JOBS = 32


def is_elsewhere(executor: Executor | None) -> bool:
    """Return whether an executor's workers do not share the open files of this process."""
    if executor is None:
        return False
    from concurrent.futures import ThreadPoolExecutor

    return not isinstance(getattr(executor, "inner", executor), ThreadPoolExecutor)


class Plan:
    """How the rest of a file is cut into segments, and how many are under way at once.

    Args:
        source: the file.
        position: where the rest begins.
        mean: bytes a record, of those before it; 0 if none are known.
        jobs: segments under way at once, None for what suits.
        segment_size: bytes of a segment, None for what suits.
        block: bytes of one read, None for what suits.
        heads: bytes of each payload that are wanted in the heads of records; 0 for no heads.
        elsewhere: whether other processes walk them.
    """

    def __init__(
        self,
        source: Source,
        position: int,
        mean: int,
        jobs: int | None,
        segment_size: int | None,
        block: int | None,
        heads: int,
        elsewhere: bool,
    ) -> None:
        self._local = isinstance(source, LocalFile)
        self._fixed = jobs is not None
        self._mean = mean
        rest = source.size - position
        if self._local:
            suits = min(_cores(), DISK_JOBS)
            size = max(min(SEGMENT_RECORDS * mean, SEGMENT_BYTES), FEW_RECORDS * mean)
            step = GUESS_BLOCK
        elif reads_headers(mean):
            suits = HEADER_JOBS
            size = min(max(rest // HEADER_JOBS, FEW_RECORDS // 8 * mean), SEGMENT_RECORDS * mean)
            step = min(mean // 8, REMOTE_BLOCK)  # half a record lies before the next start
        else:
            suits = BLOCK_JOBS
            size = min(max(rest // (2 * BLOCK_JOBS), 2 * REMOTE_BLOCK), SEGMENT_BYTES)
            size = min(size, max(SEGMENT_RECORDS * mean, 2 * REMOTE_BLOCK))
            step = REMOTE_BLOCK  # what is read in search of a start is walked as well
        self.jobs = jobs or (ELSEWHERE_JOBS if elsewhere else suits)
        self.segment_size = ((segment_size or size or SEGMENT_BYTES) + 3) & ~3
        within = max(4 * mean, GUESS_BLOCK)
        self.manner = Manner(4 * SEGMENT_RECORDS, within, step, block, heads)

    def learn(self, segment: Segment) -> None:
        """Have more segments under way where each of them waits for a disk, header by header."""
        if self._local and not self._fixed and self._mean >= LARGE and segment.waiting > 0.5:
            self.jobs = min(2 * self.jobs, DISK_JOBS)


def require_positive(name: str, value: int | None) -> None:
    """Raise a ValueError for a number below 1; None stands for what suits."""
    if value is not None and value < 1:
        raise ValueError(f"{name} is {value}, expected at least 1")


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


class Workers:
    """Who walks the segments: threads of this process, or somebody else's executor."""

    def __init__(self, source: Source, plan: Plan, executor: Executor | None) -> None:
        self._source = source
        self._plan = plan
        self._pending: deque[tuple[int, int, Future[Segment] | None]] = deque()
        self._abandoned = False
        self._elsewhere = is_elsewhere(executor)
        self._executor = executor
        self._own: list[Executor] = []  # pools of this process, of which the last one is in use
        self._threads = 0  # in the last one

    def segments(self, position: int) -> Iterator[Segment]:
        """Yield the segments of the rest of the file, in order."""
        size = self._plan.segment_size
        starts = iter(range(position, self._source.size, size))
        while True:
            # One more than can be walked, so that nobody waits while the result is written.
            while len(self._pending) <= self._plan.jobs and (start := next(starts, -1)) >= 0:
                stop = min(start + size, self._source.size)
                self._pending.append((start, stop, self._submit(start, stop)))
            if not self._pending:
                return
            segment = self._result(*self._pending[0])
            self._pending.popleft()
            self._plan.learn(segment)
            yield segment

    def _submit(self, start: int, stop: int) -> Future[Segment] | None:
        """Ask for a segment; None where the executor takes no more."""
        args = (self._source, start, stop, self._plan.manner)
        if self._executor is None:
            return self._pool().submit(walk_segment_again, *args, self._is_abandoned)
        try:
            if self._elsewhere:
                return self._executor.submit(walk_segment_at, self._source.location(), *args[1:])
            return self._executor.submit(walk_segment_again, *args, self._is_abandoned)
        except Stopped:
            raise
        except Exception:  # broken or shut down, each in its own way: the chain is walked here
            return None

    def _is_abandoned(self) -> bool:
        return self._abandoned

    def _pool(self) -> Executor:
        """Return a pool with as many threads as there are to be segments under way."""
        if self._threads < self._plan.jobs:
            from concurrent.futures import ThreadPoolExecutor

            self._threads = self._plan.jobs
            self._own.append(ThreadPoolExecutor(self._threads))
        return self._own[-1]

    def _result(self, start: int, stop: int, future: Future[Segment] | None) -> Segment:
        """Return a segment. Where its worker failed it is empty, and the chain is walked here."""
        try:
            if future is not None:
                return future.result()
        except (WorkerError, Stopped):
            raise
        except (OSError, RecordIOError):
            pass  # it concerns us only if the chain gets there
        except Exception as error:
            if not self._elsewhere and not (future and future.cancelled()):
                raise
            _require_same_version(error, self._source.path)  # or else the worker died
        return Segment(start, stop, [])

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        self._abandoned = True
        # Who is interrupted does not wait: a segment may be that of a server that does not answer.
        patient = kind is None or (
            issubclass(kind, (Exception, GeneratorExit)) and kind is not Stopped
        )
        left = [future for *_, future in self._pending if future and not future.cancel()]
        for pool in self._own:
            pool.shutdown(wait=patient, cancel_futures=True)
        if left and patient and not self._elsewhere:
            from concurrent.futures import wait

            wait(left)  # they read from a file that is about to be closed


def _require_same_version(error: BaseException | None, path: str) -> None:
    """Raise `WorkerError` if a worker failed since it lacks this package, or has an older one."""
    while error is not None:
        if isinstance(error, (ImportError, AttributeError, TypeError)):
            raise WorkerError(
                f"where the workers run, this version of rec2idx cannot: {error}",
                path=path,
                advice="install the same version there, and where their scheduler runs",
            )
        error = error.__cause__ or error.__context__
