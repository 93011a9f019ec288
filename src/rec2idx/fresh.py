"""An index that is there when it is needed: made where it is missing or stale."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator

from . import _heads
from ._walk import END, WALKING
from .framing import IR_HEADER_SIZE
from .index import create_index, default_index_path
from .index_text import reads_as_index
from .paths import StrPath, as_path, is_url
from .segments import Walker
from .select import KeepKeys, Keys
from .sources import LocalFile, Source, Stream, opened

# The first line of an index and the last one: with keys that are numbers, and with any.
_FIRST_LINE = re.compile(rb"\d{1,20}\t(\d{1,19})\n")
_LAST_LINE = re.compile(rb"(?:^|\n)\d{1,20}\t(\d{1,19})\n\Z")
_FIRST_OF_ANY = re.compile(rb"[^\t\n]+\t(\d{1,19})\n")
_LAST_OF_ANY = re.compile(rb"(?:^|\n)[^\t\n]+\t(\d{1,19})\n\Z")
_LINE_SIZE = 1024  # bytes that are looked at; where a name is longer, the index is made anew
_DAMAGED = 255  # stands for the kind of what is no record
_FEW = 64  # records looked at at once


def ensure_index(
    record: StrPath,
    index: StrPath | None = None,
    *,
    keys: Keys = "sequence",
    images_only: bool = False,
) -> str:
    """Return the path of a fresh index of a RecordIO file; make it where it is missing or stale.

    An index is fresh if it is not older than the record file, its first line is that of the first
    record, and its last line is that of the last one; with `images_only`, of those with an image.
    To see that takes no longer for a large file than for a small one. The lines between are not
    compared, nor are keys.
    Behind a URL, a storage that does not say when a file was modified leaves the two ends to tell;
    and a server that gives whole files only has them indexed anew each time.

    Many processes may call this at once, for one file too: some may do the same work, but what
    stands at the path is at any time one whole index. No lock is taken, because none works on
    every network disk, and one that a killed process leaves behind would stop all others. A local
    index that is made gets the date of its record file, by whatever clock that is.

    Args:
        record: path or URL of the record file.
        index: path or URL of the index, by default that of the record with the suffix ``.idx``.
        keys: as for `create_index`; an old index is read only where a new one is made.
        images_only: as for `create_index`.

    Raises what `create_index` raises.

    >>> ensure_index("examples/sample.rec", "sample.idx")
    'sample.idx'
    """
    path = default_index_path(record) if index is None else as_path(index)
    with opened(record) as source:
        texts = isinstance(keys, KeepKeys)
        if isinstance(source, Stream) or not _is_fresh(source, path, images_only, texts):
            create_index(source, path, keys=keys, images_only=images_only)
            if not isinstance(source, Stream):
                _date(path, source)
    return path


def _is_fresh(record: Source, path: str, images_only: bool, texts: bool) -> bool:
    """Return whether an index is fresh; `texts` says whether its keys may be texts."""
    try:
        with opened(path) as index:
            if isinstance(index, Stream):
                return False
            head = index.read(0, _LINE_SIZE)
            tail = index.read(max(index.size - _LINE_SIZE, 0), _LINE_SIZE)
            old = _is_older(index, record)
    except OSError:  # missing; or what is wrong with it is said where it is written
        return False
    first = (_FIRST_OF_ANY if texts else _FIRST_LINE).match(head)
    last = (_LAST_OF_ANY if texts else _LAST_LINE).search(tail)
    return (
        not old
        and first is not None
        and last is not None
        and _is_next(record, 0, int(first[1]), images_only)
        and _is_last(record, int(last[1]), images_only)
    )


def _is_older(index: Source, record: Source) -> bool:
    if index.modified is None or record.modified is None:
        return False
    return index.modified < record.modified


def _is_next(record: Source, start: int, offset: int, images_only: bool) -> bool:
    """Return whether the first record to be indexed, from `start` on, is that at `offset`."""
    if not images_only:
        return offset == start
    if not start <= offset < record.size:
        return False
    for at, kind in _kinds(record, start):
        if kind == _heads.IMAGE or at >= offset:
            return kind == _heads.IMAGE and at == offset
    return False


def _is_last(record: Source, offset: int, images_only: bool) -> bool:
    """Return whether the record at `offset` is the last one to be indexed."""
    if offset >= record.size:
        return False
    found = 0
    for _, kind in _kinds(record, offset):
        # Behind it come only records that are left out.
        if kind == _DAMAGED or (found and not (images_only and kind != _heads.IMAGE)):
            return False
        found += 1
    return found > 0


def _kinds(record: Source, start: int) -> Iterator[tuple[int, int]]:
    """Yield offset and kind of each record from one on; `_DAMAGED` at last if there is damage."""
    walker = Walker(record, start, heads=IR_HEADER_SIZE)
    while walker.walk.status == WALKING:
        piece = walker.records(_FEW)
        if piece is not None and piece.heads is not None:
            yield from zip(piece.offsets, _heads.kinds(piece.sizes, piece.heads), strict=True)
    if walker.walk.status != END:
        yield record.size, _DAMAGED


def _date(path: str, record: Source) -> None:
    """Give a new index the date of its file: a later file is newer by the same clock."""
    if is_url(path) or record.modified is None or not os.path.isfile(path):
        return
    # Another process may have been faster to make it, as another user.
    with contextlib.suppress(PermissionError), LocalFile(path) as index:
        if reads_as_index(index.read, index.size):  # else somebody has put a file there by now
            os.utime(index.fd, ns=(time.time_ns(), record.modified))
