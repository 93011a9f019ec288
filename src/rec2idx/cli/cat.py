"""The command ``recordio cat``: the payload of one record."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..paths import as_path
from ..sinks import Sink
from ..sources import Source, Stream, opened
from ..targets import new_files, new_target
from .arguments import file_path
from .messages import say
from .progress import StdoutGoneError
from .run import DONE, USAGE, until_reader_leaves
from .standard import stdin, stdout

EXAMPLES = """\
examples:
  recordio cat --image data/train.rec 7 -o 7.jpg
  recordio cat data/train.rec 7 | xxd | head
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run, answers=True)
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "record", metavar="REC", type=as_path, help="a RecordIO file; - is standard input"
    )
    parser.add_argument(
        "key",
        metavar="KEY",
        help="the key of the record in the index; without an index, its number, from 0 on",
    )
    parser.add_argument(
        "--index",
        metavar="INDEX",
        type=file_path,
        help="the index (default: that beside REC, if there is one)",
    )
    parser.add_argument(
        "--image", action="store_true", help="write only the bytes behind the labels"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=file_path,
        help="where to, where there is no file yet (default: standard output, if that is no "
        "terminal)",
    )


def run(args: argparse.Namespace) -> int:
    """Write the payload; return the exit status."""
    if args.output is None and sys.stdout is not None and sys.stdout.isatty():
        say(
            "a payload is not written to a terminal; give a file with -o FILE, or a pipe: "
            "recordio cat ... | xxd",
            "recordio",
        )
        return USAGE
    from ..one_record import copy_record  # takes longer to import than other commands to start
    from ..record_listing import index_of

    record = stdin() if args.record == "-" else args.record
    with until_reader_leaves(), opened(record) as source, sink_for(args.output, source) as sink:
        index = args.index
        if index is None and not isinstance(source, Stream):
            index = index_of(record)
        copy_record(source, args.key, index, sink.write, image=args.image)
    return DONE


@contextmanager
def sink_for(path: str | None, source: Source | Stream) -> Iterator[Sink]:
    """Give where the payload goes: a new file, which replaces none, or standard output."""
    if path is None:
        try:
            yield stdout()
        except BrokenPipeError as error:
            raise StdoutGoneError(error.strerror) from error
        return
    with new_files(new_target(path, "file", source)) as (sink,):
        yield sink
