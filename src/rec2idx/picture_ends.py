"""Where an image ends, or what is wrong with it; one function for each format.

Each returns the offset behind the last byte of the image, or a complaint: a phrase that stays the
same, and mostly a colon and the details. What common decoders take without a word is no complaint.
"""

from __future__ import annotations

import re
import zlib

from rec2idx.picture_sizes import (
    EOI,
    PNM_HEADER,
    PNM_REACH,
    SOS,
    CutError,
    bmp_size,
    jpeg_segments,
    number,
    pnm_size,
)

_ZEROS_WORTH_SAYING = 16  # fewer at the end of cut data are there by chance


def jpeg_end(data: bytes) -> int | str:
    r"""ITU-T T.81, B.2.1: an image goes on to its EOI marker, which stands outside all segments.

    An EOI inside of a segment belongs to a thumbnail or to a comment.

    >>> jpeg_end(b"\xff\xd8\xff\xe1\0\x08\xff\xd9")
    'JPEG cut inside a segment: APP1 at byte 2 has 8 bytes, 4 of them are there'
    """
    has_scan = False
    for marker, start, end in jpeg_segments(data):
        if end > len(data):
            there = len(data) - start
            if there < 2:
                return f"JPEG cut inside a segment: {_name(marker)} at byte {start - 2}"
            return (
                f"JPEG cut inside a segment: {_name(marker)} at byte {start - 2} has "
                f"{end - start} bytes, {there} of them are there"
            )
        if marker == EOI:
            return end if has_scan else f"JPEG without image data: it ends at byte {end}"
        has_scan = has_scan or marker == SOS
    return f"JPEG without its end marker: {_length(data)}"


def _name(marker: int) -> str:
    """The name that T.81, table B.1, has for a marker."""
    names = {0xC4: "DHT", 0xC8: "JPG", 0xCC: "DAC", SOS: "SOS", 0xDB: "DQT", 0xDC: "DNL"}
    names |= {0xDD: "DRI", 0xDE: "DHP", 0xDF: "EXP", 0xFE: "COM"}
    if marker in names:
        return names[marker]
    family = {0xC: "SOF", 0xE: "APP", 0xF: "JPG"}[marker >> 4]
    return f"{family}{marker & 0xF}"


def _length(data: bytes) -> str:
    """How long cut data is, and whether zeros took the place of the rest."""
    zeros = len(data) - len(data.rstrip(b"\0"))
    if zeros < _ZEROS_WORTH_SAYING:
        return f"{len(data)} bytes"
    return f"{len(data)} bytes, the last {zeros} of them zeros"


def png_end(data: bytes) -> int | str:
    """PNG specification, 5.3: chunks of length, type, data and CRC-32, from IHDR to IEND."""
    at, has_data = 8, False
    while at < len(data):
        length, name = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        end = at + 12 + length
        if end > len(data):
            return _png_cut(data, at)
        if at == 8 and (name != b"IHDR" or length != 13):
            return f"PNG without IHDR: its first chunk is {name.decode('latin-1')!a}"
        if at == 8 and zlib.crc32(data[12:29]) != number(data, 29, 4):
            return f"PNG with a wrong CRC of IHDR: {data[29:33].hex()}, not {_crc(data[12:29])}"
        has_data = has_data or name == b"IDAT"
        if name == b"IEND":
            return end if has_data else f"PNG without image data: it ends at byte {end}"
        at = end
    return f"PNG without IEND: {len(data)} bytes"


