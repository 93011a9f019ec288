"""The records of a file, a row for each: where it is, and what it holds by its first bytes."""

from __future__ import annotations

import errno
import os
import struct
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, BinaryIO, cast

from ._heads import rises
from ._lines import sort_entries
from .contents import UNKNOWN
from .damage import empty, is_damage, region_of
from .dialects import MOST_LABELS, Trend
from .errors import BadIndexError, DamagedRecordError, NotRecordIOError
from .framing import HEADER_SIZE, IR_HEADER_SIZE, padded, payload_of, split_lrec
from .index_entries import index_beside, read_entries
from .label_text import as_json
from .lines import IndexFile
from .list_files import Names
from .overlaps import Room
from .paths import StrPath, as_path
from .peeks import LOCAL, Recent, Span, manner_of, peek, span_at
from .pictures import SIZED, dimensions, kind_of
from .redaction import redacted
from .rewrite import changed
from .scan import scan
from .sources import LocalFile, Readable, Source, Stream, opened
from .streaming import each_record

TELLS_KIND = 1 << 10  # bytes of an image that say what it is
TELLS_SIZE = 1 << 16  # and how large
GROUP = 256  # records that are looked at together
LOOKS = 3  # at the bytes of a record: at the headers of its parts, its labels, its image

_HEADER = struct.Struct("<IfQQ")
_PARTS = struct.Struct("<4xI4x")  # of a head of 4 bytes

Key = int | str
Look = Callable[[int, int], bytes]  # from an offset on, so many bytes


