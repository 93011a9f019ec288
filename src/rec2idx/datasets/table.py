"""Where the records of a data set are: in which file, at which byte, under which key."""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeAlias

from .. import _heads
from .._lines import RUNNING, order_of, sort_entries
from ..entries import TOP, as_number
from ..errors import KeysError, LabelsError
from ..redaction import redacted_repr
from ..sources import Place

# Numbers that run on are not kept one by one.
Keys: TypeAlias = "range | array[int] | list[str]"


@dataclass(frozen=True)
class Classes:
    """The classes of an InsightFace file, among those of all files of a data set.

    Attributes:
        first: the number of the file's class 0.
        count: how many there are, at most; 0 where that is not known.
        alone: whether there is no other such file: then nothing depends on it.
    """

    first: int
    count: int
    alone: bool

    def label(self, label: float) -> float:
        """Return a label of the file as that of the data set.

        Raises:
            LabelsError: the file has no such class.

        >>> Classes(10, 3, False).label(2.0)
        12.0
        """
        if not (self.alone or (0 <= label < self.count and label.is_integer())):
            raise LabelsError(
                "the label may be that of a class in another file",
                expected=f"one of the {self.count} classes that the file header announces",
                found=str(label),
                advice="make a data set of each file, which leaves labels as they are",
            )
        return label + self.first


@redacted_repr
@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Attributes:
        path: its path or URL, as it was given.
        place: where another process finds it.
        size: bytes in it.
        base: bytes in the files before it.
        classes: those of an InsightFace file; None for other files.
    """

    path: str
    place: Place
    size: int
    base: int
    classes: Classes | None


class Table:
    """The entries of a data set, in file order.

    An entry takes 16 bytes, or 8 where keys are running numbers. Once a key was looked up, 16 more
    if the keys are not in order; texts take more.

    Args:
        files: the files.
        offsets: where each record starts in the files laid end to end, an array of uint64, in
            order. It is kept, and changed.
        keys: the key of each.
        entries: how many there were before some were left out.

    Attributes:
        files: as given.
        bounds: the offsets, and the size of all files.
        keys: the key of each entry.
        left_out: how many entries were left out.
        classes: how many classes there are in all files; None where that is not known.
    """

    def __init__(
        self, files: tuple[DataFile, ...], offsets: array[int], keys: Keys, entries: int
    ) -> None:
        self.files = files
        self.left_out = entries - len(offsets)
        classes = [file.classes for file in files if file.classes is not None]
        self.classes = (classes[-1].first + classes[-1].count or None) if classes else None
        offsets.append(files[-1].base + files[-1].size)
        self.bounds = offsets
        self.keys = keys
        if isinstance(keys, array) and keys and order_of(keys) == RUNNING:
            self.keys = range(keys[0], keys[0] + len(keys))
        self._sorted: tuple[array[int], array[int] | None] | None = None
        self._texts: dict[str, tuple[int, int]] | None = None

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def find(self, key: int | str) -> int | None:
        """Return the entry with a key, None if there is none.

        Raises:
            KeysError: several records have it.
        """
        if isinstance(self.keys, list):
            return self._find_text(key if isinstance(key, str) else str(operator.index(key)))
        number = as_number(key) if isinstance(key, str) else operator.index(key)
        if number is None or not 0 <= number < TOP:
            return None
        if isinstance(self.keys, range):
            return self.keys.index(number) if number in self.keys else None
        keys, entries = self._by_key(self.keys)
        first = bisect_left(keys, number)
        if first == len(keys) or keys[first] != number:
            return None
        if entries is None:
            return first
        return self._only(key, entries[first], entries[bisect_right(keys, number) - 1])

    def _by_key(self, keys: array[int]) -> tuple[array[int], array[int] | None]:
        """Return the keys in order, and the entry of each, or None if that is their order."""
        if self._sorted is None:
            if _heads.rises(keys):
                self._sorted = keys, None
            else:
                ordered, entries = keys[:], array("Q", range(len(keys)))
                sort_entries(ordered, entries)
                self._sorted = ordered, entries
        return self._sorted

    def _find_text(self, key: str) -> int | None:
        if self._texts is None:
            texts: dict[str, tuple[int, int]] = {}  # the first and the last entry of each
            for entry, text in enumerate(self.keys):
                assert isinstance(text, str)
                texts[text] = texts.get(text, (entry,))[0], entry
            self._texts = texts
        found = self._texts.get(key)
        return None if found is None else self._only(key, *found)

    def _only(self, key: int | str, first: int, last: int) -> int:
        if self.bounds[first] != self.bounds[last]:
            raise KeysError(
                f"several records have the key {key!r}",
                path=self.files[0].path if len(self.files) == 1 else None,
                advice="several files need one index over all of them: recordio index --combine"
                if len(self.files) > 1
                else "recordio check says which lines of the index have it",
            )
        return first

    def __getstate__(self) -> dict[str, object]:
        # What was made to look up keys is made again where it is needed.
        return {**self.__dict__, "_sorted": None, "_texts": None}


def joined(keys: Iterable[Keys]) -> Keys:
    """Return the keys of several files as one: as texts if any of them are.

    >>> joined([range(2), range(2, 5)]), joined([range(2), array("Q", [9])])
    (range(0, 5), array('Q', [0, 1, 9]))
    """
    parts = [part for part in keys if len(part)]
    if len(parts) == 1:
        return parts[0]
    ranges = [part for part in parts if isinstance(part, range)]
    if len(ranges) == len(parts) and all(one.stop == two.start for one, two in pairwise(ranges)):
        return range(ranges[0].start, ranges[-1].stop) if ranges else range(0)
    numbers = [part for part in parts if not isinstance(part, list)]
    if len(numbers) == len(parts):
        return array("Q", chain.from_iterable(numbers))
    return [str(key) for part in parts for key in part]
