"""What takes the bytes of a new file. Nothing here knows of RecordIO."""

from __future__ import annotations

import contextlib
import os
import select
import stat
from io import FileIO
from typing import Protocol

from .new_file import naming, sync


class Writer(Protocol):
    """What takes bytes: a binary file object, for instance."""

    def write(self, data: bytes | memoryview, /) -> int | None:
        """Take some of `data`; return how many bytes, None where there is no room now."""


class Sink:
    """Takes the bytes of a new file; errors name the file that is to be, not a temporary one."""

    def __init__(self, stream: Writer, name: str) -> None:
        self.name = name
        self._stream = stream

    def fileno(self) -> int:
        """Return the file descriptor that the bytes go to.

        Raises:
            AttributeError: they go to no file.
        """
        number: int = self._stream.fileno()  # type: ignore[attr-defined] # not all have one
        return number

    def settle(self) -> None:
        """Have what was written so far on the disk, where it goes to one.

        Raises:
            OSError: for instance because the disk is full.
        """
        if stat.S_ISREG(os.fstat(self.fileno()).st_mode):
            sync(self.fileno(), self.name)

    def write(self, data: bytes | memoryview) -> None:
        """Append `data`, all of it.

        Raises:
            OSError: for instance because the disk is full.
        """
        with naming(self.name):
            view = memoryview(data)
            while view:
                taken = self._stream.write(view)
                if taken is None:  # set to not blocking, and it takes nothing at the moment
                    select.select([], [self.fileno()], [])
                else:  # a disk that fills up takes a part, and refuses only what comes next
                    view = view[taken:]


class EarlyWriter(FileIO):
    """An open file whose bytes start on their way to the disk while more of them are made.

    The last step, which waits until all of them are there, is shorter then.
    """

    PIECE_BYTES = 1 << 23

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "wb", closefd=False)
        self._asked = self._written = 0

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override] # a Sink gives no other buffers
        """Append some of `data`; return how many bytes."""
        count = super().write(data)
        self._written += count
        if self._written - self._asked >= self.PIECE_BYTES and hasattr(os, "posix_fadvise"):
            # What is not on the disk yet stays in memory, but begins to be written.
            size = self._written - self._asked
            with contextlib.suppress(OSError):
                os.posix_fadvise(self.fileno(), self._asked, size, os.POSIX_FADV_DONTNEED)
            self._asked = self._written
        return count
