"""An image out of a record, with all that its header says."""

from __future__ import annotations

import math
import struct
from typing import NamedTuple

from ..framing import IR_HEADER_SIZE
from ..pictures import kind_of

LOOK = 1024  # bytes of an image that tell what it is

_HEADER = struct.Struct("<IfQQ")
_FLOAT = struct.Struct("<f")


class Image(NamedTuple):
    """An image, and where it comes from.

    Attributes:
        key: its key in the index, or the number of its record.
        offset: where its record starts.
        flag: 0 where there is one label, else how many labels stand behind the header.
        label: the label in the header, which means nothing where the flag is not 0.
        id: as in the header.
        id2: as in the header.
        labels: one label, or as many as the flag says.
        kind: what it is, as `pictures.kind_of` says of its first 1024 bytes.
        data: its bytes.
    """

    key: int | str
    offset: int
    flag: int
    label: float
    id: int
    id2: int
    labels: tuple[float, ...]
    kind: str | None
    data: memoryview


def image_in(payload: memoryview, key: int | str, offset: int) -> Image:
    """Return the image in the payload of an image record, which has one.

    >>> payload = struct.pack("<IfQQ2f", 2, 0, 7, 0, 0.5, 1) + b"GIF89a"
    >>> image = image_in(memoryview(payload), 3, 44)
    >>> image.id, image.labels, image.kind, bytes(image.data)
    (7, (0.5, 1.0), 'gif', b'GIF89a')
    """
    flag, label, number, number2 = _HEADER.unpack_from(payload)
    start = IR_HEADER_SIZE + 4 * flag
    labels = struct.unpack_from(f"<{flag}f", payload, IR_HEADER_SIZE) if flag else (label,)
    data = payload[start:]
    kind = kind_of(bytes(data[:LOOK]))
    return Image(key, offset, flag, label, number, number2, labels, kind, data)


def fits_list(image: Image) -> bool:
    """Return whether a line of a list says all that the header of an image does.

    A list has no second id, no single label in an array (flag 1), no label in the header beside an
    array, and one NaN.
    """
    if image.flag == 1 or image.id2:
        return False
    if image.flag and _FLOAT.pack(image.label) != bytes(4):
        return False
    return not any(map(_is_other_nan, image.labels))


def _is_other_nan(label: float) -> bool:
    """Return whether a label is a NaN other than the one that a list means."""
    return label != label and _FLOAT.pack(label) != _FLOAT.pack(math.nan)
