"""The RecordIO format in plain Python: slow, obvious, and written apart from the product."""

import struct

MAGIC = struct.pack("<I", 0xCED7230A)


class BrokenError(Exception):
    """The chain breaks: (reason, number of the record, byte offset)."""


def part(cflag: int, payload: bytes) -> bytes:
    """One part: magic, lrec, payload, padding."""
    return (
        MAGIC + struct.pack("<I", cflag << 29 | len(payload)) + payload + bytes(-len(payload) % 4)
    )


def record(payload: bytes) -> bytes:
    """A record as a conforming writer lays it out: split where a word of it is the magic."""
    pieces, start = [], 0
    for at in range(0, len(payload) - 3, 4):
        if payload[at : at + 4] == MAGIC:
            pieces.append(payload[start:at])
            start = at + 4
    pieces.append(payload[start:])
    if len(pieces) == 1:
        return part(0, pieces[0])
    middle = b"".join(part(2, piece) for piece in pieces[1:-1])
    return part(1, pieces[0]) + middle + part(3, pieces[-1])


def read(data: bytes) -> tuple[list[tuple[int, bytes]], BrokenError | None]:
    """All whole records as (offset, payload), and what ends them before the end of the data."""
    records, at, start, pieces = [], 0, 0, []
    while at < len(data):
        if len(data) - at < 8:
            tail = data[at : at + 4]
            cut = pieces or (len(tail) > 1 and MAGIC.startswith(tail))  # 0a alone: a newline
            return records, BrokenError("cut-header" if cut else "stray-bytes", len(records), at)
        cflag, length = divmod(struct.unpack("<I", data[at + 4 : at + 8])[0], 1 << 29)
        reason = None
        if data[at : at + 4] != MAGIC:
            reason = "wrong-magic"
        elif cflag > 3:
            reason = "wrong-cflag"
        elif cflag > 1 and not pieces:
            reason = "no-first-part"
        elif cflag < 2 and pieces:
            reason = "record-not-ended"
        elif at + 8 + length > len(data):
            reason = "cut-part"
        elif at + 8 + length + -length % 4 > len(data):
            reason = "cut-padding"
        if reason:
            return records, BrokenError(reason, len(records), at)
        start = start if pieces else at
        pieces.append(data[at + 8 : at + 8 + length])
        at += 8 + length + -length % 4
        if cflag in (0, 3):
            records.append((start, MAGIC.join(pieces)))
            pieces = []
    if pieces:
        return records, BrokenError("ends-inside-record", len(records), at)
    return records, None


def index(data: bytes) -> bytes:
    """The index of well-formed data, byte for byte."""
    return "".join(f"{key}\t{at}\n" for key, (at, _) in enumerate(read(data)[0])).encode()
