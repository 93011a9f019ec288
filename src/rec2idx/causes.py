"""What probably happened where the chain of records breaks."""

from __future__ import annotations

from dataclasses import dataclass

from ._magic import find_header
from .chains import Chain, Reads, State
from .framing import HEADER_SIZE, MAGIC_BYTES, padded
from .headers import lacks_bit, leads_to, length_at, wrong_byte
from .likeness import HEAD, MOST, Likeness, ends_with_image
from .lookalikes import in_front
from .spans import part_at

LEAST_ZEROS = 16  # bytes; fewer may be of a payload
BLOCK = 1 << 20  # bytes that are looked at at once for zeros

ZEROS, INSERTED, MISSING = "zeros", "inserted", "missing"
LENGTH, HEADER, CUT = "length", "header", "cut"
FIRST_BYTES = "first bytes"


@dataclass(frozen=True)
class Cause:
    """What probably happened to some bytes of a file.

    Attributes:
        kind: ``zeros``: bytes [start, stop) are zeros, such as a piece of a download that never
            came. ``inserted``: `count` bytes were put in, `start` to `stop` between two records, or
            somewhere in a record. ``missing``: `count` bytes of a record are missing. ``length``:
            the length of a record is damaged: it says `said` bytes, and the next record starts
            `count` bytes after it. ``header``: only the magic or the cflag of a part is damaged.
            ``cut``: the end of the file cuts off `count` bytes of a record. ``byte order mark``,
            ``HTTP header`` and ``white space``: that stands before the first record. ``first
            bytes``: the first `count` bytes of the file are missing.
        start: first byte that it is about.
        stop: the byte after the last one.
        count: a number of bytes, as above.
        said: the payload length in the header of a record, in bytes.
        in_record: whether it is about a record that is lost by it.
    """

    kind: str
    start: int
    stop: int
    count: int = 0
    said: int | None = None
    in_record: bool = False


def words_of(cause: Cause, record: int) -> str:
    """Return what probably happened, in words.

    Args:
        cause: the cause.
        record: number of the record that is lost by it, if one is.

    >>> words_of(Cause("length", 88, 96, 44, 536_870_911, True), 2)
    'the length of record 2 is damaged: it says 536,870,911 bytes, and the next record starts \
44 bytes on'
    >>> words_of(Cause("missing", 308, 352, 40, in_record=True), 7)
    '40 bytes are missing inside record 7'
    """
    number = f"{cause.count} byte{'s' * (cause.count != 1)}"
    is_are = "was" if cause.count == 1 else "were"
    if cause.kind == ZEROS:
        return f"bytes {cause.start} to {cause.stop} are zeros: a piece of the download is missing"
    if cause.kind == INSERTED:
        place = f"inside record {record}" if cause.in_record else f"at byte {cause.start}"
        return f"{number} {is_are} inserted {place}"
    if cause.kind == MISSING:
        return f"{number} {'is' if cause.count == 1 else 'are'} missing inside record {record}"
    if cause.kind == LENGTH:
        return (
            f"the length of record {record} is damaged: it says {cause.said:,} bytes, and the next "
            f"record starts {number} on"
        )
    if cause.kind == HEADER:
        return f"only the header of a part of record {record} is damaged"
    if cause.kind == CUT:
        return f"the end of the file cuts off {number} of record {record}"
    if cause.kind == FIRST_BYTES:
        first = "byte of the file is" if cause.count == 1 else f"{number} of the file are"
        return f"the first {first} missing, which recordio salvage puts back"
    article = "an" if cause.kind.startswith("HTTP") else "a"
    return f"{number} before the first record: {article} {cause.kind}".replace("a white", "white")


