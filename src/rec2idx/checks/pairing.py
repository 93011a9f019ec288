"""The records of one or several files, laid end to end, and the entries of an index over them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cached_property

from .. import _pairs
from ..lines import IndexFile
from ..survey import Survey


class Records:
    """All records of some files, as an index over them counts and names them.

    Attributes:
        surveys: the files.
        bases: bytes in the files before each, and in all of them.
        firsts: records in the files before each, and in all of them.
        starts: where the records start, an array of int64.

    >>> surveys = [Survey("a.rec", 88, array("q", [0, 44])), Survey("b.rec", 44, array("q", [0]))]
    >>> records = Records(surveys)
    >>> records.starts, records.size
    (array('q', [0, 44, 88]), 132)
    >>> records.file_of(2), records.nearest(90)
    ((1, 0), 2)
    """

    def __init__(self, surveys: list[Survey]) -> None:
        self.surveys = surveys
        self.bases = [0]
        self.firsts = [0]
        for survey in surveys:
            self.bases.append(self.bases[-1] + survey.size)
            self.firsts.append(self.firsts[-1] + len(survey))
        self.starts = array("q")
        if len(surveys) == 1:
            self.starts = surveys[0].offsets
        else:
            for survey, base in zip(surveys, self.bases, strict=False):
                self.starts.extend(_pairs.shifted(survey.offsets, base))

    def __len__(self) -> int:
        return self.firsts[-1]

    @property
    def size(self) -> int:
        """Bytes in all files."""
        return self.bases[-1]

    @cached_property
    def traits(self) -> array[int]:
        """What is true of each record, as in a `Survey`."""
        if len(self.surveys) == 1:
            return self.surveys[0].traits
        return array("B", b"".join(bytes(survey.traits) for survey in self.surveys))

    @cached_property
    def ids(self) -> array[int]:
        """The id of each record, as in a `Survey`."""
        if len(self.surveys) == 1:
            return self.surveys[0].ids
        found = array("Q")
        for survey in self.surveys:
            found.extend(survey.ids)
        return found

    @cached_property
    def repeated_ids(self) -> tuple[int, list[int]]:
        """How many records have the id of one before them, and some of these records."""
        return _pairs.repeated(self.ids)

    @cached_property
    def regions(self) -> tuple[array[int], array[int]]:
        """Where the damaged regions start, and where they stop."""
        starts, stops = array("q"), array("q")
        for survey, base in zip(self.surveys, self.bases, strict=False):
            starts.extend(base + region.start for region in survey.regions)
            stops.extend(base + region.stop for region in survey.regions)
        return starts, stops

    def file_of(self, record: int) -> tuple[int, int]:
        """Return the number of a record's file, and its own number in there."""
        file = bisect_right(self.firsts, record) - 1
        return file, record - self.firsts[file]

    def nearest(self, offset: int) -> int | None:
        """Return the record that starts nearest to an offset; None if there is none."""
        if not self.starts:
            return None
        behind = bisect_right(self.starts, offset)
        around = range(max(behind - 1, 0), min(behind + 1, len(self.starts)))
        return min(around, key=lambda record: abs(self.starts[record] - offset))


class Pairing:
    """Which record each entry of an index names.

    Attributes:
        records: the records.
        entries: the offsets, an array of uint64; or the very starts of the records.
        exact: whether there is one entry for each record, in order.

    >>> records = Records([Survey("a.rec", 132, array("q", [0, 44, 88]))])
    >>> pairing = Pairing(records, array("Q", [0, 9, 88, 132]))
    >>> pairing.fits, pairing.of(_pairs.BETWEEN), pairing.of(_pairs.AT_END)
    (2, (1, [1]), (1, [3]))
    >>> pairing.record_of(2), pairing.record_of(1)
    (2, None)
    """

    def __init__(self, records: Records, entries: array[int]) -> None:
        self.records = records
        self.entries = entries
        self.exact = _pairs.same(entries, records.starts)

    def __len__(self) -> int:
        return len(self.entries)

    @cached_property
    def _match(self) -> tuple[array[int], array[int]]:
        records = self.records
        return _pairs.match(self.entries, records.starts, records.size, *records.regions)

    @property
    def named(self) -> array[int] | None:
        """Of each record, whether an entry names it, an array of bytes; None if all are named."""
        return None if self.exact else self._match[1]

    @property
    def matched(self) -> array[int]:
        """Of each entry the record, or what else it is, as `_pairs.match` has them."""
        return self._match[0]

    def of(self, kind: int) -> tuple[int, list[int]]:
        """Return how many entries are `_pairs.BETWEEN` or the like, and the first few of them."""
        return (0, []) if self.exact else self._misses[-1 - kind]

    @cached_property
    def _misses(self) -> list[tuple[int, list[int]]]:
        return _pairs.misses(self.matched)

    @property
    def fits(self) -> int:
        """How many entries name a record."""
        return len(self) if self.exact else len(self) - sum(count for count, _ in self._misses)

    def record_of(self, entry: int) -> int | None:
        """Return the record that an entry names, or None."""
        if self.exact:
            return entry
        return self.matched[entry] if self.matched[entry] >= 0 else None

    def having(
        self, wanted: int, unwanted: int = 0, *, named: bool = True
    ) -> tuple[int, list[int]]:
        """Return how many records an entry names, or none does, and the first few of them.

        Args:
            wanted: only those of which one of these traits is true; 0 for all.
            unwanted: only those of which none of these is.
            named: whether an entry names them.
        """
        if self.exact and not named:
            return 0, []
        return _pairs.having(self.records.traits, wanted, unwanted, self.named, named)

    def over(self, entries: array[int]) -> Pairing:
        """Return the pairing of the same records with other entries."""
        return self if _pairs.same(self.entries, entries) else Pairing(self.records, entries)


def pairing_of(surveys: list[Survey], index: IndexFile | None) -> Pairing:
    """Return which records an index names; without one, all of them."""
    records = Records(surveys)
    # An index of all records would have these very offsets.
    return Pairing(records, records.starts if index is None else index.offsets)
