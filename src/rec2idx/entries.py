"""Keys and offsets as they come out of an index, line by line, in as few bytes as they need."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable

from ._lines import parse_lines

TOP = 1 << 64  # offsets, and keys that are numbers, are below
_PLAIN = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII)


class Entries:
    """Entries of an index in the order of its lines.

    Keys are kept as numbers until one comes that is written otherwise than a number of 64 bits;
    from then on, all are kept as they were written. So no key loses what tells it from another.

    Attributes:
        numbers: the keys, or, once there are texts, only those that `settle` has not seen.
        offsets: the offset of each key.
        texts: the keys as texts, or None while all are numbers.

    >>> entries = Entries()
    >>> entries.add("7", 0)
    >>> entries.keys
    array('Q', [7])
    >>> entries.add("-7", 44)
    >>> entries.keys
    ['7', '-7']
    """

    def __init__(self) -> None:
        self.numbers = array("Q")
        self.offsets = array("Q")
        self.texts: list[str] | None = None

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def keys(self) -> array[int] | list[str]:
        """The keys: numbers, or texts if not all are numbers."""
        return self.numbers if self.texts is None else self.texts

    def add(self, key: str, offset: int) -> None:
        """Append one entry."""
        self.offsets.append(offset)
        number = as_number(key)
        if self.texts is None and number is None:
            self.texts = []
            self.settle()
        if self.texts is not None:
            self.texts.append(key)
        elif number is not None:
            self.numbers.append(number)

    def add_names(self, names: list[str], offsets: Iterable[int]) -> None:
        """Append entries when there are texts already."""
        assert self.texts is not None
        self.texts.extend(names)
        self.offsets.extend(offsets)

    def take(self, data: bytes, start: int, separator: int, returns: bool) -> tuple[int, int]:
        """Append the lines that the kernel takes; return where it stopped, and how many they were.

        Their keys are the last in `numbers` until `settle` is called, as must be done.
        """
        return parse_lines(data, start, self.numbers, self.offsets, separator, returns)

    def settle(self) -> None:
        """Keep as texts, if that is how keys are kept, what was appended as numbers."""
        if self.texts is not None:
            self.texts.extend(map(str, self.numbers))
            del self.numbers[:]

    def extend(self, other: Entries, start: int, stop: int) -> None:
        """Append some entries of another."""
        if self.texts is None and other.texts is None:
            self.numbers.extend(other.numbers[start:stop])
            self.offsets.extend(other.offsets[start:stop])
            return
        for at in range(start, stop):
            self.add(str(other.keys[at]), other.offsets[at])


def as_number(text: str) -> int | None:
    """Return a key as a number, or None if it is written otherwise than a number of 64 bits.

    >>> as_number("7"), as_number("007"), as_number(str(1 << 64))
    (7, None, None)
    """
    if _PLAIN.fullmatch(text) is None:
        return None
    number = int(text)
    return number if number < TOP else None
