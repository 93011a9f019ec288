"""What a person, or a log, sees of a run while it lasts."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TextIO

from ..progress import OriginalLines, Progress, Report
from ..redaction import in_text

if TYPE_CHECKING:
    from tqdm import tqdm


class StdoutError(Exception):
    """Standard output takes no more lines."""


class StdoutGoneError(StdoutError):
    """Whoever read standard output has stopped."""


@contextlib.contextmanager
def progress_report(kind: str, name: str, stream: TextIO | None) -> Iterator[Report | None]:
    """Give the report for `kind`, one of `arguments.PROGRESS`, while the file `name` is read.

    Lines go to `stream`; a bar always goes to standard error.
    """
    if kind == "auto":
        kind = "bar" if sys.stderr is not None and sys.stderr.isatty() else "lines"
    if kind == "bar":
        with Bar(name) as bar:
            yield bar
    else:
        yield _lines(stream) if kind == "lines" else None


@contextlib.contextmanager
def above_bar() -> Iterator[None]:
    """Let what is written to standard error meanwhile stand above a bar, if there is one."""
    if sys.stderr is None or "tqdm" not in sys.modules:
        yield
        return
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stderr):
        yield


def _lines(stream: TextIO | None) -> Report:
    if stream is None:
        raise StdoutError("it is closed")
    lines = OriginalLines(stream)

    def report(progress: Progress) -> None:
        try:
            lines(progress)
        except OSError as error:
            raise StdoutError(error.strerror) from error

    return report


class Bar:
    """A bar on standard error, from the moment that a run takes longer than `DELAY`."""

    DELAY = 0.5  # seconds

    def __init__(self, name: str) -> None:
        self._name = in_text(name)
        self._bar: tqdm[NoReturn] | None = None

    def __call__(self, progress: Progress) -> None:
        """Show how far the run has come."""
        if self._bar is None:
            if progress.seconds < self.DELAY or sys.stderr is None:
                return
            self._bar = self._start(progress)
        self._bar.set_postfix_str(f"{progress.records} records", refresh=False)
        self._bar.update(progress.bytes - self._bar.n)  # shown ten times a second at most

    def _start(self, progress: Progress) -> tqdm[NoReturn]:
        from tqdm import tqdm  # takes longer to import than most files to index

        # A terminal that a program made may say that its size is 0 by 0; tqdm shows nothing there.
        sized = sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns > 0
        bar: tqdm[NoReturn] = tqdm(
            desc=self._name,
            total=progress.total,
            unit="B",
            unit_scale=True,
            dynamic_ncols=sized,
            ncols=None if sized else 80,
            nrows=None if sized else 24,
            leave=False,
            file=sys.stderr,
            delay=1e-9,  # not before the next lines: it would show a run that has just begun
        )
        bar.start_t -= progress.seconds
        bar.n = progress.bytes
        bar.set_postfix_str(f"{progress.records} records")
        return bar

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
