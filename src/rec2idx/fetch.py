"""Reading the records of a data set, one by one or many at once."""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, cast

from ._walk import WALKING
from .concurrency import in_parallel
from .damage import error_of, of_key
from .errors import DamagedRecordError, FileChangedError, NotRecordIOError
from .framing import HEADER_SIZE, MAGIC, MAX_LENGTH, padded, payload_of
from .image_record import IRHeader
from .items import Bytes, split
from .segments import Walker
from .sources import LocalFile, Location, Source
from .table import DataFile, Table

Pair = tuple[IRHeader | None, Bytes]

CHUNK = 1024  # records that are read ahead at once, at most
REQUESTS = 8  # reads from a network under way at once

_PART = struct.Struct("<II")


@dataclass(frozen=True)
class Manner:
    """How a storage is read, in bytes.

    Attributes:
        near: where the next record is not farther away, all up to it is read at once.
        peek: what is read otherwise, to see how long the record is.
        gap: what may lie between two records that are read at once.
        window: what is read at once.
    """

    near: int
    peek: int
    gap: int
    window: int


LOCAL = Manner(1 << 18, 1 << 16, 1 << 14, 1 << 20)
REMOTE = Manner(1 << 20, 1 << 18, 1 << 20, 1 << 22)


class Opened:
    """A file of a data set, open in this process.

    Attributes:
        source: the file.
        manner: how it is read.
        view: its bytes in memory, where that was asked for.
    """

    def __init__(self, source: Source, view: memoryview | None) -> None:
        self.source = source
        self.manner = LOCAL if isinstance(source, LocalFile) else REMOTE
        self.view = view

    def close(self) -> None:
        """Close the file. Memory that somebody still looks at stays."""
        self.view = None
        cast(LocalFile, self.source).close()


class Files:
    """The files of a data set; each process opens those that it reads.

    No lock is taken: one that another thread holds during a fork would stay locked in the child.

    Args:
        files: the files.
        mapped: whether to map them into memory.
    """

    def __init__(self, files: tuple[DataFile, ...], mapped: bool) -> None:
        self._files = files
        self._mapped = mapped
        self._closed = False
        self._own: dict[int, dict[int, Opened]] = {}  # by process, then by number

    def __getitem__(self, number: int) -> Opened:
        own = self._own.get(os.getpid())
        found = None if own is None else own.get(number)
        return self._open(number) if found is None else found

    def _open(self, number: int) -> Opened:
        file = self._files[number]
        if self._closed:
            raise ValueError(f"{file.path}: the data set is closed")
        source = cast(Source, file.place.open())
        source.path = file.path
        view = None
        if self._mapped and file.size and isinstance(source, LocalFile):
            view = memoryview(mmap.mmap(source.fd, file.size, access=mmap.ACCESS_READ))
        opened = Opened(source, view)
        kept = self._own.setdefault(os.getpid(), {}).setdefault(number, opened)
        if kept is not opened:  # another thread was faster
            opened.close()
        return kept

    def close(self) -> None:
        """Close all. Closing twice is allowed."""
        self._closed = True
        own, self._own = self._own, {}
        for files in own.values():
            for opened in files.values():
                opened.close()

    def __del__(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_own": {}}


class _Request(NamedTuple):
    """A record to be read: file, offset in it, bytes to read first, entry, place in the answer."""

    number: int
    offset: int
    length: int
    entry: int
    slot: int


class Fetcher:
    """Reads records, each as a pair of header and payload.

    Args:
        table: where they are.
        files: the files.

    Raises, where records are read:
        DamagedRecordError: there is no whole record; the error says where and under which key.
        FileChangedError: the file is another one than when the table was made.
        OSError: it cannot be read.
    """

    def __init__(self, table: Table, files: Files) -> None:
        self._table = table
        self._files = files

    def one(self, entry: int) -> Pair:
        """Read one record."""
        number, offset, span = self._table.place(entry)
        opened = self._files[number]
        if opened.view is not None:
            return self._pair(opened, number, entry, offset, opened.view, offset)
        data = opened.source.read(offset, _length(opened.manner, span))
        return self._pair(opened, number, entry, offset, data, 0)

    def many(self, entries: Iterable[int]) -> list[Pair]:
        """Read several records, in the order given; those that lie close together at once."""
        requests = []
        for slot, entry in enumerate(entries):
            number, offset, span = self._table.place(entry)
            length = _length(self._files[number].manner, span)
            requests.append(_Request(number, offset, length, entry, slot))
        windows = list(self._windows(sorted(requests)))
        remote = any(self._files[window[0].number].manner is REMOTE for window in windows)
        found: dict[int, Pair] = {}
        for pairs in in_parallel(self._window, windows, REQUESTS if remote else 1):
            found.update(pairs)
        return [found[slot] for slot in range(len(requests))]

    def chunks(self, entries: Iterable[int]) -> Iterator[list[int]]:
        """Cut entries into what is read ahead at once."""
        chunk: list[int] = []
        size = 0
        for entry in entries:
            number, _, span = self._table.place(entry)
            manner = self._files[number].manner
            size += _length(manner, span)
            chunk.append(entry)
            if size >= manner.window or len(chunk) == CHUNK:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def _windows(self, requests: list[_Request]) -> Iterator[list[_Request]]:
        """Put requests that lie close together into one window."""
        window: list[_Request] = []
        end = 0
        for request in requests:
            manner = self._files[request.number].manner
            fits = (
                window
                and request.number == window[0].number
                and request.offset - end <= manner.gap
                and request.offset + request.length - window[0].offset <= manner.window
            )
            if window and not fits:
                yield window
                window, end = [], 0
            window.append(request)
            end = max(end, request.offset + request.length)
        if window:
            yield window

    def _window(self, window: list[_Request]) -> dict[int, Pair]:
        number, start = window[0].number, window[0].offset
        opened = self._files[number]
        if opened.view is not None:
            data: Bytes = opened.view
            start = 0
        else:
            end = max(request.offset + request.length for request in window)
            data = opened.source.read(start, end - start)
        return {
            slot: self._pair(opened, number, entry, offset, data, offset - start)
            for _, offset, _, entry, slot in window
        }

    def _pair(
        self, opened: Opened, number: int, entry: int, offset: int, data: Bytes, at: int
    ) -> Pair:
        """Return the record at `offset`, of which some bytes are known: `data`, from `at` on."""
        first_label = self._table.files[number].images is not None
        if at + HEADER_SIZE <= len(data):
            magic, lrec = _PART.unpack_from(data, at)
            if magic == MAGIC and lrec <= MAX_LENGTH:  # a record of one part
                whole = HEADER_SIZE + padded(lrec)
                if at + whole > len(data) and offset + whole <= opened.source.size:
                    data, at = opened.source.read(offset, whole), 0
                if at + whole <= len(data):
                    at += HEADER_SIZE
                    return split(data, at, at + lrec, first_label)
        payload = self._walked(opened.source, entry, offset)
        return split(payload, 0, len(payload), first_label)

    def _walked(self, source: Source, entry: int, offset: int) -> bytes:
        """Return the payload of a record of several parts, or raise what is wrong with it."""
        walker = Walker(source, offset)
        while walker.walk.status == WALKING:
            if (piece := walker.records(1)) is not None:
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


def _length(manner: Manner, span: int) -> int:
    """Return how many bytes to read first of a record, with so many to the next one.

    Where the next one is far away, or an index says so, the record may be short all the same.
    """
    return span if span <= manner.near else manner.peek


def can_be_mapped(file: DataFile) -> bool:
    """Return whether a file can be mapped into memory."""
    return isinstance(file.place, Location)
