"""The files of a data set, open in this process; not too many of them at once."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ..errors import FileChangedError
from ..redaction import in_text
from ..sources import LocalFile, Location, Source
from .table import DataFile

if TYPE_CHECKING:
    from ..remote import RemoteFile

MOST = 128  # files that are open at once, but for those that a thread is just reading


@dataclass(frozen=True)
class Manner:
    """How a storage is read, in bytes.

    Attributes:
        near: where the next record is not farther away, all up to it is read at once.
        peek: what is read otherwise, to see how long the record is.
        gap: what may lie between two records that are read at once.
        window: what is read at once.
    """

    near: int
    peek: int
    gap: int
    window: int


LOCAL = Manner(1 << 18, 1 << 16, 1 << 14, 1 << 18)
REMOTE = Manner(1 << 20, 1 << 18, 1 << 20, 1 << 22)


def is_local(file: DataFile) -> bool:
    """Return whether a file is on this machine, or looks like that."""
    return isinstance(file.place, Location)


class OpenFile:
    """An open file of a data set; it is closed when nothing refers to it any more.

    Args:
        file: which one.
        mapped: whether to map it into memory.

    Attributes:
        source: its bytes.
        fd: its file descriptor, -1 where it is behind a URL.
        base: bytes in the files before it.
        classes: as in `DataFile`.
        manner: how it is read.
        view: its bytes in memory, where that was asked for.
    """

    def __init__(self, file: DataFile, mapped: bool) -> None:
        opened = _opened(file)
        self.source: Source = opened
        # Whoever reads the file refers to it, and so may close it last. When Python ends, nothing
        # is done any more: what closing needs may be gone, and the system closes files anyway.
        weakref.finalize(self, opened.close).atexit = False
        self.fd = -1
        self.base = file.base
        self.classes = file.classes
        self.manner = REMOTE
        self.view: memoryview | None = None
        if isinstance(self.source, LocalFile):
            self.fd = self.source.fd
            self.manner = LOCAL
            if mapped and file.size:
                self.view = memoryview(_mapping(self.fd, file.size))


def _opened(file: DataFile) -> LocalFile | RemoteFile:
    try:
        source = cast("LocalFile | RemoteFile", file.place.open())
    except FileChangedError as error:
        raise FileChangedError(
            "the file was changed or replaced after the data set was opened",
            path=file.path,
            expected=error.expected,
            found=error.found,
            advice="open the data set again",
        ) from None
    source.path = file.path
    return source


def _mapping(fd: int, size: int) -> mmap.mmap:
    # Payloads may keep it alive; where Python can, without a file descriptor of its own.
    if sys.version_info >= (3, 13):
        return mmap.mmap(fd, size, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(fd, size, access=mmap.ACCESS_READ)


class OpenFiles:
    """The files of a data set that are open: those that were used last, `MOST` at most.

    Each process opens those that it reads, and lets go of what it inherited. No lock is taken: one
    that another thread holds during a fork would stay locked in the child. Threads that open the
    same file at once do so twice, which costs a moment.

    Args:
        files: the files.
        mapped: whether to map them into memory.

    Attributes:
        mapped: as given.
    """

    def __init__(self, files: tuple[DataFile, ...], mapped: bool) -> None:
        self._files = files
        self.mapped = mapped
        self._closed = False
        self._orders = len(files) > MOST
        self._own: tuple[int, dict[int, OpenFile]] = 0, {}  # process, its files by number

    def get(self, number: int) -> OpenFile:
        """Return a file, opened if it is not."""
        process, own = self._own
        if process != os.getpid():
            own = {}
            self._own = os.getpid(), own
        if not self._orders:
            found = own.get(number)
        elif (found := own.pop(number, None)) is not None:
            own[number] = found  # now the last one
        return self._open(own, number) if found is None else found

    def _open(self, own: dict[int, OpenFile], number: int) -> OpenFile:
        if self._closed:
            raise ValueError(f"{in_text(self._files[number].path)}: the data set is closed")
        found = own[number] = OpenFile(self._files[number], self.mapped)
        for old in list(own)[:-MOST]:
            own.pop(old, None)
        return found

    def close(self) -> None:
        """Close all, as soon as no thread reads them. Closing twice is allowed."""
        self._closed = True
        self._own = 0, {}

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_own": (0, {})}
