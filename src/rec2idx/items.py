"""A record's payload as a header and what follows it, as ``mxnet.recordio.unpack`` splits it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from .framing import IR_HEADER_SIZE
from .image_record import IRHeader, import_numpy

if TYPE_CHECKING:
    import numpy

Bytes = bytes | memoryview

_HEADER = struct.Struct("<IfQQ")
_LABEL = struct.Struct("<f")


def split(
    data: Bytes, start: int, stop: int, first_label: bool = False
) -> tuple[IRHeader | None, Bytes]:
    """Split the payload that is ``data[start:stop]``; what is no image record has no header.

    That is one with fewer bytes than an IRHeader, or than the labels that this announces.

    Args:
        data: some bytes.
        start: where the payload starts in them.
        stop: where it ends.
        first_label: whether of several labels only the first one is wanted, as a number.

    >>> header, image = split(struct.pack("<IfQQ", 0, 3.0, 7, 0) + b"image", 0, 29)
    >>> header.label, header.id, image
    (3.0, 7, b'image')
    >>> split(b"text", 0, 4)
    (None, b'text')
    """
    body = start + IR_HEADER_SIZE
    if body > stop:
        return None, data[start:stop]
    flag, label, number, number2 = _HEADER.unpack_from(data, start)
    if flag:
        labels, body = body, body + 4 * flag
        if body > stop:
            return None, data[start:stop]
        label = _LABEL.unpack_from(data, labels)[0] if first_label else _array(data, labels, flag)
    return IRHeader(flag, label, number, number2), data[body:stop]


def _array(data: Bytes, start: int, count: int) -> numpy.ndarray:
    np = import_numpy("an array of labels")
    # A copy, since the array may be written to, and outlive what else was read with it.
    array: numpy.ndarray = np.frombuffer(data, "<f4", count, start).astype(np.float32)
    return array