def cause_of(reads: Reads, likeness: Likeness, chain: Chain, start: int, stop: int) -> Cause | None:
    """Return what probably happened where a chain breaks; None if nothing tells.

    Args:
        reads: the file.
        likeness: what its records have in common.
        chain: the chain, as it was followed.
        start: first byte of what is lost.
        stop: the byte after it.
    """
    place = chain.end if chain.state is not State.CUT else chain.done
    if place == 0 and (front := _front(reads, stop)):
        return front
    if zeros := _zeros(reads, place, start, stop):
        return zeros
    if place < stop == leads_to(reads, place) and part_at(reads.read(place, HEADER_SIZE)) is None:
        return Cause(HEADER, place, place + HEADER_SIZE, in_record=True)
    if start < chain.done:  # the last record of the chain is lost
        return _of_length(reads, chain.last, chain.end, stop)
    if chain.state is State.INSIDE and stop <= place:
        if stop < place:
            return _of_length(reads, chain.tail, place, stop)
        return Cause(HEADER, start, start + HEADER_SIZE, in_record=True)
    part = part_at(reads.read(place, HEADER_SIZE))
    if part is not None:  # it ends elsewhere than its length says
        end = place + HEADER_SIZE + padded(part[1])
        if stop == reads.size < end:
            return Cause(CUT, place, stop, end - stop, in_record=True)
        return _of_length(reads, place, end, stop) if stop < reads.size else None
    if 0 < stop - place < HEADER_SIZE + likeness.smallest and stop < reads.size:
        return Cause(INSERTED, place, stop, stop - place)
    return None


def _front(reads: Reads, stop: int) -> Cause | None:
    """Return what stands before the first record, or lacks there."""
    if missing := first_bytes_missing(reads):
        return Cause(FIRST_BYTES, 0, 0, missing, in_record=True)
    kind = in_front(reads.read(0, min(stop, HEAD))) if stop < reads.size else None
    return Cause(kind, 0, stop, stop) if kind else None


def first_bytes_missing(reads: Reads) -> int:
    """Return how many bytes of the first magic are missing at the start of a file; 0 if none are.

    The length after what is left of it must lead to a record, or to the end of the file.
    """
    for missing in range(1, 5):
        head = MAGIC_BYTES[:missing] + reads.read(0, HEADER_SIZE - missing)
        part = part_at(head)
        if part is None or part[0] > 1 or part[1] == 0:
            continue
        end = HEADER_SIZE + padded(part[1]) - missing
        following = part_at(reads.read(end, HEADER_SIZE)) if end < reads.size else None
        if end == reads.size or (following is not None and (following[0] > 1) == (part[0] == 1)):
            # With nothing left of the magic, a record inside that ends there too is more likely.
            return 0 if missing == len(MAGIC_BYTES) and _ends_at(reads, end) else missing
    return 0


def _ends_at(reads: Reads, end: int) -> bool:
    """Return whether a header near the start of a file leads to `end`."""
    data = reads.read(0, min(end, BLOCK))
    at = find_header(data, 0)
    while at >= 0:
        part = part_at(data[at : at + HEADER_SIZE])
        if part is not None and at + HEADER_SIZE + padded(part[1]) == end:
            return True
        at = find_header(data, at + 1)
    return False


def _zeros(reads: Reads, place: int, start: int, stop: int) -> Cause | None:
    """Return the zeros that a break lies in."""
    if any(reads.read(place, HEADER_SIZE)) or place >= stop:
        return None
    end = place
    while end < stop:
        data = reads.read(end, min(BLOCK, stop - end))
        rest = data.lstrip(b"\0")
        end += len(data) - len(rest)
        if rest or not data:
            break
    least = max(place - BLOCK, 0)
    before = reads.read(least, place - least)
    begin = least + len(before.rstrip(b"\0"))
    if end - begin < LEAST_ZEROS:
        return None
    return Cause(ZEROS, begin, end, end - begin, in_record=True)


def _of_length(reads: Reads, record: int, claim: int, stop: int) -> Cause | None:
    """Return what happened to a record which, by its length, ends elsewhere than at `stop`.

    Its image tells, if its end is the end of the record; else the length, if a single byte of it
    would have to be another, or a single bit.
    """
    said, true = length_at(reads, record), stop - record - HEADER_SIZE
    wrong = Cause(LENGTH, record, record + HEADER_SIZE, stop - record, said, in_record=True)
    if true > 0 and true % 4 == 0 and true <= MOST:
        at_its_end = ends_with_image(reads.read(record + HEADER_SIZE, true))
        if at_its_end is not None:
            return wrong if at_its_end else _changed(record, claim, stop)
    byte = wrong_byte(said, true)
    bit = lacks_bit(said, true) or lacks_bit(true, said & ~3)
    if bit or (byte or 0) > 0 or abs(claim - stop) > max(true, 0) + HEADER_SIZE:
        return wrong
    return _changed(record, claim, stop)


def _changed(record: int, claim: int, stop: int) -> Cause | None:
    if stop - claim > claim - record:  # more was put in than it had
        return None
    kind = MISSING if stop < claim else INSERTED
    return Cause(kind, record, stop, abs(claim - stop), in_record=True)