@dataclass(frozen=True, slots=True)
class ListedRecord:
    """A record in a list of them.

    Attributes:
        key: its key in the index: a number, or a text if not all keys are numbers of 64 bits; its
            number in the file where there is no index.
        offset: byte offset of its first part.
        size: payload size in bytes; None where there is no record.
        parts: how many parts it has.
        id: the id in its IRHeader; None if it is no image record.
        labels: its labels; None if it is no image record.
        kind: what the image is by its first 1024 bytes, as ``recordio info`` names them: jpeg, png,
            and so on; html, json or text in its place; ``unknown``; ``none`` where no byte
            follows the labels. Of what is no image record, all of the payload is looked at so.
        width: in pixels; None where the first 64 KB of the image do not tell.
        height: in pixels; None likewise.
        name: the name that the list has for its id.
        problem: why there is no whole record at the offset, where the index has one; or None.
    """

    key: Key
    offset: int
    size: int | None = None
    parts: int | None = None
    id: int | None = None
    labels: tuple[float, ...] | None = None
    kind: str | None = None
    width: int | None = None
    height: int | None = None
    name: str | None = None
    problem: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return it as what JSON has; labels that are no numbers are text: nan, inf and -inf."""
        labels = None if self.labels is None else [as_json(label) for label in self.labels]
        return {**asdict(self), "labels": labels}


def list_records(
    record: StrPath | BinaryIO | Source | Stream,
    index: StrPath | None = None,
    *,
    names: StrPath | None = None,
) -> Generator[ListedRecord, None, None]:
    """Yield a row for each record of a file, in its order.

    Little more than headers is read of large records: what tells the kind and size of an image.

    Args:
        record: path or URL of the record file; or a binary file object, which is read once.
        index: path or URL of an index, whose entries are listed, and no other records. By default
            that beside the record file, with the suffix ``.idx``; without one the file is walked,
            and keys are running numbers. A file object has none.
        names: path of a ``.lst`` file as im2rec makes it, for the names of the images.

    Raises, without an index after the rows of all records before:
        NotRecordIOError: the file is something else, or empty.
        DamagedRecordError: it cannot be followed to its end. With an index, an entry that is not
            where a whole record starts is a row with a `problem`.
        BadIndexError: a line of the index is none; or, after the rows before, its entries name
            records that overlap.
        BadListError: a line of the list is none, or two have the same number.
        FileChangedError: the file changed meanwhile.
        MissingExtraError: a package is missing, for a URL.
        OSError: it cannot be read; or there is an index, and the file can be read only once.

    >>> first = next(list_records("examples/sample.rec"))
    >>> first.key, first.offset, first.size, first.labels, first.kind, first.width, first.height
    (0, 0, 2435, (0.0,), 'jpeg', 113, 109)
    """
    known = Names(as_path(names)) if names is not None else None
    with opened(record) as source:
        if index is None and not isinstance(source, Stream):
            index = index_of(record)
        describe = _Describer(source, known)
        rows = 0
        for row in _rows(source, index, describe):
            rows += 1
            yield row
        if rows == 0:
            raise empty(source.path)


def index_of(record: object) -> str | None:
    """Return the index that is taken where none is named: that beside a file, if there is one."""
    return index_beside(as_path(record)) if isinstance(record, (str, bytes, os.PathLike)) else None


def require_places(source: Source | Stream) -> Source:
    """Return a source that an index can be used for.

    Raises:
        OSError: its bytes come only once.
    """
    if isinstance(source, Stream):
        what = "with an index, a file must be readable at any place; this one is not"
        raise OSError(errno.EINVAL, what, redacted(source.path))
    return source


def _rows(
    source: Source | Stream, index: StrPath | None, describe: _Describer
) -> Iterator[ListedRecord]:
    if index is not None:
        source = require_places(source)
        yield from _indexed(source, read_entries(as_path(index)), describe)
        source.require_unchanged()
    elif isinstance(source, Stream):
        yield from _streamed(source, describe)
    else:
        yield from _walked(source, describe)


def _walked(source: Source, describe: _Describer) -> Iterator[ListedRecord]:
    """Yield the rows of a file that is walked; one thread does as much as is made of it here."""
    reader = source if isinstance(source, LocalFile) else Recent(source)
    with closing(scan(reader, jobs=1, heads=4)) as batches:
        for batch in batches:
            heads = _PARTS.iter_unpack(cast("array[int]", batch.heads))
            ends = [*batch.offsets[1:], batch.stop]
            spans = (
                Span(offset, end, size, parts)
                for offset, end, size, (parts,) in zip(
                    batch.offsets, ends, batch.sizes, heads, strict=True
                )
            )
            yield from _described(reader, enumerate(spans, batch.first), describe)


def _described(
    source: Source, spans: Iterable[tuple[Key, Span]], describe: _Describer
) -> Iterator[ListedRecord]:
    look = source.look if isinstance(source, Recent) else source.read
    waiting = iter(spans)
    length = manner_of(source).peek
    while group := list(islice(waiting, GROUP)):
        ranges = [(span.offset, min(span.end, span.offset + length)) for _, span in group]
        for (key, span), data in zip(group, peek(source, ranges), strict=True):
            yield describe(key, span, data, look)


def _indexed(source: Source, index: IndexFile, describe: _Describer) -> Iterator[ListedRecord]:
    """Yield the rows of an index's entries, in the order of the file."""
    waiting = _in_file_order(index)
    length = manner_of(source).peek
    last: tuple[int, Span | str] = -1, ""  # several entries may name a record that is long to walk
    room = Room(source.size, LOOKS)

    def look(offset: int, length: int) -> bytes:
        room.take(length)
        return source.read(offset, length)

    while group := list(islice(waiting, GROUP)):
        ranges = [
            (min(offset, source.size), min(offset + length, source.size)) for _, offset in group
        ]
        for (key, offset), data in zip(group, peek(source, ranges), strict=True):
            room.begin(offset)
            try:
                if last[0] != offset:
                    last = offset, _span_or_problem(source, offset, data, room)
                span = last[1]
                if isinstance(span, str):
                    row = ListedRecord(key, offset, problem=span)
                else:
                    row = describe(key, span, data[: span.end - offset], look)
            except BadIndexError as error:
                error.path, error.key, error.offset = index.path, key, offset
                raise
            yield row


def _in_file_order(index: IndexFile) -> Iterator[tuple[Key, int]]:
    keys, offsets = index.keys, index.offsets
    if rises(offsets):
        yield from zip(keys, offsets, strict=True)
        return
    offsets, places = offsets[:], array("Q", range(len(offsets)))
    sort_entries(offsets, places)
    for place, offset in zip(places, offsets, strict=True):
        yield keys[place], offset


def _span_or_problem(source: Source, offset: int, head: bytes, room: Room) -> Span | str:
    if offset >= source.size:
        return f"no record can start there: the file ends at byte {source.size}"
    try:
        return span_at(source, offset, head, room)
    except (DamagedRecordError, NotRecordIOError) as error:
        if not is_damage(error):
            raise
        return region_of(error, offset, offset, 0).what


