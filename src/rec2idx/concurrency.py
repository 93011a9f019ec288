"""Several files at once: how many, and in which order what they give comes out."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    InvalidStateError,
    ThreadPoolExecutor,
    wait,
)
from contextlib import closing, contextmanager, suppress
from typing import Any, Generic, TypeVar

from .paths import is_url
from .progress import Stopped, Together

T = TypeVar("T")
A = TypeVar("A")

# Files under way at once. On a disk some, since each index is flushed to it, which takes longer
# than to walk a small file; behind URLs, and where others do the work, more, since each waits.
LOCAL_FILES = 8
WAITING_FILES = 16
# Threads that walk segments, for all files under way together; and segments of one of them under
# way at once are so many that these are enough.
WALKERS = 32
AHEAD = 4  # items of a file that are kept until those of the files before it have been taken
PATIENCE = 0.1  # seconds after which somebody who waits looks up


def files_at_once(paths: Sequence[str], jobs: int | None, executor: Executor | None) -> int:
    """Return how many of some files to have under way at once."""
    most = WAITING_FILES if executor or any(map(is_url, paths)) else LOCAL_FILES
    return max(1, min(most, len(paths), jobs or most))


def jobs_of_each(jobs: int | None, at_once: int) -> int | None:
    """Return how many segments of each file to have under way: what is found is kept in memory."""
    return jobs if jobs is not None or at_once == 1 else max(2, WALKERS // at_once)


class Linked(Executor):
    """Passes work on to another executor; once it is stopped, nobody waits for that any more.

    Attributes:
        inner: the other executor.
    """

    def __init__(self, inner: Executor) -> None:
        self.inner = inner
        self._open: set[Future[Any]] = set()
        self._error: Exception | None = None

    def submit(self, function: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Have `function` called, or raise the error with which this was stopped."""
        if self._error is not None:
            raise self._error
        theirs = self.inner.submit(function, *args, **kwargs)
        ours: Future[T] = Future()
        self._open.add(ours)
        ours.add_done_callback(self._open.discard)
        ours.add_done_callback(lambda done: done.cancelled() and theirs.cancel())
        theirs.add_done_callback(lambda done: _pass_on(done, ours))
        if self._error is not None:  # meanwhile
            self.stop(self._error)
        return ours

    def stop(self, error: Exception) -> None:
        """Let all that is not done fail with `error`."""
        self._error = error
        for future in list(self._open):
            with suppress(InvalidStateError):
                future.set_exception(error)


def _pass_on(theirs: Future[T], ours: Future[T]) -> None:
    with suppress(InvalidStateError):
        if theirs.cancelled():
            ours.cancel()
        elif error := theirs.exception():
            ours.set_exception(error)
        else:
            ours.set_result(theirs.result())


@contextmanager
def walkers(executor: Executor | None, files: int) -> Iterator[Executor | None]:
    """Give who walks the segments of all files under way; None to let each file see to that.

    Whatever ends the block early wakes those who wait for a segment.
    """
    if files == 1:
        yield executor
        return
    pool = executor or ThreadPoolExecutor(WALKERS)
    linked = Linked(pool)
    try:
        yield linked
    finally:
        linked.stop(Stopped())
        if executor is None:
            pool.shutdown(wait=False, cancel_futures=True)


def in_parallel(
    function: Callable[[A], T],
    items: Iterable[A],
    at_once: int,
    together: Together | None = None,
    executor: Executor | None = None,
) -> list[T]:
    """Return what the function returns for each item, in their order.

    An error ends the run. Of several, that of the first item is raised, as if it were one by one.
    `together`, if given, is shown from time to time; it and `executor` are stopped when the run
    ends early.
    """
    if at_once == 1:
        return [function(item) for item in items]
    with ThreadPoolExecutor(at_once) as pool:
        futures: list[Future[T]] = []
        pending: set[Future[T]] = set()
        try:
            for item in items:
                futures.append(pool.submit(function, item))
                pending.add(futures[-1])
                if len(pending) >= 2 * at_once:  # so that none is without work
                    pending = _wait(pending, together)
            while pending:
                pending = _wait(pending, together)
        except BaseException as error:
            if together is not None:
                together.stop()
            if isinstance(executor, Linked):
                executor.stop(Stopped())
            pool.shutdown(wait=True, cancel_futures=True)
            if not isinstance(error, _FailedError):
                raise
        for future in futures:  # those before the one that failed have all begun
            failure = None if future.cancelled() else future.exception()
            if failure is not None and not isinstance(failure, Stopped):
                raise failure
        return [future.result() for future in futures]


class _FailedError(Exception):
    """One of the items."""


def _wait(pending: set[Future[T]], together: Together | None) -> set[Future[T]]:
    done, pending = wait(pending, PATIENCE, FIRST_COMPLETED)
    if any(future.exception() for future in done):
        raise _FailedError
    if together is not None:
        together.show()
    return pending


@contextmanager
def ahead(
    makers: Iterable[Callable[[], Generator[T, None, None]]],
    at_once: int,
    executor: Executor | None = None,
) -> Iterator[Iterator[Iterator[T]]]:
    """Run generators, several at once, each in a thread; give what they yield in their order.

    Args:
        makers: each makes a generator.
        at_once: how many run at once. Each is only a few items ahead of whoever takes them.
        executor: what they wait for; it is stopped at the end.
    """
    if at_once == 1:
        yield _one_by_one(makers)
        return
    waiting = iter(makers)
    running: deque[_Runner[T]] = deque()

    def in_order(pool: ThreadPoolExecutor) -> Iterator[Iterator[T]]:
        while True:
            while len(running) < at_once and (maker := next(waiting, None)) is not None:
                running.append(_Runner(maker))
                pool.submit(running[-1].run)
            if not running:
                return
            yield running[0].items()
            running.popleft().stop()

    with ThreadPoolExecutor(at_once) as pool:
        try:
            yield in_order(pool)
        finally:
            for runner in running:
                runner.stop()
            if isinstance(executor, Linked):
                executor.stop(Stopped())


def _one_by_one(makers: Iterable[Callable[[], Generator[T, None, None]]]) -> Iterator[Iterator[T]]:
    for maker in makers:
        with closing(maker()) as items:
            yield items


class _Runner(Generic[T]):
    """A generator in another thread."""

    def __init__(self, maker: Callable[[], Generator[T, None, None]]) -> None:
        self._maker = maker
        # Items in lists of one; an error; or None at the end.
        self._queue: queue.Queue[list[T] | BaseException | None] = queue.Queue(AHEAD)
        self._stopped = False

    def run(self) -> None:
        """Run the generator; what it raises is raised where its items are taken."""
        try:
            with closing(self._maker()) as items:
                for item in items:
                    self._put([item])
                    if self._stopped:
                        return
        except BaseException as error:
            self._put(error)
        else:
            self._put(None)

    def items(self) -> Iterator[T]:
        """Yield what the generator yields."""
        while (item := self._take()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield from item

    def stop(self) -> None:
        """Let the generator end; what it still yields is lost."""
        self._stopped = True

    def _take(self) -> list[T] | BaseException | None:
        # A signal that comes just before a wait is not noticed until the wait ends.
        while True:
            with suppress(queue.Empty):
                return self._queue.get(timeout=PATIENCE)

    def _put(self, item: list[T] | BaseException | None) -> None:
        while not self._stopped:
            with suppress(queue.Full):
                self._queue.put(item, timeout=PATIENCE)
                return
