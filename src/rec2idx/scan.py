"""From a source to batches of records, in file order."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass

from . import _walk
from ._walk import Walk
from .damage import error_of
from .sources import LocalFile

BATCH = 8192  # records: their offsets and index lines fit into a processor's cache


@dataclass(frozen=True)
class Batch:
    """Records that follow each other in a file.

    Attributes:
        first: number of the first record, counted from 0.
        offsets: byte offset of each record's first part, int64.
        sizes: payload size of each record in bytes, int64. Where a record has several parts, the
            magics between them belong to the payload and count.
        stop: byte offset where the next record starts.
    """

    first: int
    offsets: array[int]
    sizes: array[int]
    stop: int

    def __len__(self) -> int:
        return len(self.offsets)


def scan(source: LocalFile) -> Iterator[Batch]:
    """Walk through a file; yield its records in batches, the same in number for no two files.

    Raises, after the last whole record was yielded:
        NotRecordIOError: the file is something else.
        DamagedRecordError: the chain of parts breaks.
        FileChangedError: the file changed while it was read.
        OSError: a read failed.
    """
    walk = Walk(0, source.size)
    first = 0
    while walk.status == _walk.WALKING:
        offsets, sizes = walk.records(source.fd, BATCH)
        if offsets:
            yield Batch(first, offsets, sizes, walk.position)
            first += len(offsets)
    if walk.status != _walk.END:
        raise error_of(walk, source, first)
    source.require_unchanged()
