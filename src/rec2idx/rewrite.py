"""Records, wherever they lie, into a file as a conforming writer writes it.

Records that are laid out well already, which are nearly all, are copied in blocks. The others are
laid out anew: padding is added or set to zeros, a record is split at the magics in its payload,
and at no other places. However long a record is, no more than two blocks of it are in memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable
from typing import NamedTuple

from ._layout import lay_out
from ._spans import find_magic, tidy
from .errors import FileChangedError
from .framing import (
    FIRST,
    HEADER_SIZE,
    LAST,
    MAGIC_BYTES,
    MAX_LENGTH,
    WHOLE,
    cflag_of,
    header,
    padded,
    payload_of,
    split_lrec,
)
from .segments import Batch
from .sinks import Sink
from .sources import LocalFile, Readable, Source

LOCAL_BLOCK = 1 << 19  # bytes; stays in a processor's cache from reading to writing
REMOTE_BLOCK = 1 << 23  # bytes; takes longer to transfer than a request to be answered
SMALL = 1 << 16  # bytes; less than that is not worth a write of its own

Write = Callable[[bytes | memoryview], None]


class Rewriter:
    """Appends records of a file to a new one.

    Args:
        source: the file with the records.
        sink: where they go.

    Attributes:
        written: bytes of the new file so far.
        rewritten: records that are laid out in another way than they were.
    """

    def __init__(self, source: Source, sink: Sink) -> None:
        self.written = 0
        self.rewritten = 0
        self._source = source
        self._sink = sink
        self._block = LOCAL_BLOCK if isinstance(source, LocalFile) else REMOTE_BLOCK
        self._pending = bytearray()

    def append(self, batch: Batch) -> array[int]:
        """Append the records of a batch; return the byte offset of each in the new file."""
        offsets = batch.offsets
        places = offsets[:]
        start = 0
        while start < len(offsets):
            limit = offsets[start] + self._block
            if batch.stop <= limit:
                stop = len(offsets)
            else:
                stop = max(bisect_right(offsets, limit, start) - 1, start + 1)
            end = offsets[stop] if stop < len(offsets) else batch.stop
            if end <= limit:
                self._append_span(batch, start, stop, end, places)
            else:
                places[start] = self.written
                self._append_long(LongRecord(self._source, offsets[start], end, self._block))
            start = stop
        return places

    def flush(self) -> None:
        """Hand all bytes on to the sink."""
        self._sink.write(memoryview(self._pending))
        self._pending = bytearray()

    def _append_span(
        self, batch: Batch, start: int, stop: int, end: int, places: array[int]
    ) -> None:
        """Append the records from number `start` to `stop`, which end at byte `end`."""
        offsets = batch.offsets
        base = offsets[start]
        data = self._source.read(base, end - base)
        if len(data) < end - base:
            raise changed(self._source)
        view = memoryview(data)
        while start < stop:
            number = tidy(data, base, offsets, batch.sizes, start)
            after = start + max(number, 1)
            span = view[offsets[start] - base : (offsets[after] if after < stop else end) - base]
            moved = self.written - offsets[start]
            if moved:
                places[start:after] = array("q", [at + moved for at in offsets[start:after]])
            if number:
                self._write(span)
            elif len(span) > LOCAL_BLOCK:  # its parts may be so many that they take much memory
                at = offsets[start]
                self._append_long(LongRecord(self._source, at, at + len(span), self._block))
            else:
                self._append_anew(bytes(span), batch.sizes[start])
            start = after

    def _append_anew(self, record: bytes, size: int) -> None:
        payload = payload_of(record)
        if len(payload) != size:
            raise changed(self._source)
        laid_out = lay_out(payload)
        self.rewritten += laid_out != record
        self._write(laid_out)

    def _append_long(self, record: LongRecord) -> None:
        run: Run | None = record.first()
        opens = True
        while run is not None:
            length, following = record.piece(run)
            self._write(header(cflag_of(opens, following is None), length))
            record.copy(run, length, self._write)
            self._write(bytes(-length % 4))
            opens, run = False, following
        self.rewritten += record.is_odd

    def _write(self, data: bytes | memoryview) -> None:
        self.written += len(data)
        if len(data) < SMALL:
            self._pending += data
            if len(self._pending) >= SMALL:
                self.flush()
        else:
            self.flush()
            self._sink.write(data)


class Run(NamedTuple):
    """Bytes of a part's payload, from some place in it to its end.

    Attributes:
        at: byte offset of the first of them.
        stop: byte behind the payload.
        after: byte behind the padding, where the next part starts.
        is_last: whether the part is the last one of its record.
    """

    at: int
    stop: int
    after: int
    is_last: bool


class LongRecord:
    """A record that is read in blocks, wherever it is needed, and some of it twice.

    Args:
        source: the file.
        offset: where the record starts.
        end: where it ends.
        block: bytes of one read.

    Attributes:
        is_odd: whether what was looked at is laid out in another way than by a conforming writer.
    """

    def __init__(self, source: Source, offset: int, end: int, block: int) -> None:
        self.is_odd = False
        self._source = source
        self._offset = offset
        self._end = end
        self._block = max(block, HEADER_SIZE)
        self._window = memoryview(b"")
        self._at = 0  # where the window begins

    def first(self) -> Run:
        """Return the payload of the first part."""
        return self._part(self._offset, opens=True)

    def piece(self, run: Run) -> tuple[int, Run | None]:
        """Return the length of the part that should start with a run, and where the next starts."""
        length = 0
        while True:
            # The magics at a multiple of 4 from the start of the piece.
            hit = self._find(run.at + -length % 4, run.stop)
            if hit >= 0:
                self.is_odd = True
                return length + hit - run.at, run._replace(at=hit + len(MAGIC_BYTES))
            length += run.stop - run.at
            self._look_at_padding(run)
            if run.is_last:
                return length, None
            run = self._part(run.after, opens=False)
            joined = length + len(MAGIC_BYTES)
            # A part cannot be longer; no writer has laid out such a record, but it can be read.
            too_long = joined + run.stop - run.at > MAX_LENGTH
            if length % 4 == 0 or too_long:
                return length, run
            self.is_odd = True
            length = joined

    def copy(self, run: Run, length: int, write: Write) -> None:
        """Write so many bytes of the payload, from the first of a run on."""
        while True:
            at, stop = run.at, min(run.stop, run.at + length)
            length -= stop - at
            while at < stop:
                data = self._bytes(at, stop, 1)
                write(data)
                at += len(data)
            if length == 0:
                return
            write(MAGIC_BYTES)
            length -= len(MAGIC_BYTES)
            run = self._part(run.after, opens=False)

    def _part(self, at: int, opens: bool) -> Run:
        head = self._bytes(at, self._end, HEADER_SIZE)
        cflag, length = split_lrec(int.from_bytes(head[4:HEADER_SIZE], "little"))
        start = at + HEADER_SIZE
        run = Run(start, start + length, start + padded(length), cflag in (WHOLE, LAST))
        if opens != (cflag in (WHOLE, FIRST)) or run.stop > self._end:
            raise changed(self._source)
        return run

    def _look_at_padding(self, run: Run) -> None:
        length = run.after - run.stop
        if run.after > self._end or self._bytes(run.stop, run.after, length) != bytes(length):
            self.is_odd = True

    def _find(self, at: int, stop: int) -> int:
        """Return where before `stop` the first magic is, at `at` or a multiple of 4 after it."""
        while stop - at >= len(MAGIC_BYTES):
            data = self._bytes(at, stop, len(MAGIC_BYTES))
            hit = find_magic(data)
            if hit >= 0:
                return at + hit
            at += len(data) & ~3
        return -1

    def _bytes(self, at: int, stop: int, least: int) -> memoryview:
        """Return bytes of the file from `at` on: `least` or more, but none from `stop` on."""
        here = at - self._at
        if not 0 <= here <= len(self._window) - least:
            self._window = memoryview(self._source.read(at, min(self._block, self._end - at)))
            self._at, here = at, 0
            if len(self._window) < least:
                raise changed(self._source)
        return self._window[here : here + stop - at]


def changed(source: Readable) -> FileChangedError:
    """Return the error for bytes that are not those that were walked through before."""
    return FileChangedError(
        "the file was written to while it was read",
        path=source.path,
        advice="run again when nothing writes to it",
    )
