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

MAGIC = 0xCED7230A
MAGIC_BYTES = MAGIC.to_bytes(4, "little")
HEADER_SIZE = 8  # bytes of magic and lrec
IR_HEADER_SIZE = 24  # bytes: uint32 flag, float32 label, uint64 id, uint64 id2
MAX_LENGTH = (1 << 29) - 1  # bytes of payload in one part

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
