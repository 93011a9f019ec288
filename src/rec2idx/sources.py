"""Where bytes come from. Nothing here knows of RecordIO."""

from __future__ import annotations

import errno
import os
import stat
from types import TracebackType

from .errors import FileChangedError


class LocalFile:
    """A regular file, open for reading.

    Reads take a position and share none, so one object serves many threads and survives a fork.

    Args:
        path: a path as `open` takes it.

    Attributes:
        path: the path as text, as it was given.
        fd: the file descriptor.
        size: bytes in the file when it was opened.

    Raises:
        OSError: it cannot be opened, is a directory, or is not a regular file.
    """

    def __init__(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> None:
        self.path = os.fsdecode(path)
        # Asked before opening: to open a named pipe would wait for its writer.
        _require_regular(os.stat(self.path), self.path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        self._opened = os.fstat(self.fd)
        self.size = self._opened.st_size

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer where the file ends."""
        pieces = []
        while length > 0 and (piece := os.pread(self.fd, length, offset)):
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def require_unchanged(self) -> None:
        """Raise `FileChangedError` if the file was written to since it was opened."""
        now = os.fstat(self.fd)
        if (now.st_size, now.st_mtime_ns) != (self._opened.st_size, self._opened.st_mtime_ns):
            raise FileChangedError(
                "the file was written to while it was read",
                path=self.path,
                expected=f"{self.size} bytes",
                found=f"{now.st_size}, modified later",
                advice="run again when nothing writes to it",
            )

    def is_same_file(self, other: os.stat_result) -> bool:
        """Return whether `other` describes this very file, under whatever name."""
        return os.path.samestat(self._opened, other)

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)

    def __enter__(self) -> LocalFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
