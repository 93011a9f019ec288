"""The payload of one record, found by its key."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable
from contextlib import closing

from . import _heads
from .damage import is_damage, of_key
from .dialects import MOST_LABELS
from .entries import as_number
from .errors import (
    BadIndexError,
    DamagedRecordError,
    MissingKeyError,
    NotRecordIOError,
    PayloadError,
)
from .framing import HEADER_SIZE, IR_HEADER_SIZE, payload_of
from .index_entries import read_entries
from .key_table import KeyTable
from .lines import IndexFile
from .peeks import Span, span_at
from .record_listing import Key, require_places
from .rewrite import LOCAL_BLOCK, REMOTE_BLOCK, LongRecord
from .scan import scan
from .sources import LocalFile, Source, Stream
from .streaming import read_records

Write = Callable[[bytes | memoryview], None]

_FLAG = struct.Struct("<I")


def copy_record(
    source: Source | Stream, key: str, index: str | None, write: Write, *, image: bool = False
) -> None:
    """Write the payload of the record with a key, in blocks; not before all of it was found.

    Args:
        source: the record file.
        key: the key as it stands in the index, whose last line with it counts; without an index,
            the number of the record.
        index: path or URL of the index; None to walk the file.
        write: takes the blocks.
        image: whether only the bytes behind the labels are wanted.

    Raises:
        MissingKeyError: no record has the key.
        BadIndexError: the index is none, or its entry is behind the end of the file.
        DamagedRecordError: there is no whole record at the entry; or, without an index, the file
            cannot be followed to the record.
        NotRecordIOError: the file is something else.
        PayloadError: an image is wanted, and the record has none.
        FileChangedError: the file was written to meanwhile.
        OSError: reading or writing failed.
    """
    if index is None and isinstance(source, Stream):
        at, payload = _streamed(source, key)
        start = _image_start(payload, len(payload), source.path, at) if image else 0
        write(memoryview(payload)[start:])
        return
    source = require_places(source)
    own, span = _walked(source, key) if index is None else _indexed(source, key, index)
    skipped = 0
    if image:
        head = source.read(span.offset, min(HEADER_SIZE + IR_HEADER_SIZE, span.end - span.offset))
        payload = head[HEADER_SIZE:] if span.parts == 1 else payload_of(head)
        skipped = _image_start(payload, span.size, source.path, own, span.offset)
    block = LOCAL_BLOCK if isinstance(source, LocalFile) else REMOTE_BLOCK
    record = LongRecord(source, span.offset, span.end, block)
    record.copy(record.first(), span.size, _behind(skipped, write))
    source.require_unchanged()


def _behind(skipped: int, write: Write) -> Write:
    """Return what writes all but the first bytes."""

    def write_rest(data: bytes | memoryview) -> None:
        nonlocal skipped
        passed = min(skipped, len(data))
        skipped -= passed
        if passed < len(data):
            write(data[passed:])

    return write_rest


def _image_start(payload: bytes, size: int, path: str, key: Key, offset: int | None = None) -> int:
    """Return how many bytes of a payload stand before the image.

    Args:
        payload: the payload, or its first bytes.
        size: bytes in it.
        path: the file.
        key: the key of the record.
        offset: where it starts; None if that is not known.
    """
    start = IR_HEADER_SIZE
    if size >= IR_HEADER_SIZE:
        flag: int = _FLAG.unpack_from(payload)[0]
        start += 4 * flag
        if start < size and flag < MOST_LABELS:
            return start
    found = "its labels end where it ends" if start == size else "it is no image record"
    which = "" if offset is not None else f" in the record with key {key!r}"
    raise PayloadError(
        f"no image{which}: {found}",
        path=path,
        key=key,
        offset=offset,
        advice="without --image, all of its payload is written",
    )


def _streamed(source: Stream, key: str) -> tuple[int, bytes]:
    wanted = _number(source, key)
    count = 0
    for payload in read_records(source):
        if count == wanted:
            return wanted, payload
        count += 1
    raise _beyond(source, wanted, count)


def _walked(source: Source, key: str) -> tuple[Key, Span]:
    wanted = _number(source, key)
    count = 0
    jobs = 1 if isinstance(source, LocalFile) else None
    with closing(scan(source, jobs=jobs)) as batches:
        for batch in batches:
            count += len(batch)
            if wanted < count:
                return wanted, span_at(source, batch.offsets[wanted - batch.first], b"")
    raise _beyond(source, wanted, count)


def _number(source: Source | Stream, key: str) -> int:
    number = as_number(key)
    if number is None:
        raise MissingKeyError(
            f"no record has the key {key!r}: without an index, keys are numbers, from 0",
            path=source.path,
        )
    return number


def _beyond(source: Source | Stream, number: int, count: int) -> MissingKeyError:
    there = f"here from 0 to {count - 1}" if count else "and the file is empty"
    what = f"no record has the key {number}: without an index, keys are numbers, {there}"
    return MissingKeyError(what, path=source.path)


def _indexed(source: Source, key: str, index: str) -> tuple[Key, Span]:
    found = read_entries(index)
    wanted = as_number(key) if isinstance(found.keys, array) else key
    try:
        if wanted is None:
            raise KeyError(key)
        offset, _ = KeyTable(found.keys, found.offsets, source.size).find(wanted)
    except KeyError:
        raise _missing(source, key, found) from None
    if offset >= source.size:
        raise BadIndexError(
            f"the key {wanted!r} has the offset {offset}, where {source.path} has ended",
            path=index,
            expected=f"an offset below {source.size}",
            found=str(offset),
            advice="is that the index of this very file? recordio check says what is wrong",
        )
    try:
        return wanted, span_at(source, offset, b"")
    except (DamagedRecordError, NotRecordIOError) as error:
        if not is_damage(error):
            raise
        raise of_key(error, wanted, offset) from None


def _missing(source: Source, key: str, index: IndexFile) -> MissingKeyError:
    keys = index.keys
    if isinstance(keys, array):
        least, largest = _heads.bounds(keys)
        some = f"numbers from {least} to {largest}"
    else:
        some = f"from {keys[0]!r} on its first line to {keys[-1]!r} on its last one"
    what = f"no record has the key {key!r}: {index.path} has {len(keys)} keys, {some}"
    return MissingKeyError(what, path=source.path)
