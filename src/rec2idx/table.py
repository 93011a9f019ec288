"""Where the records of a data set are: in which file, at which byte, under which key."""

from __future__ import annotations

import operator
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeAlias

from . import _heads
from ._lines import sort_distinct, sort_entries
from .entries import TOP, as_number
from .errors import KeysError
from .sources import Place

# Numbers that run on are not kept one by one.
Keys: TypeAlias = "range | array[int] | list[str]"


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Attributes:
        path: its path or URL, as it was given.
        place: where another process finds it.
        size: bytes in it.
        base: bytes in the files before it.
        index: the index that says where its records are; None if it was walked.
        group: number of that index; files of the same group have their keys from one index.
        images: the first record that is no image behind the images, where the file header of
            InsightFace says so; None in other files.
    """

    path: str
    place: Place
    size: int
    base: int
    index: str | None
    group: int
    images: int | None


class Table:
    """The entries of a data set, in its order.

    An entry takes 16 bytes, or 8 where keys are running numbers; 8 more where entries are not in
    file order. Once a key was looked up, 16 more if the keys are not in order; texts take more.

    Args:
        files: the files.
        offsets: where each record starts in the files laid end to end, an array of uint64.
        keys: the key of each.

    Attributes:
        files: as given.
        offsets: as given.
        keys: as given.
    """

    def __init__(self, files: tuple[DataFile, ...], offsets: array[int], keys: Keys) -> None:
        self.files = files
        self.offsets = offsets
        self.keys = keys
        self._bases = [file.base for file in files]
        self._in_order = offsets
        if not _heads.rises(offsets):
            self._in_order = offsets[:]
            sort_distinct(self._in_order)
        self._sorted: tuple[array[int], array[int] | None] | None = None
        self._texts: dict[str, int] | None = None
        self._ambiguous: set[str] = set()

    def __len__(self) -> int:
        return len(self.offsets)

    def place(self, entry: int) -> tuple[int, int, int]:
        """Return where a record is.

        Returns:
            The number of its file, its offset in it, and the bytes to the next entry or the end of
            the file. The record is not longer, unless the index leaves out where it ends.
        """
        offset = self.offsets[entry]
        ordered = self._in_order
        after = entry + 1 if ordered is self.offsets else bisect_right(ordered, offset)
        number = bisect_right(self._bases, offset) - 1
        file = self.files[number]
        stop = file.base + file.size
        if after < len(ordered) and ordered[after] < stop:
            stop = ordered[after]
        return number, offset - file.base, stop - offset

    def find(self, key: int | str) -> int | None:
        """Return the last entry with a key, None if there is none.

        Raises:
            KeysError: indexes of several files have it.
        """
        if isinstance(self.keys, list):
            return self._find_text(key if isinstance(key, str) else str(operator.index(key)))
        number = as_number(key) if isinstance(key, str) else operator.index(key)
        if number is None or not 0 <= number < TOP:
            return None
        if isinstance(self.keys, range):
            return self.keys.index(number) if number in self.keys else None
        keys, entries = self._by_key(self.keys)
        at = bisect_right(keys, number) - 1
        if at < 0 or keys[at] != number:
            return None
        if entries is None:
            return at
        if self._group(entries[bisect_left(keys, number)]) != self._group(entries[at]):
            raise _ambiguous(number)
        return entries[at]

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
            texts: dict[str, int] = {}
            for entry, text in enumerate(self.keys):
                assert isinstance(text, str)
                before = texts.get(text)
                if before is not None and self._group(before) != self._group(entry):
                    self._ambiguous.add(text)
                texts[text] = entry
            self._texts = texts
        if key in self._ambiguous:
            raise _ambiguous(key)
        return self._texts.get(key)

    def _group(self, entry: int) -> int:
        return self.files[bisect_right(self._bases, self.offsets[entry]) - 1].group

    def __getstate__(self) -> dict[str, object]:
        # What was made to look up keys is made again where it is needed.
        return {**self.__dict__, "_sorted": None, "_texts": None}


def _ambiguous(key: int | str) -> KeysError:
    return KeysError(
        f"the indexes of several files have the key {key!r}",
        advice="give one index over all of them: recordio index --combine",
    )


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
