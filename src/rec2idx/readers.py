"""What DALI and MXNet make of an index, line by line, odd ones too, without either of them.

Both are followed while the lines go by, since what they make of a line may depend on those before
it. As long as a reader takes what the lines are meant to say, it keeps nothing of its own.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass

from .entries import TOP, Entries


@dataclass(frozen=True)
class Stop:
    """Where a reader gives up.

    Attributes:
        line: number of the line, counted from 1.
        reason: what it says there, or what it met.
    """

    line: int
    reason: str


# What `std::istream >> size_t` takes, in the locale of C: white space, a sign, digits.
_NUMBER = re.compile(rb"[ \t-\r]*(?:([+-]?)([0-9]+))?")
_NUMERALS = b"0123456789"
_DIGITS = 20  # of the largest number below 2^64


class DaliPairs:
    """The pairs of numbers that DALI reads: where a line ends means nothing to it.

    Args:
        entries: what the lines are meant to say, before what comes next.
    """

    def __init__(self, entries: Entries) -> None:
        self.stop: Stop | None = None
        self._entries = entries
        self._own: array[int] | None = None  # offsets, once they are others than the entries'
        self._shared: int | None = None  # entries it took, once it stopped
        self._inside = False  # a key has come, and its offset has not
        self._begun = b""  # of a number that goes on in the next piece

    def run(self, count: int) -> None:
        """Go over the last `count` entries, whose lines are two numbers each."""
        if self.stop is not None or count == 0:
            return
        first = len(self._entries) - count
        if self._inside and self._own is None:
            self._own = self._entries.offsets[:first]
        if self._own is not None:  # keys and offsets have changed places inside a pair
            source = self._entries.numbers if self._inside else self._entries.offsets
            self._own.extend(source[len(source) - count :])

    def text(self, data: bytes, line: int, meant: list[int], more: bool = False) -> None:
        """Go over a line, before it is added to the entries.

        Args:
            data: the line, or a piece of it.
            line: its number.
            meant: the offset that it is meant to give, if it does.
            more: whether another piece of the same line follows.
        """
        if self.stop is not None:
            return
        data = self._begun + data
        self._begun = b""
        if more:
            whole = data.rstrip(_NUMERALS)  # without what may begin a number
            begun = data[len(whole) :]
            digits = begun.lstrip(b"0") or begun[:1]
            data = whole[:-1] if whole.endswith((b"+", b"-")) else whole
            # More digits are too many all the same.
            self._begun = whole[len(data) :] + digits[: _DIGITS + 1]
        found = self._pairs(data, line)
        before = len(self._entries)
        if self._own is not None:
            self._own.extend(found)
        elif self.stop is not None and found == meant[: len(found)]:
            self._shared = before + len(found)
        elif found != meant:
            self._own = self._entries.offsets[:before]
            self._own.extend(found)

    def offsets(self) -> array[int]:
        """Return a copy of the offsets in the order in which they were read."""
        source = self._entries.offsets if self._own is None else self._own
        return source[:] if self._shared is None else source[: self._shared]

    def _pairs(self, data: bytes, line: int) -> list[int]:
        found = []
        at = 0
        while at < len(data):
            match = _NUMBER.match(data, at)
            assert match is not None  # it may be empty
            if match[2] is None:
                if match.end() < len(data):
                    self.stop = Stop(line, f"no number: {_shown(data[match.end() :][:1])}")
                break
            digits = match[2].lstrip(b"0") or b"0"
            if len(digits) > _DIGITS or int(digits) >= TOP:
                self.stop = Stop(line, f"2^64 or more: {_shown(digits)}")
                break
            if self._inside:
                found.append(int(digits) if match[1] != b"-" else -int(digits) % TOP)
            self._inside = not self._inside
            at = match.end()
        return found


def _shown(data: bytes) -> str:
    """Return what stands where a reader stops.

    No more of it than is known there however the line was cut into pieces: so callers give one
    byte of what is no number, and of a number the digits without the zeros before them.
    """
    return repr(data[:_DIGITS])[1:] + ("..." if len(data) > _DIGITS else "")


class MXNetLines:
    """The lines that MXNet's `MXIndexedRecordIO` reads, with keys of type int, and of type str.

    The file is text in UTF-8 to it.

    Args:
        entries: what the lines are meant to say, before what comes next.
    """

    def __init__(self, entries: Entries) -> None:
        self.stops: dict[type, Stop | None] = {int: None, str: None}
        self._entries = entries
        self._own: Entries | None = None  # once they are others

    def run(self, count: int) -> None:
        """Go over the last `count` entries, whose lines it takes as they are."""
        if self._own is not None:
            self._own.extend(self._entries, len(self._entries) - count, len(self._entries))

    def text(self, data: bytes, line: int, meant: tuple[str, int] | None) -> None:
        """Go over a line, before it is added to the entries, as `meant`."""
        if self.stops[str] is not None:
            return
        try:
            entry = self._entry(data, line)
        except (ValueError, IndexError) as error:
            self._give_up(Stop(line, f"{type(error).__name__}: {error}"))
            return
        if self._own is None and entry != meant:
            self._own = Entries()
            self._own.extend(self._entries, 0, len(self._entries))
        if self._own is not None:
            self._own.add(*entry)

    def found(self) -> Entries:
        """Return the entries; those before it stopped are of no use."""
        return self._entries if self._own is None else self._own

    def _entry(self, data: bytes, line: int) -> tuple[str, int]:
        columns = data.decode("utf-8").strip().split("\t")
        try:
            int(columns[0])
        except ValueError as error:  # of no matter to keys of type str
            self.stops[int] = self.stops[int] or Stop(line, f"ValueError: {error}")
        return columns[0], int(columns[1]) % TOP

    def _give_up(self, stop: Stop) -> None:
        self.stops = {kind: earlier or stop for kind, earlier in self.stops.items()}
        self._own = None
