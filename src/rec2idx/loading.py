"""From record files and their indexes to the table of a data set."""

from __future__ import annotations

import errno
import os
import struct
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress

from . import _heads
from ._walk import WALKING
from .entries import TOP
from .errors import BadIndexError, NoImageError
from .framing import IR_HEADER_SIZE, MAGIC_BYTES
from .index import default_index_path
from .lines import IndexFile, read_index
from .scan import scan
from .segments import Batch, Walker
from .select import is_file_header
from .sources import Source, Stream, StrPath, is_url, opened
from .table import DataFile, Keys, Table, joined

PEEK = 1 << 12  # bytes that are read at once to see one record
HEADS = IR_HEADER_SIZE + 4  # bytes of each payload that a selection needs: also the first label
_FIRST_LABEL = struct.Struct("<8xIf16xf")  # of a head: flag, label, the first label behind it
_EXACT = 1 << 24  # whole numbers below are exact as float32
_IS_IMAGE = bytes(kind == _heads.IMAGE for kind in range(256))
_HAS_LABEL = bytes(kind in (_heads.IMAGE, _heads.NO_IMAGE) for kind in range(256))
# What is odd about lines that give no entry: all but a blank one stand for a record that is lost.
_LACKING = frozenset(
    ("comment", "no-offset", "not-a-number", "negative-offset", "offset-too-large", "nul-bytes",
     "long-line")
)  # fmt: skip
_HARMLESS = "blank-line"


@dataclass(frozen=True)
class Wanted:
    """Which records are wanted.

    Attributes:
        images_only: only those with bytes after their labels.
        labels: only those whose first label is among these; None for any.
    """

    images_only: bool = False
    labels: Container[float] | None = None

    def __bool__(self) -> bool:
        return self.images_only or self.labels is not None

    def marks(self, batch: Batch) -> bytes | bytearray:
        """Return a byte for each record of a batch with heads: 1 if it is wanted, or 0."""
        assert batch.heads is not None
        kinds = _heads.kinds(batch.sizes, batch.heads).tobytes()
        if self.labels is None:
            return kinds.translate(_IS_IMAGE)
        marks = bytearray(kinds.translate(_IS_IMAGE if self.images_only else _HAS_LABEL))
        for at, (flag, label, first) in enumerate(_FIRST_LABEL.iter_unpack(batch.heads)):
            if marks[at]:
                label = first if flag else label
                # A range looks through all of its numbers for one that is no int.
                marks[at] = (int(label) if label.is_integer() else label) in self.labels
        return marks


_IMAGES = Wanted(images_only=True)


def load(paths: Sequence[str], index: StrPath | None, wanted: Wanted) -> Table:
    """Return the table of a data set; arguments and errors are those of `RecordDataset`."""
    files = tuple(_files(paths, None if index is None else os.fsdecode(index)))
    keys: list[Keys] = []
    offsets = array("Q")
    entries = 0
    for group in _groups(files):
        found = _entries(group, wanted, entries)
        entries += found.entries
        keys.append(found.keys)
        _extend(offsets, found.offsets, group[0].base)
    if wanted.images_only and not offsets:
        raise NoImageError("no record has bytes after its labels", path=paths[0])
    return Table(files, offsets, joined(keys))


def _files(paths: Sequence[str], index: str | None) -> Iterator[DataFile]:
    base = 0
    for number, path in enumerate(paths):
        with opened(path) as source:
            if isinstance(source, Stream):
                what = "a data set needs files that can be read at any place, and this cannot"
                raise OSError(errno.EINVAL, what, path)
            own = index if index is not None else index_beside(path)
            group = number if index is None else 0
            images = _images_end(source)
            yield DataFile(path, source.location(), source.size, base, own, group, images)
            base += source.size


def index_beside(path: str) -> str | None:
    """Return the index that stands beside a record file; None if there is none."""
    index = default_index_path(path)
    if index == path:
        return None
    try:
        if not is_url(path):
            os.stat(index)
        else:
            with opened(index):
                pass
    except FileNotFoundError:
        return None
    return index


def _images_end(source: Source) -> int | None:
    """Return the number of the first record behind the images; None if InsightFace has no part.

    Its file header says so: the record of two labels, whole numbers of which the second is no less.
    """
    first = _record_at(source, 0, IR_HEADER_SIZE + 8)
    if first is None or first.heads is None or not is_file_header(first):
        return None
    behind, end = struct.unpack_from("<2f", first.heads, 8 + IR_HEADER_SIZE)
    if not (1 < behind <= end < TOP and behind.is_integer() and end.is_integer()):
        return None
    return int(behind)


def _groups(files: Sequence[DataFile]) -> Iterator[list[DataFile]]:
    for group in dict.fromkeys(file.group for file in files):
        yield [file for file in files if file.group == group]


@dataclass
class _Entries:
    """The entries of files with one index: offsets from the first byte of the first of them.

    Attributes:
        offsets: where records start, an array of uint64.
        keys: their keys.
        entries: how many there were before any were left out.
    """

    offsets: array[int]
    keys: Keys
    entries: int

    def marked(self, marks: bytes | bytearray) -> _Entries:
        """Return those whose mark is not 0."""
        if marks.count(0) == 0:
            return self
        offsets = array("Q", compress(self.offsets, marks))
        if isinstance(self.keys, list):
            return _Entries(offsets, list(compress(self.keys, marks)), self.entries)
        return _Entries(offsets, array("Q", compress(self.keys, marks)), self.entries)

    def cut(self, start: int, stop: int) -> _Entries:
        """Return some that follow each other."""
        return _Entries(self.offsets[start:stop], self.keys[start:stop], self.entries)


