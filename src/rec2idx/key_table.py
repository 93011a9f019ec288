"""Where the record of each key is: what an index says, for many look-ups."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from ._lines import RISING, RUNNING, order_of, sort_entries
from .errors import BadIndexError
from .lines import IndexFile, mxnet_entries, read_index


class KeyTable:
    """Keys and offsets of an index, in the order of its lines.

    Of lines with the same key, the last one counts. Running numbers take 8 bytes a line, other
    numbers 16, and 16 more once a key is looked up that are in no order.

    Args:
        keys: the key of each line.
        offsets: the offset of each line, an array of uint64. It is kept, and changed.
        size: bytes in the record file.

    >>> table = KeyTable(array("Q", [7, 9]), array("Q", [0, 44]), 88)
    >>> table.find(9), table.find(7.0)
    ((44, 44), (0, 44))
    """

    def __init__(self, keys: Sequence[Any], offsets: array[int], size: int) -> None:
        self.keys: Sequence[Any] = keys
        self.count = len(offsets)
        offsets.append(size)  # where the last record ends, if the index is in the order of the file
        self._offsets = offsets
        self._place: Callable[[Any], int] = self._named
        self._places: dict[Any, int] | None = None
        self._sorted: tuple[array[int], array[int]] | None = None
        if isinstance(keys, array):
            order = order_of(keys)
            self._place = {RUNNING: self._running, RISING: self._rising}.get(order, self._unordered)
            if order == RUNNING:
                first = keys[0] if keys else 0
                self.keys = range(first, first + self.count)

    def find(self, key: Any) -> tuple[int, int]:
        """Return the offset of a key's record, and how far it is to that of the next line.

        Raises:
            KeyError: no line has the key.
            TypeError: it cannot be a key: it is a list, for instance.
        """
        place = self._place(key)
        offset = self._offsets[place]
        return offset, self._offsets[place + 1] - offset

    def as_dict(self) -> dict[Any, int]:
        """Return the offset of each key."""
        return dict(zip(self.keys, self._offsets, strict=False))

    def _running(self, key: Any) -> int:
        number = key if type(key) is int else _whole(key)
        place: int = number - self.keys.start  # type: ignore[attr-defined] # it is a range
        if 0 <= place < self.count:
            return place
        raise KeyError(key)

    def _rising(self, key: Any) -> int:
        number = _whole(key)
        place = bisect_left(self.keys, number)
        if place < self.count and self.keys[place] == number:
            return place
        raise KeyError(key)

    def _unordered(self, key: Any) -> int:
        number = _whole(key)
        if self._sorted is None:
            ordered, places = array("Q", self.keys), array("Q", range(self.count))
            sort_entries(ordered, places)
            self._sorted = ordered, places  # at once, for other threads
        ordered, places = self._sorted
        at = bisect_right(ordered, number) - 1
        if at >= 0 and ordered[at] == number:
            return places[at]
        raise KeyError(key)

    def _named(self, key: Any) -> int:
        if self._places is None:
            self._places = {name: place for place, name in enumerate(self.keys)}
        return self._places[key]


def _whole(key: Any) -> int:
    """Return the number that a key equals, as 7.0 equals 7.

    Raises:
        KeyError: there is none.
        TypeError: it cannot be a key.
    """
    hash(key)
    try:
        number = int(key)
    except (TypeError, ValueError, OverflowError):
        raise KeyError(key) from None
    if number != key:
        raise KeyError(key)
    return number


def read_table(path: str, key_type: Callable[[str], Any], size: int) -> KeyTable:
    """Read an index as MXNet's class for indexed files does, and fail where it fails.

    Args:
        path: the index.
        key_type: makes a key of the text in a line.
        size: bytes in the record file.

    Raises:
        BadIndexError: a line is none that MXNet can read.
        OSError: the index cannot be read.
    """
    index = read_index(path)
    known: type[int] | type[str] = int if key_type is int else str
    entries = mxnet_entries(index, known)
    if entries.failure is not None:
        raise _bad_line(index, entries.failure.line, entries.failure.reason)
    if key_type is known:
        return KeyTable(entries.keys, entries.offsets, size)
    keys = []
    for line, text in enumerate(entries.keys, 1):
        try:
            keys.append(key_type(str(text)))
        except Exception as error:
            raise _bad_line(index, line, f"{type(error).__name__}: {error}") from error
    return KeyTable(keys, entries.offsets, size)


def _bad_line(index: IndexFile, line: int, reason: str) -> BadIndexError:
    problem = next((p for p in index.problems if any(at.line == line for at in p.first)), None)
    named = f", {problem.code}" if problem else ""
    error = BadIndexError(
        f"line {line} has no key, tab and offset as MXNet reads them{named} ({reason})",
        path=index.path,
        advice="mend the line, or make the index anew with rec2idx; recordio check says more",
    )
    error.line = line
    return error
