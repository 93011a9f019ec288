"""A folder that new files go into, each under its name only once it is whole.

No name and no link leads out of the folder, and no file that stands in it is replaced, but for an
empty one. Nothing here knows of RecordIO.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Iterator
from io import FileIO
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import NamedTuple

from ..errors import UnsafeTargetError
from ..sinks import Sink, TakenError, naming, publish

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Whether the system has files without a name, and can give them one.
_HAS_NAMELESS = hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd")
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
        for folder, group in groupby(files, itemgetter(0)):
            above = os.path.join(self.path, folder)
            with self._open(folder) as fd:
                for _, name, data in group:
                    path = f"{above}/{name}"
                    if not _stands(fd, name, path, len(data)):
                        with _New(fd, name, path) as new:
                            new.write(data)
                        count += 1
                        size += len(data)
        return count, size

    @contextlib.contextmanager
    def new(self, name: str) -> Iterator[Sink]:
        """Give a `Sink` whose bytes stand under a name once the block ends without an error."""
        path = os.path.join(self.path, name)
        with _New(self._fd, name, path) as new:
            sink = Sink(FileIO(new.fd, "wb", closefd=False), path)
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
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
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


class _New:
    """A file that gets its name once the block ends without an error; else it goes.

    Until then it has none, so that nothing is left of it if the process is killed; where a file
    system has no such files, it has another name.
    """

    def __init__(self, folder: int, name: str, path: str) -> None:
        self.fd = -1
        self._folder = folder
        self._name = name
        self._path = path
        self._temporary = ""

    def __enter__(self) -> _New:
        try:
            self.fd = _nameless(self._folder)
            if self.fd < 0:
                self._temporary = _temporary_name()
                self.fd = os.open(self._temporary, _NEW, 0o666, dir_fd=self._folder)
        except OSError as error:
            raise self._named(error) from error
        return self

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes, all of them."""
        try:
            while written := os.write(self.fd, data):
                if written == len(data):
                    return
                # A disk that fills up takes a part, and refuses only what comes next.
                data = memoryview(data)[written:]
        except OSError as error:
            raise self._named(error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._publish()
        except TakenError:
            raise UnsafeTargetError(
                "something stands there by now, and is not replaced",
                path=self._path,
                advice=_ADVICE,
            ) from None
        except OSError as failure:
            raise self._named(failure) from failure
        finally:
            os.close(self.fd)
            if self._temporary:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self._temporary, dir_fd=self._folder)

    def _publish(self) -> None:
        if not self._temporary:
            try:
                _link(self.fd, self._name, self._folder)
            except FileExistsError:  # an empty file, perhaps
                self._temporary = _temporary_name()
                _link(self.fd, self._temporary, self._folder)
        if self._temporary:
            publish(self._temporary, self._name, self._path, self._folder)

    def _named(self, error: OSError) -> OSError:
        return OSError(error.errno, error.strerror, self._path)


def _temporary_name() -> str:
    return f".rec2idx-{os.urandom(8).hex()}.tmp"


def _nameless(folder: int) -> int:
    """Open a file without a name; return -1 where that cannot be."""
    if not _HAS_NAMELESS:
        return -1
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):  # this file system
            return -1
        raise


def _link(fd: int, name: str, folder: int) -> None:
    """Give a file without a name one."""
    os.link(f"/proc/self/fd/{fd}", name, dst_dir_fd=folder)
