"""A record's payload as a header and what follows it, as ``mxnet.recordio.unpack`` splits it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ..framing import IR_HEADER_SIZE
from ..image_record import IRHeader, import_numpy
from .table import Classes

if TYPE_CHECKING:
    import numpy

Bytes = bytes | memoryview

_HEADER = struct.Struct("<IfQQ")
_LABEL = struct.Struct("<f")
_new = tuple.__new__  # as IRHeader itself does, but for counting the fields


def split(
    data: Bytes, start: int, stop: int, classes: Classes | None = None
) -> tuple[IRHeader | None, Bytes]:
    """Split the payload that is ``data[start:stop]``; what is no image record has no header.

    That is one with fewer bytes than an IRHeader, or than the labels that this announces.

    Args:
        data: some bytes.
        start: where the payload starts in them.
        stop: where it ends.
        classes: those of an InsightFace file, of whose labels only the first one is wanted, as the
            number of a class.

    Raises:
        LabelsError: there is no such class.

    >>> header, image = split(struct.pack("<IfQQ", 0, 3.0, 7, 0) + b"image", 0, 29)
    >>> header.label, header.id, image
    (3.0, 7, b'image')
    >>> split(b"text", 0, 4)
    (None, b'text')
    """
    body = start + IR_HEADER_SIZE
    if body > stop:
        return None, data[start:stop]
    fields = _HEADER.unpack_from(data, start)
    flag = fields[0]
    if flag:
        labels, body = body, body + 4 * flag
        if body > stop:
            return None, data[start:stop]
        label = _LABEL.unpack_from(data, labels)[0] if classes else _array(data, labels, flag)
        fields = flag, label, fields[2], fields[3]
    if classes is not None:
        fields = flag, classes.label(fields[1]), fields[2], fields[3]
    return _new(IRHeader, fields), data[body:stop]


def _array(data: Bytes, start: int, count: int) -> numpy.ndarray:
    np = import_numpy("an array of labels")
    # A copy, since the array may be written to, and outlive what else was read with it.
    array: numpy.ndarray = np.frombuffer(data, "<f4", count, start).astype(np.float32)
    return array
