"""From record files and their indexes to the table of a data set."""

from __future__ import annotations

import errno
from array import array
from bisect import bisect_left
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress

from .. import _heads, _tally
from ..concurrency import WAITING_FILES, in_parallel, jobs_of_each
from ..errors import LabelsError, NoImageError
from ..index_entries import entries_in_file_order, index_beside, no_record
from ..paths import StrPath, as_path, is_url
from ..redaction import redacted, redacted_repr
from ..scan import scan
from ..segments import Batch
from ..sources import Place, Stream, opened
from .faces import (
    HEADS,
    FileHeader,
    announced_images,
    as_float32,
    comes_first,
    file_header,
    find_header,
    header_behind,
    require_no_more,
)
from .table import Classes, DataFile, Keys, Table, joined

_IS_IMAGE = bytes(kind == _heads.IMAGE for kind in range(256))
_HAS_LABEL = bytes(kind in (_heads.IMAGE, _heads.NO_IMAGE) for kind in range(256))


@dataclass(frozen=True)
class Wanted:
    """Which records are wanted.

    Attributes:
        images_only: only those with bytes after their labels.
        labels: only those whose first label is among these; None for any.
    """

    images_only: bool = False
    labels: Container[float] | None = None


@redacted_repr
@dataclass(frozen=True)
class _File:
    """A file that was looked at: see `DataFile`; and the index beside it, None if there is none."""

    path: str
    place: Place
    size: int
    index: str | None


@dataclass
class _Entries:
    """Entries of a file, in its order.

    Attributes:
        offsets: where records start in the file, an array of uint64.
        keys: their keys; None for running numbers.
        entries: how many there were before any were left out.
        header: the file header of InsightFace; None in other files.
        marks: a byte for each of these entries, 0 to leave it out; None to leave out none.
        labels: the first label of each of these entries, where labels decide.
    """

    offsets: array[int]
    keys: array[int] | list[str] | None
    entries: int
    header: FileHeader | None = None
    marks: bytes | bytearray | None = None
    labels: array[float] | None = None

    def choose(self, labels: Container[float], first: int) -> None:
        """Leave out records without a label, or with one that is not among these.

        Args:
            labels: the labels.
            first: what is added to the labels in the file.
        """
        marks = bytearray(self.marks or b"")
        whole = isinstance(labels, range)  # which looks through all of its numbers for a float
        for at, label in enumerate(self.labels or ()):
            if marks[at]:
                if label.is_integer():
                    marks[at] = int(label) + first in labels
                else:
                    marks[at] = not whole and label + first in labels
        self.marks = marks

    def kept(self, first: int) -> tuple[array[int], Keys]:
        """Return offsets and keys of those that are not left out.

        Args:
            first: the first running number.
        """
        keys: Keys = range(first, first + self.entries) if self.keys is None else self.keys
        if self.marks is None or self.marks.count(0) == 0:
            return self.offsets, keys
        offsets = array("Q", compress(self.offsets, self.marks))
        if isinstance(keys, list):
            return offsets, list(compress(keys, self.marks))
        return offsets, array("Q", compress(keys, self.marks))


def load(paths: Sequence[str], index: StrPath | None, wanted: Wanted) -> Table:
    """Return the table of a data set; arguments and errors are those of `RecordDataset`."""
    at_once = min(WAITING_FILES, len(paths)) if any(map(is_url, paths)) else 1
    files = in_parallel(partial(_look, beside=index is None), paths, at_once)
    groups = [[file] for file in files]
    indexes = [file.index for file in files]
    if index is not None:
        groups, indexes = [files], [as_path(index)]
    read = partial(_read_group, wanted=wanted, jobs=jobs_of_each(None, at_once))
    found = in_parallel(lambda pair: read(*pair), zip(groups, indexes, strict=True), at_once)
    parts = [part for group in found for part in group]
    classes = _classes(files, parts)
    offsets, keys, entries, base = array("Q"), [], 0, 0
    data_files = []
    for file, part, own in zip(files, parts, classes, strict=True):
        if wanted.labels is not None:
            part.choose(wanted.labels, own.first if own else 0)
        some_offsets, some_keys = part.kept(entries)
        offsets = _joined(offsets, some_offsets, base)
        keys.append(some_keys)
        data_files.append(DataFile(file.path, file.place, file.size, base, own))
        entries += part.entries
        base += file.size
    if wanted.images_only and not offsets:
        raise NoImageError("no record has bytes after its labels", path=paths[0])
    return Table(tuple(data_files), offsets, joined(keys), entries)


