"""Reading the records of a data set, one by one or many at once."""

from __future__ import annotations

import os
import struct
from bisect import bisect_right
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from .._walk import WALKING
from ..concurrency import ahead, in_parallel
from ..damage import error_of, of_key
from ..errors import (
    BadIndexError,
    DamagedRecordError,
    FileChangedError,
    LabelsError,
    NotRecordIOError,
)
from ..framing import HEADER_SIZE, IR_HEADER_SIZE, MAGIC, MAX_LENGTH, payload_of
from ..image_record import IRHeader
from ..overlaps import Room
from ..segments import Walker
from .items import Bytes, split
from .open_files import LOCAL, REMOTE, Manner, OpenFile, OpenFiles, is_local
from .table import Table

Pair = tuple[IRHeader | None, Bytes]

AHEAD = 8  # reads from a disk that are announced before they are made
REQUESTS = 8  # reads from a network under way at once
LOOKS = 2  # at the bytes of a record: at the headers of its parts, and at all of it

_PART = struct.Struct("<II")
_RECORD = struct.Struct("<IIIfQQ")  # a part's header, and an IRHeader
_new = tuple.__new__  # as IRHeader itself does, but for counting the fields


class Window(NamedTuple):
    """Records of a file that are read at once.

    Attributes:
        number: number of the file.
        start: where to read, in the files laid end to end.
        stop: where to stop.
        entries: the records, in order.
    """

    number: int
    start: int
    stop: int
    entries: Sequence[int]


class Bunch(NamedTuple):
    """Records, and the bytes that hold them.

    Attributes:
        opened: the file.
        entries: the records.
        data: bytes of the file.
        start: where they start in it.
    """

    opened: OpenFile
    entries: Sequence[int]
    data: Bytes
    start: int


