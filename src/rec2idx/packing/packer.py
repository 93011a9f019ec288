"""Pictures, as they are, into records: read ahead, in the order of their list."""

from __future__ import annotations

import errno
import os
from array import array
from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

from .. import _heads
from .._layout import lay_out
from ..errors import FileChangedError, PayloadError
from ..framing import IR_HEADER_SIZE, MAX_LENGTH
from ..image_record import LABEL_SIZE, IRHeader, pack
from ..lists import ListLine
from ..pictures import IN_PLACE, kind_of
from ..sinks import Sink
from ..sources import LocalFile
from .pack_list import FailedImage

GROUP = 64  # pictures that one thread reads
SOME = 1 << 18  # bytes of pictures that are handed on, and written, together
LARGE = 1 << 22  # bytes of a picture that is read at its turn only, so that few are in memory
HEAD = 4096  # bytes of a picture by which its kind is told


class Picture(NamedTuple):
    """A picture as a record.

    Attributes:
        number: its number in the list.
        labels: how many it has in the list.
        record: the bytes of the record.
        kind: what it is, as `kind_of` says.
    """

    number: int
    labels: int
    record: bytes
    kind: str | None


# Of a large picture, the line by which it is read later.
Read = Picture | FailedImage | ListLine


class Packer:
    """Makes records of pictures, and writes them and their index.

    Args:
        root: the folder from which names go.
        pack_label: whether to pack all labels, and not only the first.
        records: where the records go.
        lines: where the lines of the index go.

    Attributes:
        bytes: bytes of the records so far.
        empty: records with a picture of no bytes.
        unrecognised: records with a picture that is none of a known kind.
        labels_left_out: records of whose labels only the first was packed.
    """

    def __init__(self, root: str, pack_label: bool, records: Sink, lines: Sink) -> None:
        self.bytes = self.empty = self.unrecognised = self.labels_left_out = 0
        self._root = root
        self._pack_label = pack_label
        self._records = records
        self._lines = lines
        self._numbers = array("Q")
        self._waiting: list[bytes] = []
        self._waiting_lines: list[bytes] = []
        self._written = 0

    @property
    def records(self) -> int:
        """How many there are so far."""
        return len(self._numbers)

    def repeated(self) -> tuple[int, int | None]:
        """Return how many records have the number of one before them, and the least of those."""
        return _heads.repeats(self._numbers)

    def readers(
        self, lines: Iterator[ListLine]
    ) -> Iterator[Callable[[], Generator[list[Read], None, None]]]:
        """Yield, for some lines at a time, what reads their pictures."""
        while group := list(islice(lines, GROUP)):
            yield partial(self._read_group, group)

    def _read_group(self, group: list[ListLine]) -> Generator[list[Read], None, None]:
        some: list[Read] = []
        size = 0
        for line in group:
            read = self._read(line, LARGE)
            some.append(read)
            if isinstance(read, Picture):
                size += len(read.record)
            if size >= SOME:
                yield some
                some, size = [], 0
        if some:
            yield some

    def _read(self, line: ListLine, most: int = MAX_LENGTH) -> Read:
        """Return a picture, or its line if it has more than so many bytes."""
        number, labels, name = line
        path = os.path.join(self._root, name)
        try:
            with LocalFile(path) as file:
                size, image = file.size, b""
                if size == 0:  # or it does not say, as those in /proc
                    image = _up_to(file, most + 1)
                    size = len(image)
                if most < size <= MAX_LENGTH:
                    return line
                several = len(labels) > 1 and self._pack_label
                _require_short(path, size, len(labels) if several else 0)
                image = image or file.read(0, size)
                if len(image) < size:
                    raise FileChangedError("the file became shorter while it was read", path=path)
        except (OSError, PayloadError) as error:
            return FailedImage(number, name, error)
        except ValueError as error:  # a NUL, which no path has
            return FailedImage(number, name, OSError(errno.EINVAL, str(error), path))
        header = IRHeader(0, array("f", labels) if several else labels[0], number, 0)
        kind = kind_of(image[:HEAD])
        image = pack(header, image)  # under the same name: a large picture is not kept twice
        return Picture(number, len(labels), lay_out(image), kind)

    def write(self, pictures: list[Read]) -> Iterator[FailedImage]:
        """Append the records of some pictures, in order; yield those that failed."""
        for picture in pictures:
            failure = self._take(picture)
            if failure is not None:
                yield failure

    def _take(self, picture: Read) -> FailedImage | None:
        if isinstance(picture, ListLine):
            picture = self._read(picture)
        if isinstance(picture, FailedImage):
            return picture
        assert isinstance(picture, Picture)
        self._append(picture)
        return None

    def _append(self, picture: Picture) -> None:
        self._waiting_lines.append(b"%d\t%d\n" % (picture.number, self.bytes))
        self._waiting.append(picture.record)
        self.bytes += len(picture.record)
        self._numbers.append(picture.number)
        self.empty += picture.kind == "none"
        self.unrecognised += picture.kind is None or picture.kind in IN_PLACE
        self.labels_left_out += picture.labels > 1 and not self._pack_label
        if self.bytes - self._written >= SOME:
            self.flush()

    def flush(self) -> None:
        """Hand all bytes on to the sinks."""
        if self.bytes - self._written > LARGE:
            for piece in self._waiting:
                self._records.write(piece)
        else:
            self._records.write(b"".join(self._waiting))
        self._lines.write(b"".join(self._waiting_lines))
        self._written = self.bytes
        self._waiting.clear()
        self._waiting_lines.clear()


def _up_to(file: LocalFile, most: int) -> bytes:
    """Return the bytes of a file up to its end, or so many; whatever size it says it has."""
    pieces: list[bytes] = []
    size = 0
    while piece := file.read(size, min(SOME, most - size)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _require_short(path: str, size: int, labels: int) -> None:
    most = MAX_LENGTH - IR_HEADER_SIZE - LABEL_SIZE * labels
    if size > most:
        raise PayloadError(
            "the picture is too long for a record",
            path=path,
            expected=f"{most} bytes at most",
            found=str(size),
        )
