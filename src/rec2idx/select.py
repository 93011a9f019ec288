"""Which records an index names, and under which keys."""

from __future__ import annotations

import struct
from array import array
from dataclasses import dataclass, field
from typing import Literal

from . import _heads
from ._walk import Walk
from .errors import KeysError, NoImageError
from .framing import IR_HEADER_SIZE
from .segments import Batch
from .sources import LocalFile

Keys = Literal["sequence", "id"]
KEYS: tuple[Keys, ...] = ("sequence", "id")

# What is looked at to see whether the ids of a file are worth a word.
PEEK_RECORDS = 4096
PEEK_BYTES = 1 << 20

_WHAT_IS_LEFT_OUT = {
    _heads.NO_IMAGE: "record without an image",
    _heads.CUT_LABELS: "record cut off inside its labels",
    _heads.NO_HEADER: "record without an IRHeader",
}
FILE_HEADER, IDENTITY = "file header", "identity record"  # what InsightFace's are


@dataclass(frozen=True)
class Chosen:
    """The records of a batch that an index names.

    Attributes:
        offsets: byte offset of each, an array of int64.
        first: number of the first one among those chosen.
        keys: key of each, an array of uint64; None where the keys are the numbers.
    """

    offsets: array[int]
    first: int
    keys: array[int] | None = None

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass
class Selection:
    """What to choose of the records of one run, and what was left out.

    Attributes:
        keys: "sequence" for running numbers, "id" for the ids in the records' IRHeader.
        images_only: whether records are left out that have no bytes after their labels.
        records: so many were chosen.
        left_out: so many were not, by what they are.
    """

    keys: Keys = "sequence"
    images_only: bool = False
    records: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    _ids: array[int] = field(default_factory=lambda: array("Q"))
    _of_insightface: bool = False

    def __post_init__(self) -> None:
        if self.keys not in KEYS:
            raise ValueError(f"keys is {self.keys!r}, expected one of {', '.join(KEYS)}")

    @property
    def heads(self) -> int:
        """Bytes of each payload that are needed."""
        return IR_HEADER_SIZE if self.images_only or self.keys == "id" else 0

    def choose(self, batch: Batch, path: str) -> Chosen:
        """Choose from a batch of the file `path`; batches come in order.

        Raises:
            KeysError: a record has no id.
        """
        first = self.records
        offsets, heads = batch.offsets, batch.heads
        keys = None
        if heads is not None:
            kinds = _heads.kinds(batch.sizes, heads)
            if self.images_only:
                offsets = _heads.pick(offsets, kinds, _heads.IMAGE)
                self._count_left_out(kinds, batch)
            if self.keys == "id":
                keys = self._ids_of(batch, kinds, path)
        self.records += len(offsets)
        return Chosen(offsets, first, keys)

    def require_all(self, path: str) -> None:
        """Say what is wrong with all that was chosen; `path` is what it was chosen from.

        Raises:
            NoImageError: it is nothing.
            KeysError: two of the records have the same key.
        """
        if self.records == 0:
            raise NoImageError(
                "no record has bytes after its labels, and loaders refuse an empty index",
                path=path,
                advice="are these image records? Without --images-only all records are taken",
            )
        count, least = _heads.repeats(self._ids)
        if least is not None:
            one = self._ids.index(least)
            other = self._ids.index(least, one + 1)
            raise KeysError(
                f"{count} of {len(self._ids)} records have an id that a record before them has, "
                f"such as id {least} of the index's records {one} and {other}",
                path=path,
                advice="use running numbers as keys: --keys sequence",
            )

    def _ids_of(self, batch: Batch, kinds: array[int], path: str) -> array[int]:
        assert batch.heads is not None
        ids = _heads.ids(batch.sizes, batch.heads)
        if self.images_only:
            ids = _heads.pick(ids, kinds, _heads.IMAGE)
        elif _heads.NO_HEADER in kinds:
            at = kinds.index(_heads.NO_HEADER)
            raise KeysError(
                "the record has no id",
                path=path,
                record=batch.first + at,
                offset=batch.offsets[at],
                expected="an IRHeader of 24 bytes",
                found=f"a record of {batch.sizes[at]}",
                advice="use running numbers as keys: --keys sequence",
            )
        self._ids.extend(ids)
        return ids

    def _count_left_out(self, kinds: array[int], batch: Batch) -> None:
        assert batch.heads is not None
        if batch.first == 0:
            self._of_insightface = is_file_header(batch)
        text = bytes(kinds)
        for kind, what in _WHAT_IS_LEFT_OUT.items():
            count = text.count(kind)
            if kind == _heads.NO_IMAGE and self._of_insightface:
                what = IDENTITY
                if batch.first == 0:
                    self._add(FILE_HEADER, 1)
                    count -= 1
            self._add(what, count)

    def _add(self, what: str, count: int) -> None:
        if count:
            self.left_out[what] = self.left_out.get(what, 0) + count


def is_file_header(batch: Batch) -> bool:
    """Return whether the first record of a batch with heads is the file header of InsightFace.

    That is a record of two labels and no image. Source: insightface, ``face2rec2.py``.
    """
    if not batch or batch.heads is None or batch.sizes[0] != IR_HEADER_SIZE + 8:
        return False
    flag: int = struct.unpack_from("<I", batch.heads, 8)[0]
    return flag == 2


def tells_other_ids(path: str, images_only: bool = False) -> bool:
    """Return whether the first records of a local file have ids that could be keys, and are others.

    That is, other than the running numbers. Up to `PEEK_RECORDS` records in the first `PEEK_BYTES`
    bytes are looked at.
    """
    with LocalFile(path) as source:
        walk = Walk(0, source.size, heads=IR_HEADER_SIZE)
        _, sizes, heads = walk.feed(source.read(0, PEEK_BYTES), 0, PEEK_RECORDS)
    if heads is None or len(sizes) < 2:
        return False
    # What is no IRHeader has no reason to lead to no more labels than there are bytes, nor to end
    # in eight bytes of zero.
    kinds = _heads.kinds(sizes, heads)
    if max(kinds) > _heads.NO_IMAGE:
        return False
    if any(id2 for *_, id2 in struct.iter_unpack("<IIIfQQ", heads)):
        return False
    ids = _heads.ids(sizes, heads)
    if images_only:
        ids = _heads.pick(ids, kinds, _heads.IMAGE)
    return ids != array("Q", range(len(ids))) and _heads.repeats(ids)[0] == 0
