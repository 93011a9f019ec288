"""Images in the shards of a WebDataset: tar archives with the image and a JSON of each sample."""

from __future__ import annotations

import contextlib
import json
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import NamedTuple

from ..label_text import as_json
from ..sinks import Sink
from .extracted import Image
from .file_names import Names, suffix_of
from .out_folder import OutFolder, Standing

DEFAULT_COUNT = 10_000  # images of a shard
LARGE = 1 << 22  # bytes that are written piece by piece, as joined they would be in memory twice
_END = 2 * tarfile.BLOCKSIZE  # bytes of zeros, at least, at the end of an archive


@dataclass(frozen=True)
class ShardSize:
    """How large shards are; the limit that is reached first ends one.

    Attributes:
        count: images of a shard at most; None for any number.
        bytes: bytes of a shard at most, unless it is of one image; None for any number.
    """

    count: int | None = None
    bytes: int | None = None


class Sample(NamedTuple):
    """An image as it stands in an archive.

    Attributes:
        image: bytes of the image.
        members: the bytes of both members, in pieces.
        size: how many these are.
    """

    image: int
    members: list[bytes | memoryview]
    size: int


class Shards:
    """Images in tar archives, ``000000.tar`` and so on.

    Args:
        folder: where these appear.
        names: gives each image its name.
        size: how large they are.

    Attributes:
        extracted: images that were written.
        already_there: images in archives that were there, with the same bytes.
        bytes_written: bytes of the images that were written.
        shards: archives of this file, those that were there, too.
    """

    def __init__(self, folder: OutFolder, names: Names, size: ShardSize) -> None:
        self.extracted = self.already_there = self.bytes_written = self.shards = 0
        self._folder = folder
        self._names = names
        self._size = size
        self._exits = contextlib.ExitStack()
        self._archive: Sink | Standing | None = None  # that is being written, or compared
        # In the archive that is not finished: images, their bytes, and bytes of the archive.
        self._count = self._images = self._bytes = 0

    def work(self, images: Sequence[Image]) -> Callable[[], list[Sample]]:
        """Name images, which come in order; return what makes samples of them, in any thread."""
        names = [self._names.of(image.id, image.offset, suffix_of(image.kind)) for image in images]
        return partial(_samples, images, names)

    def take(self, samples: list[Sample]) -> None:
        """Append samples to the archives."""
        pending: list[bytes | memoryview] = []
        for sample in samples:
            if self._is_full_with(sample.size):
                self._append(pending)
                pending = []
                self.finish()
            if self._archive is None:
                self._archive = self._exits.enter_context(self._folder.file(self._name))
            self._count += 1
            self._images += sample.image
            self._bytes += sample.size
            pending.extend(sample.members)
        self._append(pending)

    def finish(self) -> None:
        """Let the archive appear that is being written, if there is one."""
        if self._archive is None:
            return
        self._archive.write(bytes(_whole(self._bytes) - self._bytes))
        self._exits.close()
        if isinstance(self._archive, Standing):
            self.already_there += self._count
        else:
            self.extracted += self._count
            self.bytes_written += self._images
        self._archive = None
        self.shards += 1
        self._count = self._images = self._bytes = 0

    @property
    def _name(self) -> str:
        return f"{self.shards:06}.tar"

    def _is_full_with(self, more: int) -> bool:
        count, size = self._size.count, self._size.bytes
        if self._count == 0:
            return False
        if count is not None and self._count >= count:
            return True
        return size is not None and _whole(self._bytes + more) > size

    def _append(self, members: list[bytes | memoryview]) -> None:
        if self._archive is None:
            return
        if sum(map(len, members)) <= LARGE:
            members = [b"".join(members)]
        for piece in members:
            self._archive.write(piece)

    def __enter__(self) -> Shards:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exits.__exit__(kind, error, trace)


def _whole(size: int) -> int:
    """Return the bytes of an archive whose members have so many."""
    return -(-(size + _END) // tarfile.RECORDSIZE) * tarfile.RECORDSIZE


def _samples(images: Sequence[Image], names: Sequence[str]) -> list[Sample]:
    samples = []
    for image, name in zip(images, names, strict=True):
        key = name.rpartition(".")[0]
        members = [*_member(name, image.data), *_member(f"{key}.json", _facts(image))]
        samples.append(Sample(len(image.data), members, sum(map(len, members))))
    return samples


def _member(name: str, data: bytes | memoryview) -> tuple[bytes, bytes | memoryview, bytes]:
    """Return header, content and padding of a file in an archive, which says not who, nor when."""
    return _header(name, len(data)), data, bytes(-len(data) % tarfile.BLOCKSIZE)


def _header(name: str, size: int) -> bytes:
    """Return what `tarfile` writes before a file; where the name is short, in less time."""
    if len(name) > tarfile.LENGTH_NAME or not name.isascii() or size >> 33:
        info = tarfile.TarInfo(name)
        info.size = size
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
    text, digits = name.encode().ljust(tarfile.LENGTH_NAME, b"\0"), b"%011o\0" % size
    checksum = _CHECKSUM + sum(text) + sum(digits)
    return b"%b%b%b%b%06o\0%b" % (text, _OWNER, digits, _TIME, checksum, _REST)


# The header of a file without a name or bytes, and what of it stays: mode, uid and gid; the time of
# its last change; and what follows the checksum.
_EMPTY = tarfile.TarInfo("").tobuf(tarfile.USTAR_FORMAT)
_OWNER, _TIME, _REST = _EMPTY[100:124], _EMPTY[136:148], _EMPTY[155:]
_CHECKSUM = int(_EMPTY[148:154], 8) - sum(b"%011o\0" % 0)


def _facts(image: Image) -> bytes:
    labels = [as_json(label) for label in image.labels]
    facts = {
        "key": image.key,
        "id": image.id,
        "id2": image.id2,
        "flag": image.flag,
        "label": labels if image.flag else labels[0],
        "offset": image.offset,
        "kind": image.kind,
    }
    return json.dumps(facts).encode()
