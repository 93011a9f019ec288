"""Images as files: in a folder for each label, or all in one with a list of im2rec's."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType

from ..errors import PayloadError
from ..label_text import as_text
from .extracted import Image, fits_list
from .file_names import Names, suffix_of
from .out_folder import FileToWrite, OutFolder

LABEL_WIDTH = 8  # digits of a label in the name of a folder
WHOLE = 1 << 24  # below, whole numbers are exact as float32
LIST = "images.lst"

Written = tuple[int, int, int]  # images, of which so many are written anew, with so many bytes


class _Files(ABC):
    """Images as files in a folder.

    Args:
        folder: the folder.
        names: gives each its name.
        path: the record file, for errors.

    Attributes:
        extracted: images that were written.
        already_there: images that were there, with the same bytes.
        bytes_written: bytes that were written.
    """

    def __init__(self, folder: OutFolder, names: Names, path: str) -> None:
        self.extracted = self.already_there = self.bytes_written = 0
        self._folder = folder
        self._names = names
        self._path = path

    def work(self, images: Sequence[Image]) -> Callable[[], Written]:
        """Name images, which come in order; return what writes them, in any thread."""
        return partial(self._write, [self._named(image) for image in images])

    def _named(self, image: Image) -> FileToWrite:
        name = self._above(image) + self._names.of(image.id, image.offset, suffix_of(image.kind))
        folder, _, name = name.rpartition("/")
        return FileToWrite(folder, name, image.data)

    @abstractmethod
    def _above(self, image: Image) -> str:
        """Return the folder that the name of an image begins in, with a slash, or nothing."""

    def _write(self, files: list[FileToWrite]) -> Written:
        return len(files), *self._folder.add(files)

    def take(self, written: Written) -> None:
        """Count what was written."""
        images, new, size = written
        self.extracted += new
        self.already_there += images - new
        self.bytes_written += size

    def finish(self) -> None:  # noqa: B027 # most have nothing to do
        """Write what is left to be written."""

    def __enter__(self) -> _Files:
        return self

    def __exit__(  # noqa: B027 # most have nothing open
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of what is open; of an error, with what is half written."""


class LabelFolders(_Files):
    """Images in a folder for each label, whose names are numbers of one width.

    So the order of their names, by which torchvision's ImageFolder numbers its classes, is that of
    the labels.

    Args:
        folder: the folder.
        names: gives each its name.
        path: the record file, for errors.

    Attributes:
        first_label: whether of several labels the first one is that of the image.
    """

    first_label = False

    def _above(self, image: Image) -> str:
        label = image.labels[0]
        if len(image.labels) > 1 and not self.first_label:
            raise self._refused(image, "one label", f"{len(image.labels)} of them")
        if not (0 <= label < WHOLE and label.is_integer()):
            what = f"a whole number from 0 to {WHOLE - 1} as label"
            raise self._refused(image, what, as_text(label))
        return f"{int(label):0{LABEL_WIDTH}}/"

    def _refused(self, image: Image, expected: str, found: str) -> PayloadError:
        return PayloadError(
            f"the image with id {image.id} has no folder, which is named after its label",
            path=self._path,
            offset=image.offset,
            expected=expected,
            found=found,
            advice="--to flat and --to wds keep any labels",
        )


class Flat(_Files):
    """Images in one folder, and beside them a list of them: number, labels and name.

    Args:
        folder: the folder.
        names: gives each its name.
        path: the record file, for errors.

    Attributes:
        inexact: images of which a list does not say all that their record does.
    """

    def __init__(self, folder: OutFolder, names: Names, path: str) -> None:
        super().__init__(folder, names, path)
        self.inexact = 0
        self._exits = contextlib.ExitStack()

    def __enter__(self) -> Flat:
        self._list = self._exits.enter_context(self._folder.file(LIST))
        return self

    def work(self, images: Sequence[Image]) -> Callable[[], Written]:
        """Name images and write their lines; return what writes the images, in any thread."""
        files = [self._named(image) for image in images]
        self._list.write(b"".join(map(_line, images, files)))
        self.inexact += sum(not fits_list(image) for image in images)
        return partial(self._write, files)

    def _above(self, image: Image) -> str:
        return ""

    def finish(self) -> None:
        """Let the list appear, which has all lines."""
        self._exits.close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exits.__exit__(kind, error, trace)


def _line(image: Image, file: FileToWrite) -> bytes:
    name = f"{file.folder}/{file.name}" if file.folder else file.name
    columns = [str(image.id), *map(as_text, image.labels), name]
    return ("\t".join(columns) + "\n").encode("utf-8", "surrogateescape")
