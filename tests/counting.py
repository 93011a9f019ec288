"""What a run costs in operations, whatever the time: bytes read, calls, characters printed."""

import contextlib
import cProfile
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import rec2idx
from rec2idx.cli import command, recordio

COUNTERS = Path("/proc/self/io")  # Linux counts what a process reads, the kernel's reads too

needs_counters = pytest.mark.skipif(not COUNTERS.exists(), reason="Linux counts what is read")


class Cost(NamedTuple):
    """Operations of a run.

    Attributes:
        bytes: bytes that were read, by the kernel of this package too. In how many reads depends on
            how long they take, so that these are not counted.
        calls: calls of functions, of Python and of C.
        printed: characters that went to standard output.
    """

    bytes: int
    calls: int
    printed: int


def cost_of(work: Callable[[], Any]) -> Cost:
    """Do some work, whatever error it ends in, and return what it took."""
    profile = cProfile.Profile()
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    before = _read_so_far()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.suppress(rec2idx.RecordIOError, OSError, LookupError),
    ):
        profile.enable()
        try:
            work()
        finally:
            profile.disable()
    after = _read_so_far()
    calls = sum(entry.callcount for entry in profile.getstats())
    return Cost(after - before, calls, out.buffer.tell())


def _read_so_far() -> int:
    lines = dict(line.split(": ") for line in COUNTERS.read_text().splitlines())
    return int(lines["rchar"])


def run_command(*arguments: str) -> int:
    """Run ``rec2idx`` or ``recordio`` in this process; return the exit status."""
    program, *rest = arguments
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [program, *rest])
        return command.main() if program == "rec2idx" else recordio.main()


SPARE = Cost(bytes=1 << 15, calls=200, printed=200)  # what rounding may add


def require_linear(least: Cost, once: Cost, twice: Cost) -> None:
    """Require that twice as much input takes about twice the operations.

    Args:
        least: the cost of next to no input.
        once: that of some.
        twice: that of twice as much.
    """
    for name, none, one, two, spare in zip(Cost._fields, least, once, twice, SPARE, strict=True):
        most = 2.2 * max(one - none, 0) + spare
        assert two - none <= most, f"{name}: {none}, {one}, {two}"
