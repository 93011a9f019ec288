"""Reading RecordIO as ``mxnet.recordio`` does, without MXNet."""

from __future__ import annotations

import os
from threading import Lock
from types import TracebackType
from typing import Any

from . import _walk
from ._walk import Walk
from .damage import error_of
from .errors import FileChangedError
from .framing import payload_of
from .sources import LocalFile


class MXRecordIO:
    """Reads the records of a file one after the other.

    Behaves as ``mxnet.recordio.MXRecordIO`` does on well-formed files. On damaged ones, where
    MXNet loses records or joins them without a word, it raises an error that says where. It may
    be used after a fork: readers share no position.

    Args:
        uri: path of the record file.
        flag: ``"r"``, to read.

    Attributes:
        uri: the path, as text.
        flag: as given.
        is_open: whether the file is open.

    Raises:
        ValueError: `flag` is not ``"r"``.
        OSError: the file cannot be opened.

    >>> with MXRecordIO("examples/sample.rec", "r") as record:
    ...     payload = record.read()
    ...     len(payload), record.tell()
    (2435, 2444)
    """

    def __init__(self, uri: str | os.PathLike[str], flag: str) -> None:
        self.uri = os.fsdecode(uri)
        self.flag = flag
        self.is_open = False
        self.open()

    def open(self) -> None:
        """Open the file; reading starts at the first record."""
        if self.flag != "r":
            raise ValueError(f"flag is {self.flag!r}, expected 'r': this class reads")
        self.close()
        self._source = LocalFile(self.uri)
        self._walk = Walk(0, self._source.size)
        self._count = 0
        self._lock = Lock()  # threads that share a reader get each record once
        self.is_open = True

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        if self.is_open:
            self.is_open = False
            self._source.close()

    def reset(self) -> None:
        """Go back to the first record."""
        self.close()
        self.open()

    def tell(self) -> int:
        """Return the byte offset of the record that `read` returns next."""
        self._require_open()
        return self._walk.position

    def read(self) -> bytes | None:
        """Return the payload of the next record, or None at the end of the file.

        Raises:
            NotRecordIOError: the file is something else.
            DamagedRecordError: the next record is damaged.
            FileChangedError: the file became shorter.
            ValueError: the reader is closed.
        """
        self._require_open()
        with self._lock:
            return self._next()

    def _next(self) -> bytes | None:
        walk, source = self._walk, self._source
        while walk.status == _walk.WALKING:
            offsets, sizes, _ = walk.records(source.fd, 1)
            if offsets:
                self._count += 1
                extent = source.read(offsets[0], walk.position - offsets[0])
                return _payload(extent, sizes[0], source.path)
        if walk.status == _walk.END:
            return None
        raise error_of(walk, source, self._count)

    def _require_open(self) -> None:
        if not self.is_open:
            raise ValueError(f"{self.uri}: the reader is closed; reset() opens it again")

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in ("_source", "_walk", "_count", "_lock"):
            state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled reader. Where it was open it is opened again, at the first record."""
        self.__dict__.update(state)
        if self.is_open:
            self.is_open = False
            self.open()

    def __enter__(self) -> MXRecordIO:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # __init__ may have failed before the first attribute was set.
        if getattr(self, "is_open", False):
            self.close()


def _payload(extent: bytes, size: int, path: str) -> bytes:
    """Return the payload of a record whose parts, already walked, are the bytes of `extent`."""
    payload = payload_of(extent)
    if len(payload) != size:
        raise FileChangedError("the file was written to while it was read", path=path)
    return payload
