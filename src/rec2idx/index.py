"""The index of a RecordIO file: one line a record, ``key<TAB>offset<LF>``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ._walk import format_lines
from .errors import EmptyFileError, UnsafeTargetError
from .framing import MAGIC_BYTES
from .lookalikes import HEAD_SIZE, INDEX, looks_like
from .progress import Progress, Report
from .scan import Batch, scan
from .sinks import new_file
from .sources import LocalFile

StrPath = str | os.PathLike[str]
KeyType = Callable[[int], Any]


@dataclass(frozen=True)
class IndexSummary:
    """What was indexed.

    Attributes:
        records: records in the file, and lines in the index.
        bytes: bytes in the record file.
        seconds: how long it took.
        index: path of the index.
    """

    records: int
    bytes: int
    seconds: float
    index: str


def default_index_path(record: StrPath) -> str:
    """Return where the index of `record` goes if nobody says: its suffix becomes ``.idx``.

    >>> default_index_path("data/train.rec"), default_index_path("data.v2/train")
    ('data/train.idx', 'data.v2/train.idx')
    """
    return os.path.splitext(os.fsdecode(record))[0] + ".idx"


def create_index(
    record: StrPath,
    index: StrPath | None = None,
    *,
    key_type: KeyType = int,
    progress: Report | None = None,
) -> IndexSummary:
    """Write the index of a RecordIO file. Prints nothing.

    The index appears at its path when it is whole. Until then, and if anything fails, whatever
    was there before stays as it was.

    Args:
        record: path of the record file (``.rec``).
        index: path of the index; by default that of the record with the suffix ``.idx``.
        key_type: makes a key from a record's number, which counts from 0. Its `str` is written.
        progress: called with a `Progress` at the start and as records are found, from time to
            time. What it raises ends the run.

    Returns:
        An `IndexSummary`.

    Raises:
        NotRecordIOError: the record file is something else, or empty.
        DamagedRecordError: the record file cannot be followed to its end.
        FileChangedError: the record file changed while it was read.
        UnsafeTargetError: `index` is the record file itself, or another file that is no index.
        OSError: reading or writing failed.

    >>> import rec2idx
    >>> summary = rec2idx.create_index("examples/sample.rec", "sample.idx")
    >>> summary.records, summary.index
    (24, 'sample.idx')
    """
    began = time.perf_counter()
    path = default_index_path(record) if index is None else os.fsdecode(index)
    with LocalFile(record) as source:
        _require_safe(source, path)
        records = _write(source, path, key_type, progress, began)
    return IndexSummary(records, source.size, time.perf_counter() - began, path)


def _write(
    source: LocalFile, path: str, key_type: KeyType, progress: Report | None, began: float
) -> int:
    def report(records: int, stop: int) -> None:
        if progress is not None:
            progress(Progress(records, stop, source.size, time.perf_counter() - began))

    records = 0
    with new_file(path) as sink:
        report(0, 0)
        for batch in scan(source):
            sink.write(_lines(batch, key_type))
            records = batch.first + len(batch)
            report(records, batch.stop)
        if records == 0:
            raise EmptyFileError(
                "the file is empty, and loaders refuse an empty index",
                path=source.path,
                advice="check whether it was written or copied to the end",
            )
    return records


def _lines(batch: Batch, key_type: KeyType) -> bytes:
    if key_type is int:
        return format_lines(batch.offsets, batch.first)
    lines = []
    for number, offset in enumerate(batch.offsets, batch.first):
        key = str(key_type(number))
        if not key or "\t" in key or "\n" in key:
            raise ValueError(f"the key of record {number} is {key!r}: no loader could read it")
        lines.append(f"{key}\t{offset}\n")
    return "".join(lines).encode()


def _require_safe(source: LocalFile, path: str) -> None:
    """Refuse an index path where something stands that is not an index."""
    with suppress(FileNotFoundError):
        if source.is_same_file(os.stat(path)):
            raise UnsafeTargetError(
                f"the index would replace the record file {source.path} itself",
                path=path,
                advice="give the index another name",
            )
    if not os.path.isfile(path):
        return
    with LocalFile(path) as existing:
        head = existing.read(0, HEAD_SIZE)
    if head.startswith(MAGIC_BYTES):
        raise UnsafeTargetError(
            "the index would replace a RecordIO file",
            path=path,
            advice="are the two paths swapped? The record file comes first, then the index",
        )
    if head and not path.endswith(".idx") and looks_like(head, existing.size) is not INDEX:
        raise UnsafeTargetError(
            "the index would replace a file that is not an index",
            path=path,
            advice="give the index another name, or remove that file",
        )
