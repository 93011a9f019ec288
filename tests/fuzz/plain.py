"""What a walk should find, by the plain reference."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from reference import read

from rec2idx import _walk

_STATUS = {
    "wrong-magic": _walk.BAD_MAGIC,
    "wrong-cflag": _walk.BAD_CFLAG,
    "no-first-part": _walk.NO_FIRST,
    "record-not-ended": _walk.NOT_ENDED,
    "cut-header": _walk.CUT_HEADER,
    "stray-bytes": _walk.CUT_HEADER,
    "cut-part": _walk.CUT_PART,
    "cut-padding": _walk.CUT_PART,
    "ends-inside-record": _walk.ENDS_INSIDE,
}


@dataclass
class Found:
    """What a walk found, and how it stands at its end."""

    records: list[tuple[int, int]]
    heads: bytes
    status: int
    position: int


def walked(data: bytes, start: int, stop: int, keep: int) -> Found:
    """What a walk from `start` finds that ends where a record starts at or behind `stop`."""
    records, broken = read(data[start:])
    found = Found([], b"", _walk.PASSED, start)
    for _, payload in records:
        if found.position >= stop:
            return found
        found.records.append((found.position, len(payload)))
        first, parts, after = _parts(data, found.position)
        if keep:
            found.heads += struct.pack("<II", first, parts) + payload[:keep].ljust(keep, b"\0")
        found.position = after
    if found.position < stop:
        found.status = _STATUS[broken.args[0]] if broken else _walk.END
        found.position = start + broken.args[2] if broken else len(data)
    return found


def _parts(data: bytes, at: int) -> tuple[int, int, int]:
    """Of a whole record: length of its first part, number of its parts, and where it ends."""
    first, parts = None, 0
    while True:
        cflag, length = divmod(struct.unpack_from("<I", data, at + 4)[0], 1 << 29)
        first = length if first is None else first
        parts += 1
        at += 8 + length + -length % 4
        if cflag in (0, 3):
            return first, parts, at
