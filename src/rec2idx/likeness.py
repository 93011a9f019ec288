"""What a single record holds, and whether it is like the others of its file.

The framing of a record that stands between two damages proves nothing: a magic may be payload. Its
content says more. Each record is judged by itself, by a bounded number of its bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise

from .chains import Reads
from .dialects import is_image_record
from .framing import IR_HEADER_SIZE, MAGIC_BYTES, padded
from .image_record import LABEL_SIZE
from .pictures import image_end, kind_of
from .spans import parts_of

HEAD = 1 << 12  # bytes that say what a record holds
MOST = 1 << 18  # bytes of a payload that are looked at to see where its image ends
SIGNATURE = 32  # bytes of an image that say of which kind it is
MOST_PARTS = 64
LEAST = 32  # bytes of the smallest record with an IRHeader
FEW = 8  # records whose sizes say nothing of those of others


@dataclass(frozen=True)
class Content:
    """What a record holds.

    Attributes:
        size: payload size in bytes.
        tidy: whether its padding is zeros.
        labels: the flag of its IRHeader; None where it does not begin with one.
        id: the id in its IRHeader; None likewise.
        kind: what follows the labels, or the payload where there are none: as `kind_of` has it.
        over: bytes after the end of its image, less than 0 where the image is cut off; None where
            that is not told.
    """

    size: int
    tidy: bool
    labels: int | None
    id: int | None
    kind: str | None
    over: int | None


class Verdict(IntEnum):
    """How like a record is to the others of its file."""

    UNLIKE = 0  # something in it contradicts them
    UNKNOWN = 1  # nothing in it says anything
    ENDS_OTHERWISE = 2  # it begins as the others, and does not end as they do
    LIKE = 3  # what is in it is as in the others
    SURE = 4  # it also ends where its image ends


def content_of(source: Reads, offset: int, most: int = MOST) -> Content:
    """Return what the record at an offset holds, all parts of which are there.

    Args:
        source: the file.
        offset: where it starts.
        most: bytes of it to look at.
    """
    data, size, tidy = _payload(source, offset, max(most, HEAD))
    labels, number, start = None, None, 0
    if is_image_record(size, data[:IR_HEADER_SIZE]):
        labels = int.from_bytes(data[:4], "little")
        number = int.from_bytes(data[8:16], "little")
        start = IR_HEADER_SIZE + LABEL_SIZE * labels
    if start > len(data):  # more labels than are looked at
        return Content(size, tidy, labels, number, None, None)
    image = data[start:]
    kind = kind_of(image[:SIGNATURE])
    over = None
    if len(data) == size and (end := image_end(image)) is not None:
        over = len(image) - end if end >= 0 else -1
    return Content(size, tidy, labels, number, kind, over)


def _payload(source: Reads, offset: int, most: int) -> tuple[bytes, int, bool]:
    """Return the first bytes of a payload, its size, and whether its padding is zeros."""
    data = bytearray()
    size, tidy = -len(MAGIC_BYTES), True
    for number, (start, stop) in enumerate(parts_of(source, offset)):
        if size >= 0 and len(data) < most:
            data += MAGIC_BYTES
        size += len(MAGIC_BYTES) + stop - start
        end = start + padded(stop - start)
        if (room := most - len(data)) >= stop - start:
            found = source.read(start, end - start)
            data += found[: stop - start]
            tidy = tidy and not any(found[stop - start :])
        elif room > 0:
            data += source.read(start, room)
        if number == MOST_PARTS:
            break
    return bytes(data[:most]), size, tidy


def ends_with_image(payload: bytes) -> bool | None:
    """Return whether the image in a payload, padding included, ends where that does.

    None where it holds no image whose end is known.
    """
    if not is_image_record(len(payload), payload[:IR_HEADER_SIZE]):
        return None
    image = payload[IR_HEADER_SIZE + LABEL_SIZE * int.from_bytes(payload[:4], "little") :]
    end = image_end(image)
    return None if end is None else 0 <= len(image) - end < 4 and end >= 0


class Likeness:
    """What the records of a file have in common.

    Args:
        contents: some of them, in file order.

    Attributes:
        largest: payload size of the largest one, in bytes; 0 if there is none.
        smallest: that of the smallest one.
    """

    def __init__(self, contents: Sequence[Content]) -> None:
        sizes = sorted(content.size for content in contents)
        self.largest = sizes[-1] if sizes else 0
        self.smallest = sizes[0] if sizes else 0
        self._known = len(contents) > 1
        self._sizes = _around(sizes)
        self._size = sizes[0] if len(set(sizes)) == 1 and len(sizes) > 2 else None
        self._tidy = all(content.tidy for content in contents)
        self._labels = _values([content.labels for content in contents])
        self._kinds = _values([content.kind for content in contents])
        ids = [content.id for content in contents if content.id is not None]
        steps = sum(one + 1 == other for one, other in pairwise(ids))
        counts = len(ids) >= FEW // 2 and 8 * steps >= 7 * (len(ids) - 1)
        self._first = min(ids) if counts else None
        self._exact = not any(content.over for content in contents)

    def judge(self, content: Content) -> Verdict:
        """Return how like a record is to those of the file."""
        if not self._known:
            return Verdict.SURE if content.over == 0 else Verdict.UNKNOWN
        if self._begins_otherwise(content):
            return Verdict.UNLIKE
        if self._ends_otherwise(content):
            return Verdict.ENDS_OTHERWISE
        if content.over == 0:
            return Verdict.SURE
        told = (self._labels, self._kinds, self._size) != (None, None, None)
        return Verdict.LIKE if told else Verdict.UNKNOWN

    def _begins_otherwise(self, content: Content) -> bool:
        if self._labels is not None and content.labels not in self._labels:
            return True
        return self._kinds is not None and content.kind not in self._kinds

    def _ends_otherwise(self, content: Content) -> bool:
        if self._tidy and not content.tidy:
            return True
        if self._size is not None and content.size != self._size:
            return True
        return self._exact and bool(content.over)

    def comes_earlier(self, content: Content, other: Content, offset: int) -> bool:
        """Return whether the id of a record says that it does not come after another.

        It says so where the ids of a file count its records.

        Args:
            content: of the record.
            other: of the other one.
            offset: where in the file that starts.
        """
        if self._first is None or content.id is None or other.id is None:
            return False
        # Otherwise the id of the other one is damaged.
        is_sane = 0 <= other.id - self._first <= offset // LEAST
        return is_sane and content.id <= other.id

    def has_size(self, size: int) -> bool:
        """Return whether all records have one payload size, and this is it."""
        return self._size == size

    def fits(self, size: int) -> bool:
        """Return whether records of the file have about that payload size."""
        return self._sizes is None or size in self._sizes


def _around(sizes: Sequence[int]) -> range | None:
    """Return the sizes that others may have, by some, in order."""
    if len(sizes) < 2:
        return None
    few = len(sizes) < FEW
    return range(
        sizes[0] // 2 if few else sizes[0] * 3 // 4,
        sizes[-1] * 2 if few else sizes[-1] * 4 // 3 + 1,
    )


def _values(found: Sequence[object]) -> frozenset[object] | None:
    """Return the values that occur, None where they are too many to tell anything."""
    values = frozenset(found)
    return values if 6 * len(values) <= len(found) else None
