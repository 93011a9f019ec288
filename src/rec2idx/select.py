"""Which records an index names, and under which keys."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from . import _heads
from ._walk import Walk
from .errors import KeysError, NoImageError
from .framing import IR_HEADER_SIZE
from .paths import StrPath
from .redaction import redacted_repr
from .segments import Batch
from .sources import LocalFile

if TYPE_CHECKING:
    from .keep import OldKeys


@redacted_repr
@dataclass(frozen=True)
class KeepKeys:
    """The keys that an old index has for the records that are still where they were.

    A record gets the key of the entry at the byte where it starts, as it stands there: a number, or
    a text. Where it starts is all that a record is told by: of a file that was written anew, an old
    index says nothing.

    A record without a key is refused, since one that is made up might be that of another. So are
    several different keys of one record, of which all but one would be lost, and a key that several
    records would get. Entries where no record starts are counted, and left out.

    The old index may be the very one that is replaced. It is kept in memory: 16 bytes an entry, and
    the keys themselves where they are texts.

    Attributes:
        index: path or URL of the old index.

    >>> import rec2idx
    >>> summary = rec2idx.create_index("examples/sample.rec", "old.idx", keys="id")
    >>> rec2idx.create_index("examples/sample.rec", "new.idx", keys=KeepKeys("old.idx")).records
    24
    """

    index: StrPath


Keys = Literal["sequence", "id"] | KeepKeys
KEYS = ("sequence", "id")

# What is looked at to see whether the ids of a file are worth a word.
PEEK_RECORDS = 4096
PEEK_BYTES = 1 << 20

WHAT_IS_LEFT_OUT = {  # by what `_heads.kinds` says
    _heads.NO_IMAGE: "record without an image",
    _heads.CUT_LABELS: "record cut off inside its labels",
    _heads.NO_HEADER: "record without an IRHeader",
}
NUMBERS = "use running numbers as keys: --keys sequence"  # an advice
FILE_HEADER, IDENTITY = "file header", "identity record"  # what InsightFace's are
FACE_RECORDS = 8  # so many are looked at, at most, to tell a file of InsightFace by its labels


@dataclass(frozen=True)
class Chosen:
    """The records of a batch that an index names.

    Attributes:
        offsets: byte offset of each, an array of int64.
        first: number of the first one among those chosen.
        keys: key of each, an array of uint64, or texts; None where the keys are the numbers.
    """

    offsets: array[int]
    first: int
    keys: array[int] | list[str] | None = None

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass
class Selection:
    """What to choose of the records of one run, and what was left out.

    Attributes:
        keys: "sequence" for running numbers, "id" for the ids in the records' IRHeader, or a
            `KeepKeys`, whose index is read at once.
        images_only: whether records are left out that have no bytes after their labels.
        records: so many were chosen.
        left_out: so many were not, by what they are.
        fitting: so many entries of an old index are where a record starts.

    Raises:
        KeysError: the old index gives no record a key.
        OSError: it cannot be read.
    """

    keys: Keys = "sequence"
    images_only: bool = False
    records: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    fitting: int = 0
    _taken: array[int] = field(default_factory=lambda: array("Q"))  # keys that may not be unique
    _of_insightface: bool = False
    _old: OldKeys | None = None

    def __post_init__(self) -> None:
        if isinstance(self.keys, KeepKeys):
            from .keep import OldKeys  # it takes longer to import than a small file to index

            self._old = OldKeys(self.keys.index)
        elif self.keys not in KEYS:
            raise ValueError(
                f"keys is {self.keys!r}, expected one of {', '.join(KEYS)}, or KeepKeys(old_index)"
            )

    @property
    def heads(self) -> int:
        """Bytes of each payload that are needed."""
        return IR_HEADER_SIZE if self.images_only or self.keys == "id" else 0

    @property
    def unused_keys(self) -> int:
        """Entries of an old index that are where no record starts."""
        return 0 if self._old is None else self._old.entries - self.fitting

    def choose(self, batch: Batch, path: str, base: int = 0) -> Chosen:
        """Choose from a batch of the file `path`, before which are `base` bytes in other files.

        Batches come in order. Nothing is given any more once a record has no key in an old index:
        `require_all` says so.

        Raises:
            KeysError: a record has no id.
        """
        first = self.records
        offsets, heads = batch.offsets, batch.heads
        keys: array[int] | list[str] | None = None
        if heads is not None:
            kinds = _heads.kinds(batch.sizes, heads)
            if self.images_only:
                offsets = _heads.pick(offsets, kinds, _heads.IMAGE)
                self._count_left_out(kinds, batch)
            if self.keys == "id":
                keys = self._ids_of(batch, kinds, path)
        self.records += len(offsets)
        if self._old is not None:
            self.fitting += self._old.fitting(batch, base)
            found = self._old.look_up(batch, offsets, path, base)
            if found is None:
                return Chosen(array("q"), first)
            if self._old.repeats:
                self._taken.extend(found)
            keys = self._old.written(found)
        return Chosen(offsets, first, keys)

    def require_all(self, path: str) -> None:
        """Say what is wrong with all that was chosen; `path` is what it was chosen from.

        Raises:
            NoImageError: it is nothing.
            KeysError: two of the records have the same key, or one has none or several.
        """
        if self.records == 0:
            raise NoImageError(
                "no record has bytes after its labels, and loaders refuse an empty index",
                path=path,
                advice="are these image records? Without --images-only all records are taken",
            )
        if self._old is None:
            self._require_distinct(path, "an id", "id", NUMBERS)
        else:
            self._old.require_all(self.records)
            self._require_distinct(path, f"a key in {self._old.path}", "key", self._old.ADVICE)

    def _require_distinct(self, path: str, a_key: str, key: str, advice: str) -> None:
        count, least = _heads.repeats(self._taken)
        if least is not None:
            one = self._taken.index(least)
            other = self._taken.index(least, one + 1)
            name = least if self._old is None else self._old.written(array("Q", [least]))[0]
            raise KeysError(
                f"{count} of {len(self._taken)} records have {a_key} that a record before them "
                f"has, such as {key} {name} of the index's records {one} and {other}",
                path=path,
                advice=advice,
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
                advice=NUMBERS,
            )
        self._taken.extend(ids)
        return ids

    def _count_left_out(self, kinds: array[int], batch: Batch) -> None:
        assert batch.heads is not None
        if batch.first == 0:
            self._of_insightface = is_file_header(batch)
        text = bytes(kinds)
        for kind, what in WHAT_IS_LEFT_OUT.items():
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

    That is a record of two labels and no image, before images as `has_face_labels` has it. Source:
    insightface, ``face2rec2.py``.
    """
    if not batch or batch.heads is None or batch.sizes[0] != IR_HEADER_SIZE + 8:
        return False
    flag: int = struct.unpack_from("<I", batch.heads, 8)[0]
    return flag == 2 and has_face_labels([batch])


def has_face_labels(batches: Iterable[Batch]) -> bool:
    """Return whether the first records of a file, with heads, have as many labels as InsightFace's.

    An image of InsightFace's has two labels at most. The first image with another number than two
    decides, among `FACE_RECORDS` records: in a file for object detection, where each object adds
    labels, an image without objects has two, and looks like a file header if its bytes are missing.
    """
    left = FACE_RECORDS
    for batch in batches:
        assert batch.heads is not None
        stride = len(batch.heads) // len(batch)
        heads = batch.heads[: stride * left]
        kinds = _heads.kinds(batch.sizes[:left], heads)
        for at, kind in enumerate(kinds):
            flag: int = struct.unpack_from("<I", heads, stride * at + 8)[0]
            if kind == _heads.IMAGE and flag != 2:
                return flag < 2
        left -= len(kinds)
        if left == 0:
            break
    return True


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
