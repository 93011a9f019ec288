"""An index, read as fast and as exactly as can be: its entries, and what is odd about its lines."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from ._lines import sort_distinct
from .entries import Entries
from .lookalikes import HEAD_SIZE
from .paths import StrPath
from .problems import LONGEST, Problem, Problems, examine
from .readers import DaliPairs, MXNetLines, Stop
from .redaction import redacted_repr
from .sources import Source, Stream, opened

PIECE = 1 << 20  # bytes that are read at once


class Gaps:
    """Where lines give no entry; lines one after the other take no more memory than one."""

    def __init__(self) -> None:
        self._entries = array("Q")  # how many entries there are before a gap
        self._lines = array("Q")  # lines in all gaps up to this one

    def add(self, entries: int) -> None:
        """Say that a line gives no entry, and how many there are before it."""
        lines = self._lines[-1] + 1 if self._lines else 1
        if self._entries and self._entries[-1] == entries:
            self._lines[-1] = lines
        else:
            self._entries.append(entries)
            self._lines.append(lines)

    def before(self, entry: int) -> int:
        """Return how many lines before an entry give none."""
        gaps = bisect_right(self._entries, entry)
        return self._lines[gaps - 1] if gaps else 0


@redacted_repr
@dataclass(frozen=True, eq=False)
class IndexFile:
    """What an index says.

    An entry is a line with a key and an offset below 2^64, however oddly it is written. Lines end
    as text files' lines do: in a newline, a carriage return or both.

    Attributes:
        path: the index, as it was named.
        size: bytes in it.
        lines: lines in it.
        keys: the key of each entry, in the order of the lines: numbers, or, unless all are plain
            numbers below 2^64, texts.
        offsets: the offset of each entry.
        problems: what is odd about its lines; nothing is where DALI and MXNet can read it.
        head: its first bytes, to tell what it is if it is no index.
    """

    path: str
    size: int
    lines: int
    keys: array[int] | list[str]
    offsets: array[int]
    problems: tuple[Problem, ...]
    head: bytes = field(repr=False)
    _gaps: Gaps = field(repr=False)
    _dali: DaliPairs = field(repr=False)
    _mxnet: MXNetLines = field(repr=False)

    def line_of(self, entry: int) -> int:
        """Return the number of an entry's line, counted from 1."""
        return entry + 1 + self._gaps.before(entry)


def read_index(index: Source | Stream | StrPath | BinaryIO) -> IndexFile:
    r"""Read an index; nothing that it says is an error here.

    Args:
        index: a path, a URL, a file open in mode rb or an open source.

    Raises:
        OSError: it cannot be read, or changed meanwhile.

    >>> import io
    >>> index = read_index(io.BytesIO(b"0\t0\n\n1 44\n"))
    >>> index.offsets, index.line_of(1)
    (array('Q', [0, 44]), 3)
    >>> [(problem.code, problem.first[0].line) for problem in index.problems]
    [('blank-line', 2), ('spaces-for-tab', 3)]
    """
    with opened(index) as source:
        reader = _Reader()
        for piece in _pieces(source):
            reader.feed(piece)
        return reader.end(source.path)


@dataclass(frozen=True, eq=False)
class DaliEntries:
    """What DALI makes of an index.

    Attributes:
        offsets: where its samples start: in order, and each once.
        pairs: pairs of numbers that it read for that.
        stop: where it stopped reading, without a word; None if it came to the end.
        failure: why it refuses the index; None if it does not.
    """

    offsets: array[int]
    pairs: int
    stop: Stop | None
    failure: str | None


def dali_entries(index: IndexFile, record_size: int | None = None) -> DaliEntries:
    r"""Return what DALI 2.4 makes of an index.

    It reads pairs of numbers split at white space, up to the first that is none, and sorts the
    offsets. Two equal ones leave one sample, and one at the end of the records leaves none. That
    a record stands at an offset it sees only when it gets there.

    Args:
        index: the index.
        record_size: bytes in the file of records, or in all of them; None to leave it out of
            account.

    >>> import io
    >>> found = dali_entries(read_index(io.BytesIO(b"1\t44\n0\t0\ncat\t88\n3\t132\n")))
    >>> found.offsets, found.stop
    (array('Q', [0, 44]), Stop(line=3, reason="no number: 'c'"))
    """
    offsets = index._dali.offsets()
    pairs = len(offsets)
    failure = None if pairs else "RecordIO index file doesn't contain any indices"
    sort_distinct(offsets)
    if pairs and offsets[-1] == record_size:
        offsets.pop()
        failure = None if offsets else "Content of index files should not be empty"
    return DaliEntries(offsets, pairs, index._dali.stop, failure)


