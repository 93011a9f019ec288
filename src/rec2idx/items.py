"""A record's payload as a header and what follows it, as ``mxnet.recordio.unpack`` splits it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from .errors import MissingExtraError
from .framing import IR_HEADER_SIZE

if TYPE_CHECKING:
    import numpy

Bytes = bytes | memoryview

_HEADER = struct.Struct("<IfQQ")
_LABEL = struct.Struct("<f")


class IRHeader(NamedTuple):
    """What an image record begins with.

    Attributes:
        flag: 0, or how many labels stand behind the header.
        label: the label; where flag is above 0, an array of so many float32.
        id: id of the record.
        id2: a second one, mostly 0.

    >>> IRHeader(flag=0, label=3.0, id=7, id2=0).label
    3.0
    """

    flag: int
    label: float | numpy.ndarray
    id: int
    id2: int


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
    try:
        import numpy
    except ImportError as error:
        raise MissingExtraError(
            "several labels are an array of NumPy, which is not installed",
            advice="install it: pip install numpy",
        ) from error
    # A copy, since the array may be written to, and outlive what else was read with it.
    return numpy.frombuffer(data, "<f4", count, start).astype(numpy.float32)
