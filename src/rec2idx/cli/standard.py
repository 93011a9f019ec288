"""Standard input, output and error of a command."""

from __future__ import annotations

import argparse
import errno
import sys
from io import FileIO

from ..escaping import encodable
from ..redaction import in_text
from ..sinks import Sink
from ..sources import Stream
from .progress import StdoutError, StdoutGoneError


def bar(args: argparse.Namespace) -> str:
    """Return the kind of progress to show: a bar for people, nothing for programs."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return "bar" if terminal and not args.quiet else "none"


def tell(*lines: str, data: bool = False) -> None:
    """Print lines on standard output: words for people; or data, whose texts are escaped."""
    if sys.stdout is None:
        raise StdoutError("it is closed")
    text = "\n".join(lines if data else map(in_text, lines))
    try:
        print(encodable(text, sys.stdout.encoding), flush=True)
    except BrokenPipeError as error:
        raise StdoutGoneError(error.strerror) from error
    except OSError as error:
        raise StdoutError(error.strerror) from error


def stdin() -> Stream:
    """Return standard input, to be read once."""
    if sys.stdin is None:
        raise OSError(errno.EBADF, "it is closed", "<stdin>")
    return Stream(FileIO(sys.stdin.fileno(), closefd=False), "<stdin>")


def stdout() -> Sink:
    """Return standard output, for bytes."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "<stdout>")
    return Sink(FileIO(sys.stdout.fileno(), "w", closefd=False), "<stdout>")
