"""Batches of records, cut into stretches of a file that are read at once."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from .segments import NEVER, Batch
from .sources import Source
from .spans import Records


@dataclass(frozen=True)
class Stretch:
    """Records that follow each other in a file, and are read at once.

    Attributes:
        first: number of the first one.
        offsets: where each starts, an array of int64.
        sizes: payload size of each, an array of int64.
        stop: where the last one ends.
    """

    first: int
    offsets: array[int]
    sizes: array[int]
    stop: int

    def read(self, source: Source) -> Records:
        """Return the records with their bytes."""
        start = self.offsets[0]
        data = source.read(start, self.stop - start)
        return Records(source.path, data, start, self.first, self.offsets, self.sizes)


def stretches(batch: Batch, length: int, limit: int = NEVER) -> Iterator[Stretch]:
    """Cut a batch into stretches.

    Args:
        batch: some records.
        length: bytes of a stretch; it is longer only where it is a single record.
        limit: records that start there or behind are left out.
    """
    offsets, at = batch.offsets, 0
    count = bisect_left(offsets, limit)
    while at < count:
        # A record ends where the next one starts: no batch goes on behind damage.
        most = offsets[at] + length
        fit = len(batch) if batch.stop <= most else bisect_right(offsets, most, at) - 1
        stop = min(max(fit, at + 1), count)
        end = offsets[stop] if stop < len(batch) else batch.stop
        yield Stretch(batch.first + at, offsets[at:stop], batch.sizes[at:stop], end)
        at = stop
