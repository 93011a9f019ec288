"""Signals that ask a command to end: it should clean up first, and say nothing but that.

They may come while modules load, so nothing is imported here that Python has not loaded anyway.
"""

import _signal  # type: ignore[import-not-found] # of `signal`, what is always loaded
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

INTERRUPTED = 130  # the exit status
_NAMES = {_signal.SIGINT: "SIGINT", _signal.SIGTERM: "SIGTERM", _signal.SIGHUP: "SIGHUP"}
_AGAIN = 0.001  # seconds
_TARGETS = "rec2idx.targets"


class Interrupted(BaseException):
    """A signal asked the run to end. Like `KeyboardInterrupt`, no `except Exception` catches it."""


def run(program: str, mask: "set[int]", last: bool) -> int:
    """Run a command with the arguments of the process; return its exit status.

    The first SIGINT, SIGTERM or SIGHUP ends it, and those after it are ignored.

    Args:
        program: which one.
        mask: the signals that are to be blocked from now on; until now, those are that end it.
        last: whether nothing comes after it in this process. Then signals are ignored at the end,
            so that none changes how the process ends; else they are handled as before.

    Raises:
        SystemExit: a signal ended it.
    """
    signals = _Signals()
    _forget_written()
    try:
        return _run(program, signals, mask)
    finally:
        if not last:
            signals.restore()


def _run(program: str, signals: "_Signals", mask: "set[int]") -> int:
    try:
        signals.watch(mask)
        status = _command(program)()
        signals.pass_over()
    except BaseException:
        # Compiled modules that are interrupted while they load raise something of their own.
        if signals.came is None:
            raise
    if signals.came is None:
        return status
    from .messages import say

    say(f"interrupted by {signals.came}; {_what_stands()}no unfinished file was left", program)
    raise SystemExit(INTERRUPTED)


def _forget_written() -> None:
    """Count only what this run writes, if others in this process have written files."""
    if targets := sys.modules.get(_TARGETS):
        targets.written.clear()


def _what_stands() -> str:
    """Return which files were written before the run was interrupted; nothing if there are none."""
    from ..targets import written

    if written.count > len(written.last):
        return f"{written.count} files were written, and are whole; "
    if not written.count:
        return ""
    return f"written, and whole: {', '.join(written.last)}; "


def _command(program: str) -> "Callable[[], int]":
    if program == "recordio":
        from .recordio import main
    else:
        from .command import main
    return main


class _Signals:
    """How signals are handled while a command runs.

    A signal that the parent process had set to be ignored, as nohup does, stays ignored. Outside
    of the main thread, where signals cannot be handled, nothing is changed.

    Attributes:
        came: name of the signal that came first, such as ``SIGTERM``; None if none did.
    """

    def __init__(self) -> None:
        self._previous: dict[int, Any] = {}
        self.came: str | None = None
        self._over = False
        self._hook = sys.unraisablehook

    def watch(self, mask: "set[int]") -> None:
        """Let the first signal raise `Interrupted`, also one that waits."""
        try:
            for number in _NAMES:
                handler = _signal.getsignal(number)
                if handler not in (_signal.SIG_IGN, None):
                    self._previous[number] = handler
                    _signal.signal(number, self._stop)
            sys.unraisablehook = self._raised_in_vain
        except ValueError:  # not the main thread
            self._previous.clear()
        _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)

    def pass_over(self) -> None:
        """Ignore signals from now on."""
        self._end()
        for number in self._previous:
            _signal.signal(number, _signal.SIG_IGN)

    def restore(self) -> None:
        """Let signals be handled as before."""
        self._end()
        for number, handler in self._previous.items():
            _signal.signal(number, handler)
        if sys.unraisablehook == self._raised_in_vain:
            sys.unraisablehook = self._hook

    def _end(self) -> None:
        self._over = True
        if _signal.SIGALRM in self._previous:
            _signal.setitimer(_signal.ITIMER_REAL, 0)

    def _stop(self, number: int, frame: "FrameType | None") -> None:
        if self._over:
            return
        self.came = self.came or _NAMES[number]
        for other in _NAMES:
            if other in self._previous:
                _signal.signal(other, _signal.SIG_IGN)
        raise Interrupted(self.came)

    def _raised_in_vain(self, unraisable: "Any") -> None:
        """Raise once more, a moment later, what came up where Python lets no exception out.

        That is in callbacks and where objects are deleted, which happens whenever a module loads.
        """
        if not isinstance(unraisable.exc_value, Interrupted):
            self._hook(unraisable)
        elif not self._over:
            self._previous.setdefault(_signal.SIGALRM, _signal.getsignal(_signal.SIGALRM))
            _signal.signal(_signal.SIGALRM, self._stop)
            _signal.setitimer(_signal.ITIMER_REAL, _AGAIN)
