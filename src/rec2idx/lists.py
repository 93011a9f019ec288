"""The ``.lst`` files of im2rec: for each image a number, its labels, and the name of its file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TextIO

from .errors import BadListError

_LEAST = 3  # columns: number, label, name
_LONGEST = 1 << 24  # characters of a line: a list of such is none, but some other file


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


def lines_of(file: TextIO, path: str) -> Iterator[ListLine]:
    """Yield the lines of an open list, as `read_list` does; errors name `path`."""
    for line, text in enumerate(iter(lambda: file.readline(_LONGEST), ""), 1):
        if len(text) == _LONGEST:
            raise _bad(path, line, f"{_LONGEST} characters or more: {text[:100]!r}")
        columns = [column.strip() for column in text.strip().split("\t")]
        if columns == [""]:
            continue
        if len(columns) < _LEAST:
            what = "column" if len(columns) == 1 else "columns"
            advice = "is that a list, or another file?" if "\0" in text else "mend the line"
            raise _bad(path, line, f"{len(columns)} {what}: {text.strip()!r}", advice)
        try:
            number = int(columns[0])
        except ValueError:
            raise _bad(path, line, f"{columns[0]!r} as number") from None
        if not 0 <= number < 1 << 64:
            raise _bad(path, line, f"{number} as number, which no id can be")
        try:
            labels = tuple(map(float, columns[1:-1]))
        except ValueError:
            raise _bad(path, line, f"labels {columns[1:-1]!r}") from None
        yield ListLine(number, labels, columns[-1])


def written(line: ListLine) -> str:
    r"""Return a line of a list as im2rec writes it.

    >>> written(ListLine(7, (1.0,), "cats/a.jpg"))
    '7\t1.000000\tcats/a.jpg\n'
    """
    labels = "".join(f"{label:f}\t" for label in line.labels)
    return f"{line.number}\t{labels}{line.name}\n"


def has_room_for(name: str) -> bool:
    r"""Return whether a file of this name can stand in a list, and is read from it as it is.

    >>> has_room_for("a b.jpg"), has_room_for("a\tb.jpg"), has_room_for(" a.jpg")
    (True, False, False)
    """
    return name == name.strip() and not any(end in name for end in "\t\r\n")


def _bad(path: str, line: int, found: str, advice: str = "mend the line") -> BadListError:
    error = BadListError(
        f"line {line} is not one of an im2rec list",
        path=path,
        expected="a whole number from 0 to 2^64 - 1, one label or more, and a file name, with tabs "
        "between them",
        found=found[:200],
        advice=advice,
    )
    error.line = line
    return error
