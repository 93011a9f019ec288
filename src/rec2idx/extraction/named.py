"""The records of a file that an index names, told while the file is walked."""

from __future__ import annotations

from array import array

from .. import _heads
from .._lines import sort_entries
from ..errors import BadIndexError
from ..index_entries import read_entries
from ..paths import StrPath, as_path
from ..segments import Batch
from ..sources import Readable


class NamedRecords:
    """The records that an index names. Each entry must be where a record starts.

    Args:
        index: path or URL of the index, which is kept in memory: 16 bytes an entry, and the keys
            where they are texts.
        source: the record file.

    Raises:
        BadIndexError: it is no index, or names a place behind the end of the file.
        OSError: it cannot be read.
    """

    def __init__(self, index: StrPath, source: Readable) -> None:
        self._index = read_entries(as_path(index))
        self._path = source.path
        self._offsets = self._index.offsets[:]
        self._entries = array("Q", range(len(self._offsets)))
        if not _heads.rises(self._offsets):
            sort_entries(self._offsets, self._entries)
        self._next = 0  # the entry, by offset, that comes next
        if self._offsets[-1] >= source.size:
            raise self._wrong(len(self._offsets) - 1)

    def keys(self, batch: Batch) -> list[int | str | None]:
        """Return the key of each record of a batch, None where it is not named.

        Batches come in order. Of several keys, one counts.

        Raises:
            BadIndexError: the index names a place inside of the batch where no record starts.
        """
        found: list[int | str | None] = []
        offsets, at = self._offsets, self._next
        for offset in batch.offsets:
            if at < len(offsets) and offsets[at] < offset:
                raise self._wrong(at)
            named = at < len(offsets) and offsets[at] == offset
            found.append(self._index.keys[self._entries[at]] if named else None)
            while at < len(offsets) and offsets[at] == offset:
                at += 1
        self._next = at
        return found

    def require_all(self) -> None:
        """Say what is wrong with entries that have not come up by the end of the file.

        Raises:
            BadIndexError: the index names a place where no record starts.
        """
        if self._next < len(self._offsets):
            raise self._wrong(self._next)

    def _wrong(self, at: int) -> BadIndexError:
        entry = self._entries[at]
        return BadIndexError(
            f"line {self._index.line_of(entry)} has key {self._index.keys[entry]!r} and offset "
            f"{self._offsets[at]}, where {self._path} has no record",
            path=self._index.path,
            advice="is that the index of this very file? recordio check says what is wrong",
        )
