"""The command ``recordio ls``: the records of a file, a row for each."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from ..errors import RecordIOError
from ..escaping import printable
from ..label_text import as_text
from ..paths import as_path
from .arguments import file_path
from .messages import count, say
from .run import DONE, FAILED, until_reader_leaves
from .standard import stdin, tell

if TYPE_CHECKING:
    from ..record_listing import ListedRecord

EXAMPLES = """\
examples:
  recordio ls data/train.rec                     with the keys of data/train.idx, if it is there
  recordio ls data/train.rec /tmp/all.idx
  recordio ls data/train.rec --lst train.lst     with the names of the image files
  recordio ls --json data/train.rec | head
  recordio ls - < data/train.rec                 as it is, without any index
"""

COLUMNS = (
    "key",
    "offset",
    "size",
    "parts",
    "id",
    "labels",
    "kind",
    "width",
    "height",
    "name",
    "problem",
)
ROWS = 64  # that are printed together: as many as a terminal shows
LABELS = 1 << 16  # labels from which no more rows are waited for: there may be a million in each
WIDEST = 32  # characters of labels in a table, if they are to be shortened

_RIGHT = ("key", "offset", "size", "parts", "id")  # numbers, in the table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run, answers=True)
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "record", metavar="REC", type=as_path, help="a RecordIO file; - is standard input"
    )
    parser.add_argument(
        "index",
        metavar="INDEX",
        nargs="?",
        type=file_path,
        help="list the entries of this index (default: that beside REC, if there is one)",
    )
    parser.add_argument(
        "--lst",
        metavar="FILE.lst",
        type=file_path,
        help="a list as im2rec makes it, for the names of the image files",
    )
    parser.add_argument(
        "--labels", action="store_true", help="show long label arrays in full on a terminal, too"
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="one JSON object a line (default: a table on a terminal, else columns between tabs)",
    )


def run(args: argparse.Namespace) -> int:
    """List the records; return the exit status."""
    from ..record_listing import list_records  # takes longer to import than others to start

    problems = rows = 0
    lines = _lines_for(args)
    record = stdin() if args.record == "-" else args.record
    with (
        until_reader_leaves(),
        closing(list_records(record, args.index, names=args.lst)) as listed,
    ):
        for some in together(listed):
            rows += len(some)
            problems += sum(row.problem is not None for row in some)
            tell(*lines(some), data=True)
    if problems:
        say(
            f"{args.record}: {problems} of {count(rows, 'entry', 'entries')} of the index name no "
            "whole record; is that the index of this very file? recordio check says more",
            "recordio",
        )
    return FAILED if problems else DONE


def together(listed: Iterator[ListedRecord]) -> Iterator[list[ListedRecord]]:
    """Yield rows in small lists, also those that come before an error."""
    some: list[ListedRecord] = []
    labels = 0
    try:
        for row in listed:
            some.append(row)
            labels += len(row.labels or ())
            if len(some) == ROWS or labels >= LABELS:
                yield some
                some, labels = [], 0
    except (RecordIOError, OSError):
        if some:
            yield some
        raise
    if some:
        yield some


Lines = Callable[[list["ListedRecord"]], Iterator[str]]


def _lines_for(args: argparse.Namespace) -> Lines:
    """Return what makes lines of rows: as JSON, a table, or columns between tabs."""
    if args.json:
        return json_lines
    if sys.stdout is not None and sys.stdout.isatty():
        return Table(args.lst is not None, args.labels).lines
    return Tabbed().lines


def json_lines(rows: list[ListedRecord]) -> Iterator[str]:
    """Yield a JSON object for each row.

    >>> from rec2idx import ListedRecord
    >>> list(json_lines([ListedRecord("a.jpg", 44, problem="wrong magic")]))[0][:40]
    '{"key": "a.jpg", "offset": 44, "size": n'
    """
    for row in rows:
        yield json.dumps(row.as_dict(), allow_nan=False)


class Tabbed:
    r"""Columns between tabs, the same ones for all files, under a line of their names.

    >>> from rec2idx import ListedRecord
    >>> rows = [ListedRecord("0", 0, 40, 1, 7, (0.5, 2.0), "jpeg", 113, 109)]
    >>> list(Tabbed().lines(rows))[1]
    '0\t0\t40\t1\t7\t0.5,2\tjpeg\t113\t109\t\t'
    """

    def __init__(self) -> None:
        self._begun = False

    def lines(self, rows: list[ListedRecord]) -> Iterator[str]:
        """Yield the lines for some rows, before the first ones the names of the columns."""
        if not self._begun:
            self._begun = True
            yield "\t".join(COLUMNS)
        for row in rows:
            labels = "" if row.labels is None else ",".join(map(as_text, row.labels))
            yield "\t".join(
                labels if column == "labels" else _text(getattr(row, column)) for column in COLUMNS
            )


class Table:
    """Aligned columns for people. They grow where a row needs more room than those before.

    Args:
        names: whether there are names.
        labels: whether long label arrays are shown in full.
    """

    def __init__(self, names: bool, labels: bool) -> None:
        self._columns = ["key", "offset", "size", "parts", "id", "labels", "image"]
        if names:
            self._columns.append("name")
        self._all_labels = labels
        self._widths: list[int] = []

    def lines(self, rows: list[ListedRecord]) -> Iterator[str]:
        """Yield the lines for some rows, before the first ones the names of the columns."""
        cells = [self._cells(row) for row in rows]
        ends = [] if self._widths else [""]
        ends += [_text(row.problem) for row in rows]
        if not self._widths:
            cells.insert(0, self._columns)
            self._widths = [0] * len(self._columns)
        self._widths = [
            max(width, *map(len, column))
            for width, column in zip(self._widths, zip(*cells, strict=True), strict=True)
        ]
        for line, end in zip(cells, ends, strict=True):
            aligned = map(_aligned, line, self._widths, self._columns)
            yield "  ".join([*aligned, end]).rstrip()

    def _cells(self, row: ListedRecord) -> list[str]:
        image = _image(row)
        cells = [_text(row.key), _text(row.offset), _text(row.size), _text(row.parts)]
        cells += [_text(row.id), shown(row.labels, self._all_labels), image]
        return [*cells, _text(row.name)][: len(self._columns)]


def _aligned(text: str, width: int, column: str) -> str:
    return text.rjust(width) if column in _RIGHT else text.ljust(width)


def _image(row: ListedRecord) -> str:
    if row.problem is not None:
        return "no record"
    if row.width is None:
        return _text(row.kind)
    return f"{row.kind} {row.width}x{row.height}"


def _text(value: object) -> str:
    if isinstance(value, str):
        return printable(value.replace("\\", r"\\"))  # so that it can be told what was escaped
    return "" if value is None else str(value)


def shown(labels: tuple[float, ...] | None, full: bool = False) -> str:
    """Return labels for the table: the first ones and how many there are, if they are too many.

    >>> shown((2.0, 5.0, 0.5)), shown((2.0, 5.0) + (0.25,) * 15), shown(None)
    ('2,5,0.5', '2,5,0.25,0.25,0.25,0.25,... (17)', '')
    """
    if labels is None:
        return ""
    if full:
        return ",".join(map(as_text, labels))
    text = ",".join(map(as_text, labels[:WIDEST]))
    if len(labels) <= WIDEST and len(text) <= WIDEST:
        return text
    end = f",... ({len(labels)})"
    room = WIDEST - len(end)
    return text[: text.rindex(",", 0, room + 1)] + end
