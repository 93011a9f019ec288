"""What is odd about a line of an index, each oddity by a stable word."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .entries import TOP, as_number

KEPT = 3  # lines of each kind that are kept, the first ones
SHOWN = 60  # characters of a line that are shown
LONGEST = 1 << 16  # bytes of a line that are looked at

# Texts of the codes, for people.
MEANINGS = {
    "bom": "a byte order mark before the first line",
    "blank-line": "a line without anything on it",
    "comment": "a comment",
    "cr": "a line ends in a carriage return alone",
    "crlf": "a line ends in a carriage return and a newline",
    "empty": "the index has no bytes",
    "extra-spaces": "white space where none belongs",
    "float-key": "the key is a number with a point or an exponent",
    "key-too-large": "the key is 2^64 or more",
    "leading-zeros": "the key is a number with zeros before it",
    "long-line": f"a line of more than {LONGEST} bytes",
    "negative-key": "the key is below 0",
    "negative-offset": "the offset is below 0",
    "no-final-newline": "the last line does not end in a newline",
    "no-offset": "there is a key and no offset",
    "not-a-number": "there should be a number, and there is something else",
    "not-utf-8": "bytes that are no text",
    "nul-bytes": "zero bytes",
    "offset-too-large": "the offset is 2^64 or more",
    "plus-sign": "the key has a plus sign",
    "spaces-for-tab": "key and offset are not separated by a tab",
    "text-key": "the key is not a number",
    "third-column": "something stands behind the offset",
}

_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_INTEGER = re.compile(r"([+-]?)([0-9]+)", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class OddLine:
    """A line that is not written as it should be.

    Attributes:
        line: its number, counted from 1.
        position: byte of the index at which it starts.
        text: what it says, shortened, and printable.
    """

    line: int
    position: int
    text: str


@dataclass(frozen=True)
class Problem:
    """What is odd about some lines of an index.

    Attributes:
        code: a stable word; `MEANINGS` has them all.
        count: how many lines it is true of.
        first: the first few of them.
    """

    code: str
    count: int
    first: tuple[OddLine, ...]


@dataclass
class Problems:
    r"""Problems as they come up; of each kind a count and the first lines, however many there are.

    >>> problems = Problems()
    >>> for line in range(5):
    ...     problems.add(["comment"], line + 1, 4 * line, b"# x\n")
    >>> [problem] = problems.found()
    >>> problem.code, problem.count, problem.first[1]
    ('comment', 5, OddLine(line=2, position=4, text='# x'))
    """

    _counts: dict[str, int] = field(default_factory=dict)
    _first: dict[str, list[OddLine]] = field(default_factory=dict)

    def add(self, codes: list[str], line: int, position: int, data: bytes) -> None:
        """Say what is odd about a line."""
        for code in codes:
            self._counts[code] = self._counts.get(code, 0) + 1
            first = self._first.setdefault(code, [])
            if len(first) < KEPT:
                first.append(OddLine(line, position, shown(data)))

    def add_more(self, codes: list[str], count: int) -> None:
        """Say that so many lines more are odd in ways of which enough lines are kept."""
        for code in codes:
            self._counts[code] += count

    def has_enough(self, codes: list[str]) -> bool:
        """Return whether no more lines are kept for any of the codes."""
        return all(len(self._first.get(code, ())) == KEPT for code in codes)

    def found(self) -> tuple[Problem, ...]:
        """Return the problems in the order in which they came up."""
        return tuple(
            Problem(code, count, tuple(self._first[code])) for code, count in self._counts.items()
        )


def examine(line: bytes, *, opens: bool) -> tuple[list[str], tuple[str, int] | None]:
    r"""Return what is odd about a line, and the key and offset that it gives, if it does.

    Args:
        line: the line with its end, if it has one.
        opens: whether the file begins with it.

    >>> examine(b"3 108\r\n", opens=False)
    (['crlf', 'spaces-for-tab'], ('3', 108))
    >>> examine(b"# key, offset\n", opens=True)
    (['comment'], None)
    """
    body = line.rstrip(b"\r\n")
    codes = _ENDS[line[len(body) :]][:]
    if opens:
        for mark in _MARKS:
            if body.startswith(mark):
                codes.append("bom")
                body = body[len(mark) :]
    text = body.decode("utf-8", "surrogateescape")
    if not text.isascii() and any("\udc80" <= character <= "\udcff" for character in text):
        codes.append("not-utf-8")
    more, entry = _fields(text)
    return codes + more, entry


_ENDS = {b"\n": [], b"\r\n": ["crlf"], b"\r": ["cr"], b"": ["no-final-newline"]}
_SPACES = " \t\v\f"  # those that C knows; other characters of Unicode belong to a key


def _fields(text: str) -> tuple[list[str], tuple[str, int] | None]:
    """Return what `examine` does, for a line without what stands around it."""
    stripped = text.strip(_SPACES)
    if "\0" in text:
        return ["nul-bytes"], None
    if not stripped:
        return ["blank-line"], None
    if stripped.startswith("#"):
        return ["comment"], None
    codes = []
    if "\t" in stripped:
        columns = stripped.split("\t")
        fields = [column.strip(_SPACES) for column in columns if column.strip(_SPACES)]
        if stripped != text or fields != columns:
            codes.append("extra-spaces")
    else:
        fields = re.split(f"[{_SPACES}]+", stripped)
        if len(fields) > 1:
            codes.append("spaces-for-tab")
        if stripped != text:
            codes.append("extra-spaces")
    if len(fields) == 1:
        return [*codes, "no-offset" if _INTEGER.fullmatch(stripped) else "not-a-number"], None
    if len(fields) > 2:
        codes.append("third-column")
    codes += _key_codes(fields[0])
    offset, wrong = _offset(fields[1])
    return codes + wrong, None if offset is None else (fields[0], offset)


def _key_codes(key: str) -> list[str]:
    if as_number(key) is not None:
        return []
    if (integer := _INTEGER.fullmatch(key)) is None:
        return ["float-key" if _FLOAT.fullmatch(key) else "text-key"]
    codes = {"-": ["negative-key"], "+": ["plus-sign"], "": []}[integer[1]]
    digits = integer[2].lstrip("0") or "0"
    if digits != integer[2]:
        codes.append("leading-zeros")
    if _is_large(digits):
        codes.append("key-too-large")
    return codes


def _offset(text: str) -> tuple[int | None, list[str]]:
    """Return the offset, or None and why it is none."""
    if (integer := _INTEGER.fullmatch(text)) is None:
        return None, ["not-a-number"]
    digits = integer[2].lstrip("0") or "0"
    if integer[1] == "-":
        return None, ["negative-offset"]
    if integer[1] == "+":
        return None, ["not-a-number"]
    if _is_large(digits):
        return None, ["offset-too-large"]
    return int(digits), []


def _is_large(digits: str) -> bool:
    # Digits without end are not made a number: that takes time that grows with their square.
    return len(digits) > 20 or int(digits) >= TOP


def shown(data: bytes) -> str:
    r"""Return a line as it is shown to people: shortened, and printable.

    >>> shown(b"a\tb\x00\n")
    'a\\tb\\x00'
    """
    text = data[: 4 * SHOWN].rstrip(b"\r\n").decode("utf-8", "backslashreplace")
    cut = len(text) > SHOWN or len(data) > 4 * SHOWN
    printable = "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text[:SHOWN]
    )
    return printable + "..." if cut else printable
