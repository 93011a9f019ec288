"""Width and height of an image, from its first bytes; one function for each format.

All of them raise `CutError` where the bytes given end too early. An offset found in the bytes is
only ever used to ask for bytes there, which are given or refused, and every loop moves forward.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

Size = tuple[int, int]  # width and height in pixels

EOI, SOS = 0xD9, 0xDA  # JPEG: end of image, start of scan
_NOT_FRAMES = (0xC4, 0xC8, 0xCC)  # DHT, JPG and DAC stand among the numbers of the SOF markers

# What libjpeg looks for between segments, and what cannot stand in the data of a scan. None of it
# are a stuffed zero (T.81, B.1.1.5), a restart marker, and what follows FF in JPEG-LS: a zero bit.
_MARKER = re.compile(rb"\xff([\xc0-\xcf\xd9-\xfe])")


class CutError(Exception):
    """The bytes given end before what is asked for."""


def number(
    data: bytes, at: int, size: int, order: Literal["big", "little"] = "big", signed: bool = False
) -> int:
    r"""Return the integer of `size` bytes at offset `at`.

    >>> number(b"\x01\x02\x03", 1, 2)
    515
    """
    piece = data[at : at + size]
    if len(piece) < size:
        raise CutError
    return int.from_bytes(piece, order, signed=signed)


def jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    r"""Yield (marker, start, end) of each segment of a JPEG: where its length stands, and its end.

    Source: ITU-T T.81, B.1.1.4: a segment is its marker, two bytes of length that count themselves,
    and its parameters. The data of a scan follows its SOS segment without a length, so what comes
    next is searched; libjpeg does so between all segments, and takes a length below 2 for 2. The
    end may lie behind the end of the bytes.

    >>> [(hex(marker), end) for marker, _, end in jpeg_segments(b"\xff\xd8\xff\xfe\0\3!\xff\xd9")]
    [('0xfe', 7), ('0xd9', 9)]
    """
    at = 2
    while found := _MARKER.search(data, at):
        marker, start = found[1][0], found.end()
        length = int.from_bytes(data[start : start + 2], "big")
        at = start if marker == EOI else start + max(length, 2)
        yield marker, start, at


def jpeg_size(head: bytes) -> Size | None:
    """T.81, B.2.2: a frame header is length, precision, lines, and samples per line."""
    for marker, start, _ in jpeg_segments(head):
        if marker in (EOI, SOS):
            return None
        if marker <= 0xCF and marker not in _NOT_FRAMES:
            return number(head, start + 5, 2), number(head, start + 3, 2)
    return None


def png_size(head: bytes) -> Size | None:
    """PNG specification, 11.2.1: IHDR comes first, and begins with width and height."""
    if head[12:16] != b"IHDR":
        return None
    return number(head, 16, 4), number(head, 20, 4)


def gif_size(head: bytes) -> Size:
    """GIF89a, 18: the logical screen. Single frames may be smaller."""
    return number(head, 6, 2, "little"), number(head, 8, 2, "little")


def bmp_size(head: bytes) -> Size:
    """BITMAPCOREHEADER of OS/2 has 12 bytes and 16-bit sizes; those after it have 32 bits, signed.

    A negative height says that the rows are stored from the top down.
    """
    if number(head, 14, 4, "little") == 12:
        return number(head, 18, 2, "little"), number(head, 20, 2, "little")
    height = number(head, 22, 4, "little", signed=True)
    return number(head, 18, 4, "little", signed=True), abs(height)


def webp_size(head: bytes) -> Size | None:
    """WebP container (RFC 9649), 2.5 to 2.7: a lossy frame, a lossless one, or the canvas of both.

    The upper 2 of the 16 bits of a size in VP8 are for scaling (RFC 6386, 9.1).
    """
    name = head[12:16]
    if name == b"VP8 " and head[23:26] == b"\x9d\x01\x2a":
        return number(head, 26, 2, "little") & 0x3FFF, number(head, 28, 2, "little") & 0x3FFF
    if name == b"VP8L" and head[20:21] == b"\x2f":
        bits = number(head, 21, 4, "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if name == b"VP8X":
        return number(head, 24, 3, "little") + 1, number(head, 27, 3, "little") + 1
    return None


def tiff_size(head: bytes) -> Size | None:
    """TIFF 6.0, section 2: ImageWidth (256) and ImageLength (257) of the first IFD.

    BigTIFF has 64 bits where TIFF has 32, and for the number of entries.
    """
    order: Literal["big", "little"] = "little" if head[:2] == b"II" else "big"
    big = number(head, 2, 2, order) == 43
    word, counter, entry = (8, 8, 20) if big else (4, 2, 12)
    at = number(head, word, word, order)
    count = number(head, at, counter, order)
    found: dict[int, int] = {}
    for _ in range(count):  # ends with the bytes, whatever the count
        start = at + counter
        at += entry
        tag, kind = number(head, start, 2, order), number(head, start + 2, 2, order)
        width = {3: 2, 4: 4, 16: 8}.get(kind)  # SHORT, LONG, LONG8
        if tag in (256, 257) and width:
            found.setdefault(tag, number(head, start + 4 + word, width, order))
        if len(found) == 2:
            return found[256], found[257]
    return None


def jpeg2000_size(head: bytes) -> Size | None:
    """ITU-T T.800, annex I: ihdr, inside the box jp2h, has the size; or it is a bare codestream."""
    if head.startswith(b"\xff\x4f"):
        return _codestream_size(head, 0)
    at = 0
    while True:
        length, name, body = number(head, at, 4), head[at + 4 : at + 8], at + 8
        if length == 1:
            length, body = number(head, body, 8), body + 8
        if name == b"ihdr":
            return number(head, body + 4, 4), number(head, body, 4)
        if name == b"jp2c":
            return _codestream_size(head, body)
        if name == b"jp2h":
            at = body
        elif length < body - at:  # 0: up to the end of the file
            return None
        else:
            at += length


def _codestream_size(head: bytes, at: int) -> Size | None:
    """T.800, A.5.1: the SIZ segment has the far corner of the image, then the near one."""
    if head[at : at + 4] != b"\xff\x4f\xff\x51":
        return None
    right, bottom, left, top = (number(head, at + 8 + 4 * i, 4) for i in range(4))
    return right - left, bottom - top


PNM_REACH = 4096  # bytes of white space and comments that are read through; Netpbm sets no limit
_GAP = rb"(?:\s|#[^\r\n]*[\r\n])+"
PNM_HEADER = re.compile(rb"P([1-6])" + _GAP + rb"(\d{1,10})" + _GAP + rb"(\d{1,10})(?=\s)")


def pnm_size(head: bytes) -> Size | None:
    """Netpbm, ppm(5): width and height in decimal digits, with white space and comments around."""
    found = PNM_HEADER.match(head, 0, PNM_REACH)
    return (int(found[2]), int(found[3])) if found else None
