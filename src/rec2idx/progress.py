"""How far a run has come, and the lines that the original tool prints about it."""

from __future__ import annotations

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
