"""A folder that new files go into, each under its name only once it is whole.

No name and no link leads out of the folder, and no file that stands in it is replaced, but for an
empty one. Nothing here knows of RecordIO.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import stat
from collections.abc import Iterable, Iterator
from io import FileIO
from itertools import groupby
from types import TracebackType
from typing import NamedTuple

from .errors import UnsafeTargetError
from .sinks import Sink, TakenError, naming, publish

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ADVICE = "remove it, or give another folder"


class NewFile(NamedTuple):
    """A file that is to be.

    Attributes:
        folder: the folder it goes into, with slashes, or nothing.
        name: its name.
        data: its bytes, at least one.
    """

    folder: str
    name: str
    data: bytes | memoryview


class OutFolder:
    """A folder, which is made if there is none, and removed again if it is left empty by an error.

    Args:
        path: where; its own folder must be there.

    Attributes:
        path: as given.

    Raises:
        OSError: something else stands there, or it cannot be made.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._made = False
        with naming(path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path)
                self._made = True
            self._fd = os.open(path, _FOLDER & ~os.O_NOFOLLOW)

    def add(self, files: Iterable[NewFile]) -> tuple[int, int]:
        """Write files; those that are there with as many bytes stay as they are.

        Several threads may do so at once. Nobody waits until the bytes are on the disk.

        Returns:
            How many files were written, and how many bytes.

        Raises:
            UnsafeTargetError: something else stands there, which is not replaced.
            OSError: writing failed.
        """
        count = size = 0
        for folder, group in groupby(files, lambda file: file.folder):
            with self._open(folder) as fd:
                for file in group:
                    path = os.path.join(self.path, folder, file.name)
                    if _stands(fd, file.name, path, len(file.data)):
                        continue
                    with _new(fd, file.name, path) as new:
                        _write(new, file.data, path)
                    count += 1
                    size += len(file.data)
        return count, size

    @contextlib.contextmanager
    def new(self, name: str) -> Iterator[Sink]:
        """Give a `Sink` whose bytes stand under a name once the block ends without an error."""
        path = os.path.join(self.path, name)
        with _new(self._fd, name, path) as fd, FileIO(fd, "wb", closefd=False) as stream:
            sink = Sink(stream, path)
            yield sink
            sink.settle()

    def size(self, name: str) -> int:
        """Return how many bytes a file in the folder has; 0 if there is none.

        Raises:
            UnsafeTargetError: what stands there is no file.
        """
        return _size(self._fd, name, os.path.join(self.path, name))

    def read(self, name: str) -> FileIO:
        """Open a file of the folder."""
        with naming(os.path.join(self.path, name)):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            return FileIO(os.open(name, flags, dir_fd=self._fd), "rb")

    def stands(self, name: str, size: int) -> bool:
        """Return whether a file stands there that has so many bytes; False if there is none.

        Raises:
            UnsafeTargetError: what stands there is something else, and not empty.
        """
        return _stands(self._fd, name, os.path.join(self.path, name), size)

    @contextlib.contextmanager
    def _open(self, folder: str) -> Iterator[int]:
        """Give the descriptor of a folder inside, which is made if there is none."""
        fd = self._fd
        with contextlib.ExitStack() as stack:
            for part in folder.split("/") if folder else ():
                fd = _entered(fd, part, os.path.join(self.path, folder))
                stack.callback(os.close, fd)
            yield fd

    def close(self) -> None:
        """Close the folder."""
        os.close(self._fd)

    def __enter__(self) -> OutFolder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        if error is not None and self._made:
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(self.path)


def _entered(fd: int, name: str, path: str) -> int:
    """Open a folder in an open one."""
    try:
        with naming(path):
            try:
                return os.open(name, _FOLDER, dir_fd=fd)
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=fd)
                return os.open(name, _FOLDER, dir_fd=fd)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
    raise UnsafeTargetError(
        "a link or a file stands where a folder should be, and is neither followed nor replaced",
        path=path,
        advice=_ADVICE,
    )


def _size(fd: int, name: str, path: str) -> int:
    """Return how many bytes a file has; 0 if there is none."""
    try:
        with naming(path):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return 0
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeTargetError(
            "a link or a folder stands where a file should be, and is not replaced",
            path=path,
            advice=_ADVICE,
        )
    return status.st_size


def _stands(fd: int, name: str, path: str, size: int) -> bool:
    standing = _size(fd, name, path)
    if standing not in (0, size):
        raise UnsafeTargetError(
            "a file of another size stands there already, and none is replaced",
            path=path,
            expected=f"{size} bytes",
            found=str(standing),
            advice=_ADVICE,
        )
    return standing == size


def _write(fd: int, data: bytes | memoryview, path: str) -> None:
    with naming(path):
        left = memoryview(data)
        while left:  # a disk that fills up takes a part, and refuses only what comes next
            left = left[os.write(fd, left) :]


@contextlib.contextmanager
def _new(folder: int, name: str, path: str) -> Iterator[int]:
    """Give a file to write to, which gets its name once the block ends without an error."""
    temporary = f".rec2idx-{os.urandom(8).hex()}.tmp"
    fd = _nameless(folder, path)
    nameless = fd >= 0
    try:
        if not nameless:
            with naming(path):
                fd = os.open(temporary, _NEW, 0o666, dir_fd=folder)
        yield fd
        if nameless and _link(fd, name, folder, path):
            return
        if nameless:
            _link(fd, temporary, folder, path)
        publish(temporary, name, path, folder)
    except BaseException as error:  # Ctrl-C too
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=folder)
        if isinstance(error, TakenError):
            raise UnsafeTargetError(
                "something stands there already, and is not replaced", path=path, advice=_ADVICE
            ) from None
        raise
    finally:
        if fd >= 0:
            os.close(fd)


def _nameless(folder: int, path: str) -> int:
    """Open a file without a name, which is gone when its process is; -1 where that cannot be."""
    if not _has_nameless():
        return -1
    try:
        with naming(path):
            return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):  # this file system
            return -1
        raise


@functools.cache
def _has_nameless() -> bool:
    """Return whether the system has files without a name, and can give them one."""
    return hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")


def _link(fd: int, name: str, folder: int, path: str) -> bool:
    """Give a file without a name one; return False where something stands there."""
    try:
        with naming(path):
            os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder)
    except FileExistsError:
        return False
    return True
