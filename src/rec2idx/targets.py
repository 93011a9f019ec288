"""Where new files go, and what they may replace there.

Every file that a command makes for somebody goes through `new_files`: all of those that belong
together appear, or none does. A new record file, list or image replaces nothing. An index replaces
an index, told by its content and not by its name, and only the one that stood there when the run
looked, unchanged. The last look and the replacing are one step wherever the system has one.
"""

from __future__ import annotations

import os
from _thread import start_new_thread
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from threading import Event, Lock

from .errors import UnsafeTargetError
from .paths import is_url
from .sinks import Sink
from .sources import Source, Stream


class Target(ABC):
    """Where a new file goes: what stands there is looked at when this is made.

    Args:
        path: its path or URL.
        what: what the new file is, in messages.
        replaces_index: whether it is an index, which may replace another one.
        advice: what to do where something stands in its way.

    Attributes:
        path: as given.
        local: whether it is on this machine.
        replaced: whether an index stands there that is to be replaced.
    """

    local = True
    replaced = False

    def __init__(
        self, path: str, what: str, replaces_index: bool, advice: str | None = None
    ) -> None:
        self.path = path
        self.what = what
        self.replaces_index = replaces_index
        self._advice = advice or "give it another name, or remove that file first"

    @abstractmethod
    def require_other(self, source: Source | Stream) -> None:
        """Refuse to replace what the new file is made from, under whatever name or link.

        Raises:
            UnsafeTargetError: they are the same.
        """

    @abstractmethod
    def require_room(self) -> None:
        """Refuse to replace what may not be replaced.

        Raises:
            UnsafeTargetError: something stands there that is no index, or any file where the new
                one replaces none.
            OSError: nothing can be written there.
        """

    @abstractmethod
    def opened(self) -> AbstractContextManager[Sink]:
        """Give what takes the bytes; at the end they are gone if they were not published."""

    @abstractmethod
    def settle(self) -> None:
        """Do all that takes long or may fail, so that publishing is one short step."""

    @abstractmethod
    def publish(self) -> None:
        """Give the file its name.

        Raises:
            UnsafeTargetError: something stands there that was not there before.
            OSError: it cannot be done.
        """

    @abstractmethod
    def withdraw(self) -> None:
        """Take a file that was published away again, if it can be told that it is this one."""

    def itself(self, source: Source | Stream) -> UnsafeTargetError:
        """Return the error for a target that is the source."""
        what = "index" if self.replaces_index else "new file"
        return UnsafeTargetError(
            f"the {what} would replace the record file {source.path} itself",
            path=self.path,
            advice=f"give the {what} another name",
        )

    def taken(self) -> UnsafeTargetError:
        """Return the error for a new file where one stands already."""
        return UnsafeTargetError(
            f"a file stands there already, and a new {self.what} replaces none",
            path=self.path,
            advice=self._advice,
        )

    def not_an_index(self, thing: str) -> UnsafeTargetError:
        """Return the error for an index that would replace another thing."""
        return UnsafeTargetError(
            f"the index would replace {thing}",
            path=self.path,
            advice="give the index another name, or remove that file",
        )

    def swapped(self) -> UnsafeTargetError:
        """Return the error for an index that would replace a record file."""
        return UnsafeTargetError(
            "the index would replace a RecordIO file",
            path=self.path,
            advice="are the two paths swapped? The record file comes first, then the index",
        )

    def in_use(self) -> UnsafeTargetError:
        """Return the error for an empty file that somebody is about to write."""
        return UnsafeTargetError(
            "the index would replace an empty file that another program has open for writing",
            path=self.path,
            advice="give the index another name, or run again once that program is done",
        )

    def changed(self) -> UnsafeTargetError:
        """Return the error for what came there, or changed, after the look at it."""
        if not self.replaces_index:
            return self.taken()
        return UnsafeTargetError(
            "another program wrote there while the index was made, and that is not replaced",
            path=self.path,
            advice="look at what is there now; run again if it may be replaced",
        )


def target_at(
    path: str, what: str = "index", *, replaces_index: bool = False, advice: str | None = None
) -> Target:
    """Return the target for a path or URL; what stands there is looked at now."""
    if is_url(path):
        from .remote_target import RemoteTarget  # imports fsspec

        return RemoteTarget(path, what, replaces_index, advice)
    from .local_target import DirectTarget, LocalTarget, takes_bytes_directly

    kind = DirectTarget if takes_bytes_directly(path) else LocalTarget
    return kind(path, what, replaces_index, advice)


