"""Where a new file goes: never visible before it is whole. Nothing here knows of RecordIO."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from io import FileIO
from typing import Protocol

from .sources import is_url


class Writer(Protocol):
    """What takes bytes: a binary file object, for instance."""

    def write(self, data: bytes | memoryview, /) -> int | None:
        """Take some of `data`; return how many bytes, None where there is no room now."""


class TakenError(FileExistsError):
    """Something stands where a new file should go, and must not be replaced."""


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
        with naming(self.name):
            if stat.S_ISREG(os.fstat(self.fileno()).st_mode):
                os.fsync(self.fileno())

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


class _WrittenEarly(FileIO):
    """A file whose bytes go to the disk while more of them are made; the end then waits less."""

    SOME = 1 << 23  # bytes

    def __init__(self, path: str, mode: str) -> None:
        super().__init__(path, mode)
        self._asked = self._written = 0

    def write(self, data: bytes | memoryview, /) -> int:  # type: ignore[override] # a Sink gives no other buffers
        count = super().write(data)
        self._written += count
        if self._written - self._asked >= self.SOME and hasattr(os, "posix_fadvise"):
            # What is not on the disk yet stays in memory, but begins to be written.
            size = self._written - self._asked
            with contextlib.suppress(OSError):
                os.posix_fadvise(self.fileno(), self._asked, size, os.POSIX_FADV_DONTNEED)
            self._asked = self._written
        return count


def new_file(path: str, replace: bool = True) -> AbstractContextManager[Sink]:
    """Give a `Sink` whose bytes stand at a path or URL once the block ends without an error.

    What else it does, and raises, depends on where that is. Without `replace`, a file on this
    machine does not replace another one, as `new_local_file` says.
    """
    if is_url(path):
        from .remote import new_remote_file  # imports fsspec

        return new_remote_file(path, replace)
    return new_local_file(path, replace)


@contextlib.contextmanager
def new_files(paths: Sequence[str], last: str, replace: bool = True) -> Iterator[list[Sink]]:
    """Give sinks for some files and a last one: in the end all are there, or none is.

    `replace` is for the first ones as for `new_file`; the last may always replace another one.

    When the bytes of all are on the disk, the files appear one after the other. If that fails all
    the same, those that did are removed again: so nothing that must be kept may stand there before.
    Only a process that is killed between them leaves some without the others.
    """
    identities: dict[str, os.stat_result] = {}
    appeared: list[str] = []
    try:
        with contextlib.ExitStack() as stack:
            sinks = [stack.enter_context(new_file(last))]
            for path in reversed(paths):
                sinks.insert(0, stack.enter_context(_noted(path, replace, appeared)))
            yield sinks
            for sink in sinks[1:]:
                sink.settle()
            opened = zip(paths, sinks[:-1], strict=True)
            identities = {path: os.fstat(sink.fileno()) for path, sink in opened}
    except BaseException:  # Ctrl-C too
        for path, identity in identities.items():
            if not is_url(path):
                _remove(path, identity)
            elif path in appeared:
                from .remote import remove

                remove(path)
        raise


@contextlib.contextmanager
def _noted(path: str, replace: bool, appeared: list[str]) -> Iterator[Sink]:
    """Give what `new_file` does; once the file is there, its path is in `appeared`."""
    with new_file(path, replace) as sink:
        yield sink
    appeared.append(path)


def _remove(path: str, identity: os.stat_result) -> None:
    """Remove what stands at a path if it is this very file, and no pipe or device."""
    with contextlib.suppress(OSError):
        if stat.S_ISREG(identity.st_mode) and os.path.samestat(os.stat(path), identity):
            os.unlink(os.path.realpath(path))


@contextlib.contextmanager
def new_local_file(path: str, replace: bool = True) -> Iterator[Sink]:
    """Give a `Sink` whose bytes stand at `path` once the block ends without an error.

    Until then what was there stays as it was; if the block fails, it stays for good and nothing
    is left beside it. Where `path` is a symbolic link, the file it leads to is replaced. Where it
    is a pipe or a device, bytes go straight into it: there is no file to protect.

    Without `replace`, only an empty file is replaced, whenever it came there.

    Raises:
        TakenError: without `replace`, something else stands there at the end.
        OSError: `path` is a directory or write-protected, its folder does not exist or takes no
            new file, or a write fails.
    """
    existing = _status(path)
    target = os.path.realpath(path)
    _require_writable(path, target, existing)
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        with naming(path):
            stream = FileIO(path, "wb")
        with stream:
            yield Sink(stream, path)
        return
    # Short, so that any name that fits into the folder can be written; beside the target, so that
    # the rename stays within one file system.
    temporary = os.path.join(os.path.dirname(target), f".rec2idx-{os.urandom(8).hex()}.tmp")
    try:
        try:
            stream = _WrittenEarly(temporary, "xb")
        except OSError as error:
            why = f"no new file can be made in its folder: {error.strerror}"
            raise OSError(error.errno, why, path) from error
        with stream:
            yield Sink(stream, path)
            with naming(path):
                os.fsync(stream.fileno())
                if existing is not None:
                    _keep_ownership(stream.fileno(), existing)
        if replace:
            with naming(path):
                os.replace(temporary, target)
        else:
            publish(temporary, target, path)
    except BaseException:  # Ctrl-C too
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def publish(temporary: str, target: str, path: str, folder: int | None = None) -> None:
    """Give a file its name, at which only an empty file may stand; errors name `path`.

    A link, other than a rename, fails where something stands. Some file systems have no links:
    there, nothing is left but to look just before the rename. Both names may be those in an open
    folder, of which `folder` is the descriptor.

    Raises:
        TakenError: something else stands there.
        OSError: it cannot be done.
    """
    with naming(path):
        try:
            os.link(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with contextlib.suppress(FileNotFoundError):
                standing = os.lstat(target, dir_fd=folder)
                # Where a server's answer got lost, the link was made, and is then refused as there.
                if os.path.samestat(standing, os.lstat(temporary, dir_fd=folder)):
                    os.unlink(temporary, dir_fd=folder)
                    return
                if not stat.S_ISREG(standing.st_mode) or standing.st_size > 0:
                    raise TakenError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
            os.replace(temporary, target, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.unlink(temporary, dir_fd=folder)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _require_writable(path: str, target: str, existing: os.stat_result | None) -> None:
    if existing is None:
        if path.endswith(os.sep) or not os.path.isdir(os.path.dirname(target)):
            raise FileNotFoundError(errno.ENOENT, "the folder it should be in does not exist", path)
    elif stat.S_ISDIR(existing.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    elif stat.S_ISBLK(existing.st_mode):
        raise OSError(errno.EINVAL, "a disk, not a file", path)
    elif not os.access(path, os.W_OK):
        # A rename would replace it all the same; somebody has said that it should not be.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)


def _keep_ownership(fd: int, existing: os.stat_result) -> None:
    """Give the new file the mode and, where that is allowed, the owner of the one it replaces."""
    with contextlib.suppress(PermissionError):
        os.fchown(fd, existing.st_uid, existing.st_gid)
    os.fchmod(fd, stat.S_IMODE(existing.st_mode))


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Let an operating-system error name `path`."""
    try:
        yield
    except TakenError:  # it does already
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
