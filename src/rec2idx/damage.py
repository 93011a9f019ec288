"""From how a walk stopped to the error that says so. The one place that knows both."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from . import _walk
from ._walk import Walk
from .errors import (
    DamagedRecordError,
    EmptyFileError,
    FileChangedError,
    NotRecordIOError,
    RecordIOError,
    TruncatedError,
)
from .framing import HEADER_SIZE, MAGIC, MAGIC_BYTES, padded, split_lrec
from .lookalikes import DAMAGED, HEAD_SIZE, ZEROS, looks_like
from .redaction import redacted_repr
from .sources import Readable, Stream

if TYPE_CHECKING:
    from .causes import Cause

AGAIN = "copy or download the file again; rec2idx --salvage indexes what is whole"


@redacted_repr
@dataclass(frozen=True)
class DamagedRegion:
    """Bytes of a file in which no record could be followed.

    Attributes:
        path: the file.
        start: its first byte.
        stop: the byte behind it, where the next whole record starts or the file ends. Where only
            the padding of the last record is missing, that is where it starts, too: the record
            is whole.
        record: so many whole records are before it.
        reason: a word as in `DamagedRecordError`, or ``wrong-length`` where a record's length
            leads past the start of the next record, or short of it.
        what: the same in words: what is wrong, where, what was expected there and found.
        doubtful: whether the record before it is kept, though its own bytes may have changed.
        cause: what probably happened; None if nothing tells.
    """

    path: str
    start: int
    stop: int
    record: int
    reason: str
    what: str
    doubtful: bool = False
    cause: Cause | None = None

    @property
    def bytes(self) -> int:
        """Bytes in it."""
        return self.stop - self.start

    @property
    def story(self) -> str:
        """What probably happened, in words; what is wrong, where nothing tells."""
        if self.cause is None or self.cause.kind in ("header", "cut"):
            return self.what
        from .causes import words_of

        return words_of(self.cause, self.record)


@dataclass
class Damage:
    """Counts the damaged regions that are passed over, and hands them on.

    Attributes:
        report: called with each of them; None where none is to be passed over.
        regions: how many there were.
        bytes: bytes in them.
        doubtful: records that are kept, though their own bytes may have changed.
    """

    report: Callable[[DamagedRegion], object] | None
    regions: int = 0
    bytes: int = 0
    doubtful: int = 0

    @property
    def salvage(self) -> Callable[[DamagedRegion], object] | None:
        """What `scan` is to call."""
        return None if self.report is None else self._add

    def _add(self, region: DamagedRegion) -> None:
        assert self.report is not None
        self.regions += 1
        self.bytes += region.bytes
        self.doubtful += region.doubtful
        self.report(region)


def records_in(lost: int, size: int, records: int) -> int:
    """Return how many records some bytes held, at the size that those have which are kept.

    Args:
        lost: the bytes.
        size: bytes in the file.
        records: records that are kept.

    >>> records_in(100, 264, 4)
    2
    """
    return round(lost * records / (size - lost)) if size > lost else 0


def one_at_a_time(
    report: Callable[[DamagedRegion], object] | None,
) -> Callable[[DamagedRegion], object] | None:
    """Return what calls `report` for several threads, one after the other."""
    if report is None:
        return None
    import threading

    lock = threading.Lock()

    def report_alone(region: DamagedRegion) -> None:
        with lock:
            report(region)

    return report_alone


def region_of(
    error: RecordIOError,
    start: int,
    stop: int,
    record: int,
    doubtful: bool = False,
    cause: Cause | None = None,
) -> DamagedRegion:
    """Return the region whose damage an error tells of, behind so many whole records."""
    what = error.what
    if error.expected is not None:
        what += f": expected {error.expected}, found {error.found}"
    if error.offset is not None and error.offset != start:
        what = f"at byte {error.offset}, {what}"
    reason = getattr(error, "reason", "") or "wrong-magic"
    if cause is not None and cause.kind == "length":
        reason = "wrong-length"
    return DamagedRegion(
        path=error.path or "",
        start=start,
        stop=stop,
        record=record,
        reason=reason,
        what=what,
        doubtful=doubtful,
        cause=cause,
    )


def empty(path: str) -> EmptyFileError:
    """Return the error for a file without a byte."""
    return EmptyFileError(
        "the file is empty",
        path=path,
        advice="check whether it was written or copied to the end",
    )


def is_damage(error: Exception) -> TypeGuard[DamagedRecordError | NotRecordIOError]:
    """Return whether there may be records behind it, and not another kind of file around them."""
    if isinstance(error, NotRecordIOError):
        thing = error.looks_like
        return thing in (None, ZEROS) or (thing or "").startswith(DAMAGED)
    return isinstance(error, DamagedRecordError)


def of_key(
    error: DamagedRecordError | NotRecordIOError, key: Any, offset: int
) -> DamagedRecordError | NotRecordIOError:
    """Return the error of a walk as that of a record which an index names.

    A wrong magic is damage, also at the start of the file, unless this is another kind of file.
    """
    if isinstance(error, NotRecordIOError) and not is_damage(error):
        error.key, error.record = key, None
        return error
    found = type(error) if isinstance(error, DamagedRecordError) else DamagedRecordError
    placed = found(
        error.what if isinstance(error, DamagedRecordError) else "wrong magic",
        path=error.path,
        key=key,
        offset=error.offset,
        expected=error.expected,
        found=error.found,
        advice="recordio check says whether the file or its index is wrong",
    )
    placed.reason = getattr(error, "reason", "wrong-magic")
    placed.record_offset = offset
    return placed


def wrong_length(error: RecordIOError, offset: int, end: int) -> DamagedRecordError:
    """Return the error of a record that seemed whole, but whose length leads to a wrong place."""
    found = DamagedRecordError(
        "the record's length is wrong",
        path=error.path,
        record=(error.record or 0) - 1,
        offset=offset,
        expected="the next record where it ends",
        found=f"none at byte {end}",
        advice=error.advice,
    )
    found.reason = "wrong-length"
    found.record_offset = offset
    return found


def error_of(walk: Walk, source: Readable, record: int) -> Exception:
    """Return the error for a walk that did not reach the end.

    Args:
        walk: a walk whose status is final and is not END.
        source: the file it walked in.
        record: number of whole records before the place where it stopped.
    """
    if walk.status == _walk.FAILED:
        return OSError(walk.failure, os.strerror(walk.failure), source.path)
    if walk.status == _walk.SHRUNK:
        return shrunk(source.path, walk.size, walk.position)
    if walk.position == 0 and walk.status in (_walk.BAD_MAGIC, _walk.CUT_HEADER):
        head = source.read(0, HEAD_SIZE)
        if not (len(head) > 1 and head[:4] == MAGIC_BYTES[: len(head)]):
            return _not_recordio(source, head)
    return _damage(walk, source, record)


def _not_recordio(source: Readable, head: bytes) -> NotRecordIOError:
    # Of a stream it is not known how many bytes are still to come.
    thing = looks_like(head, sys.maxsize if isinstance(source, Stream) else source.size)
    error = NotRecordIOError(
        f"not a RecordIO file, but {thing.name}" if thing else "not a RecordIO file",
        path=source.path,
        record=0,
        offset=0,
        expected=f"the magic {MAGIC_BYTES.hex(' ')}",
        found=head[:4].hex(" "),
        advice=thing.advice if thing else "check that this is the .rec file",
    )
    error.looks_like = thing.name if thing else None
    return error


def _damage(walk: Walk, source: Readable, record: int) -> DamagedRecordError:
    reason, what, expected, found, advice = _REASONS[walk.status](walk, source)
    if walk.opened >= 0 and walk.opened != walk.position:
        what += f" (in the record that starts at byte {walk.opened})"
    cut = reason.startswith("cut") or reason == "ends-inside-record"
    error = (TruncatedError if cut else DamagedRecordError)(
        what,
        path=source.path,
        record=record,
        offset=walk.position,
        expected=expected,
        found=found,
        advice=advice,
    )
    error.reason = reason
    error.record_offset = walk.opened if walk.opened >= 0 else walk.position
    return error


# Each returns the reason, what is wrong, what was expected, what was found, and what to do.
_Story = tuple[str, str, str, str, str]


def _bad_magic(walk: Walk, source: Readable) -> _Story:
    return "wrong-magic", "wrong magic", f"{MAGIC:#010x}", f"{walk.magic:#010x}", AGAIN


def _bad_cflag(walk: Walk, source: Readable) -> _Story:
    return "wrong-cflag", "wrong cflag", "0 to 3", str(split_lrec(walk.lrec)[0]), AGAIN


def _no_first(walk: Walk, source: Readable) -> _Story:
    cflag = split_lrec(walk.lrec)[0]
    name = "a middle part" if cflag == 2 else "a last part"
    return (
        "no-first-part",
        "the record's first part is missing",
        "a part with cflag 0 or 1",
        f"{name} (cflag {cflag})",
        AGAIN,
    )


def _not_ended(walk: Walk, source: Readable) -> _Story:
    return (
        "record-not-ended",
        "the record's last part is missing",
        "a part with cflag 2 or 3",
        f"a new record (cflag {split_lrec(walk.lrec)[0]})",
        AGAIN,
    )


def _cut_header(walk: Walk, source: Readable) -> _Story:
    rest = source.read(walk.position, HEADER_SIZE)
    bytes_left = _count(len(rest), "byte")
    # One byte 0a says little: it begins the magic, and is the newline that editors append.
    begins_a_part = len(rest) > 1 and rest[:4] == MAGIC_BYTES[: len(rest)]
    if walk.opened >= 0 or begins_a_part:
        return (
            "cut-header",
            "cut off by the end of the file",
            "a header of 8 bytes",
            bytes_left,
            AGAIN,
        )
    return (
        "stray-bytes",
        "stray bytes after the last record",
        "the end of the file",
        f"{bytes_left} ({rest.hex(' ')})",
        f"cut them off (truncate -s {walk.position}), or {AGAIN}",
    )


def shrunk(path: str, size: int, found: int) -> FileChangedError:
    """Return the error for a file that had `size` bytes, and ends at or before byte `found`."""
    return FileChangedError(
        "the file became shorter while it was read",
        path=path,
        expected=f"{size} bytes",
        found=f"{found}",
        advice="run again when nothing writes to it",
    )


def lacks_padding(walk: Walk) -> bool:
    """Return whether all that is cut off the part at which a walk has stopped is padding."""
    return walk.size - walk.position >= HEADER_SIZE + split_lrec(walk.lrec)[1]


def _cut_part(walk: Walk, source: Readable) -> _Story:
    length = split_lrec(walk.lrec)[1]
    whole = HEADER_SIZE + length
    there = walk.size - walk.position
    if not lacks_padding(walk):
        what = "cut off by the end of the file"
        return "cut-part", what, f"a part of {_count(whole, 'byte')}", str(there), AGAIN
    return (
        "cut-padding",
        "the record is whole, but its padding is cut off by the end of the file",
        f"{_count(padded(length) - length, 'byte')} of padding",
        str(there - whole),
        f"add it (truncate -s {walk.position + HEADER_SIZE + padded(length)}), or {AGAIN}",
    )


def _ends_inside(walk: Walk, source: Readable) -> _Story:
    return (
        "ends-inside-record",
        "the file ends between the parts of a record",
        "a part with cflag 2 or 3",
        "the end of the file",
        AGAIN,
    )


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}" if number == 1 else f"{number} {unit}s"


_REASONS = {
    _walk.BAD_MAGIC: _bad_magic,
    _walk.BAD_CFLAG: _bad_cflag,
    _walk.NO_FIRST: _no_first,
    _walk.NOT_ENDED: _not_ended,
    _walk.CUT_HEADER: _cut_header,
    _walk.CUT_PART: _cut_part,
    _walk.ENDS_INSIDE: _ends_inside,
}
