"""The dmlc RecordIO format, and nothing else.

A file is a run of *parts*. Each part is, in little-endian byte order::

    uint32  magic   0xced7230a
    uint32  lrec    cflag in the top 3 bits, payload length in the low 29
    bytes   payload
    bytes   zeros up to a multiple of 4

cflag 0 is a whole record; 1, 2 and 3 are the first, a middle and the last part of one.
A writer ends a part where the payload holds the magic at a multiple of 4 bytes from its start,
and drops those 4 bytes; a reader puts them back between the parts. ``docs/format.md`` has the
whole description. Source: dmlc-core, ``include/dmlc/recordio.h`` and ``src/recordio.cc``.
"""

import struct

MAGIC = 0xCED7230A
MAGIC_BYTES = MAGIC.to_bytes(4, "little")
HEADER_SIZE = 8  # bytes of magic and lrec
IR_HEADER_SIZE = 24  # bytes: uint32 flag, float32 label, uint64 id, uint64 id2
MAX_LENGTH = (1 << 29) - 1  # bytes of payload in one part

_HEADER = struct.Struct("<II")

WHOLE, FIRST, MIDDLE, LAST = range(4)  # values of cflag


def split_lrec(lrec: int) -> tuple[int, int]:
    """Return (cflag, payload length in bytes) of an lrec word.

    >>> split_lrec(3 << 29 | 12)
    (3, 12)
    """
    return lrec >> 29, lrec & MAX_LENGTH


def padded(length: int) -> int:
    """Return a payload length in bytes, rounded up to the next multiple of 4.

    >>> padded(0), padded(1), padded(4)
    (0, 4, 4)
    """
    return (length + 3) & ~3


def cflag_of(first: bool, last: bool) -> int:
    """Return the cflag of a record's part which is its first, its last, both or neither.

    >>> cflag_of(first=True, last=False)
    1
    """
    if first:
        return WHOLE if last else FIRST
    return LAST if last else MIDDLE


def header(cflag: int, length: int) -> bytes:
    """Return the magic and the lrec of a part whose payload has so many bytes.

    >>> header(LAST, 1).hex(" ")
    '0a 23 d7 ce 01 00 00 60'
    """
    return _HEADER.pack(MAGIC, cflag << 29 | length)


def payload_of(record: bytes) -> bytes:
    r"""Return the payload of a record that can be followed; its last padding may be missing.

    >>> from rec2idx._layout import lay_out
    >>> payload_of(lay_out(b"abcd" + MAGIC_BYTES))
    b'abcd\n#\xd7\xce'
    """
    pieces = []
    at = 0
    while at + HEADER_SIZE <= len(record):
        length = split_lrec(int.from_bytes(record[at + 4 : at + 8], "little"))[1]
        pieces.append(record[at + HEADER_SIZE : at + HEADER_SIZE + length])
        at += HEADER_SIZE + padded(length)
    return pieces[0] if len(pieces) == 1 else MAGIC_BYTES.join(pieces)


def as_bytes(payload: object) -> bytes:
    """Return a payload that is bytes, a bytearray or a memoryview as bytes.

    Raises:
        TypeError: it is something else, such as text.
    """
    if isinstance(payload, bytes):
        return payload
    if not isinstance(payload, (bytearray, memoryview)):
        raise TypeError(f"the payload is {type(payload).__name__}, expected bytes")
    return bytes(payload)