@dataclass(frozen=True, eq=False)
class MXNetEntries:
    """What MXNet's `MXIndexedRecordIO` makes of an index.

    Attributes:
        keys: its attribute of that name: a key for each line.
        offsets: the offset on the line of each key, as `seek` takes it: modulo 2^64. This may be
            the very array that the index has.
        failure: the line at which it raises, and what; then there are no keys.
    """

    keys: array[int] | list[int] | list[str]
    offsets: array[int]
    failure: Stop | None

    def places(self) -> dict[int | str, int]:
        """Return where it looks for each key: of lines with the same key, the last one counts."""
        return dict(zip(self.keys, self.offsets, strict=True))


def mxnet_entries(index: IndexFile, key_type: type[int] | type[str] = int) -> MXNetEntries:
    r"""Return what MXNet 1.9.1 makes of an index, on a system whose texts are UTF-8.

    A line of more than 65536 bytes is believed to fail unless three columns begin before that.

    Args:
        index: the index.
        key_type: as MXNet's class takes it: int or str.

    >>> import io
    >>> index = read_index(io.BytesIO(b"7\t0\n7\t44\n"))
    >>> mxnet_entries(index).keys, mxnet_entries(index).places()
    (array('Q', [7, 7]), {7: 44})
    """
    failure = index._mxnet.stops[key_type]
    if failure is not None:
        return MXNetEntries(array("Q"), array("Q"), failure)
    found = index._mxnet.found()
    keys: array[int] | list[int] | list[str] = found.keys
    if key_type is str and found.texts is None:
        keys = list(map(str, found.keys))
    elif key_type is int and found.texts is not None:
        keys = list(map(int, found.texts))
    return MXNetEntries(keys, found.offsets, None)


def _pieces(source: Source | Stream) -> Iterator[bytes]:
    if isinstance(source, Stream):
        while piece := source.next():
            yield piece
        return
    at = 0
    while at < source.size and (piece := source.read(at, PIECE)):
        yield piece
        at += len(piece)
    source.require_unchanged()


# How lines are written that the kernel takes when it is told: separator, and whether returns end
# them. By what is odd about them; nothing else may be.
_MANNERS = {
    ("crlf",): (ord("\t"), True),
    ("spaces-for-tab",): (ord(" "), False),
    ("crlf", "spaces-for-tab"): (ord(" "), True),
}
# Lines whose key is a name and nothing else is odd: no number has such a letter. Not too many at
# once, since each takes memory until all of them are matched. What follows the letter is not tried
# again for each letter.
_NAMES = re.compile(
    rb"(?:(?!#)(?=[!-~]{0,200}[A-DF-Za-df-z])[!-~]{1,400}\t[0-9]{1,19}\n){1,1000}", re.ASCII
)
_LINE_END = re.compile(rb"\r\n?|\n")


