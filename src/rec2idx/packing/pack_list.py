"""The pictures to pack: those of a list, or those in a folder, listed as im2rec does."""

from __future__ import annotations

import errno
import os
import random
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO, cast

from ..errors import NoImageError, RecordIOError
from ..list_files import open_list
from ..lists import ListLine, has_room_for, lines_of, written
from ..sinks import Sink
from ..sources import require_local

SUFFIXES = (".jpeg", ".jpg", ".png")  # in capitals, too
SEED = 100  # with which im2rec shuffles
SOME = 1 << 20  # characters of a list that are copied at once


@dataclass(frozen=True)
class FailedImage:
    """A picture that was not packed.

    Attributes:
        number: its number in the list; None where im2rec gives it none either.
        name: its name in the list.
        error: what is wrong, with the path of the picture.
    """

    number: int | None
    name: str
    error: OSError | RecordIOError


Failed = Callable[[FailedImage], object]


class Listing:
    """The pictures to pack, as the lines of an open list.

    Args:
        file: the list.
        path: what it is called in messages.
        root: the folder from which its names go.
        folders: the folder of each label, where there are such.
        others: files that were passed over.
    """

    def __init__(
        self, file: TextIO, path: str, root: str, folders: Iterable[str] = (), others: int = 0
    ) -> None:
        self.root = root
        self.folders = tuple(folders)
        self.others = others
        self._file = file
        self._path = path

    def lines(self) -> Iterator[ListLine]:
        """Yield the lines, from the first on.

        Raises:
            BadListError: a line is none.
        """
        self._file.seek(0)
        return lines_of(self._file, self._path)

    def copy(self, sink: Sink) -> None:
        """Write the list."""
        self._file.seek(0)
        while text := self._file.read(SOME):
            sink.write(text.encode("utf-8", "surrogateescape"))


@contextmanager
def listed(path: str, root: str | None, shuffle: bool, failed: Failed) -> Iterator[Listing]:
    """Give the pictures of a list or in a folder.

    Args:
        path: the list or folder.
        root: of a list, the folder from which its names go; by default that of the list.
        shuffle: of a folder, whether to shuffle its list as im2rec does.
        failed: called with each picture in a folder that cannot stand in a list.

    Raises:
        BadListError: a line of the list is none.
        NoImageError: there is no picture.
        ValueError: `root` is given for a folder, or `shuffle` for a list.
        OSError: the list or a folder cannot be read.
    """
    require_local(path, "pictures are packed from files on this machine only")
    if os.path.isdir(path):
        if root is not None:
            raise ValueError("root is for a list: the pictures in a folder are in that folder")
        folder = PictureFolder(path, failed)
        lines: Iterable[ListLine] = folder.lines()
        if shuffle:
            lines = list(lines)
            random.Random(SEED).shuffle(lines)
        with _kept(map(written, lines)) as file:
            if file.tell() == 0:
                raise NoImageError(
                    f"there is no file in it that ends in {', '.join(SUFFIXES)}",
                    path=path,
                    advice="others can be packed by a list",
                )
            yield Listing(file, path, path, folder.labels, folder.others)
        return
    if shuffle:
        raise ValueError("shuffle is for a folder: a list is packed in its order")
    if root:
        _require_folder(root)
    with _readable_twice(path) as file:
        listing = Listing(file, path, os.path.dirname(path) if root is None else root)
        if not sum(1 for _ in listing.lines()):  # before a long run, all of them are looked at
            raise NoImageError("the list has no line", path=path)
        yield listing


def _require_folder(path: str) -> None:
    try:
        os.stat(os.path.join(path, ""))
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error


@contextmanager
def _readable_twice(path: str) -> Iterator[TextIO]:
    with open_list(path) as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            yield file
        else:
            with _kept(iter(lambda: file.read(SOME), "")) as copy:
                yield copy


@contextmanager
def _kept(texts: Iterable[str]) -> Iterator[TextIO]:
    """Give an open file with some texts, which is on the disk under no name."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="surrogateescape") as file:
        try:
            file.writelines(texts)
            file.flush()
        except OSError as error:  # those of the texts themselves name a file
            raise OSError(
                error.errno, error.strerror, error.filename or tempfile.gettempdir()
            ) from error
        yield cast("TextIO", file)


class PictureFolder:
    """The pictures in a folder and below it.

    Those in one folder have one label. Folders are numbered as they are walked through, each before
    those in it, and these sorted by name; a folder without pictures has no number. A link is taken
    for what it leads to.

    Args:
        path: the folder.
        failed: called with each picture that cannot stand in a list.

    Attributes:
        labels: the folder of each label, from `path`; ``.`` is that itself.
        others: files that are no pictures, by their names.
    """

    def __init__(self, path: str, failed: Failed) -> None:
        self.labels: list[str] = []
        self.others = 0
        self._path = path
        self._failed = failed

    def lines(self) -> Iterator[ListLine]:
        """Yield a line for each picture.

        Raises:
            OSError: a folder cannot be read.
        """
        number = 0
        for below, names in self._folders():
            if names:
                self.labels.append(below or os.curdir)
            label = float(len(self.labels) - 1)
            for name in names:
                whole = os.path.join(below, name)
                if has_room_for(whole):
                    yield ListLine(number, (label,), whole)
                else:
                    self._refuse(number, whole, "its name cannot stand in a list")
                number += 1

    def _folders(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each folder, from the top, with the sorted names of the pictures in it."""
        waiting: list[tuple[str, frozenset[tuple[int, int]]]] = [("", frozenset())]
        while waiting:
            below, above = waiting.pop()
            path = os.path.join(self._path, below) if below else self._path
            status = os.stat(path)
            identity = (status.st_dev, status.st_ino)
            if identity in above:  # a link that leads back: what is there has been met
                continue
            with os.scandir(path) as entries:
                folders, files = _sorted(entries)
            yield below, [entry.name for entry in files if self._is_picture(below, entry)]
            for folder in reversed(folders):
                waiting.append((os.path.join(below, folder), above | {identity}))

    def _is_picture(self, below: str, entry: os.DirEntry[str]) -> bool:
        if os.path.splitext(entry.name)[1].lower() not in SUFFIXES:
            self.others += 1
            return False
        if not _says(entry.is_file):
            self._refuse(None, os.path.join(below, entry.name), "not a regular file")
            return False
        return True

    def _refuse(self, number: int | None, name: str, why: str) -> None:
        error = OSError(errno.EINVAL, why, os.path.join(self._path, name))
        self._failed(FailedImage(number, name, error))


def _sorted(entries: Iterable[os.DirEntry[str]]) -> tuple[list[str], list[os.DirEntry[str]]]:
    """Return the names of the folders, and what else there is, both in the order of their names."""
    folders, files = [], []
    for entry in sorted(entries, key=lambda entry: entry.name):
        if _says(entry.is_dir):
            folders.append(entry.name)
        else:
            files.append(entry)
    return folders, files


def _says(question: Callable[[], bool]) -> bool:
    try:
        return question()
    except OSError:  # a link that leads to itself, for instance
        return False
