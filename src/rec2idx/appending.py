"""Records at the end of a new file: laid out as a conforming writer does, and never in part."""

from __future__ import annotations

import contextlib
import os
from io import FileIO
from threading import Lock

from ._layout import Pile
from .errors import OtherProcessError, PayloadError, UnsafeTargetError
from .framing import MAGIC_BYTES, MAX_LENGTH, as_bytes
from .sinks import Sink
from .sources import require_local

SOME = 1 << 17  # bytes that are kept before they are written; they stay in a processor's cache


class Appender:
    """Writes whole pieces to a file that is emptied first; for one process.

    Pieces wait until there are some, and go to the file together. Where that fails, the file is cut
    back to what it held before, and the pieces still wait.

    Args:
        path: a path as `open` takes it.

    Attributes:
        pile: the pieces that wait, to which more are added.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: str) -> None:
        require_local(path)
        self._file = FileIO(path, "w")
        self._sink = Sink(self._file, path)
        self.pile = Pile()
        self._process = os.getpid()

    @property
    def is_full(self) -> bool:
        """Whether so much waits that it should be written."""
        return self.pile.end - self.pile.start >= SOME

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
            self._return()  # Ctrl-C may have come when it was written, and still waited
            self._sink.write(self.pile.content())
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):
                os.ftruncate(self._file.fileno(), self.pile.start)
            self._return()
            raise
        self.pile.clear()

    def _return(self) -> None:
        """Stand where what waits should go."""
        with contextlib.suppress(OSError):  # a pipe or a device takes nothing back
            self._file.seek(self.pile.start)

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
        UnsafeTargetError: both are the same file, or the index is a RecordIO file.
        OSError: one cannot be opened.
    """

    def __init__(self, path: str, index: str | None = None) -> None:
        if index is not None:
            _require_two_files(path, index)
            _require_no_record_file(index)
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
        return self._records.pile.end

    def require_own_process(self) -> None:
        """Refuse to go on where another process opened the files.

        Raises:
            OtherProcessError: it did.
        """
        self._records.require_own_process()

    def append(self, payload: bytes, key: str | None = None) -> int:
        """Append a record, and a line with its key if it has one; return the record's offset.

        Where that fails, the record has no line, and is in the file only if it was the index that
        could not be written.

        Raises:
            TypeError: the payload is text, or other than bytes.
            PayloadError: it has 2^29 bytes or more.
            OtherProcessError: another process opened the file.
            OSError: writing failed.
        """
        if not isinstance(payload, bytes):
            payload = as_bytes(payload)
        if len(payload) > MAX_LENGTH:
            raise self._too_long(payload)
        self.require_own_process()
        name = None if key is None else key.encode()
        with self._lock:
            offset = self._records.pile.end
            line = 0 if self._lines is None else self._lines.pile.end
            try:
                self._records.pile.add_record(payload)
                if self._lines is not None and name is not None:
                    self._lines.pile.add(b"%s\t%d\n" % (name, offset))
            except BaseException:  # no memory, or Ctrl-C
                self._take_back(offset, line)
                raise
            if self._records.is_full or (self._lines is not None and self._lines.is_full):
                self._flush(offset, line)
        return offset

    def _take_back(self, record: int, line: int) -> None:
        self._records.pile.cut(record)
        if self._lines is not None:
            self._lines.pile.cut(line)

    def _flush(self, record: int, line: int) -> None:
        """Write what waits; if that fails, take back the record and the line that begin there."""
        try:
            self._records.flush()
        except BaseException:
            self._take_back(record, line)
            raise
        if self._lines is not None:
            try:
                self._lines.flush()
            except BaseException:
                self._lines.pile.cut(line)  # the record is in the file, and has no key
                raise

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


def _require_no_record_file(index: str) -> None:
    """Refuse an index that would empty a RecordIO file."""
    head = b""
    if os.path.isfile(index):  # a pipe would wait for who writes to it
        with contextlib.suppress(OSError), open(index, "rb") as file:
            head = file.read(len(MAGIC_BYTES))
    if head == MAGIC_BYTES:
        raise UnsafeTargetError(
            "the index would empty a RecordIO file",
            path=index,
            advice="are the two paths swapped? The index comes first, then the record file",
        )


def _require_two_files(path: str, index: str) -> None:
    same = os.path.realpath(path) == os.path.realpath(index)
    if not same and os.path.exists(path) and os.path.exists(index):
        same = os.path.samefile(path, index)
    if same:
        raise UnsafeTargetError("record file and index are one file", path=path)
