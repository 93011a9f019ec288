"""Reading and writing RecordIO by keys, as ``mxnet.recordio.MXIndexedRecordIO`` does."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .appending import RecordAppender
from .damage import of_key
from .errors import KeysError, NotRecordIOError, RecordIOError
from .paths import as_path
from .sequential import _NOTHING, MXRecordIO

if TYPE_CHECKING:
    from ._records import Running
    from .key_table import KeyTable
    from .record_file import RecordFile


class MXIndexedRecordIO(MXRecordIO):
    """Reads the records of a file by their keys, or writes a file and its index.

    Behaves as ``mxnet.recordio.MXIndexedRecordIO`` does; ``docs/recordio.md`` lists what differs.
    `read_idx` may be called by several threads at once, and after a fork.

    Args:
        idx_path: path of the index.
        uri: path of the record file.
        flag: ``"r"`` to read; ``"w"`` to write: what stands at both paths is emptied at once.
        key_type: makes a key of the text in the index, or of what `write_idx` is given.

    Attributes:
        idx_path: the path of the index, as text.
        key_type: as given.
        fidx: None; MXNet's index file.

    Raises:
        BadIndexError: the index is none, or has a line that MXNet cannot read.
        MissingIndexError: there is none.
        UnsafeTargetError: both paths are one file, or the index is a RecordIO file, which was to be
            written.
        ValueError: `flag` is another one.
        OSError: a file cannot be opened.

    >>> with MXIndexedRecordIO("new.idx", "new.rec", "w") as record:
    ...     for key in range(3):
    ...         record.write_idx(key, b"record %d" % key)
    >>> record = MXIndexedRecordIO("new.idx", "new.rec", "r")
    >>> record.keys, record.read_idx(2), record.idx[2]
    ([0, 1, 2], b'record 2', 32)
    >>> record.close()
    """

    fidx = None

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[Any], Any] = int,
    ) -> None:
        self.idx_path = as_path(idx_path)
        self.key_type = key_type
        super().__init__(uri, flag)

    def _clear(self) -> None:
        super()._clear()
        self._table: KeyTable | None = None
        self._running: Running | None = None  # the way to most records of most indexes
        self._idx: dict[Any, int] | None = None
        self._keys: list[Any] | None = None

    def open(self) -> None:
        """Open both files; of a reader, the index is read."""
        super().open()
        if self._file is None:
            self._idx, self._keys = {}, []
            return
        from .key_table import read_table  # what reads an index is not needed to write one

        try:
            self._table = read_table(self.idx_path, self.key_type, self._file.size)
            self._running = self._table.running()
        except BaseException:
            self.close()
            raise

    def _new_appender(self) -> RecordAppender:
        return RecordAppender(self.uri, self.idx_path)

    @property
    def idx(self) -> dict[Any, int]:
        """The offset of each key, a dict. It is made when it is asked for, and looked into then."""
        if self._idx is None:
            self.idx = {} if self._table is None else self._table.as_dict()
        assert self._idx is not None
        return self._idx

    @idx.setter
    def idx(self, idx: dict[Any, int]) -> None:
        self._idx = idx
        self._running = None  # the caller has the dict, and may change it

    @property
    def keys(self) -> list[Any]:
        """The keys in the order of the index, a list. It is made when it is asked for."""
        if self._keys is None:
            self._keys = [] if self._table is None else list(self._table.keys)
        return self._keys

    @keys.setter
    def keys(self, keys: list[Any]) -> None:
        self._keys = keys

    def _find(self, key: Any) -> tuple[int, int]:
        """Return the offset of a key's record, and how long it may be."""
        if self._idx is not None:
            return self._idx[key], 0
        assert self._table is not None
        return self._table.find(key)

    def seek(self, idx: Any) -> None:
        """Stand before the record with a key: `read` returns it next.

        Raises:
            KeyError: the index has no such key.
            WrongFlagError: the file was opened for writing.
            ValueError: the reader is closed.
        """
        self._require_reader()
        self._stand = (_NOTHING, _NOTHING, self._find(idx)[0], None, False)

    def read_idx(self, idx: Any) -> bytes:
        """Return the payload of the record with a key; `read` returns the one behind it next.

        Raises:
            KeyError: the index has no such key.
            DamagedRecordError: no whole record starts where the index says.
            NotRecordIOError: the file is another kind of file, and that is at its start.
            WrongFlagError: the file was opened for writing.
            ValueError: the reader is closed.
        """
        file = self._file
        if file is None:
            file = self._require_reader()
        running = self._running
        found = None if running is None else running.read(file.fd, idx)
        payload, end = self._read_carefully(file, idx) if found is None else found
        self._stand = (_NOTHING, _NOTHING, end, None, False)
        return payload

    def _read_carefully(self, file: RecordFile, key: Any) -> tuple[bytes, int]:
        """As `read_idx`, for all keys and records, and for what is wrong; and where it ends."""
        offset, distance = self._find(key)
        try:
            return file.at(offset, distance)
        except NotRecordIOError as error:
            raise of_key(error, key, offset) from None
        except RecordIOError as error:
            error.key, error.record = key, None
            raise

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Append a record, and its key to the index.

        Args:
            idx: what `key_type` makes a key of.
            buf: the payload, as `write` takes it.

        Raises:
            KeysError: the key could not be read from the index: it has a tab, for instance.
            Exception: whatever else `key_type` and `write` raise.
        """
        appender = self._appender
        if appender is None or not self.is_open:
            appender = self._require_writer()
        key = self.key_type(idx)
        text = str(key)
        if not text.isdigit():
            self._require_readable(text)
        offset = appender.append(buf, text)
        self.idx[key] = offset
        self.keys.append(key)

    def _require_readable(self, text: str) -> None:
        """Refuse a key that would be another one, or none, when it is read from the index."""
        odd = not text or text != text.strip() or any(end in text for end in "\t\r\n")
        if odd or not _is_utf8(text):
            raise KeysError(
                f"the key {text!r} cannot be read from an index",
                path=self.idx_path,
                expected="a text in UTF-8 without tabs, line ends, and white space around it",
                found=repr(text),
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy needs; the index is read again where the copy is opened."""
        state = super().__getstate__()
        del state["_running"]
        if self.is_open:
            for name in ("_table", "_idx", "_keys"):
                del state[name]
        return state


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
