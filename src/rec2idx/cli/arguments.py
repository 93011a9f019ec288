"""The command line of ``rec2idx``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from .._version import __version__
from ..paths import as_path
from ..redaction import in_text
from .selection import add_selection

PROGRESS = ("auto", "bar", "lines", "none")

EXAMPLES = """\
examples:
  rec2idx data/train.rec                writes data/train.idx
  rec2idx data/train.rec /tmp/all.idx   writes /tmp/all.idx
"""


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are as all messages, whatever the arguments were."""

    def error(self, message: str) -> NoReturn:
        """Print the usage and what is wrong with it; exit with status 2."""
        super().error(in_text(message))


def parse_args(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line: `argv`, by default that of the process.

    Raises:
        SystemExit: the usage is wrong (status 2), or help or the version was asked for (0).

    >>> args = parse_args(["data/train.rec", "data/train.idx"])
    >>> args.record, args.index
    ('data/train.rec', 'data/train.idx')
    """
    parser = Parser(
        prog="rec2idx",
        usage="%(prog)s [options] RECORD [INDEX]",
        description="Create the index (.idx) of a RecordIO file (.rec).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "record", metavar="RECORD", type=as_path, help="the RecordIO file; - is standard input"
    )
    parser.add_argument(
        "index",
        metavar="INDEX",
        nargs="?",
        type=as_path,
        help="the index to write (default: RECORD with the suffix .idx); - is standard output",
    )
    add_selection(parser)
    add_workers(parser, "parts of the file to walk at once")
    parser.add_argument(
        "--progress",
        choices=PROGRESS,
        default="auto",
        help="bar: on stderr, once a run takes long; lines: 'time: ...  count: ...' on stdout; "
        "auto (default): bar where stderr is a terminal, else lines",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")
    parser.add_argument("--version", action="version", version=f"rec2idx {__version__}")
    # Options may stand between the two paths.
    args = parser.parse_intermixed_args(argv)
    if args.record == "-" and args.index is None:
        parser.error("where RECORD is standard input, INDEX must be given")
    if args.record == "-" and args.salvage:
        parser.error("--salvage reads behind damage once more: RECORD cannot be standard input")
    return args


def add_workers(parser: argparse.ArgumentParser, jobs: str) -> None:
    """Add the options that say who walks the files; `jobs` says what there are several of."""
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        metavar="N",
        help=f"{jobs} (default: several)",
    )
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="have the Dask cluster with this scheduler walk them",
    )


def positive(text: str) -> int:
    """Return a number given on a command line, which must be 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 1 or more")
    return int(text)


def file_path(text: str) -> str:
    """Return a path given on a command line, where none of the standard streams is meant."""
    if text == "-":
        raise argparse.ArgumentTypeError("standard input and output are no files; give a path")
    return as_path(text)
