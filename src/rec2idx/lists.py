"""The ``.lst`` files of im2rec: for each image a number, its labels, and the name of its file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from .errors import BadListError

_LEAST = 3  # columns: number, label, name


class ListLine(NamedTuple):
    """A line of a list.

    Attributes:
        number: the image's number, which is its record's id and key.
        labels: one label or more.
        name: the name of its file, from the folder that the list is for.
    """

    number: int
    labels: tuple[float, ...]
    name: str


def read_list(path: str | os.PathLike[str]) -> Iterator[ListLine]:
    r"""Yield the lines of a list, read as im2rec reads them; lines without any text are skipped.

    Columns stand between tabs, and white space around them does not count. Names that are not
    UTF-8 come as `os.fsdecode` gives them.

    Args:
        path: the list.

    Raises:
        BadListError: a line has no number, label and name. Where im2rec skips such a line and goes
            on, this says which it is.
        OSError: the list cannot be read.

    >>> with open("some.lst", "w") as file:
    ...     print("7\t0.5\t1\tcats/a.jpg", file=file)
    >>> list(read_list("some.lst"))
    [ListLine(number=7, labels=(0.5, 1.0), name='cats/a.jpg')]
    """
    name = os.fsdecode(path)
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        for line, text in enumerate(file, 1):
            columns = [column.strip() for column in text.strip().split("\t")]
            if columns == [""]:
                continue
            if len(columns) < _LEAST:
                raise _bad(name, line, f"{len(columns)} columns: {text.strip()!r}")
            try:
                number = int(columns[0])
                labels = tuple(map(float, columns[1:-1]))
            except ValueError as error:
                raise _bad(name, line, str(error)) from error
            yield ListLine(number, labels, columns[-1])


def _bad(path: str, line: int, found: str) -> BadListError:
    error = BadListError(
        f"line {line} is none of a list",
        path=path,
        expected="a whole number, one label or more, and a file name, with tabs between them",
        found=found[:200],
        advice="mend the line",
    )
    error.line = line
    return error
