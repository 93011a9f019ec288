"""The command ``rec2idx``."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from contextlib import suppress
from io import FileIO

from ..errors import RecordIOError
from ..index import create_index
from ..sinks import Sink
from ..sources import Stream
from .arguments import parse_args
from .interrupts import Interrupted, interruptible
from .messages import count, describe, say
from .progress import StdoutError, progress_report

# The exit statuses, as in the README.
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


def main() -> int:
    """Run the command with the arguments of the process; return its exit status."""
    try:
        with interruptible():
            _run(parse_args())
    except SystemExit as stop:  # argparse has said what there is to say
        return stop.code if isinstance(stop.code, int) else USAGE
    except Interrupted as stop:
        say(f"interrupted by {stop.name}; nothing unfinished was left under the index's name")
        return INTERRUPTED
    except StdoutError as error:
        abandon_stdout()
        say(f"cannot write progress to standard output: {error}; -q prints none")
        return FAILED
    except (RecordIOError, OSError) as error:
        say(describe(error))
        return FAILED
    return DONE


def _run(args: argparse.Namespace) -> None:
    kind = "none" if args.quiet else args.progress
    record = _stdin() if args.record == "-" else args.record
    index = _stdout() if args.index == "-" else args.index
    lines = sys.stderr if args.index == "-" else sys.stdout
    name = "<stdin>" if args.record == "-" else args.record
    with progress_report(kind, name, lines) as report:
        done = create_index(record, index, jobs=args.jobs, progress=report)
    if not args.quiet:
        say(
            f"{name}: {count(done.records, 'record')}, {count(done.bytes, 'byte')}, "
            f"{done.seconds:.3g} s; index written to {done.index}"
        )


def _stdin() -> Stream:
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed", "<stdin>")
    return Stream(FileIO(sys.stdin.fileno(), closefd=False), "<stdin>")


def _stdout() -> Sink:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "<stdout>")
    return Sink(FileIO(sys.stdout.fileno(), "w", closefd=False), "<stdout>")


def abandon_stdout() -> None:
    """Let the interpreter's last flush of standard output go nowhere instead of failing again."""
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
