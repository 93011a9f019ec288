"""What probably happened where the chain of records breaks."""

from __future__ import annotations

from dataclasses import dataclass

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
        return Cause("first bytes", 0, 0, missing, in_record=True)
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
            return missing
    return 0


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


def _of_length(reads: Reads, record: int, claim: int, stop: int) -> Cause:
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


def _changed(record: int, claim: int, stop: int) -> Cause:
    kind = MISSING if stop < claim else INSERTED
    return Cause(kind, record, stop, abs(claim - stop), in_record=True)