def _look(path: str, beside: bool) -> _File:
    with opened(path) as source:
        if isinstance(source, Stream):
            what = "a data set needs files that can be read at any place, and this cannot"
            raise OSError(errno.EINVAL, what, redacted(path))
        return _File(path, source.location(), source.size, index_beside(path) if beside else None)


def _classes(files: list[_File], parts: list[_Entries]) -> list[Classes | None]:
    """Return the classes of each file, among those of all; None where it is not of InsightFace.

    Raises:
        LabelsError: they cannot be told apart.
    """
    faces = [part.header for part in parts if part.header is not None]
    if not faces:
        return [None] * len(parts)
    found: list[Classes | None] = []
    first = 0
    for file, part in zip(files, parts, strict=True):
        header = part.header
        if header is None and part.offsets:
            raise LabelsError(
                "the labels of this file may clash with those of a file of InsightFace",
                path=file.path,
                expected="a file header of InsightFace, as in the other one",
                found="none",
                advice="make a data set of each",
            )
        if header is None or len(faces) == 1:
            found.append(None if header is None else Classes(0, header.classes, alone=True))
            continue
        if header.classes == 0:
            raise LabelsError(
                "the classes of this file may clash with those of the others",
                path=file.path,
                expected="a file header that says how many they are",
                found="one that announces no identity records",
                advice="make a data set of each",
            )
        count = header.classes + header.slack
        found.append(Classes(first, count, alone=False))
        first += count
    return found


def _joined(offsets: array[int], more: array[int], base: int) -> array[int]:
    """Return offsets and some more, which are moved by so many bytes."""
    if base == 0:
        return offsets + more if offsets else more
    offsets.extend(map(base.__add__, more))
    return offsets


def _read_group(
    files: list[_File], index: str | None, *, wanted: Wanted, jobs: int | None
) -> list[_Entries]:
    """Return the entries of files with one index, or of one file without."""
    if index is None:
        return [_walked(files[0], wanted, jobs)]
    paths = [file.path for file in files]
    offsets, keys = entries_in_file_order(index)
    if offsets[-1] >= sum(file.size for file in files):
        raise no_record(
            index, offsets[-1], paths, "an offset before the end of the file", "a larger one"
        )
    found, base, start = [], 0, 0
    for file in files:
        stop = bisect_left(offsets, base + file.size, start)
        own, own_keys = offsets, keys
        if len(files) > 1:
            own, own_keys = array("Q", map((-base).__add__, offsets[start:stop])), keys[start:stop]
        try:
            found.append(_listed(file, own, own_keys, len(files) == 1, wanted, jobs))
        except _NoRecordError as error:
            raise no_record(
                index, base + error.offset, paths, "the start of a record", "none"
            ) from None
        base += file.size
        start = stop
    return found


