"""An index that is there when it is needed: made where it is missing or stale."""

from __future__ import annotations

import os
import re

from ._walk import END, WALKING
from .index import create_index, default_index_path
from .segments import Walker
from .sources import Source, Stream, StrPath, is_url, opened

_FIRST_LINE = re.compile(rb"\d{1,20}\t0\n")
_LAST_LINE = re.compile(rb"(?:^|\n)\d{1,20}\t(\d{1,19})\n\Z")
_LINE_SIZE = 64  # bytes; no line is longer


def ensure_index(record: StrPath, index: StrPath | None = None) -> str:
    """Return the path of a fresh index of a RecordIO file; make it where it is missing or stale.

    An index is fresh if it is not older than the record file, its first line is that of the first
    byte, and its last line is that of the record with which the file ends. To see that takes no
    longer for a large file than for a small one. The lines between are not compared: an index
    that leaves out some of them on purpose stays, unless it leaves out the first or the last.
    Behind a URL, a storage that does not say when a file was modified leaves the two ends to tell;
    and a server that gives whole files only has them indexed anew each time.

    Many processes may call this at once, for one file too: some may do the same work, but what
    stands at the path is at any time one whole index. No lock is taken, because none works on
    every network disk, and one that a killed process leaves behind would stop all others.

    Args:
        record: path or URL of the record file.
        index: path or URL of the index, by default that of the record with the suffix ``.idx``.

    Raises what `create_index` raises.

    >>> ensure_index("examples/sample.rec", "sample.idx")
    'sample.idx'
    """
    path = default_index_path(record) if index is None else os.fsdecode(index)
    with opened(record) as source:
        if isinstance(source, Stream):
            create_index(source, path)
        elif not _is_fresh(source, path):
            create_index(source, path)
            _date(path, source)
    return path


def _is_fresh(record: Source, path: str) -> bool:
    try:
        with opened(path) as index:
            if isinstance(index, Stream):
                return False
            head = index.read(0, _LINE_SIZE)
            tail = index.read(max(index.size - _LINE_SIZE, 0), _LINE_SIZE)
            old = _is_older(index, record)
    except OSError:  # missing; or what is wrong with it is said where it is written
        return False
    last = _LAST_LINE.search(tail)
    return (
        not old
        and _FIRST_LINE.match(head) is not None
        and last is not None
        and _is_last_record(record, int(last[1]))
    )


def _is_older(index: Source, record: Source) -> bool:
    if index.modified is None or record.modified is None:
        return False
    return index.modified < record.modified


def _is_last_record(record: Source, offset: int) -> bool:
    """Return whether the record that starts at `offset` ends where the file ends."""
    if offset >= record.size:
        return False
    walker = Walker(record, offset)
    count = 0
    while walker.walk.status == WALKING and count < 2:
        if piece := walker.records(2):
            count += len(piece.offsets)
    return walker.walk.status == END and count == 1


def _date(path: str, record: Source) -> None:
    """Let a new index not be older than its file, whose clock may be that of another machine."""
    if is_url(path) or record.modified is None:
        return
    status = os.stat(path)
    if status.st_mtime_ns < record.modified:
        os.utime(path, ns=(status.st_atime_ns, record.modified))
