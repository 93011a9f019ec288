"""Records at the end of a new file: laid out as a conforming writer does, and never in part."""

from __future__ import annotations

import contextlib
import os
from io import FileIO
from threading import Lock

from .errors import OtherProcessError, PayloadError, UnsafeTargetError
from .framing import MAX_LENGTH, lay_out
from .sinks import Sink

SOME = 1 << 20  # bytes that are kept before they are written


class Appender:
    """Writes whole pieces to a file that is emptied first; for one process, and its threads.

    Bytes wait until there are some, and go to the file together. Where that fails, the file is cut
    back to what it held before, and the bytes still wait.

    Args:
        path: a path as `open` takes it.

    Attributes:
        waiting: the bytes that wait; who appends to them says `flush` when there are some.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        self._file = FileIO(path, "w")
        self._sink = Sink(self._file, path)
        self.waiting = bytearray()
        self._written = 0
        self._process = os.getpid()

    @property
    def position(self) -> int:
        """Bytes that were appended."""
        return self._written + len(self.waiting)

    def require_own_process(self) -> None:
        """Refuse to go on where another process opened the file.

        Raises:
            OtherProcessError: it did.
        """
        if self._process != os.getpid():
            raise OtherProcessError(
                "the file was opened for writing by another process, which still writes it",
                path=self._sink.name,
                advice="write in the process that opened it, or open another file in this one",
            )

    def flush(self) -> None:
        """Write what waits."""
        self.require_own_process()
        try:
            self._sink.write(bytes(self.waiting))
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):  # a pipe or a device takes nothing back
                os.ftruncate(self._file.fileno(), self._written)
                self._file.seek(self._written)
            raise
        self._written += len(self.waiting)
        self.waiting = bytearray()

    def close(self, write: bool = True) -> None:
        """Write what waits, and close the file, also where that fails.

        In another process than that which opened it, nothing is written, nor if `write` says so.
        """
        with self._file:
            if write and self._process == os.getpid():
                self.flush()


class RecordAppender:
    """Appends records to a new file, and, where there is one, lines to its index.

    Lines are written after the records that they name.

    Args:
        path: the record file.
        index: its index, or None.

    Raises:
        UnsafeTargetError: both are the same file.
        OSError: one cannot be opened.
    """

    def __init__(self, path: str, index: str | None = None) -> None:
        if index is not None:
            _require_two_files(path, index)
        self._path = path
        self._records = Appender(path)
        self._lines: Appender | None = None
        self._lock = Lock()
        if index is not None:
            try:
                self._lines = Appender(index)
            except OSError:
                self._records.close()
                raise

    @property
    def position(self) -> int:
        """Byte offset of the record that is appended next."""
        return self._records.position

    def require_own_process(self) -> None:
        """Refuse to go on where another process opened the files.

        Raises:
            OtherProcessError: it did.
        """
        self._records.require_own_process()

    def append(self, payload: bytes, key: str = "") -> int:
        """Append a record, and a line with its key if there is an index; return its offset.

        Where that fails, neither is appended.

        Raises:
            TypeError: the payload is text, or other than bytes.
            PayloadError: it has 2^29 bytes or more.
            OtherProcessError: another process opened the file.
            OSError: writing failed.
        """
        if not isinstance(payload, bytes):
            payload = _as_bytes(payload)
        if len(payload) > MAX_LENGTH:
            raise self._too_long(payload)
        self.require_own_process()
        record = lay_out(payload)
        with self._lock:
            offset = self._records.position
            line = b"%s\t%d\n" % (key.encode(), offset) if self._lines else b""
            self._add(record, line)
        return offset

    def _add(self, record: bytes, line: bytes) -> None:
        records, lines = self._records, self._lines
        records.waiting += record
        if lines is not None:
            lines.waiting += line
        if len(records.waiting) < SOME and (lines is None or len(lines.waiting) < SOME):
            return
        try:
            records.flush()
        except BaseException:
            del records.waiting[len(records.waiting) - len(record) :]
            if lines is not None:
                del lines.waiting[len(lines.waiting) - len(line) :]
            raise
        if lines is not None:
            lines.flush()

    def close(self) -> None:
        """Write what waits, and close both files; no line is written for a record that was not."""
        written = False
        try:
            self._records.close()
            written = True
        finally:
            if self._lines is not None:
                self._lines.close(write=written)

    def _too_long(self, payload: bytes) -> PayloadError:
        return PayloadError(
            "the payload is too long for a record",
            path=self._path,
            expected=f"{MAX_LENGTH} bytes at most",
            found=str(len(payload)),
        )


def _as_bytes(payload: object) -> bytes:
    if not isinstance(payload, (bytearray, memoryview)):
        raise TypeError(f"the payload is {type(payload).__name__}, expected bytes")
    return bytes(payload)


def _require_two_files(path: str, index: str) -> None:
    same = os.path.realpath(path) == os.path.realpath(index)
    if not same and os.path.exists(path) and os.path.exists(index):
        same = os.path.samefile(path, index)
    if same:
        raise UnsafeTargetError("record file and index are one file", path=path)