def _crc(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def _png_cut(data: bytes, at: int) -> str:
    """What to say of the chunk at `at`, which does not end within the data."""
    if len(data) < at + 8:
        return f"PNG cut inside a chunk: the one at byte {at}"
    name = ascii(data[at + 4 : at + 8].decode("latin-1"))
    length = 12 + number(data, at, 4)
    there = len(data) - at
    return (
        f"PNG cut inside a chunk: {name} at byte {at} has {length} bytes, {there} of them are there"
    )


def gif_end(data: bytes) -> int | str:
    """GIF89a, appendix B: extensions and images, each ending in sub-blocks, up to the trailer."""
    at = 13 + _color_table(data[10:11])
    while at < len(data):
        introducer = data[at]
        if introducer == 0x3B:
            return at + 1
        if introducer == 0x21:
            at = _after_sub_blocks(data, at + 2)
        elif introducer == 0x2C:
            at = _after_sub_blocks(data, at + 11 + _color_table(data[at + 9 : at + 10]))
        else:  # decoders skip what they do not know, so that any later trailer will do
            last = data.rfind(b";", at)
            if last >= 0:
                return last + 1
            break
    return f"GIF without its trailer: {_length(data)}"


def _color_table(flags: bytes) -> int:
    """Bytes of the colour table that follows a descriptor with these flags (GIF89a, 18 to 21)."""
    packed = int.from_bytes(flags, "big")
    return 3 << (packed & 7) + 1 if packed & 0x80 else 0


def _after_sub_blocks(data: bytes, at: int) -> int:
    """GIF89a, 15 and 16: a sub-block begins with how many bytes follow; one of none is the last."""
    while at < len(data):
        size = data[at]
        at += 1 + size
        if not size:
            break
    return at


def webp_end(data: bytes) -> int | str:
    """RFC 9649, 2.4: RIFF, then the size of all that follows. Decoders refuse what is shorter."""
    stated = 8 + number(data, 4, 4, "little")
    if stated > len(data):
        return f"WebP shorter than it says: {stated} bytes, {len(data)} of them are there"
    return stated


def bmp_end(data: bytes) -> int | str:
    """BITMAPFILEHEADER: size of the file, then the offset of the pixels.

    Writers have put all kinds of numbers where the size of the file stands, and no decoder looks at
    it. It decides only where the pixels are compressed; else what they need does.
    """
    try:
        stated = number(data, 2, 4, "little")
        needed = _bmp_pixels_end(data)
    except CutError:
        return f"BMP cut inside its header: {len(data)} bytes"
    needed = stated if needed is None else needed
    if needed > len(data):
        return f"BMP shorter than it says: {needed} bytes, {len(data)} of them are there"
    return max(needed, min(stated, len(data)))


def _bmp_pixels_end(data: bytes) -> int | None:
    """Where the pixels end, but for the padding of the last row; None where they are compressed."""
    header = number(data, 14, 4, "little")
    width, height = bmp_size(data)
    bits = number(data, 24 if header == 12 else 28, 2, "little")
    compression = number(data, 30, 4, "little") if header > 16 else 0
    # 3 and 6 only name the bits of the colours; in the header of OS/2 2, 3 is Huffman's code.
    if compression not in ((0,) if header == 64 else (0, 3, 6)) or width <= 0 or height == 0:
        return None
    row = (width * bits + 31) // 32 * 4
    return number(data, 10, 4, "little") + row * (height - 1) + (width * bits + 7) // 8


_PNM_DEPTH = re.compile(rb"(?:\s|#[^\r\n]*[\r\n])+(\d{1,5})\s")


def pnm_end(data: bytes) -> int | str:
    """Netpbm, pbm(5), pgm(5), ppm(5): after the header come rows of samples, without padding.

    In the plain kinds (P1 to P3) the numbers are text, and nothing says where they end.
    """
    header, size = PNM_HEADER.match(data, 0, PNM_REACH), pnm_size(data)
    if header is None or size is None or header[1] in b"123":
        return len(data)
    width, height = size
    if header[1] == b"4":
        start, row = header.end() + 1, (width + 7) // 8
    else:
        depth = _PNM_DEPTH.match(data, header.end(), header.end() + PNM_REACH)
        if depth is None:
            return len(data)
        samples = 3 if header[1] == b"6" else 1
        start, row = depth.end(), width * samples * (1 if int(depth[1]) < 256 else 2)
    needed = start + row * height
    if needed > len(data):
        return f"PNM shorter than it says: {needed} bytes, {len(data)} of them are there"
    return needed
