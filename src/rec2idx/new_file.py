"""A file on this machine that gets its name once it is whole. It need not hold RecordIO."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from . import leftovers
from ._rename import exchange, rename_new

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Whether the system has files without a name, and can give them one.
_HAS_NAMELESS = hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")
# What a file system answers that does not know a call, or does not allow it to anybody.
UNKNOWN = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM})
_BLOCK = 1 << 20  # bytes that are compared at once
_MOST_TRIES, _PAUSE = 5000, 0.001  # seconds
_without_nameless: set[int] = set()  # file systems that cannot give such a file a name


class Identity(NamedTuple):
    """Which file it is, and which state of it.

    Attributes:
        device: number of its file system.
        inode: its number there.
        size: bytes in it.
        modified: when it was last changed, in nanoseconds since 1970.
    """

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        """Return what `os.stat` says of it."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class UnsyncedWarning(UserWarning):
    """New files are whole, but their file system cannot confirm that they are on the disk."""


class StandingError(Exception):
    """Something stands under the name of a new file that may not be replaced."""


class NewFile:
    """A file that gets its name when it is whole, and is gone if it never does.

    Args:
        folder: descriptor of the folder it goes into; it stays open as long as this is used.
        name: its name there.
        path: its path, for errors.
        nameless: keep it without any name until then, where the file system has such files. Else it
            has a temporary one, and a lock by which `leftovers` tells that its process is gone.
        replaces: whether it may replace something.

    Attributes:
        fd: its descriptor, for reading and writing.

    Raises:
        OSError: it cannot be made.
    """

    def __init__(
        self, folder: int, name: str, path: str, *, nameless: bool = False, replaces: bool = False
    ) -> None:
        self._folder = folder
        self._name = name
        self._path = path
        self._temporary = ""
        self.fd = _nameless(folder) if nameless else -1
        if self.fd < 0:
            self._temporary, self.fd = leftovers.new_temporary(folder, replaces)

    def add(self) -> None:
        """Give the file its name, if nothing has it.

        Raises:
            StandingError: something has it.
            OSError: it cannot be done, or some bytes could not be written.
        """
        self._require_written()
        if not self._temporary and self._link():
            return
        error = rename_new(self._folder, os.fsencode(self._temporary), os.fsencode(self._name))
        if error in UNKNOWN:
            self._add_by_link()
        elif error and not self._has(self._name):
            # A server's answer may get lost: then the call is made again, and fails, but was done.
            raise self._failed(error)
        self._temporary = ""

    def replace(self, seen: Identity) -> None:
        """Give the file a name that another one has, if that is still as it was seen.

        Raises:
            StandingError: something else has the name by now.
            OSError: it cannot be done, or some bytes could not be written.
        """
        self._require_written()
        temporary, name = os.fsencode(self._temporary), os.fsencode(self._name)
        error = exchange(self._folder, temporary, name)
        if error == errno.ENOENT:  # what was there is gone
            self.add()
        elif error in UNKNOWN:
            # The system has no such step: the last look comes right before the renaming.
            if self._identity(self._name) != seen:
                raise StandingError
            os.replace(temporary, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
            self._temporary = ""
        elif error:
            raise self._failed(error)
        elif self._identity(self._temporary) != seen:
            self._give_back(temporary, name)
            raise StandingError

    def _give_back(self, temporary: bytes, name: bytes) -> None:
        """Let what another program wrote have the name again that was exchanged.

        Where two runs do so at once, each may get the other's file in the meantime. When each has
        its own again, the name is that of what is neither's.
        """
        for number in range(_MOST_TRIES):
            if number:  # the other run has to come to it
                time.sleep(_PAUSE)
            error = exchange(self._folder, temporary, name)
            if not error and self._has(self._temporary):
                return
            if error == errno.ENOENT:  # what got the name is gone
                error = rename_new(self._folder, temporary, name)
                if not error:
                    self._temporary = ""
                    return
            if error not in (0, errno.EEXIST):
                break
        # It is not ours to remove.
        kept, self._temporary = self._temporary, ""
        what = f"what another program wrote there is now called {kept}; rename it"
        raise OSError(error or errno.EBUSY, what, self._path)

    def withdraw(self) -> None:
        """Take the file away again from under its name, if it is still there."""
        with contextlib.suppress(OSError):
            if self._has(self._name):
                os.unlink(self._name, dir_fd=self._folder)

    def equals_standing(self) -> bool:
        """Return whether the file under the name has just the same bytes."""
        try:
            fd = os.open(
                self._name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder
            )
        except OSError:
            return False
        try:
            status = os.fstat(fd)
            size = os.fstat(self.fd).st_size
            return (
                stat.S_ISREG(status.st_mode)
                and status.st_size == size
                and all(
                    os.pread(fd, _BLOCK, at) == os.pread(self.fd, _BLOCK, at)
                    for at in range(0, size, _BLOCK)
                )
            )
        except OSError:
            return False
        finally:
            os.close(fd)

    def close(self) -> None:
        """Let go of the file; one that has not got its name is removed."""
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._folder)
            self._temporary = ""
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            with contextlib.suppress(OSError):  # what matters was asked before it got its name
                os.close(fd)

    def _require_written(self) -> None:
        """Raise what a file system says only when a file is closed, as with a quota over NFS."""
        with naming(self._path):
            os.close(os.dup(self.fd))

    def _link(self) -> bool:
        """Give a file without a name its name; where that is not known, a temporary one.

        Returns:
            Whether it has its name.
        """
        try:
            os.link(f"/proc/self/fd/{self.fd}", self._name, dst_dir_fd=self._folder)
        except FileExistsError:
            raise StandingError from None
        except OSError as error:
            if error.errno not in UNKNOWN:
                raise self._failed(error.errno or errno.EIO) from error
            with naming(self._path):
                self._copy()
            return False
        return True

    def _copy(self) -> None:
        """Go on with a copy that has a temporary name."""
        import shutil  # slow to import, and rarely needed

        self._temporary, copy = leftovers.new_temporary(self._folder, replaces=False)
        nameless, self.fd = self.fd, copy
        try:
            with open(nameless, "rb") as source, open(copy, "wb", closefd=False) as target:
                source.seek(0)
                shutil.copyfileobj(source, target)
        finally:
            _without_nameless.add(os.fstat(copy).st_dev)

    def _add_by_link(self) -> None:
        """Do what `add` does where renaming always replaces."""
        try:
            os.link(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as error:
            if self._has(self._name):
                pass
            elif isinstance(error, FileExistsError) or self._stands():
                raise StandingError from None
            elif error.errno not in UNKNOWN:
                raise self._failed(error.errno or errno.EIO) from error
            else:  # no links either: nothing is left but to look right before the renaming
                with naming(self._path):
                    os.replace(
                        self._temporary,
                        self._name,
                        src_dir_fd=self._folder,
                        dst_dir_fd=self._folder,
                    )
                return
        with contextlib.suppress(OSError):
            os.unlink(self._temporary, dir_fd=self._folder)

    def _stands(self) -> bool:
        """Return whether anything has the name."""
        return _status(self._name, self._folder) is not None

    def _has(self, name: str) -> bool:
        """Return whether a name is that of this file."""
        status = _status(name, self._folder)
        return status is not None and os.path.samestat(status, os.fstat(self.fd))

    def _identity(self, name: str) -> Identity | None:
        status = _status(name, self._folder)
        return None if status is None else Identity.of(status)

    def _failed(self, error: int) -> OSError | StandingError:
        if error == errno.EEXIST:
            return StandingError()
        return OSError(error, os.strerror(error), self._path)


def open_folder(path: str) -> int:
    """Return a descriptor of a folder, by which names in it are found wherever it is moved."""
    return os.open(path, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)


def sync(fd: int, path: str) -> None:
    """Have the bytes of a file on the disk; warn where its file system cannot do that.

    Raises:
        OSError: for instance because the disk is full.
    """
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in UNKNOWN:
            raise OSError(error.errno, error.strerror, path) from error
        # Of one text, Python shows the first: so one of each folder.
        warnings.warn(
            f"{os.path.dirname(path) or '.'}: its file system cannot confirm that new files are on "
            f"the disk ({error.strerror}); after a power cut, make sure that they are whole",
            UnsyncedWarning,
            stacklevel=2,
        )


def keep_ownership(fd: int, existing: os.stat_result) -> None:
    """Give a file the owner and the mode of the one it replaces, as far as that can be done."""
    with allowing_unknown():
        os.fchown(fd, existing.st_uid, existing.st_gid)
    with allowing_unknown():
        os.fchmod(fd, stat.S_IMODE(existing.st_mode))


@contextlib.contextmanager
def allowing_unknown() -> Iterator[None]:
    """Go on where a file system does not know a call, or allows it to nobody."""
    try:
        yield
    except OSError as error:
        if error.errno not in UNKNOWN:
            raise


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Let an operating-system error name `path`."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


def _nameless(folder: int) -> int:
    """Open a file without a name; return -1 where that cannot be."""
    if not _HAS_NAMELESS or os.fstat(folder).st_dev in _without_nameless:
        return -1
    try:
        return os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno in UNKNOWN or error.errno == errno.EISDIR:
            return -1
        raise


def _status(name: str, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
