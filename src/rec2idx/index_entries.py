"""An index as a data set reads it: its entries in file order, or what is wrong with it."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence

from ._lines import sort_entries
from .errors import BadIndexError
from .framing import MAGIC_BYTES
from .index import default_index_path
from .lines import IndexFile, read_index
from .paths import is_url
from .sources import Stream, opened

# What is odd about lines that give no entry: all but a blank one stand for a record that is lost.
_LACKING = frozenset(
    ("comment", "no-offset", "not-a-number", "negative-offset", "offset-too-large", "nul-bytes",
     "long-line")
)  # fmt: skip
_HARMLESS = "blank-line"


def entries_in_file_order(path: str) -> tuple[array[int], array[int] | list[str]]:
    """Return the offsets of an index, in order, and the key of each; equal ones stay as they are.

    Args:
        path: the index, a path or a URL.

    Raises:
        BadIndexError: it is none, or has a line without key and offset.
        OSError: it cannot be read.
    """
    index = read_entries(path)
    if not isinstance(index.keys, list):
        sort_entries(index.offsets, index.keys)
        return index.offsets, index.keys
    lines = array("Q", range(len(index.offsets)))
    sort_entries(index.offsets, lines)
    return index.offsets, [index.keys[line] for line in lines]


def no_record(
    path: str, offset: int, records: Sequence[str], expected: str, found: str
) -> BadIndexError:
    """Return the error that an index names no record; it is read again, to number its lines.

    Args:
        path: the index.
        offset: where there is no record.
        records: the record files.
        expected: what should stand in the index, or in the file.
        found: what stands there.
    """
    index = read_entries(path)
    entry = index.offsets.index(offset)
    return BadIndexError(
        f"line {index.line_of(entry)} has key {index.keys[entry]!r} and offset {offset}, where "
        f"{', '.join(records[:3])} has no record",
        path=path,
        offset=offset,
        expected=expected,
        found=found,
        advice="is that the index of this very file? recordio check says what is wrong",
    )


def read_entries(path: str) -> IndexFile:
    """Read an index, of which each line must have a key and an offset.

    Raises:
        BadIndexError: one has none, or there are no lines.
        OSError: it cannot be read.
    """
    with opened(path) as source:
        if not isinstance(source, Stream) and source.read(0, 4) == MAGIC_BYTES:
            raise BadIndexError(
                "not an index, but a RecordIO file",
                path=path,
                advice="the record file comes first, then its index",
            )
        index = read_index(source)
    lacking = index.lines - len(index.offsets)
    for problem in index.problems:
        if problem.code == _HARMLESS:
            lacking -= problem.count
    if lacking or not index.offsets:
        raise BadIndexError(
            f"no index: {_first_lacking(index)}",
            path=path,
            expected="a key, a tab and an offset on each line",
            found=f"{lacking} lines without" if index.size else "no bytes",
            advice="recordio check says what is wrong with it; rec2idx makes a new one",
        )
    return index


def _first_lacking(index: IndexFile) -> str:
    lines = [problem.first[0] for problem in index.problems if problem.code in _LACKING]
    if not lines:
        return "it is empty"
    first = min(lines, key=lambda line: line.line)
    return f"line {first.line} is {first.text!r}"


def index_beside(path: str) -> str | None:
    """Return the index that stands beside a record file; None if there is none."""
    index = default_index_path(path)
    if index == path:
        return None
    try:
        if not is_url(path):
            os.stat(index)
        else:
            with opened(index):
                pass
    except FileNotFoundError:
        return None
    return index
