"""Signals that ask a run to end: it should clean up first."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any


class Interrupted(BaseException):
    """A signal asked the run to end. Like `KeyboardInterrupt`, no `except Exception` catches it.

    Attributes:
        name: name of the signal, such as ``SIGTERM``.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.name = signal.Signals(number).name


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let the first SIGINT, SIGTERM or SIGHUP raise `Interrupted`, and ignore those after it.

    A signal that the parent process had set to be ignored, as nohup does, stays ignored. Outside
    the main thread, where signals cannot be handled, nothing is changed.
    """
    previous: dict[signal.Signals, Any] = {}

    def raise_once(number: int, frame: FrameType | None) -> None:
        for other in previous:
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)

    try:
        for number in _SIGNALS:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                previous[number] = signal.signal(number, raise_once)
    except ValueError:  # not the main thread
        previous.clear()
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
