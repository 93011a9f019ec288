"""Damage to a whole file that can be undone: its first bytes are gone, line feeds were changed.

A mended file is a source like any other: bytes are mended as they are read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable

from ._magic import find_header
from .causes import first_bytes_missing
from .chains import Reads
from .errors import DamagedRecordError, NotRecordIOError, RecordIOError
from .framing import HEADER_SIZE, MAGIC_BYTES, padded
from .scan import scan
from .sources import Place, Source
from .spans import part_at

CRLF, LF = b"\r\n", b"\n"
IN_TEXT_MODE = MAGIC_BYTES.replace(LF, CRLF)  # how a file begins in which each 0a is 0d 0a
BLOCK = 1 << 20  # bytes of the file that are mended at once
SEVERAL = 4  # records that are shorter by as many bytes as they have line feeds: not by chance
PNG = b"\x89PNG\r\n\x1a\n"
LOST_IN_PNG = PNG.replace(CRLF, LF)

ADDED = "each 0a had become 0d 0a (copied in text mode)"
REMOVED = "each 0d 0a had become 0a (copied in text mode)"


class Mended:
    """A file without its damage.

    Args:
        source: the file.
        size: bytes in it without the damage.
        read: returns bytes from an offset on, as `Source.read` does.
    """

    def __init__(self, source: Source, size: int, read: Callable[[int, int], bytes]) -> None:
        self.path = source.path
        self.size = size
        self.read = read
        self._source = source

    @property
    def modified(self) -> int | None:
        """When the file was last changed, in nanoseconds since 1970; None if that is not known."""
        return self._source.modified

    def require_unchanged(self) -> None:
        """Raise `FileChangedError` if the file was written to since it was opened."""
        self._source.require_unchanged()

    def location(self) -> Place:
        """Return where another process finds the file, with its damage."""
        return self._source.location()


def mended(source: Source) -> tuple[Source, str | None]:
    """Return a file without the damage that can be undone, and what that was, or None.

    Raises:
        DamagedRecordError: line feeds were changed, and that cannot be undone.
        OSError: a read failed.
    """
    head = source.read(0, HEADER_SIZE)
    if head.startswith(IN_TEXT_MODE):
        return _without_returns(source), ADDED
    if missing := first_bytes_missing(Reads(source)):
        return _with_first_bytes(source, missing), _said(missing)
    if head.startswith(MAGIC_BYTES) and _lost_returns(source):
        try:
            return _with_returns(source), REMOVED
        except DamagedRecordError:
            if LOST_IN_PNG in source.read(0, BLOCK):
                raise  # which nothing else does
    return source, None


def _said(missing: int) -> str:
    plural = "byte was" if missing == 1 else f"{missing} bytes were"
    return f"the first {plural} missing"


def _with_first_bytes(source: Source, missing: int) -> Source:
    first = MAGIC_BYTES[:missing]

    def read(offset: int, length: int) -> bytes:
        begin = first[offset : offset + length]
        if len(begin) == length:
            return begin
        return begin + source.read(max(offset - missing, 0), length - len(begin))

    return Mended(source, source.size + missing, read)


def _without_returns(source: Source) -> Source:
    """Return a file in which each 0d 0a is 0a again."""
    starts = array("q", [0])  # where each block of the file starts in the mended one
    is_cut = False  # a block may end between the two bytes

    def block(number: int) -> bytes:
        data = source.read(number * BLOCK, min(BLOCK + 1, source.size - number * BLOCK))
        found = data[:BLOCK].replace(CRLF, LF)
        # Where the two bytes are in two blocks, 0d is left out here.
        return found[:-1] if data[BLOCK - 1 :] == CRLF else found

    for number in range(-(-source.size // BLOCK)):
        data = source.read(number * BLOCK, min(BLOCK, source.size - number * BLOCK))
        alone = data.count(LF) - data.count(CRLF) - (is_cut and data.startswith(LF))
        if alone:
            raise _refused(source, ADDED, "there are line feeds without a carriage return")
        is_cut = data.endswith(b"\r")
        starts.append(starts[-1] + len(block(number)))

    def read(offset: int, length: int) -> bytes:
        end = min(offset + length, starts[-1])
        number = bisect_right(starts, offset) - 1
        pieces = []
        while offset < end:
            data = block(number)[offset - starts[number] :][: end - offset]
            pieces.append(data)
            offset += len(data)
            number += 1
        return b"".join(pieces)

    found = Mended(source, starts[-1], read)
    _require_whole(found, ADDED)
    return found


def _require_whole(source: Source, what: str) -> None:
    try:
        for _ in scan(source):
            pass
    except (DamagedRecordError, NotRecordIOError) as error:
        where = f"record {error.record} at byte {error.offset} of what it was"
        raise _refused(source, what, f"when that is undone, lengths do not fit: {where}") from error


def _refused(source: Source, what: str, reason: str) -> RecordIOError:
    error = DamagedRecordError(
        f"{what}, and that cannot be undone: {reason}",
        path=source.path,
        advice="copy or download the file again, in binary mode",
    )
    error.reason = "text-mode"
    return error


def _lost_returns(source: Source) -> bool:
    """Return whether the file seems to have lost its carriage returns: the first block of it does.

    There is no 0d 0a in it, and either a PNG's signature lacks its own, or several records are as
    many bytes shorter than they say as they have line feeds, and all others have none.
    """
    data = source.read(0, BLOCK)
    if CRLF in data:
        return False
    in_png = LOST_IN_PNG in data
    at = shorter = 0
    while (part := part_at(data[at : at + HEADER_SIZE])) is not None:
        end = at + HEADER_SIZE + padded(part[1])
        if end > len(data) and source.size > len(data):
            break
        following = end if end == source.size else _next(data, at + HEADER_SIZE, end)
        if following is None:
            return False
        feeds = data.count(LF, at + HEADER_SIZE, following)
        if end - following > feeds or (end - following < feeds and not in_png):
            return False
        shorter += following < end
        at = following
    return shorter > 0 if in_png else shorter >= SEVERAL


def _next(data: bytes, at: int, end: int) -> int | None:
    """Return where the next part starts that is not after `end`; the end of the data if none."""
    if data[end : end + 4] == MAGIC_BYTES:
        return end
    found = find_header(data, at)
    if found < 0:
        return len(data)
    return found if found <= end else None


def _with_returns(source: Source) -> Source:
    """Return a file in which 0d stands again before the line feeds that had it.

    Of a part that lacks as many bytes as it has line feeds, all had it; of one that lacks a single
    byte and begins with a PNG image, the one in its signature. Others cannot be told.
    """
    places = array("q")  # of the line feeds in the file
    at = 0
    while at < source.size:
        at = _mend_part(source, at, places)

    def read(offset: int, length: int) -> bytes:
        # Line feed number n is at places[n] + n in the mended file, after its carriage return.
        number = bisect_right(range(len(places)), offset - 1, key=lambda n: places[n] + n)
        begin = offset - number
        data = source.read(begin, length)
        pieces, done = [], begin
        while number < len(places) and places[number] < begin + len(data):
            pieces += [data[done - begin : places[number] - begin], b"\r"]
            done = places[number]
            number += 1
        return b"".join([*pieces, data[done - begin :]])[:length]

    found = Mended(source, source.size + len(places), read)
    _require_whole(found, REMOVED)
    return found


def _mend_part(source: Source, at: int, places: array[int]) -> int:
    """Add the line feeds of the part at a place that had a carriage return; return its end."""
    part = part_at(source.read(at, HEADER_SIZE))
    if part is None:
        raise _refused(source, REMOVED, f"no record starts at byte {at}")
    begin, end = at + HEADER_SIZE, at + HEADER_SIZE + padded(part[1])
    data = source.read(begin, end - begin + HEADER_SIZE)
    following = _next(data, 0, end - begin)
    if following is None:
        raise _refused(source, REMOVED, f"the record at byte {at} does not end")
    payload = data[:following]
    lacks = end - begin - len(payload)
    feeds = [place for place, byte in enumerate(payload) if byte == 10] if lacks else []
    signature = payload.find(LOST_IN_PNG)
    if lacks == 1 and signature >= 0:
        feeds = [signature + PNG.index(CRLF)]
    if len(feeds) != lacks:
        raise _refused(
            source,
            REMOVED,
            f"the record at byte {at} lacks {lacks} bytes and has {len(feeds)} line feeds, so that "
            "it cannot be told which of them had a carriage return",
        )
    places.extend(begin + place for place in feeds)
    return begin + following
