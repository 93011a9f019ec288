"""Whole records out of a file, at any offset. Nothing is remembered between two reads."""

from __future__ import annotations

import os
from typing import NoReturn

from ._records import read_record
from ._walk import WALKING, Walk
from .damage import error_of
from .errors import DamagedRecordError, FileChangedError, TruncatedError
from .framing import HEADER_SIZE, payload_of
from .sources import LocalFile

BLOCK = 1 << 18  # bytes read at once where records are small
_MANY = BLOCK // HEADER_SIZE  # records that a block has at most


class RecordFile:
    """A record file, open for reading; one object serves threads, and processes after a fork.

    It is closed when nobody has it any more, and so never while a thread reads.

    Args:
        path: a path as `open` takes it.

    Attributes:
        path: the path as text, as it was given.
        size: bytes in the file when it was opened.
        fd: the file descriptor.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._source = LocalFile(path)
        self.fd = self._source.fd
        self.path = self._source.path
        self.size = self._source.size

    def __del__(self) -> None:
        # Not before: the number of a closed file would soon be that of another one, from which
        # another thread would then read.
        source = getattr(self, "_source", None)
        if source is not None:
            source.close()

    def at(self, offset: int, guess: int, record: int | None = None) -> tuple[bytes, int]:
        """Return the payload of the record at an offset, and where the record behind it starts.

        Args:
            offset: where the record's first part starts.
            guess: how many bytes it may take, or 0. A wrong guess costs time, and no memory.
            record: the record's number, for errors.

        Raises:
            DamagedRecordError: no whole record starts there.
            NotRecordIOError: that is the start of the file, and it is something else.
            FileChangedError: the file became shorter, or was written to.
            OSError: reading failed.
        """
        found = read_record(self.fd, offset, guess, self.size)
        return self._walked(offset, record) if found is None else found

    def _walked(self, offset: int, record: int | None) -> tuple[bytes, int]:
        """As `at`, for records of several parts, and for what is wrong."""
        if not 0 <= offset < self.size:
            self._refuse(offset, record)
        walk = Walk(offset, self.size)
        while walk.status == WALKING:
            offsets, sizes, _ = walk.records(self._source.fd, 1)
            if offsets:
                payload = payload_of(self._source.read(offset, walk.position - offset))
                if len(payload) != sizes[0]:
                    raise FileChangedError(
                        "the file was written to while it was read", path=self.path
                    )
                return payload, walk.position
        error = error_of(walk, self._source, -1 if record is None else record)
        if isinstance(error, DamagedRecordError) and record is None:
            error.record = None
        raise error

    def _refuse(self, offset: int, record: int | None) -> NoReturn:
        error = TruncatedError(
            "no record can start there",
            path=self.path,
            record=record,
            offset=offset,
            expected=f"an offset below {self.size}, the size of the file",
            found=str(offset),
            advice=f"if the file is whole, make its index anew: rec2idx {self.path}",
        )
        error.reason = "past-the-end"
        error.record_offset = offset
        raise error

    def block(self, offset: int) -> tuple[list[bytes], list[int]]:
        """Return the payloads of some whole records from an offset on.

        Returns:
            The payloads, and where each record starts, and the one behind the last. No payloads
            where no whole record lies in the bytes that are read at once: `at` says why.
        """
        if offset >= self.size:
            return [], []
        data = os.pread(self.fd, BLOCK, offset)
        walk = Walk(offset, self.size, HEADER_SIZE)
        starts, sizes, _ = walk.feed(data, offset, _MANY)
        offsets = [*starts, walk.position if walk.opened < 0 else walk.opened]
        if starts and offsets[-1] > offset + len(data):  # the last one goes on behind the bytes
            offsets.pop()
        payloads = [
            data[start + HEADER_SIZE - offset : start + HEADER_SIZE - offset + size]
            if end - start == HEADER_SIZE + (size + 3 & ~3)
            else payload_of(data[start - offset : end - offset])
            for start, end, size in zip(offsets, offsets[1:], sizes, strict=False)
        ]
        return payloads, offsets