class _Reader:
    """Takes an index in pieces, cut anywhere."""

    def __init__(self) -> None:
        self._entries = Entries()
        self._problems = Problems()
        self._dali = DaliPairs(self._entries)
        self._mxnet = MXNetLines(self._entries)
        self._gaps = Gaps()
        self._lines = 0  # that were begun
        self._at = 0  # position of the next byte that was not looked at
        self._kept = b""  # the bytes from there on
        self._long = False  # they are inside a line that is too long to be kept
        self._head = b""

    def feed(self, piece: bytes) -> None:
        """Take some bytes more."""
        if len(self._head) < HEAD_SIZE:
            self._head += piece[: HEAD_SIZE - len(self._head)]
        self._kept += piece
        if self._long:
            self._go_on()
        while not self._long and (end := _last_end(self._kept)):
            self._block(end)
        if not self._long and len(self._kept.removesuffix(b"\r")) > LONGEST:
            self._begin_long(self._kept)
            self._long = True
            self._go_on()

    def end(self, path: str) -> IndexFile:
        """Say that no more bytes follow; return what was found."""
        size = self._at + len(self._kept)
        if self._long:
            self._dali.text(self._kept, self._lines, [])
        else:
            self._block(len(self._kept))
        if size == 0:
            self._problems.add(["empty"], 1, 0, b"")
        return IndexFile(
            path,
            size,
            self._lines,
            self._entries.keys,
            self._entries.offsets,
            self._problems.found(),
            self._head,
            self._gaps,
            self._dali,
            self._mxnet,
        )

    def _block(self, end: int) -> None:
        """Take the lines that go to byte `end` of what is kept."""
        data, self._kept = self._kept[:end], self._kept[end:]
        at, base = 0, self._at
        while at < len(data):
            at, _ = self._run(data, at, ord("\t"), False)
            self._at = base + at
            if at < len(data):
                at = self._odd(data, at)
                self._at = base + at

    def _run(self, data: bytes, at: int, separator: int, returns: bool) -> tuple[int, int]:
        """Take lines as long as the kernel does; return where it stopped, and how many."""
        at, count = self._entries.take(data, at, separator, returns)
        self._lines += count
        self._dali.run(count)
        self._entries.settle()
        self._mxnet.run(count)
        return at, count

    def _odd(self, data: bytes, at: int) -> int:
        """Take what goes to the next newline, and lines that are odd as it is; return the end."""
        end = data.find(b"\n", at) + 1 or len(data)
        codes: list[str] = []
        for line in data[at:end].splitlines(keepends=True):
            codes = self._line(line)
            self._at += len(line)
        manner = _MANNERS.get(tuple(codes))
        if manner is not None and self._problems.has_enough(codes):
            end, count = self._run(data, end, *manner)
            self._problems.add_more(codes, count)
        if codes == ["text-key"] and self._problems.has_enough(codes):
            end = self._names(data, end)
        return end

    def _names(self, data: bytes, at: int) -> int:
        """Take lines whose keys are names, many at once; return where they end."""
        # A name stops DALI, and MXNet where keys are numbers: nothing depends on the next one. But
        # 1_0 is odd in the same way, and a number to MXNet.
        if self._dali.stop is None or self._mxnet.stops[int] is None:
            return at
        while (match := _NAMES.match(data, at)) is not None:
            fields = match[0].decode("ascii").split()
            self._entries.add_names(fields[::2], map(int, fields[1::2]))
            count = len(fields) // 2
            self._lines += count
            self._mxnet.run(count)
            self._problems.add_more(["text-key"], count)
            at = match.end()
        return at

    def _line(self, line: bytes) -> list[str]:
        """Take one line, odd or not; return what is odd about it."""
        if len(line.rstrip(b"\r\n")) > LONGEST:
            self._begin_long(line)
            self._dali.text(line, self._lines, [])
            return []
        codes, entry = examine(line, opens=self._lines == 0)
        self._lines += 1
        self._problems.add(codes, self._lines, self._at, line)
        self._dali.text(line, self._lines, [] if entry is None else [entry[1]])
        self._mxnet.text(line, self._lines, entry)
        if entry is None:
            self._gaps.add(len(self._entries))
        else:
            self._entries.add(*entry)
        return codes

    def _begin_long(self, line: bytes) -> None:
        """Take a line of which only the beginning can be kept. It gives no entry."""
        self._lines += 1
        self._problems.add(["long-line"], self._lines, self._at, line)
        self._gaps.add(len(self._entries))
        # Two columns that are whole are all that MXNet looks at.
        columns = line[:LONGEST].lstrip().split(b"\t")
        self._mxnet.text(b"\t".join(columns[:2]) if len(columns) > 2 else b"", self._lines, None)

    def _go_on(self) -> None:
        """Inside a line that is too long: let go of its bytes, up to the next line."""
        end = _LINE_END.search(self._kept)
        held = self._kept.endswith(b"\r") and (end is None or end.end() == len(self._kept))
        if end is None or held:  # a newline may still follow the return
            stop = len(self._kept) - held
            self._dali.text(self._kept[:stop], self._lines, [], more=True)
        else:
            stop = end.end()
            self._dali.text(self._kept[:stop], self._lines, [])
            self._long = False
        self._at += stop
        self._kept = self._kept[stop:]


def _last_end(data: bytes) -> int:
    """Return where the last line in `data` ends that ends for certain, or 0."""
    if end := data.rfind(b"\n") + 1:
        return end
    return data.rfind(b"\r", 0, max(len(data) - 1, 0)) + 1
