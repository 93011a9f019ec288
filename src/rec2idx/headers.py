"""What a header tells that is damaged."""

from __future__ import annotations

from collections.abc import Iterator

from ._magic import find_header
from .chains import Reads
from .framing import HEADER_SIZE, LAST, MAGIC_BYTES, padded, split_lrec

MOST_INSERTED = 64  # bytes that are looked for inside a header


def length_at(reads: Reads, part: int) -> int:
    """Return the payload length in the header at a place."""
    return split_lrec(int.from_bytes(reads.read(part + 4, 4), "little"))[1]


def leads_to(reads: Reads, place: int) -> int:
    """Return where the part ends whose damaged header is at a place; -1 if that is not told.

    A header that the end of the file cuts off leads there.
    """
    head = reads.read(place, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return reads.size if head else -1
    cflag, length = split_lrec(int.from_bytes(head[4:], "little"))
    left = sum(one == other for one, other in zip(head[:4], MAGIC_BYTES, strict=True))
    end = place + HEADER_SIZE + padded(length)
    return end if end <= reads.size and (left > 1 or (length and cflag <= LAST)) else -1


def may_lead_to(reads: Reads, place: int) -> frozenset[int]:
    """Return where that part may end if bytes were put into its header or taken out of it."""
    found = set()
    for lrec, extra in _lrecs(reads.read(place, HEADER_SIZE + MOST_INSERTED)):
        cflag, length = split_lrec(int.from_bytes(lrec, "little"))
        if cflag <= LAST and length:
            found.add(place + HEADER_SIZE + extra + padded(length))
    return frozenset(end for end in found if end <= reads.size)


def _lrecs(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the lrec of a header into which bytes were put, or from whose magic some are missing.

    With each comes how many bytes there are more.
    """
    for extra in range(-4, len(data) - HEADER_SIZE + 1):
        if extra:
            yield data[4 + extra : 8 + extra], extra
        for at in (5, 6, 7) if extra > 0 else ():
            yield data[4:at] + data[at + extra : 8 + extra], extra


def was_magic(reads: Reads, place: int) -> bool:
    """Return whether a magic may have stood at a place: some of it is left, or zeros."""
    word = reads.read(place, len(MAGIC_BYTES))
    left = sum(one == other for one, other in zip(word, MAGIC_BYTES, strict=False))
    return left > 1 or all(one in (0, other) for one, other in zip(word, MAGIC_BYTES, strict=False))


def has_header(payload: bytes) -> bool:
    """Return whether a header stands in a payload where a writer would have escaped its magic."""
    at = find_header(payload, 0)
    while at >= 0:
        if at % 4 == 0:
            return True
        at = find_header(payload, at + 1)
    return False


def wrong_byte(length: int, true: int) -> int | None:
    """Return which byte of a length alone is wrong, 0 for the lowest; None if several are.

    Args:
        length: the length.
        true: what it should be, padding included.

    >>> wrong_byte(0x1024, 0x24), wrong_byte(0x1024, 0x28), wrong_byte(0x1FFFFFFF, 36)
    (1, None, None)
    """
    wrong = (length ^ true) & ~3
    for byte in range(4):
        if true > 0 and true % 4 == 0 and wrong & ~(0xFF << 8 * byte) == 0:
            return byte
    return None


def lacks_bit(length: int, true: int) -> bool:
    """Return whether all that is wrong with a length is that it has lost one bit.

    >>> lacks_bit(32, 36), lacks_bit(36, 32)
    (True, False)
    """
    missing = length ^ true
    return length % 4 == 0 and missing > 3 and missing & (missing - 1) == 0 and missing & true > 0