def new_target(
    path: str, what: str, *sources: Source | Stream, advice: str | None = None
) -> Target:
    """Return the target for a new file, where nothing may stand.

    Args:
        path: its path or URL.
        what: what it is, such as "record file".
        sources: what it is made from.
        advice: what to do where something stands.

    Raises:
        UnsafeTargetError: something stands there.
        OSError: nothing can be written there.
    """
    return _checked(target_at(path, what, advice=advice), sources)


def index_target(path: str, *sources: Source | Stream) -> Target:
    """Return the target for an index, where nothing may stand but an index.

    Args:
        path: its path or URL.
        sources: the files that it is made from.

    Raises:
        UnsafeTargetError: something else stands there.
        OSError: nothing can be written there.
    """
    return _checked(target_at(path, replaces_index=True), sources)


def _checked(target: Target, sources: tuple[Source | Stream, ...]) -> Target:
    for source in sources:
        target.require_other(source)
    target.require_room()
    return target


def require_two_files(path: str, other: str, what: str = "index") -> None:
    """Refuse one path for a new record file and for what goes with it.

    Raises:
        UnsafeTargetError: they are the same.
    """
    if _place(other) == _place(path):
        raise UnsafeTargetError(
            f"the new record file and its {what} would be the same file",
            path=other,
            advice=f"give the {what} another name",
        )


def _place(path: str) -> object:
    if is_url(path):
        from .remote_target import place_of  # imports fsspec

        return place_of(path)
    return os.path.realpath(path)


class Written:
    """The files that got their names in this process.

    Attributes:
        count: how many.
        last: the paths of the last few.
    """

    def __init__(self) -> None:
        self.count = 0
        self.last: deque[str] = deque(maxlen=3)

    def add(self, path: str) -> None:
        """Count one more."""
        self.count += 1
        self.last.append(path)

    def clear(self) -> None:
        """Forget them all."""
        self.count = 0
        self.last.clear()


written = Written()  # what a command says when it is interrupted


@contextmanager
def new_files(*targets: Target) -> Iterator[list[Sink]]:
    """Give a sink for each target; if the block ends without an error, all files are there.

    They appear one after the other, in this order, once the bytes of all are on the disk. Should
    one of them fail to, those before it are taken away again: so only the last may replace an
    index. On this machine, Ctrl-C waits until either is done.

    Only a process that is killed in between leaves some of them without the others; and where some
    are on another machine, one that is interrupted while the second is sent there.

    Raises:
        UnsafeTargetError: something stands at a target by now.
        OSError: writing failed.
    """
    with ExitStack() as stack:
        sinks = [stack.enter_context(target.opened()) for target in targets]
        yield sinks
        for target in reversed(targets):
            target.settle()
        if all(target.local for target in targets):
            uninterrupted(lambda: _publish(targets))
        else:
            _publish(targets)


def _publish(targets: tuple[Target, ...]) -> None:
    published: list[Target] = []
    try:
        for target in targets:
            target.publish()
            published.append(target)
    except BaseException:  # Ctrl-C too
        for target in reversed(published):
            target.withdraw()
        raise
    for target in targets:
        written.add(target.path)


def uninterrupted(call: Callable[[], None]) -> None:
    """Call a function that no signal interrupts; what a signal raises comes when it has ended.

    Python lets signals raise exceptions in the main thread alone, so it runs in another one.
    """
    raised: list[BaseException] = []
    first, ended = Lock(), Event()

    def run() -> None:
        if not first.acquire(blocking=False):
            return
        try:
            call()
        except BaseException as error:  # handed to the caller
            raised.append(error)
        finally:
            ended.set()

    interrupt: BaseException | None = None
    while not ended.is_set():
        try:
            # After an interrupt it is not known whether the thread was started: one more does
            # nothing if it was.
            start_new_thread(run, ())
            ended.wait()
        except BaseException as error:  # Ctrl-C
            if isinstance(error, RuntimeError) and not first.locked():  # no thread can be started
                run()
            else:
                interrupt = error
    if interrupt is not None:
        raise interrupt
    if raised:
        raise raised[0]