def _entries(group: list[DataFile], wanted: Wanted, first: int) -> _Entries:
    """Return the entries of files with one index, or of one file without.

    Args:
        group: the files.
        wanted: which records are.
        first: the first key of a file without an index.
    """
    index = group[0].index
    if index is None:
        offsets, marks = _walk(group, wanted)
        keys = range(first, first + len(offsets))
        return _Entries(offsets, keys, len(offsets)).marked(marks)
    listed = read_entries(index)
    _require_inside(listed, group)
    found = _Entries(listed.offsets, listed.keys, len(listed.offsets))
    if not wanted:
        if all(file.images is None for file in group):
            return found
        if len(group) == 1 and (images := _announced_images(found, group[0])) is not None:
            return images
    return found.marked(_marks(listed, group, wanted))


def _announced_images(found: _Entries, file: DataFile) -> _Entries | None:
    """Return the images of an InsightFace file as its loader finds them; None if they are not told.

    That is by their keys, from 1 to what the file header says, if the index has all of these, in
    order, behind the key 0 of the file header. An index that has neither the file header nor the
    identity records, which are the last ones, was made to have images only.
    """
    least, largest = _heads.bounds(found.offsets)
    if least > 0 and _is_image(file, largest):
        return found
    stop = file.images
    if stop is None or stop >= _EXACT or not isinstance(found.keys, array):
        return None
    if len(found.keys) < stop or found.offsets[0] != 0:
        return None
    # Rising numbers from 0 with as many steps as there are leave no gap.
    whole = found.keys[0] == 0 and found.keys[stop - 1] == stop - 1 and _heads.rises(found.keys)
    return found.cut(1, stop) if whole else None


def _is_image(file: DataFile, offset: int) -> bool:
    with file.place.open() as source:
        record = _record_at(source, offset, IR_HEADER_SIZE)
    return record is not None and _IMAGES.marks(record) == b"\1"


def _record_at(source: Source, offset: int, heads: int) -> Batch | None:
    """Return the record at an offset with its head; None if there is no whole one."""
    walker = Walker(source, offset, block=PEEK, heads=heads)
    while walker.walk.status == WALKING:
        if (piece := walker.records(1)) is not None:
            return Batch(0, *piece)
    return None


def _walk(group: list[DataFile], wanted: Wanted) -> tuple[array[int], bytearray]:
    """Return where all records of some files start, and a mark for each that is wanted."""
    offsets = array("Q")
    marks = bytearray()
    for file in group:
        rule = wanted
        if file.images is not None:
            rule = Wanted(True, wanted.labels) if wanted else _IMAGES
        if file.size == 0:
            continue
        with file.place.open() as source:
            for batch in scan(source, heads=HEADS if rule else 0):
                _extend(offsets, batch.offsets, file.base - group[0].base)
                marks += rule.marks(batch) if rule else b"\1" * len(batch)
    return offsets, marks


def _extend(offsets: array[int], more: array[int], base: int) -> None:
    """Append offsets, of int64 or uint64, moved by so many bytes."""
    if base == 0:
        offsets.frombytes(memoryview(more).cast("B"))
    else:
        offsets.extend(map(base.__add__, more))


def _marks(index: IndexFile, group: list[DataFile], wanted: Wanted) -> bytes | bytearray:
    """Return a mark for each entry of an index whose record is wanted."""
    offsets, marks = _walk(group, wanted)
    if index.offsets == offsets:
        return marks
    found = bytearray(len(index.offsets))
    for entry, offset in enumerate(index.offsets):
        at = bisect_left(offsets, offset)
        if at == len(offsets) or offsets[at] != offset:
            raise _wrong(index, entry, group, "the start of a record", "none")
        found[entry] = marks[at]
    return found


def read_entries(path: str) -> IndexFile:
    """Read an index, of which each line must have a key and an offset.

    Raises:
        BadIndexError: one has none, or there are no lines.
        OSError: it cannot be read.
    """
    with opened(path) as source:
        if not isinstance(source, Stream) and source.read(0, 4) == MAGIC_BYTES:
            raise BadIndexError("not an index, but a RecordIO file", path=path)
        index = read_index(source)
    lacking = index.lines - len(index.offsets)
    for problem in index.problems:
        if problem.code == _HARMLESS:
            lacking -= problem.count
    if lacking or not index.offsets:
        raise BadIndexError(
            f"no index: {_first_lacking(index)}",
            path=path,
            expected="a key, a tab and an offset on each line",
            found=f"{lacking} lines without" if index.size else "no bytes",
            advice="recordio check says what is wrong with it; rec2idx makes a new one",
        )
    return index


def _first_lacking(index: IndexFile) -> str:
    lines = [problem.first[0] for problem in index.problems if problem.code in _LACKING]
    if not lines:
        return "it is empty"
    first = min(lines, key=lambda line: line.line)
    return f"line {first.line} is {first.text!r}"


def _require_inside(index: IndexFile, group: list[DataFile]) -> None:
    size = group[-1].base + group[-1].size - group[0].base
    largest = _heads.bounds(index.offsets)[1]
    if largest >= size:
        entry = index.offsets.index(largest)
        raise _wrong(index, entry, group, f"an offset below {size}, where the file ends", "more")


def _wrong(
    index: IndexFile, entry: int, group: list[DataFile], expected: str, found: str
) -> BadIndexError:
    """Return the error that an entry does not name a record."""
    offset = index.offsets[entry]
    paths = ", ".join(file.path for file in group[:3])
    return BadIndexError(
        f"line {index.line_of(entry)} has key {index.keys[entry]!r} and offset {offset}, where "
        f"{paths} has no record",
        path=index.path,
        offset=offset,
        expected=expected,
        found=found,
        advice="is that the index of this very file? recordio check says what is wrong",
    )
