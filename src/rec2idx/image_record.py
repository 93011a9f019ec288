"""Image records as ``mxnet.recordio`` packs them: an IRHeader, labels, the bytes of an image."""

from __future__ import annotations

import functools
import math
import numbers
import struct
from types import ModuleType
from typing import Any, NamedTuple

from .errors import MissingExtraError, PayloadError
from .framing import IR_HEADER_SIZE, as_bytes

_IR = struct.Struct("<IfQQ")
LABEL_SIZE = 4  # bytes: labels are float32


class IRHeader(NamedTuple):
    """The header of an image record, as ``mxnet.recordio.IRHeader``.

    Attributes:
        flag: 0 where there is one label, else how many float32 follow the header.
        label: one label; or an array of them.
        id: usually the record's number.
        id2: usually 0.

    >>> IRHeader(0, 4.0, 2574, 0)
    HEADER(flag=0, label=4.0, id=2574, id2=0)
    """

    flag: Any
    label: Any
    id: Any
    id2: Any

    def __repr__(self) -> str:  # the name that MXNet's prints
        return f"HEADER(flag={self[0]!r}, label={self[1]!r}, id={self[2]!r}, id2={self[3]!r})"


def pack(header: Any, s: bytes) -> bytes:
    """Return the payload of an image record.

    The header's flag is not used: it becomes 0 where the label is a number, else the number of
    labels. Labels are stored as float32: whole numbers above 2^24 are rounded.

    Args:
        header: an `IRHeader`, or its four values in order. A label that is no number is taken as
            an array, of any shape, for which NumPy is needed.
        s: what follows the labels: bytes, a bytearray or a memoryview.

    Raises:
        TypeError: `s` is text, or none of the above.
        struct.error: id or id2 is negative, 2^64 or more, or not whole.
        ValueError: the labels are no numbers.
        MissingExtraError: NumPy is needed, and not installed.

    >>> len(pack(IRHeader(0, 4, 2574, 0), b"image"))
    29
    >>> unpack(pack(IRHeader(0, 25130987, 0, 0), b""))[0].label
    25130988.0
    """
    _, label, number, number2 = IRHeader(*header)
    if isinstance(label, numbers.Number):
        packed = _packed(label, number, number2)
        return packed + as_bytes(s)
    numpy = import_numpy("an array of labels")
    labels = numpy.asarray(label, _float32())
    written: bytes = labels.tobytes()
    return _IR.pack(labels.size, 0, number, number2) + written + as_bytes(s)


def _packed(label: Any, number: Any, number2: Any) -> bytes:
    try:
        return _IR.pack(0, label, number, number2)
    except OverflowError:  # beyond float32, which MXNet stores as infinite
        return _IR.pack(0, math.copysign(math.inf, label), number, number2)


def unpack(s: bytes) -> tuple[IRHeader, bytes]:
    """Return the header of an image record, with its labels, and the bytes behind them.

    Args:
        s: the payload, as `MXRecordIO.read` returns it.

    Returns:
        The header, whose label is a float where flag is 0, else an array of float32 of that
        length; and what follows, of the type of `s`.

    Raises:
        PayloadError: it is shorter than a header, or than its labels.
        TypeError: it is text, or None.
        MissingExtraError: there is an array of labels, and NumPy is not installed.

    >>> unpack(pack(IRHeader(0, 4, 2574, 0), b"image"))
    (HEADER(flag=0, label=4.0, id=2574, id2=0), b'image')
    """
    try:
        flag, label, number, number2 = _IR.unpack_from(s)
    except struct.error:
        raise _too_short(s) from None
    s = s[IR_HEADER_SIZE:]
    if flag > 0:
        if len(s) < flag * LABEL_SIZE:
            raise _too_few_labels(flag, len(s))
        numpy = import_numpy("an array of labels")
        label = numpy.frombuffer(s, _float32(), flag)
        s = s[flag * LABEL_SIZE :]
    return IRHeader(flag, label, number, number2), s


@functools.cache
def _float32() -> Any:
    return import_numpy("an array of labels").dtype("<f4")


def _too_short(s: bytes) -> PayloadError:
    return PayloadError(
        "the payload is too short for an image record",
        expected=f"a header of {IR_HEADER_SIZE} bytes",
        found=f"{len(s)} in all",
        advice="use the payload as it is if the file holds no image records",
    )


def _too_few_labels(flag: int, found: int) -> PayloadError:
    return PayloadError(
        f"the payload is too short for the {flag} labels that its flag announces",
        expected=f"{flag * LABEL_SIZE} bytes behind the header",
        found=str(found),
        advice="use the payload as it is if the file holds no image records",
    )


def import_numpy(what: str) -> ModuleType:
    """Return NumPy, imported only when it is needed."""
    try:
        import numpy
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs NumPy, which is not installed ({error})",
            advice="run: pip install numpy",
        ) from error
    return numpy
