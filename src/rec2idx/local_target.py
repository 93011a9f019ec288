"""New files on this machine."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import signal
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import FileIO

from . import leftovers
from .framing import MAGIC_BYTES
from .index_text import reads_as_index
from .lookalikes import HEAD_SIZE, looks_like
from .new_file import Identity, NewFile, StandingError, keep_ownership, naming, open_folder, sync
from .sinks import EarlyWriter, Sink
from .sources import LocalFile, Source, Stream
from .targets import Target, uninterrupted

_MOST_LINKS = 40  # as many as Linux follows


def takes_bytes_directly(path: str) -> bool:
    """Return whether bytes go straight to what is at a path: a pipe, a device, an open file."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False  # what is wrong is said where it is opened
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)


def _descriptor(path: str) -> int | None:
    """Return which descriptor of this process a path stands for, as ``/dev/stdout`` does."""
    own = os.path.realpath("/proc/self")
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        at = os.path.realpath(folder)
        if name.isdecimal() and at.startswith(f"{own}/") and at.endswith("/fd"):
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except OSError:  # no link
            return None
    return None


class DirectTarget(Target):
    """A pipe, a device, or an open file of this process: the bytes go straight into it."""

    def require_other(self, source: Source | Stream) -> None:
        """Refuse an open file that is the source."""
        with naming(self.path):
            status = os.stat(self.path)
        if _is_source(source, status):
            raise self.itself(source)

    def require_room(self) -> None:
        """Refuse an open file that is open for reading only, or a record file.

        Any other is written as whoever opened it wanted: from where it stands, or at its end.
        """
        fd = _descriptor(self.path)
        if fd is None:
            return
        with naming(self.path):
            flags = fcntl.fcntl(fd, fcntl.F_GETFL)
        if flags & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "it is open for reading only", self.path)
        if _holds_records(self.path):
            raise self.swapped() if self.replaces_index else self.taken()

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """Give what takes the bytes."""
        fd = _descriptor(self.path)
        with naming(self.path):
            stream = FileIO(self.path if fd is None else os.dup(fd), "wb")
        with stream:
            yield Sink(stream, self.path)

    def settle(self) -> None:
        """Do nothing: the bytes are where they go."""

    def publish(self) -> None:
        """Do nothing: the bytes are where they go."""

    def withdraw(self) -> None:
        """Do nothing: what went into a pipe is gone."""


class LocalTarget(Target):
    """A regular file, which is there or not. Where the path is a link, what it leads to counts.

    Raises:
        OSError: the path is a directory or a disk, or what stands there cannot be read.
    """

    def __init__(
        self, path: str, what: str, replaces_index: bool, advice: str | None = None
    ) -> None:
        super().__init__(path, what, replaces_index, advice)
        self._real = os.path.realpath(path)
        self._exits = ExitStack()
        _clear(os.path.dirname(self._real))
        self._existing: os.stat_result | None = None
        self._head = b""
        self._is_index = self._in_use = False
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return
        if stat.S_ISREG(status.st_mode) and replaces_index:
            with LocalFile(path) as file:
                self._look(file)
        else:
            self._existing = status

    def _look(self, file: LocalFile) -> None:
        self._existing = os.fstat(file.fd)
        self._head = file.read(0, HEAD_SIZE)
        if file.size == 0:
            self._in_use = _is_being_written(file.fd)
        else:
            self._is_index = reads_as_index(file.read, file.size)
        self.replaced = file.size > 0

    def require_other(self, source: Source | Stream) -> None:
        """Refuse a target that is the source."""
        # An index that is given as record file passes: what is wrong is said where it is read.
        if self._existing is not None and not self._is_index and _is_source(source, self._existing):
            raise self.itself(source)

    def require_room(self) -> None:
        """Refuse a target that may not be replaced, or where nothing can be written."""
        status = self._existing
        if status is None:
            folder = os.path.dirname(self._real)
            if self.path.endswith(os.sep) or not os.path.isdir(folder):
                what = "the folder it should be in does not exist"
                raise FileNotFoundError(errno.ENOENT, what, self.path)
        elif stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self.path)
        elif stat.S_ISBLK(status.st_mode):
            raise OSError(errno.EINVAL, "a disk, not a file", self.path)
        elif not self.replaces_index:
            raise self.taken()
        else:
            self._require_index(status.st_size)

    def _require_index(self, size: int) -> None:
        if self._head.startswith(MAGIC_BYTES):
            raise self.swapped()
        if size > 0 and not self._is_index:
            thing = looks_like(self._head, size)
            raise self.not_an_index(thing.name if thing else "a file that is not an index")
        if self._in_use:
            raise self.in_use()
        if not os.access(self.path, os.W_OK):
            # Renaming would replace it even so; but somebody has said that it should not be.
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), self.path)

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """Give what takes the bytes, which go into a temporary file beside the target."""
        try:
            uninterrupted(self._make)
            yield Sink(EarlyWriter(self._file.fd), self.path)
        finally:
            uninterrupted(self._exits.close)

    def _make(self) -> None:
        folder, name = os.path.split(self._real)
        try:
            fd = open_folder(folder)
            self._exits.callback(os.close, fd)
            self._file = NewFile(fd, name, self.path, replaces=self._existing is not None)
            self._exits.callback(self._file.close)
        except OSError as error:
            what = f"no new file can be made in its folder: {error.strerror}"
            raise OSError(error.errno, what, self.path) from error

    def settle(self) -> None:
        """Have all bytes on the disk, and give the file the owner and mode of the one before it."""
        sync(self._file.fd, self.path)
        if self._existing is not None:
            with naming(self.path):
                keep_ownership(self._file.fd, self._existing)

    def publish(self) -> None:
        """Give the file its name, in one step with the last look at what is there."""
        try:
            with naming(self.path):
                if self._existing is None:
                    self._file.add()
                else:
                    self._file.replace(Identity.of(self._existing))
        except StandingError:
            # Several runs that make the same index at once are all right.
            if not (self.replaces_index and self._file.equals_standing()):
                raise self.changed() from None

    def withdraw(self) -> None:
        """Remove the file, if it is still there."""
        self._file.withdraw()


def _clear(folder: str) -> None:
    """Remove what killed runs have left in a folder, also where this run is refused."""
    with contextlib.suppress(OSError):
        fd = open_folder(folder)
        leftovers.clear(fd)
        os.close(fd)


def _is_source(source: Source | Stream, status: os.stat_result) -> bool:
    return isinstance(source, (LocalFile, Stream)) and source.is_same_file(status)


def _holds_records(path: str) -> bool:
    """Return whether there is a file at a path that begins as a record file does."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return False
    with contextlib.suppress(OSError), LocalFile(path) as file:
        return file.read(0, len(MAGIC_BYTES)) == MAGIC_BYTES
    return False


def _is_being_written(fd: int) -> bool:
    """Return whether somebody has a file open for writing, as far as the system tells.

    Linux grants a read lease only on a file that nobody writes, to its owner.
    """
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        # Opening the file meanwhile sends a signal here. SIGIO would end the process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False
