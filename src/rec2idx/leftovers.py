"""Temporary files: how they are made, and how those of killed processes are found and removed.

A temporary file is locked as long as its process lives, and the system unlocks what a killed one
leaves. Not every network disk tells other machines of a lock, so the name also says on which
machine the file was made.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
import zlib

from .index_text import reads_as_index

_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# NFS locks only what is open for writing.
_OLD = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# "old" marks one whose name may for a moment be that of the index it replaces.
_NAME = r"\.rec2idx-(old-)?[0-9a-f]{16}(?:\.([0-9a-f]{8}))?\.tmp"
_cleared: set[tuple[int, int]] = set()  # folders in which this process has looked


def new_temporary(folder: int, replaces: bool) -> tuple[str, int]:
    """Make a temporary file in an open folder, after removing what killed processes left there.

    Args:
        folder: descriptor of the folder.
        replaces: whether it is to be exchanged with a file that it replaces.

    Returns:
        Its name, and its descriptor, which holds the lock.

    Raises:
        OSError: it cannot be made.
    """
    clear(folder)
    while True:
        # Short, so that it fits wherever any name does.
        name = f".rec2idx-{'old-' if replaces else ''}{os.urandom(8).hex()}.{_machine()}.tmp"
        fd = os.open(name, _NEW, 0o666, dir_fd=folder)
        # Another process that cleans up may have been faster than the lock.
        if _lock(fd) and os.fstat(fd).st_nlink:
            return name, fd
        os.close(fd)


def clear(folder: int) -> None:
    """Remove what killed processes of this machine have left in an open folder.

    A process does so once in each folder: what is left while it runs, a later one finds.
    """
    with contextlib.suppress(OSError):
        status = os.fstat(folder)
        if (status.st_dev, status.st_ino) in _cleared:
            return
        _cleared.add((status.st_dev, status.st_ino))
        listing = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(listing) as entries:
                names = [entry.name for entry in entries if entry.name.startswith(".rec2idx-")]
        finally:
            os.close(listing)
        for name in names:
            match = re.fullmatch(_NAME, name)
            if match and match[2] in (None, _machine()):
                _remove(folder, name, only_index=bool(match[1]))


def _remove(folder: int, name: str, only_index: bool) -> None:
    """Remove a temporary file unless a process still has it."""
    with contextlib.suppress(OSError):
        fd = os.open(name, _OLD, dir_fd=folder)
        try:
            status = os.fstat(fd)
            if (
                stat.S_ISREG(status.st_mode)
                and status.st_uid == os.geteuid()
                and _lock(fd, unknown=False)
                and (not only_index or _holds_index(fd, status.st_size))
                and os.path.samestat(status, os.stat(name, dir_fd=folder, follow_symlinks=False))
            ):
                os.unlink(name, dir_fd=folder)
        finally:
            os.close(fd)


def _holds_index(fd: int, size: int) -> bool:
    return size == 0 or reads_as_index(lambda at, length: os.pread(fd, length, at), size)


def _lock(fd: int, unknown: bool = True) -> bool:
    """Lock a file and return whether that worked; `unknown` where the file system has no locks."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return unknown and error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
    return True


def _machine() -> str:
    return f"{zlib.crc32(os.uname().nodename.encode()):08x}"
