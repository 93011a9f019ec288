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

from ._magic import find_word

MAGIC = 0xCED7230A
MAGIC_BYTES = MAGIC.to_bytes(4, "little")
HEADER_SIZE = 8  # bytes of magic and lrec
IR_HEADER_SIZE = 24  # bytes: uint32 flag, float32 label, uint64 id, uint64 id2
MAX_LENGTH = (1 << 29) - 1  # bytes of payload in one part

_HEADER = struct.Struct("<II")
_PADDING = (b"", bytes(3), bytes(2), bytes(1))  # by the length's rest, divided by 4

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


def split_at_magics(payload: bytes) -> list[bytes]:
    r"""Return the payloads of the parts in which a writer lays out a record.

    It is split at the magics that lie at a multiple of 4 bytes from its start, which are dropped.

    >>> split_at_magics(b"abcd" + MAGIC_BYTES + b"e"), split_at_magics(b"a" + MAGIC_BYTES)
    ([b'abcd', b'e'], [b'a\n#\xd7\xce'])
    """
    pieces = []
    start = 0
    while (at := find_word(payload, start)) >= 0:
        pieces.append(payload[start:at])
        start = at + len(MAGIC_BYTES)
    pieces.append(payload[start:])
    return pieces


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


def parts_of(payload: bytes) -> list[bytes]:
    """Return the pieces of a record as a writer lays it out: header, payload and padding a part.

    >>> [piece.hex(" ") for piece in parts_of(b"x")]
    ['0a 23 d7 ce 01 00 00 00', '78', '00 00 00']
    """
    if find_word(payload, 0) < 0:  # nearly all are
        return [header(WHOLE, len(payload)), payload, _PADDING[len(payload) & 3]]
    pieces = split_at_magics(payload)
    parts: list[bytes] = []
    for number, piece in enumerate(pieces):
        cflag = cflag_of(number == 0, number == len(pieces) - 1)
        parts += header(cflag, len(piece)), piece, _PADDING[len(piece) & 3]
    return parts


def lay_out(payload: bytes) -> bytes:
    """Return a record as a writer lays it out: its parts, each with its padding.

    >>> lay_out(b"x").hex(" ")
    '0a 23 d7 ce 01 00 00 00 78 00 00 00'
    """
    return b"".join(parts_of(payload))


def payload_of(record: bytes) -> bytes:
    r"""Return the payload of a record that can be followed; its last padding may be missing.

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