class Fetcher:
    """Reads records, each as a pair of header and payload.

    Args:
        table: where they are.
        files: the files.

    Raises, where records are read:
        BadIndexError: of several records, so many overlap that they cannot all fit in the files.
        DamagedRecordError: there is no whole record; the error says where and under which key.
        LabelsError: its label is that of no class.
        FileChangedError: the file is another one than when the table was made.
        OSError: it cannot be read.
    """

    def __init__(self, table: Table, files: OpenFiles) -> None:
        self._table = table
        self._bounds = table.bounds
        self._bases = [file.base for file in table.files]
        self._manners = [LOCAL if is_local(file) else REMOTE for file in table.files]
        self._files = files
        self._remote = REMOTE in self._manners
        self._mapped = files.mapped

    def one(self, entry: int, room: Room | None = None) -> Pair:
        """Read one record; as one of several, if there is room for it."""
        start = self._bounds[entry]
        opened = self._files.get(bisect_right(self._bases, start) - 1)
        offset = start - opened.base
        if opened.view is not None:
            return self._pair(opened, entry, offset, opened.view, offset, room)
        length = _length(opened.manner, self._bounds[entry + 1] - start)
        if opened.fd >= 0:
            data = os.pread(opened.fd, length, offset)
        else:
            data = opened.source.read(offset, length)
        return self._pair(opened, entry, offset, data, 0, room)

    def many(self, entries: Sequence[int]) -> list[Pair]:
        """Read several records, in the order given; those that lie close together at once."""
        order = sorted(range(len(entries)), key=entries.__getitem__)
        windows = self._windows([entries[at] for at in order])
        if self._remote:
            bunches: Iterable[Bunch] = in_parallel(self._read, windows, REQUESTS)
        else:
            bunches = self._bunches(windows)
        pairs = self._pairs_of(bunches)
        found = dict(zip(order, pairs, strict=True))
        return [found[at] for at in range(len(entries))]

    def all(self, entries: range) -> Generator[Pair, None, None]:
        """Yield many records one after the other; in file order, they are read ahead."""
        if self._mapped or entries.step < 0:
            room = self._room()
            for entry in entries:
                yield self.one(entry, room)
            return
        windows = self._runs(entries) if entries.step == 1 else self._windows(entries)
        if not self._remote:
            yield from self._pairs_of(self._bunches(windows))
            return
        with ahead((partial(self._bunch, window) for window in windows), REQUESTS) as running:
            yield from self._pairs_of(chain.from_iterable(running))

    def _room(self) -> Room:
        """Return how much may be read of records that are read once each."""
        return Room(self._bounds[-1], LOOKS)

    def _runs(self, entries: range) -> Iterator[Window]:
        """Put records that follow each other into windows, as `_windows` does but for the gaps."""
        bounds = self._bounds
        first = entries.start
        while first < entries.stop:
            start = bounds[first]
            number, end, manner = self._file_at(start)
            most = min(start + manner.window, end)
            after = bisect_right(bounds, most, first + 1, entries.stop + 1) - 1
            if after <= first + 1 or bounds[after] - start > (after - first) * manner.near:
                after = first + 1
            stop = bounds[after]
            if after == first + 1:
                stop = min(start + _length(manner, stop - start), end)
            yield Window(number, start, stop, range(first, after))
            first = after

    def _windows(self, entries: Iterable[int]) -> Iterator[Window]:
        """Put records, in file order, into windows: those together that lie close together."""
        bounds = self._bounds
        number, end, manner = -1, -1, LOCAL
        start = stop = 0
        window: list[int] = []
        for entry in entries:
            at = bounds[entry]
            if at >= end:
                if window:
                    yield Window(number, start, stop, window)
                    window = []
                number, end, manner = self._file_at(at)
            after = min(at + _length(manner, bounds[entry + 1] - at), end)
            if window and (at - stop > manner.gap or after - start > manner.window):
                yield Window(number, start, stop, window)
                window = []
            if not window:
                start = stop = at
            window.append(entry)
            stop = max(stop, after)
        if window:
            yield Window(number, start, stop, window)

    def _file_at(self, at: int) -> tuple[int, int, Manner]:
        """Return the number of a file, where it ends, and how it is read."""
        number = bisect_right(self._bases, at) - 1
        return number, self._bases[number] + self._table.files[number].size, self._manners[number]

    def _bunches(self, windows: Iterable[Window]) -> Iterator[Bunch]:
        """Read windows, and tell the operating system which ones are next."""
        waiting: deque[Window] = deque()
        for window in windows:
            waiting.append(window)
            if len(waiting) > 1:  # not for the only one
                self._announce(window)
            if len(waiting) > AHEAD:
                yield self._read(waiting.popleft())
        yield from map(self._read, waiting)

    def _announce(self, window: Window) -> None:
        if hasattr(os, "posix_fadvise"):
            number, start, stop, _ = window
            opened = self._files.get(number)
            if opened.fd >= 0:
                offset = start - opened.base
                os.posix_fadvise(opened.fd, offset, stop - start, os.POSIX_FADV_WILLNEED)

    def _bunch(self, window: Window) -> Generator[Bunch, None, None]:
        yield self._read(window)

    def _read(self, window: Window) -> Bunch:
        number, start, stop, entries = window
        opened = self._files.get(number)
        if opened.view is not None:
            return Bunch(opened, entries, opened.view, 0)
        offset = start - opened.base
        if opened.fd >= 0:
            data = os.pread(opened.fd, stop - start, offset)
        else:
            data = opened.source.read(offset, stop - start)
        return Bunch(opened, entries, data, offset)

    def _pairs_of(self, bunches: Iterable[Bunch]) -> Iterator[Pair]:
        room = self._room()
        return chain.from_iterable(self._pairs(bunch, room) for bunch in bunches)

    def _pairs(self, bunch: Bunch, room: Room) -> Iterator[Pair]:
        opened, entries, data, start = bunch
        bounds, origin, last = self._bounds, start + opened.base, len(data) - _RECORD.size
        plain = opened.classes is None
        for entry in entries:
            at = bounds[entry] - origin
            if at <= last and plain:
                # What most records are: in one part, with one label, before the next one starts.
                magic, length, *fields = _RECORD.unpack_from(data, at)
                stop = at + HEADER_SIZE + length
                if (
                    magic == MAGIC
                    and not fields[0]
                    and length >= IR_HEADER_SIZE
                    and stop <= last
                    and stop <= bounds[entry + 1] - origin
                ):
                    yield _new(IRHeader, fields), data[at + _RECORD.size : stop]
                    continue
            yield self._pair(opened, entry, at + start, data, at, room)

    def _pair(
        self,
        opened: OpenFile,
        entry: int,
        offset: int,
        data: Bytes,
        at: int,
        room: Room | None,
    ) -> Pair:
        """Return the record at `offset`, of which some bytes are known: `data`, from `at` on."""
        try:
            if at + HEADER_SIZE <= len(data):
                magic, lrec = _PART.unpack_from(data, at)
                if magic == MAGIC and lrec <= MAX_LENGTH:  # a record of one part
                    whole = HEADER_SIZE + (lrec + 3 & ~3)
                    end = offset + whole
                    if end + opened.base > self._bounds[entry + 1] and end <= opened.source.size:
                        _count(room, offset + opened.base, whole)
                    if at + whole > len(data) and end <= opened.source.size:
                        data, at = opened.source.read(offset, whole), 0
                    if at + whole <= len(data):
                        at += HEADER_SIZE
                        return split(data, at, at + lrec, opened.classes)
            payload = self._walked(opened, entry, offset, room)
            return split(payload, 0, len(payload), opened.classes)
        except (LabelsError, BadIndexError) as error:
            error.path, error.key, error.offset = (
                opened.source.path,
                self._table.keys[entry],
                offset,
            )
            raise

    def _walked(self, opened: OpenFile, entry: int, offset: int, room: Room | None) -> bytes:
        """Return the payload of a record of several parts, or raise what is wrong with it."""
        source = opened.source
        walker = Walker(source, offset)
        while walker.walk.status == WALKING:
            if (piece := walker.records(1)) is not None:
                read = HEADER_SIZE * walker.walk.followed + walker.end - offset
                _count(room, offset + opened.base, read)
                payload = payload_of(source.read(offset, walker.end - offset))
                if len(payload) == piece.sizes[0]:
                    return payload
                break
        else:
            error = error_of(walker.walk, source, entry)
            if isinstance(error, (DamagedRecordError, NotRecordIOError)):
                raise of_key(error, self._table.keys[entry], offset) from None
            raise error
        raise FileChangedError("the file was written to while it was read", path=source.path)


def _count(room: Room | None, start: int, length: int) -> None:
    """Count bytes of the record that starts there, if it is one of several."""
    if room is not None:
        room.begin(start)
        room.take(length)


def _length(manner: Manner, span: int) -> int:
    """Return how many bytes to read first of a record, with so many to the next one.

    Where the next one is far away, or an index says so, the record may be short all the same; and
    where it is nearer than a record is long, it is the same one, or the index is wrong.
    """
    return span if HEADER_SIZE <= span <= manner.near else manner.peek
