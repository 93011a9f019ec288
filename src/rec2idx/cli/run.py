"""What both commands have in common: exit statuses, and what becomes of errors."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from ..errors import RecordIOError
from .interrupts import INTERRUPTED as INTERRUPTED
from .messages import describe, say
from .progress import StdoutError, StdoutGoneError

if TYPE_CHECKING:
    from concurrent.futures import Executor

# The exit statuses, as in the README; INTERRUPTED is one of them.
DONE, FAILED, USAGE, SALVAGED = 0, 1, 2, 3


def run(parse: Callable[[], argparse.Namespace], command: Callable[..., int], program: str) -> int:
    """Run a command with the arguments of the process; return its exit status.

    Args:
        parse: reads the arguments.
        command: does the work with them, and returns the exit status.
        program: what it is called.
    """
    args = argparse.Namespace()
    try:
        with warnings_in_words(program):
            args = parse()
            return command(args)
    except SystemExit as stop:  # argparse has said what there is to say
        return stop.code if isinstance(stop.code, int) else USAGE
    except StdoutError as error:
        abandon_stdout()
        # Where the answer itself goes there, -q keeps it.
        advice = "" if getattr(args, "answers", False) else "; -q prints nothing there"
        say(f"cannot write to standard output: {error}{advice}", program)
        return FAILED
    except (RecordIOError, OSError) as error:
        say(describe(error), program)
        return FAILED


@contextmanager
def warnings_in_words(program: str) -> Iterator[None]:
    """Let what the library warns of be one line on standard error."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: say(f"warning: {message}", program)
        yield


def executor(args: argparse.Namespace) -> AbstractContextManager[Executor | None]:
    """Give who is to walk the segments: the workers of a cluster, or None."""
    if args.dask is None:
        return nullcontext()
    from ..cluster import dask_executor

    return dask_executor(args.dask)


@contextmanager
def until_reader_leaves() -> Iterator[None]:
    """End the block quietly when whoever read standard output has seen what it wanted, as head."""
    try:
        yield
    except StdoutGoneError:
        abandon_stdout()


def abandon_stdout() -> None:
    """Let the interpreter's last flush of standard output go nowhere instead of failing again."""
    with suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
