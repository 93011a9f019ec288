"""Reading and writing RecordIO one record after the other, as ``mxnet.recordio`` does."""

from __future__ import annotations

import contextlib
import os
from threading import Lock
from typing import Any

from ._records import SMALL
from .appending import RecordAppender
from .closing import Closing
from .errors import WrongFlagError
from .framing import HEADER_SIZE
from .paths import as_path
from .record_file import RecordFile
from .redaction import in_text

# Where a reader stands: payloads that were read and are ready, the next one last; where each of
# them started, in the order of the file, and the place behind them; that place, where reading goes
# on when none is ready; how many records are before it, if that is known; and whether the record
# read last was large. One value: no thread, and no child of a fork, sees a part of a step.
_Stand = tuple[list[bytes], list[int], int, "int | None", bool]
# One list for all, to which nothing is ever added.
_NOTHING: list[Any] = []


class MXRecordIO(Closing):
    """Reads the records of a file one after the other, or writes a new one.

    Behaves as ``mxnet.recordio.MXRecordIO`` does on well-formed files; ``docs/recordio.md`` lists
    what differs. On damaged ones, where MXNet loses records or joins them without a word, it
    raises an error that says where. A reader may be used after a fork, by several threads, and
    pickled: a copy starts at the first record. A writer belongs to its process.

    Args:
        uri: path of the record file.
        flag: ``"r"`` to read; ``"w"`` to write: what stands at the path is emptied at once.

    Attributes:
        uri: the path, as text.
        flag: as given.
        is_open: whether the file is open.
        writable: whether records are written.
        pid: the process that opened the file, None where it is closed.

    Raises:
        ValueError: `flag` is another one.
        OSError: the file cannot be opened.

    >>> with MXRecordIO("examples/sample.rec", "r") as record:
    ...     payload = record.read()
    ...     len(payload), record.tell()
    (2435, 2444)
    >>> with MXRecordIO("new.rec", "w") as record:
    ...     record.write(payload)
    ...     record.tell()
    2444
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self._clear()
        self.uri = as_path(uri)
        self.flag = flag
        self.open()

    def _clear(self) -> None:
        """Forget what belongs to an open file."""
        self.is_open = False
        self.writable = False
        self.pid: int | None = None
        self._file: RecordFile | None = None
        self._appender: RecordAppender | None = None
        self._locks: dict[int, Lock] = {}  # by process: a thread may hold one while another forks
        self._stand: _Stand = (_NOTHING, _NOTHING, 0, 0, False)

    def open(self) -> None:
        """Open the file: reading starts at the first record; written is to an empty file."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"flag is {self.flag!r}, expected 'r' to read or 'w' to write")
        self.close()
        self._clear()
        if self.flag == "w":
            self._appender = self._new_appender()
            self.writable = True
        else:
            self._file = RecordFile(self.uri)
        self.pid = os.getpid()
        self.is_open = True

    def _new_appender(self) -> RecordAppender:
        return RecordAppender(self.uri)

    def close(self) -> None:
        """Close the file; a writer writes what is not yet in the file. Closing twice is allowed.

        Raises:
            OSError: writing failed. The file is closed, and ends with a whole record.
        """
        if not self.is_open:
            return
        self.is_open = False
        self.pid = None
        self._stand = (_NOTHING, _NOTHING, 0, 0, False)
        self._file = None  # closed when no thread reads from it any more
        if self._appender is not None:
            self._appender.close()

    def reset(self) -> None:
        """Go back to the first record. A writer empties the file, as MXNet's does."""
        if self._appender is not None and self.is_open:
            self._appender.require_own_process()
        self.close()
        self.open()

    def tell(self) -> int:
        """Return the byte offset of the record that `read` returns, or `write` writes, next."""
        if self._appender is not None:
            return self._require_writer().position
        self._require_reader()
        ready, offsets, position, _, _ = self._stand
        left = len(ready)
        return offsets[-1 - left] if left else position

    def read(self) -> bytes | None:
        """Return the payload of the next record, or None at the end of the file.

        Raises:
            NotRecordIOError: the file is something else.
            DamagedRecordError: the next record is damaged.
            FileChangedError: the file became shorter.
            WrongFlagError: the file was opened for writing.
            ValueError: the reader is closed.
        """
        try:
            # A single step, which threads cannot take together.
            return self._stand[0].pop()
        except IndexError:
            pass  # none is ready
        return self._read_on()

    def _read_on(self) -> bytes | None:
        with self._locks.setdefault(os.getpid(), Lock()):
            file = self._require_reader()
            ready, _, position, count, large = self._stand
            with contextlib.suppress(IndexError):  # another thread was here first
                return ready.pop()
            if position == file.size:
                return None
            if not large:
                payloads, offsets = file.block(position)
                if payloads:
                    return self._take(payloads, offsets, count)
            payload, end = file.at(position, HEADER_SIZE, count)
            number = None if count is None else count + 1
            self._stand = (_NOTHING, _NOTHING, end, number, end - position > SMALL)
            return payload

    def _take(self, payloads: list[bytes], offsets: list[int], count: int | None) -> bytes:
        """Have some payloads ready, and return the first."""
        large = offsets[-1] - offsets[-2] > SMALL
        number = None if count is None else count + len(payloads)
        payloads.reverse()
        first = payloads.pop()
        self._stand = (payloads, offsets, offsets[-1], number, large)
        return first

    def write(self, buf: bytes) -> None:
        """Append a record.

        Records wait in memory until there are 128 KB of them, or the file is closed. Where writing
        fails, the file is cut back to the last whole record in it.

        Args:
            buf: the payload: bytes, a bytearray or a memoryview of fewer than 2^29 bytes.

        Raises:
            TypeError: it is text, or something else.
            PayloadError: it is too long.
            WrongFlagError: the file was opened for reading.
            OtherProcessError: it was opened by another process.
            OSError: writing failed; the record is not written.
            ValueError: the writer is closed.
        """
        appender = self._appender
        if appender is None or not self.is_open:
            appender = self._require_writer()
        appender.append(buf)

    def _closed(self) -> ValueError:
        what = "reader" if self.flag == "r" else "writer"
        return ValueError(f"{in_text(self.uri)}: the {what} is closed; reset() opens it again")

    def _require_reader(self) -> RecordFile:
        file = self._file  # another thread may close it
        if file is None:
            if self.flag != "r":
                raise self._wrong_flag("writing", "reading", "r")
            raise self._closed()
        return file

    def _require_writer(self) -> RecordAppender:
        if self._appender is None:
            raise self._wrong_flag("reading", "writing", "w")
        if not self.is_open:
            raise self._closed()
        return self._appender

    def _wrong_flag(self, opened: str, wanted: str, flag: str) -> WrongFlagError:
        return WrongFlagError(
            f"the file was opened for {opened}, not for {wanted}",
            path=self.uri,
            advice=f"give the flag {flag!r}" + ("" if flag == "r" else ", which empties the file"),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs.

        Raises:
            WrongFlagError: it is an open writer, whose copy would empty the file.
        """
        if self.is_open and self.writable:
            raise WrongFlagError(
                "an open writer cannot be copied or pickled: its copy would empty the file",
                path=self.uri,
                advice="close it first, or open a file of its own in each process",
            )
        return {name: value for name, value in self.__dict__.items() if name not in _UNSHARED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled reader. Where it was open it is opened again, at the first record."""
        self._clear()
        self.__dict__.update(state)
        if self.is_open:
            self.is_open = False
            self.open()

    def __del__(self) -> None:
        # __init__ may have failed before the first attribute was set.
        if getattr(self, "is_open", False):
            self.close()


_UNSHARED = frozenset(("_file", "_appender", "_locks", "_stand", "pid"))
