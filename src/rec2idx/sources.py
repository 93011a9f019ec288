"""Where bytes come from: files, streams, URLs. Nothing here knows of RecordIO."""

from __future__ import annotations

import copy
import errno
import os
import select
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from .closing import Closing
from .errors import FileChangedError
from .paths import StrPath, as_path, is_url
from .redaction import in_text, redacted


class Readable(Protocol):
    """Bytes with a name.

    Attributes:
        path: what it is called, as it was given.
        size: bytes in it.
    """

    path: str
    size: int

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer where the file ends."""


class Source(Readable, Protocol):
    """Bytes that can be read at any position, by many threads at once."""

    @property
    def modified(self) -> int | None:
        """When it was last changed, in nanoseconds since 1970; None if that is not known."""

    def require_unchanged(self) -> None:
        """Raise `FileChangedError` if it was written to since it was opened."""

    def location(self) -> Place:
        """Return where another process finds it."""


class Place(Protocol):
    """Where another process, perhaps on another machine, finds a file. It pickles.

    Attributes:
        path: absolute path or URL.
        size: bytes it should have.
    """

    @property
    def path(self) -> str:
        """Absolute path or URL."""

    @property
    def size(self) -> int:
        """Bytes it should have."""

    def open(self) -> AbstractContextManager[Source]:
        """Open the file; it must be the one that was meant."""


@dataclass(frozen=True)
class Location:
    """Where another process, perhaps on another machine, finds a file.

    Attributes:
        path: absolute path.
        size: bytes it should have.
        modified: time of its last change, in nanoseconds.
    """

    path: str
    size: int
    modified: int

    def open(self) -> LocalFile:
        """Open the file; it must be the one that was meant."""
        source = LocalFile(self.path)
        if source.location() != self:
            source.close()
            raise FileChangedError(
                "another machine sees another file under this path, or an older one",
                path=self.path,
                expected=f"{self.size} bytes",
                found=f"{source.size}, or modified at another time",
                advice="give a path under which all of them see the same file",
            )
        return source


@contextmanager
def opened(record: Source | Stream | StrPath | BinaryIO) -> Iterator[Source | Stream]:
    """Give the source for what a caller named; what was opened for it is closed at the end.

    Args:
        record: a path; a file object, which is read from where it stands; or an open source.
    """
    if isinstance(record, (str, bytes, os.PathLike)):
        path = as_path(record)
        if is_url(path):
            with _remote(path) as remote:
                yield remote
        elif _is_pipe(path):
            with open(path, "rb", buffering=0) as pipe:
                yield Stream(pipe, path)
        else:
            with LocalFile(path) as source:
                yield source
    elif isinstance(record, Stream) or hasattr(record, "require_unchanged"):
        yield cast("Source | Stream", record)
    else:
        yield Stream(record, str(getattr(record, "name", "the stream")))


def require_local(path: str, what: str = "only files on this machine are taken here") -> None:
    """Raise `OSError`, which says what is wrong, if a path is a URL."""
    if is_url(path):
        raise OSError(errno.EINVAL, what, redacted(path))


@contextmanager
def _remote(url: str) -> Iterator[Source | Stream]:
    from .remote import RemoteFile  # imports fsspec

    with RemoteFile(url) as file:
        if file.ranges:
            yield file
        else:  # a server that only gives all of it: one pass
            with file.stream() as stream:
                yield Stream(stream, url)
            file.require_unchanged()


def _is_pipe(path: str) -> bool:
    """Return whether there is something at `path` that gives bytes, but no file."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # opening it says what is wrong
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or stat.S_ISCHR(mode)