def _streamed(source: Stream, describe: _Describer) -> Iterator[ListedRecord]:
    """Yield the rows of what comes once, of which a whole record is at hand at a time."""
    number = at = 0  # of the record that comes next

    def take(data: bytearray, start: int, stop: int, size: int) -> ListedRecord:
        nonlocal number, at
        base = at - start

        def look(offset: int, length: int) -> bytes:
            with memoryview(data) as view:
                return bytes(view[offset - base : min(offset - base + length, stop)])

        span = Span(at, base + stop, size, _parts(data, start, stop))
        row = describe(number, span, look(at, LOCAL.peek), look)
        number, at = number + 1, span.end
        return row

    yield from each_record(source, take)


def _parts(data: bytearray, start: int, stop: int) -> int:
    """Return how many parts a record has, of which all bytes are there."""
    parts = 0
    while start < stop:
        parts += 1
        lrec = int.from_bytes(data[start + 4 : start + HEADER_SIZE], "little")
        start += HEADER_SIZE + padded(split_lrec(lrec)[1])
    return parts


class _Describer:
    """Makes rows of records, one after the other."""

    def __init__(self, source: Readable, names: Names | None) -> None:
        self._source = source
        self._names = names
        self._trend = Trend()
        # The record before, its first bytes, whether it was taken for an image record, and its row.
        self._last: tuple[Span, bytes, bool, ListedRecord] | None = None

    def __call__(self, key: Key, span: Span, data: bytes, look: Look) -> ListedRecord:
        """Return the row of a record.

        Args:
            key: its key.
            span: where it is.
            data: its first bytes, from its first part on.
            look: gives bytes of the file, from an offset on.
        """
        last = self._last if self._last and self._last[0] == span else None
        head = last[1] if last else self._payload(span, data, IR_HEADER_SIZE)
        of_images = self._trend.is_of_images(span.size, head)
        if last and last[2] == of_images:
            return replace(last[3], key=key)
        row = self._row(key, span, head, of_images, look)
        self._last = span, head, of_images, row
        return row

    def _row(self, key: Key, span: Span, head: bytes, of_images: bool, look: Look) -> ListedRecord:
        """Return the row of a record that the first bytes of its payload begin."""
        size = span.size
        number = labels = name = None
        start = 0  # of the image
        if of_images and size >= IR_HEADER_SIZE:
            flag, label, own, _ = _HEADER.unpack_from(head)
            behind = IR_HEADER_SIZE + 4 * flag
            if flag < MOST_LABELS and behind <= size:
                number, start = own, behind
        if len(head) < min(size, start + TELLS_KIND):
            head = self._longer(span, start + TELLS_KIND, look)
        if number is not None:
            labels = struct.unpack_from(f"<{flag}f", head, IR_HEADER_SIZE) if flag else (label,)
            name = self._names.get(number) if self._names is not None else None
        kind = kind_of(head[start : start + TELLS_KIND]) or UNKNOWN
        pixels = None
        if kind in SIZED:
            pixels = dimensions(head[start : start + TELLS_SIZE])
            if pixels is None and len(head) < min(size, start + TELLS_SIZE):
                head = self._longer(span, start + TELLS_SIZE, look)
                pixels = dimensions(head[start : start + TELLS_SIZE])
        width, height = pixels or (None, None)
        return ListedRecord(
            key, span.offset, size, span.parts, number, labels, kind, width, height, name
        )

    def _longer(self, span: Span, length: int, look: Look) -> bytes:
        """Return so many bytes of a payload, or all of it."""
        # A part of a record of several has its header, and up to 3 bytes of padding; the magic
        # that is put back behind it makes up for 4 of them.
        raw = HEADER_SIZE + (length if span.parts == 1 else 3 * length)
        return self._payload(span, look(span.offset, min(raw, span.end - span.offset)), length)

    def _payload(self, span: Span, data: bytes, least: int) -> bytes:
        """Return the payload in the first bytes of a record: `least` bytes or more, or all."""
        end = HEADER_SIZE + span.size
        payload = data[HEADER_SIZE:end] if span.parts == 1 else payload_of(data)
        if len(payload) < min(least, span.size):
            raise changed(self._source)
        return payload
