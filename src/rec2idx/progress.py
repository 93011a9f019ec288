"""How far a run has come, and the lines that the original tool prints about it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True)
class Progress:
    """How far a run has come.

    Attributes:
        records: records indexed.
        bytes: bytes of the record file that they take up.
        total: bytes in the record file; None where that is not known before its end.
        seconds: time since the run began.
    """

    records: int
    bytes: int
    total: int | None
    seconds: float


Report = Callable[[Progress], None]


class OriginalLines:
    """Prints what MXNet's and DALI's tool prints: a line for record 0, 1000, 2000, ...

    >>> import sys
    >>> report = OriginalLines(sys.stdout)
    >>> report(Progress(records=1500, bytes=60_000, total=80_000, seconds=0.25))
    time: 0.25  count: 0
    time: 0.25  count: 1000
    """

    EVERY = 1000

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = 0

    def __call__(self, progress: Progress) -> None:
        """Print the lines that have become due."""
        lines = []
        while self._next <= progress.records:
            lines.append(f"time: {progress.seconds}  count: {self._next}\n")
            self._next += self.EVERY
        if lines:
            self._stream.write("".join(lines))
            self._stream.flush()


class Stopped(Exception):  # noqa: N818 # nothing went wrong
    """Another file, or a signal, ended the run."""


class Together:
    """The progress over many files, some of which may be under way at once in other threads.

    The report is called in the thread that made this object, and in no other.

    Args:
        report: called with the progress over all, or None.
        total: bytes in all files, None if not known.

    Attributes:
        raised: what the report raised, to tell it from what went wrong with a file.
    """

    def __init__(self, report: Report | None, total: int | None) -> None:
        self.raised: Exception | None = None
        self._report = report
        self._total = total
        self._began = time.perf_counter()
        self._thread = threading.get_ident()
        self._lock = threading.Lock()
        self._stopped = False
        self._under_way: set[Part] = set()
        self._records = 0  # in the files that are done
        self._bytes = 0

    def part(self) -> Part:
        """Return the report for one file, which is under way from now on."""
        part = Part(self)
        with self._lock:
            self._under_way.add(part)
        return part

    def finish(self, part: Part, records: int, size: int) -> None:
        """Count a file as done."""
        with self._lock:
            self._under_way.discard(part)
            self._records += records
            self._bytes += size

    def stop(self) -> None:
        """Let each file under way end with `Stopped` as soon as it reports."""
        self._stopped = True

    def show(self) -> None:
        """Report, if this is the thread for it.

        Raises:
            Stopped: the run has ended.
        """
        if self._stopped:
            raise Stopped
        if self._report is None or threading.get_ident() != self._thread:
            return
        with self._lock:
            records = self._records + sum(part.records for part in self._under_way)
            size = self._bytes + sum(part.bytes for part in self._under_way)
        try:
            self._report(Progress(records, size, self._total, time.perf_counter() - self._began))
        except Exception as error:
            self.raised = error
            raise


class Part:
    """The report for one file of many.

    Attributes:
        records: of those in it, so many are indexed.
        bytes: so many bytes they take up.
    """

    def __init__(self, together: Together) -> None:
        self.records = 0
        self.bytes = 0
        self._together = together

    def __call__(self, progress: Progress) -> None:
        """Take the progress of the file into that over all."""
        self.set(progress.records, progress.bytes)

    def set(self, records: int, size: int) -> None:
        """Let so many records and bytes of the file count as done."""
        self.records, self.bytes = records, size
        self._together.show()
