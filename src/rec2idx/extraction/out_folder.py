"""A folder that new files go into, each under its name only once it is whole.

No name and no link leads out of the folder, and no file that stands in it is replaced: either it
has the same bytes, or that is an error. Nothing here knows of RecordIO.
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

from .. import leftovers
from ..errors import UnsafeTargetError
from ..new_file import NewFile, StandingError, naming
from ..sinks import Sink

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ADVICE = "remove it, or give another folder"
_SOME = 1 << 20  # bytes of a file that are compared at once


class FileToWrite(NamedTuple):
    """A file that is to be.

    Attributes:
        folder: the folder it goes into, with slashes, or nothing.
        name: its name.
        data: its bytes.
    """

    folder: str
    name: str
    data: bytes | memoryview


class OutFolder:
    """A folder, which is made if there is none. After an error, no empty folder of ours is left.

    Args:
        path: where; its own folder must be there.

    Attributes:
        path: as given.

    Raises, when it is entered:
        OSError: something else stands there, or it cannot be made.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._made: dict[str, None] = {}  # folders in it that this run made, in that order
        self._is_new = False
        self._fd = -1

    def add(self, files: Iterable[FileToWrite]) -> tuple[int, int]:
        """Write files; those that are there with the same bytes stay as they are.

        Several threads may do so at once. Nobody waits until the bytes are on the disk.

        Returns:
            How many files were written, and how many bytes.

        Raises:
            UnsafeTargetError: something else stands there, which is not replaced.
            OSError: writing failed.
        """
        count = size = 0
        for folder, group in groupby(files, itemgetter(0)):
            above = os.path.join(self.path, folder, "")
            with self._open(folder) as fd:
                for _, name, data in group:
                    path = above + name
                    if not _stands(fd, name, path, data):
                        with _published(fd, name, path) as new:
                            _write(new.fd, data, path)
                        count += 1
                        size += len(data)
        return count, size

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[Sink | Standing]:
        """Give what takes the bytes of a file: where one stands there, they must be the same.

        A new one stands under its name once the block ends without an error.

        Raises:
            UnsafeTargetError: something else stands there, which is not replaced.
            OSError: reading or writing failed.
        """
        path = os.path.join(self.path, name)
        if _size(self._fd, name, path) is not None:
            with Standing(self._fd, name, path) as standing:
                yield standing
                standing.require_end()
            return
        with _published(self._fd, name, path) as new:
            sink = Sink(FileIO(new.fd, "wb", closefd=False), path)
            yield sink
            sink.settle()

    @contextlib.contextmanager
    def _open(self, folder: str) -> Iterator[int]:
        """Give the descriptor of a folder inside, which is made if there is none."""
        fd = self._fd
        with contextlib.ExitStack() as stack:
            at = self.path
            for part in folder.split("/") if folder else ():
                at = os.path.join(at, part)
                fd = self._entered(fd, part, at)
                stack.callback(os.close, fd)
            yield fd

    def __enter__(self) -> OutFolder:
        self._is_new = not os.path.lexists(self.path)
        try:
            with naming(self.path):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(self.path)
                self._fd = os.open(self.path, _FOLDER & ~os.O_NOFOLLOW)
            leftovers.clear(self._fd)
        except BaseException:  # Ctrl-C too
            self._close(failed=True)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close(failed=error is not None)

    def _close(self, failed: bool) -> None:
        """Close the folder; after a failure, remove those that this run put nothing into."""
        if self._fd >= 0:
            os.close(self._fd)
        for path in (
            [*reversed(self._made), *([self.path] if self._is_new else [])] if failed else ()
        ):
            with contextlib.suppress(OSError):  # it is not empty
                os.rmdir(path)

    def _entered(self, fd: int, name: str, path: str) -> int:
        """Open a folder in an open one, which is made if there is none."""
        try:
            with naming(path):
                try:
                    return os.open(name, _FOLDER, dir_fd=fd)
                except FileNotFoundError:
                    self._made[path] = None
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(name, dir_fd=fd)
                    return os.open(name, _FOLDER, dir_fd=fd)
        except OSError as error:
            if error.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
        raise UnsafeTargetError(
            "a link or a file stands where a folder should be, and is neither followed nor "
            "replaced",
            path=path,
            advice=_ADVICE,
        )


def _size(fd: int, name: str, path: str) -> int | None:
    """Return how many bytes a file has; None if there is none."""
    try:
        status = os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    if not stat.S_ISREG(status.st_mode):
        raise UnsafeTargetError(
            "a link or a folder stands where a file should be, and is not replaced",
            path=path,
            advice=_ADVICE,
        )
    return status.st_size


def _stands(fd: int, name: str, path: str, data: bytes | memoryview) -> bool:
    """Return whether a file stands there, which has these bytes; False if there is none."""
    size = _size(fd, name, path)
    if size is None:
        return False
    if size == 0 and len(data) > 0:
        raise UnsafeTargetError(
            "an empty file stands there already, and none is replaced",
            path=path,
            advice="if a power cut left such files, remove them (find FOLDER -type f -empty "
            "-delete) and run again",
        )
    if size != len(data):
        raise UnsafeTargetError(
            "a file of another size stands there already, and none is replaced",
            path=path,
            expected=f"{len(data)} bytes",
            found=str(size),
            advice=_ADVICE,
        )
    with Standing(fd, name, path) as standing:
        standing.write(data)
    return True


class Standing:
    """A file that stands there already. It takes the bytes that it should have, as a `Sink` does.

    Args:
        folder: the descriptor of the folder it is in.
        name: its name there.
        path: its path, for errors.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, folder: int, name: str, path: str) -> None:
        self._path = path
        with naming(path):
            self._fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)

    def write(self, data: bytes | memoryview) -> None:
        """Compare the bytes that come next in the file.

        Raises:
            UnsafeTargetError: they are others.
            OSError: they cannot be read.
        """
        view = memoryview(data)
        while view:
            found = self._read(min(len(view), _SOME))
            if not found or found != bytes(view[: len(found)]):
                raise self._other()
            view = view[len(found) :]

    def require_end(self) -> None:
        """Raise what `write` does if the file has more bytes."""
        if self._read(1):
            raise self._other()

    def _read(self, most: int) -> bytes:
        with naming(self._path):
            return os.read(self._fd, most)

    def _other(self) -> UnsafeTargetError:
        return UnsafeTargetError(
            "a file with other bytes stands there already, and none is replaced",
            path=self._path,
            advice=f"run again with the same file and options as before, {_ADVICE}",
        )

    def __enter__(self) -> Standing:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)


@contextlib.contextmanager
def _published(folder: int, name: str, path: str) -> Iterator[NewFile]:
    """Give a new file, which gets its name once the block ends without an error."""
    with naming(path):
        new = NewFile(folder, name, path, nameless=True)
    with contextlib.closing(new):
        yield new
        try:
            new.add()
        except StandingError:
            raise UnsafeTargetError(
                "something stands there by now, and is not replaced",
                path=path,
                advice=_ADVICE,
            ) from None


def _write(fd: int, data: bytes | memoryview, path: str) -> None:
    """Write all of some bytes to a file."""
    with naming(path):
        while (written := os.write(fd, data)) < len(data):
            # A disk that fills up takes a part, and refuses only what comes next.
            data = memoryview(data)[written:]