class _NoRecordError(Exception):
    """An index names a byte where no record starts."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def _listed(
    file: _File,
    offsets: array[int],
    keys: array[int] | list[str],
    alone: bool,
    wanted: Wanted,
    jobs: int | None,
) -> _Entries:
    """Return the entries of a file that an index names.

    Args:
        file: the file.
        offsets: those of its entries, in order, from its own first byte on.
        keys: their keys.
        alone: whether the index is of this file only.
        wanted: which records are.
        jobs: as `scan` takes it.
    """
    found = _Entries(offsets, keys, len(offsets))
    if not offsets:
        return found
    with file.place.open() as source:
        source.path = file.path
        found.header = find_header(source, offsets, _zero(offsets, keys) if alone else None)
        if wanted.labels is None:
            span = None
            if found.header is not None:
                span = announced_images(source, found.header, offsets)
            elif not wanted.images_only:
                return found
            if span is not None:
                first, last = span
                found.offsets, found.keys = offsets[first:last], keys[first:last]
                return found
    walk = _Walk(file, found.header, wanted, jobs)
    numbers = walk.numbers_of(offsets)
    if found.header is not None:
        walk.require_no_more(numbers[-1] + 1)
    found.marks, found.labels = walk.marks(), walk.labels
    if not isinstance(numbers, range):  # it does not name all records, each once
        found.marks = bytes(map(found.marks.__getitem__, numbers))
        if found.labels is not None:
            found.labels = array("f", map(found.labels.__getitem__, numbers))
    return found


def _zero(offsets: array[int], keys: array[int] | list[str]) -> int | None:
    """Return the offset of the key 0; None if there is none."""
    try:
        zero = "0" if isinstance(keys, list) else 0
        return offsets[keys.index(zero)]  # type: ignore[arg-type] # it is of the keys' kind
    except ValueError:
        return None


def _walked(file: _File, wanted: Wanted, jobs: int | None) -> _Entries:
    """Return the records of a file without an index."""
    walk = _Walk(file, None, wanted, jobs)
    count = len(walk.offsets)
    if walk.header is not None:
        walk.require_no_more(count)
    return _Entries(walk.offsets, None, count, walk.header, walk.marks(), walk.labels)


class _Walk:
    """What there is in a file, which is walked.

    Args:
        file: the file.
        header: its file header of InsightFace; None if there is none, or it was not looked for.
        wanted: which records are.
        jobs: as `scan` takes it.

    Attributes:
        offsets: where each record starts, an array of uint64.
        labels: the first label of each, where labels decide; NaN where there is none.
        header: as given, or as it was found.
    """

    def __init__(
        self, file: _File, header: FileHeader | None, wanted: Wanted, jobs: int | None
    ) -> None:
        self._file = file
        self._wanted = wanted
        self._kinds = bytearray()  # of each record, as `_heads.kinds` has it
        self.offsets = array("Q")
        self.labels = None if wanted.labels is None else array("f")
        self.header = header
        self._seen = header is not None  # the first record without an image, or that there is none
        if file.size:
            with file.place.open() as source:
                source.path = file.path
                for batch in scan(source, jobs=jobs, heads=HEADS):
                    self._add(batch)

    def _add(self, batch: Batch) -> None:
        assert batch.heads is not None
        kinds = _heads.kinds(batch.sizes, batch.heads).tobytes()
        if batch.first == 0 and not self._seen:
            self.header = file_header(batch)
            self._seen = self.header is not None or not comes_first(batch)
        if not self._seen and (at := kinds.find(_heads.NO_IMAGE)) >= 0:
            self.header = header_behind(_record(batch, at))
            self._seen = True
        self.offsets.frombytes(memoryview(batch.offsets).cast("B"))
        self._kinds += kinds
        if self.labels is not None:
            self.labels.extend(_tally.two_labels(batch.sizes, batch.heads, 8 + HEADS)[::2])

    def numbers_of(self, offsets: array[int]) -> Sequence[int]:
        """Return which records start at some offsets, which are in order."""
        if offsets == self.offsets:
            return range(len(offsets))
        numbers = array("Q")
        at = 0
        for offset in offsets:
            at = bisect_left(self.offsets, offset, at)
            if at == len(self.offsets) or self.offsets[at] != offset:
                raise _NoRecordError(offset)
            numbers.append(at)
        return numbers

    def require_no_more(self, count: int) -> None:
        """Raise an error if there are more records than the file header announces."""
        assert self.header is not None
        if as_float32(count) > self.header.end:
            with self._file.place.open() as source:
                source.path = self._file.path
                require_no_more(source, self.header, self.offsets, count, self.header.end)

    def marks(self) -> bytes | bytearray:
        """Return a byte for each record: 0 if it is not wanted, whatever its label is."""
        if self.header is not None or self._wanted.images_only:
            return self._kinds.translate(_IS_IMAGE)
        if self._wanted.labels is not None:
            return self._kinds.translate(_HAS_LABEL)
        return b"\1" * len(self._kinds)


def _record(batch: Batch, at: int) -> Batch:
    """Return one record of a batch with heads."""
    assert batch.heads is not None
    stride = len(batch.heads) // len(batch)
    heads = batch.heads[at * stride : (at + 1) * stride]
    return Batch(0, batch.offsets[at : at + 1], batch.sizes[at : at + 1], batch.stop, heads)
