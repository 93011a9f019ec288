"""What the rows of a list of records should be, from the format in plain Python."""

import math
import struct

from reference import BrokenError, read

from rec2idx.pictures import dimensions, kind_of


def number_of_parts(data: bytes, at: int) -> int:
    parts = 0
    while True:
        cflag, length = divmod(struct.unpack("<I", data[at + 4 : at + 8])[0], 1 << 29)
        parts += 1
        if cflag in (0, 3):
            return parts
        at += 8 + length + -length % 4


def seems_image_record(payload: bytes) -> bool:
    """That it has an IRHeader which makes sense, with room for all of its labels."""
    if len(payload) < 24:
        return False
    flag, label, _, id2 = struct.unpack_from("<IfQQ", payload)
    room = 24 + 4 * flag <= len(payload) and flag < 1 << 20
    return room and math.isfinite(label) and id2 == 0


def seems_wide(payload: bytes) -> bool:
    """That it has a header with a label of 64 bits."""
    if len(payload) < 32 or payload[4:8] != bytes(4):
        return False
    flag, label, _, id2 = struct.unpack_from("<I4xdQQ", payload)
    room = 32 + 8 * flag <= len(payload) and flag < 1 << 20
    return room and id2 == 0 and (label == 0 or 1e-9 < abs(label) < 1e18)


def described(payload: bytes, earlier: list[bytes]) -> tuple:
    """Id, labels, kind, width and height; `earlier` are the payloads up to this one."""
    some = [one for one in earlier if len(one) >= 4][:256]
    images = sum(map(seems_image_record, some))
    number = labels = None
    start = 0
    if 2 * images >= len(some) and images >= sum(map(seems_wide, some)) and len(payload) >= 24:
        flag, label, own, _ = struct.unpack_from("<IfQQ", payload)
        if flag < 1 << 20 and 24 + 4 * flag <= len(payload):
            number, start = own, 24 + 4 * flag
            labels = struct.unpack_from(f"<{flag}f", payload, 24) if flag else (label,)
    kind = kind_of(payload[start : start + 1024]) or "unknown"
    width, height = dimensions(payload[start : start + 65536]) or (None, None)
    # A label that is no number is equal to none.
    return number, labels and tuple(map(repr, labels)), kind, width, height


def rows_of(data: bytes) -> tuple[list[tuple], BrokenError | None]:
    """All rows of a file that is walked, and what ends them before its end."""
    records, broken = read(data)
    payloads = [payload for _, payload in records]
    return [
        (
            key,
            offset,
            len(payload),
            number_of_parts(data, offset),
            *described(payload, payloads[: key + 1]),
        )
        for key, (offset, payload) in enumerate(records)
    ], broken


def plain(row) -> tuple:
    """A row in the same shape; without a name and a problem."""
    labels = row.labels and tuple(map(repr, row.labels))
    return (
        *(row.key, row.offset, row.size, row.parts),
        *(row.id, labels, row.kind, row.width, row.height),
    )