class LocalFile(Closing):
    """A regular file, open for reading.

    Reads take a position and share none, so one object serves many threads and survives a fork.

    Args:
        path: a path as `open` takes it.

    Attributes:
        path: the path as text, as it was given.
        fd: the file descriptor.
        size: bytes in the file when it was opened.

    Raises:
        OSError: it cannot be opened, is a directory, is not a regular file, or is a URL.
    """

    def __init__(self, path: StrPath) -> None:
        self.path = as_path(path)
        require_local(self.path)
        # Asked before opening: to open a named pipe would wait for its writer.
        _require_regular(os.stat(self.path), self.path)
        self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        self._opened = os.fstat(self.fd)
        _require_regular(self._opened, self.path)
        self.size = self._opened.st_size
        self._absolute = os.path.abspath(self.path)

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer where the file ends."""
        pieces = []
        while length > 0 and (piece := os.pread(self.fd, length, offset)):
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    @property
    def modified(self) -> int:
        """When it was last changed, in nanoseconds since 1970."""
        return self._opened.st_mtime_ns

    def require_unchanged(self) -> None:
        """Raise `FileChangedError` if the file was written to since it was opened."""
        now = os.fstat(self.fd)
        named = _status(self._absolute)
        if named is not None and not os.path.samestat(now, named):
            raise FileChangedError(
                "the file was replaced by another one while it was read",
                path=self.path,
                advice="run again when nothing writes to it",
            )
        if (now.st_size, now.st_mtime_ns) != (self._opened.st_size, self._opened.st_mtime_ns):
            raise FileChangedError(
                "the file was written to while it was read",
                path=self.path,
                expected=f"{self.size} bytes",
                found=f"{now.st_size}, modified later",
                advice="run again when nothing writes to it",
            )

    def location(self) -> Location:
        """Return where another process finds the file."""
        return Location(self._absolute, self.size, self._opened.st_mtime_ns)

    def is_same_file(self, other: os.stat_result) -> bool:
        """Return whether `other` describes this very file, under whatever name."""
        return os.path.samestat(self._opened, other)

    def again(self) -> LocalFile:
        """Return the same file, opened once more.

        Threads that read through one file descriptor wait for each other to count its users.
        """
        other = copy.copy(self)
        try:
            other.fd = os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # no Linux, or no permission: then they wait
            other.fd = os.dup(self.fd)
        return other

    def close(self) -> None:
        """Close the file. Closing twice is allowed."""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            os.close(fd)


class Stream:
    """Bytes that come once; of those read before, only the first and the last are still known.

    Args:
        file: anything with ``read(size)`` that returns bytes, and none at the end.
        path: what to call it in messages.

    Attributes:
        path: as given.
        size: bytes read so far.
    """

    CHUNK = 1 << 20  # bytes asked for at once
    HEAD = 4096  # bytes of the beginning that stay known
    TAIL = 64  # and of what was read before the last chunk

    def __init__(self, file: BinaryIO, path: str) -> None:
        self.path = path
        self.size = 0
        self._file = file
        self._head = b""
        self._last = b""

    def next(self) -> bytes:
        """Return some bytes more, none at the end.

        The first time they are `HEAD` bytes at least, if there are so many: what a file is does
        not depend on the pieces in which it comes.
        """
        data = self._some()
        while 0 < len(data) < self.HEAD - self.size and (more := self._some()):
            data += more
        if len(self._head) < self.HEAD:
            self._head += data[: self.HEAD - len(self._head)]
        if data:
            self._last = self._last[-self.TAIL :] + data
        self.size += len(data)
        return data

    def _some(self) -> bytes:
        while (data := self._file.read(self.CHUNK)) is None:
            select.select([self._file], [], [])  # set to not blocking, and nothing is there yet
        if not isinstance(data, bytes):
            what = f"gives {type(data).__name__}, expected bytes: open it in mode rb"
            raise TypeError(f"{in_text(self.path)} {what}")
        return data

    def is_same_file(self, other: os.stat_result) -> bool:
        """Return whether `other` describes the very file that the bytes come from."""
        try:
            own = os.fstat(self._file.fileno())
        except (AttributeError, OSError):
            return False
        return stat.S_ISREG(own.st_mode) and os.path.samestat(own, other)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes that were read before, as far as they are still known."""
        if offset < len(self._head):
            return self._head[offset : offset + length]
        start = max(offset - (self.size - len(self._last)), 0)
        return self._last[start : start + length]


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def _require_regular(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)
