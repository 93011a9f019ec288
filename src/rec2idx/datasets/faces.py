"""The file header of InsightFace's files: where it is, what it announces, and which the images are.

It is a record of two labels and no image: the number of the first record behind the images, and
of the first one behind all. It has the key 0, and is the first record of the file, or, as
``face2rec2.py`` writes it, the first one behind the images. Behind both is a record for each
identity, which has no image either. Labels are float32, which does not hold every number.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

from .. import _heads
from .._walk import WALKING
from ..entries import TOP
from ..errors import LabelsError
from ..framing import IR_HEADER_SIZE
from ..segments import Batch, Walker
from ..select import has_face_labels, is_file_header
from ..sources import Source

HEADS = IR_HEADER_SIZE + 8  # bytes of each payload that are looked at: also the first two labels
PEEK = 1 << 12  # bytes that are read at once to see one record
_EXACT = 1 << 24  # whole numbers up to here are exact as float32
_HEAD = struct.Struct("<8xI4xQ8x2f")  # flag, id, the first two labels behind the IRHeader


@dataclass(frozen=True)
class FileHeader:
    """What a file header announces.

    Attributes:
        offset: where it is.
        behind: number of the first record behind the images.
        end: number of the first record behind all.
    """

    offset: int
    behind: int
    end: int

    @property
    def classes(self) -> int:
        """So many identities are announced."""
        return self.end - self.behind

    @property
    def slack(self) -> int:
        """So many more there may be, since `end` and `behind` are rounded where they are large."""
        step = 1
        while self.end >= _EXACT * step:
            step *= 2
        return step if step > 1 else 0


def file_header(record: Batch | None) -> FileHeader | None:
    """Return what the first record of a batch announces; None if it is no file header."""
    if record is None or record.heads is None or not is_file_header(record):
        return None
    behind, end = _HEAD.unpack_from(record.heads)[2:]
    if not (1 < behind <= end < TOP and behind.is_integer() and end.is_integer()):
        return None
    return FileHeader(record.offsets[0], int(behind), int(end))


def header_behind(record: Batch | None) -> FileHeader | None:
    """As `file_header`, for a record that is the first one behind images."""
    header = file_header(record)
    if header is None or record is None or record.heads is None:
        return None
    # Where the file header is missing, that is an identity record. Those have their numbers as ids.
    return header if _HEAD.unpack_from(record.heads)[1] == 0 else None


def comes_first(record: Batch | None) -> bool:
    """Return whether a batch may be the first one of a file whose file header comes later.

    That is an image with two labels, before others with no more.
    """
    if record is None or record.heads is None or not has_image(record):
        return False
    flag: int = _HEAD.unpack_from(record.heads)[0]
    return flag == 2 and has_face_labels([record])


def find_header(source: Source, offsets: array[int], zero: int | None) -> FileHeader | None:
    """Return the file header of a file that has an index; None if there is none.

    Args:
        source: the file.
        offsets: those of its entries, in order.
        zero: the offset of key 0, if there is one.
    """
    found = _find_candidate(source, offsets, zero)
    return found if found and has_face_labels(_records_from(source, 0)) else None


def _find_candidate(source: Source, offsets: array[int], zero: int | None) -> FileHeader | None:
    """As `find_header`, where the records behind it were not looked at."""
    first = record_at(source, 0)
    found = file_header(first)
    if found is None and zero:
        found = file_header(record_at(source, zero))
    if found is None and comes_first(first):
        at = first_without_image(source, offsets, 0, len(offsets))
        if at < len(offsets):
            return header_behind(record_at(source, offsets[at]))
        # An index of images only; the next record of the file is the one.
        for record in _records_from(source, offsets[-1]):
            if record.offsets[0] > offsets[-1]:
                return header_behind(record)
    return found


def announced_images(
    source: Source, header: FileHeader, offsets: array[int]
) -> tuple[int, int] | None:
    """Return which entries are the images that a file header announces: from one up to another.

    None where the entries are neither all records that it announces nor all of the images, or not
    in its order: then it is to be seen of each record what it is.

    Raises:
        LabelsError: there are more entries than records are announced.
    """
    count = len(offsets)
    if not count or not _heads.rises(offsets):
        return None
    at = bisect_left(offsets, header.offset)
    if at == count or offsets[at] != header.offset:
        last = record_at(source, offsets[-1])
        if 0 < at < count or last is None or not has_image(last):
            return None
        require_no_more(source, header, offsets, count + 1, header.behind)
        return 0, count
    require_no_more(source, header, offsets, count, header.end)
    start, stop = 0, at
    if at == 0:
        start, stop = 1, first_without_image(source, offsets, 1, count)
    elif first_without_image(source, offsets, 0, at) != at:
        return None
    announced = as_float32(stop - start + 1), as_float32(count)
    return (start, stop) if announced == (header.behind, header.end) else None


def require_no_more(
    source: Source, header: FileHeader, offsets: array[int], count: int, announced: int
) -> None:
    """Raise an error if there are more records than announced, whose labels nothing is known of.

    Args:
        source: the file.
        header: what announces them.
        offsets: where records start.
        count: how many they are.
        announced: how many are announced.
    """
    if as_float32(count) <= announced:
        return
    what = "there are more records than its file header of InsightFace announces"
    if (second := _second_header(source, header, offsets)) is not None:
        what = (
            f"it holds two file headers of InsightFace, at bytes {header.offset} and "
            f"{second.offset}: these are two files laid end to end, whose classes have the same "
            "numbers"
        )
    raise LabelsError(
        what,
        path=source.path,
        expected=f"{announced} records at most",
        found=str(count),
        advice="give the files themselves, not their concatenation; or an index of those records "
        "that the first file header announces",
    )


def _second_header(source: Source, header: FileHeader, offsets: array[int]) -> FileHeader | None:
    """Return the file header behind the records that the first one announces, if it is told."""
    count = len(offsets)
    if header.end >= count:
        return None
    found = file_header(record_at(source, offsets[header.end]))
    if found is None:
        at = first_without_image(source, offsets, header.end, count)
        found = header_behind(record_at(source, offsets[at])) if at < count else None
    return found


def first_without_image(source: Source, offsets: array[int], low: int, high: int) -> int:
    """Return the first of some entries that has no image, if all behind it have none either."""
    while low < high:
        middle = (low + high) // 2
        record = record_at(source, offsets[middle])
        if record is None or has_image(record):
            low = middle + 1
        else:
            high = middle
    return low


def has_image(record: Batch) -> bool:
    """Return whether bytes follow the labels of the first record of a batch."""
    assert record.heads is not None
    return _heads.kinds(record.sizes, record.heads)[0] == _heads.IMAGE


def record_at(source: Source, offset: int) -> Batch | None:
    """Return the record at an offset, with its head; None if there is no whole one."""
    return next(_records_from(source, offset), None)


def _records_from(source: Source, offset: int) -> Iterator[Batch]:
    walker = Walker(source, offset, block=PEEK, heads=HEADS)
    while walker.walk.status == WALKING:
        if (piece := walker.records(1)) is not None:
            yield Batch(0, *piece)


def as_float32(number: int) -> int:
    """Return a number as a label holds it.

    >>> as_float32((1 << 24) + 1) - (1 << 24)
    0
    """
    return int(struct.unpack("<f", struct.pack("<f", number))[0])
