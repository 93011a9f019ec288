"""Lists of im2rec in files: read line by line, or as the names that numbers stand for."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import TextIO

from ._heads import repeats, rises
from ._lines import sort_entries
from .errors import BadListError
from .lists import ListLine, lines_of
from .paths import as_path
from .sources import require_local


class Names:
    r"""The names in a list, by number, in little more memory than their letters take.

    Args:
        path: the list.

    Raises:
        BadListError: a line is none of a list, or two have the same number.
        OSError: it cannot be read.

    >>> with open("some.lst", "w") as file:
    ...     print("7\t0.5\t1\tcats/a.jpg", file=file)
    >>> names = Names("some.lst")
    >>> names.get(7), names.get(8)
    ('cats/a.jpg', None)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._numbers = array("Q")
        self._text = bytearray()
        self._stops = array("Q", [0])
        for line in read_list(path):
            self._numbers.append(line.number)
            self._text += line.name.encode("utf-8", "surrogateescape")
            self._stops.append(len(self._text))
        self._places = array("Q", range(len(self._numbers)))
        if not rises(self._numbers):
            sort_entries(self._numbers, self._places)
            self._require_distinct(as_path(path))

    def get(self, number: int) -> str | None:
        """Return the name that stands with a number, None if there is none."""
        at = bisect_left(self._numbers, number)
        if at == len(self._numbers) or self._numbers[at] != number:
            return None
        return self._name(at)

    def _name(self, at: int) -> str:
        place = self._places[at]
        name = self._text[self._stops[place] : self._stops[place + 1]]
        return name.decode("utf-8", "surrogateescape")

    def _require_distinct(self, path: str) -> None:
        count, least = repeats(self._numbers)
        if least is None:
            return
        at = bisect_left(self._numbers, least)
        raise BadListError(
            f"{count} lines have a number that stands on another line, too",
            path=path,
            expected="a name for each number",
            found=f"{self._name(at)!r} and {self._name(at + 1)!r} for {least}",
            advice="which is the name of a record's image cannot be told; number the lines anew",
        )


def read_list(path: str | os.PathLike[str]) -> Iterator[ListLine]:
    r"""Yield the lines of a list, read as im2rec reads them; lines without any text are skipped.

    Columns stand between tabs, and white space around them does not count. Names that are not
    UTF-8 come as `os.fsdecode` gives them.

    Args:
        path: the list.

    Raises:
        BadListError: a line has no number, label and name, or is longer than 2^24 characters; or
            the number is negative, or 2^64 or more. Where im2rec skips such a line and goes on,
            this says which it is.
        OSError: the list cannot be read.

    >>> with open("some.lst", "w") as file:
    ...     print("7\t0.5\t1\tcats/a.jpg", file=file)
    >>> list(read_list("some.lst"))
    [ListLine(number=7, labels=(0.5, 1.0), name='cats/a.jpg')]
    """
    with open_list(path) as file:
        yield from lines_of(file, as_path(path))


def open_list(path: str | os.PathLike[str]) -> TextIO:
    """Open a list.

    Raises:
        OSError: it cannot be opened, or is behind a URL.
    """
    text = as_path(path)
    require_local(text, "lists are read from files on this machine only")
    return open(text, encoding="utf-8", errors="surrogateescape")
