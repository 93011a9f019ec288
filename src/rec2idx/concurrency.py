"""Several files at once: how many, and in which order what they give comes out."""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager, suppress
from typing import Generic, TypeVar

from .progress import Stopped, Together
from .sources import is_url

T = TypeVar("T")
A = TypeVar("A")

# Files under way at once. On a disk some, since each index is flushed to it, which takes longer
# than to walk a small file; behind URLs, and where others do the work, more, since each waits.
LOCAL_FILES = 8
WAITING_FILES = 16
# Threads that walk segments, for all files under way together: so much memory is bounded.
WALKERS = 32
AHEAD = 4  # items of a file that are kept until those of the files before it have been taken
PATIENCE = 0.1  # seconds after which somebody who waits looks up


def files_at_once(paths: Sequence[str], jobs: int | None, executor: Executor | None) -> int:
    """Return how many of some files to have under way at once."""
    most = WAITING_FILES if executor or any(map(is_url, paths)) else LOCAL_FILES
    return max(1, min(most, len(paths), jobs or most))


@contextmanager
def walkers(executor: Executor | None, files: int) -> Iterator[Executor | None]:
    """Give who walks the segments of all files under way; None to let each file see to that."""
    if executor is not None or files == 1:
        yield executor
    else:
        with ThreadPoolExecutor(WALKERS) as pool:
            yield pool


def in_parallel(
    function: Callable[[A], T],
    items: Iterable[A],
    at_once: int,
    together: Together | None = None,
) -> list[T]:
    """Return what the function returns for each item, in their order.

    An error ends the run. Of several, that of the first item is raised, as if it were one by one.
    `together`, if given, is shown from time to time, and stopped when the run ends early.
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
    makers: Sequence[Callable[[], Generator[T, None, None]]], at_once: int
) -> Iterator[Iterator[Iterator[T]]]:
    """Run generators, several at once, each in a thread; give what they yield in their order.

    Args:
        makers: each makes a generator.
        at_once: how many run at once. Each is only a few items ahead of whoever takes them.
    """
    if at_once == 1:
        yield (maker() for maker in makers)
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
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield from item

    def stop(self) -> None:
        """Let the generator end; what it still yields is lost."""
        self._stopped = True

    def _put(self, item: list[T] | BaseException | None) -> None:
        while not self._stopped:
            with suppress(queue.Full):
                self._queue.put(item, timeout=PATIENCE)
                return
