"""What an image is, how large, and whether it is whole: told from its bytes, without decoding them.

The bytes may be anything, also what somebody made to do harm: no length found in them is trusted.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from rec2idx import picture_ends, picture_sizes

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"II+\0", "tiff"),  # BigTIFF
    (b"MM\0+", "tiff"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "jpeg2000"),
    (b"\xff\x4f\xff\x51", "jpeg2000"),  # a codestream: SOC, SIZ
    (b"\0\0\0\x0cJXL \r\n\x87\n", "jpeg-xl"),
    (b"\xff\x0a", "jpeg-xl"),
    (b"\x93NUMPY", "npy"),
)
_CAN_BE_CUT = ("jpeg", "png", "gif")  # these are known even where the signature itself is cut

# Sizes of the header that follows BITMAPFILEHEADER. "BM" alone begins words, too.
_BMP_HEADERS = (12, 16, 40, 52, 56, 64, 108, 124)
_PNM = re.compile(rb"P([1-6])(?=[\s#])\s*(?:#[^\r\n]*[\r\n]\s*)*(?:[0-9#]|\Z)")
_AVIF = {b"avif", b"avis"}
_HEIF = {b"mif1", b"msf1", b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"}

_Size = Callable[[bytes], "picture_sizes.Size | None"]
_SIZES: dict[str, _Size] = {
    "jpeg": picture_sizes.jpeg_size,
    "png": picture_sizes.png_size,
    "gif": picture_sizes.gif_size,
    "bmp": picture_sizes.bmp_size,
    "webp": picture_sizes.webp_size,
    "tiff": picture_sizes.tiff_size,
    "jpeg2000": picture_sizes.jpeg2000_size,
    **dict.fromkeys(("ppm", "pgm", "pbm"), picture_sizes.pnm_size),
}
SIZED = frozenset(_SIZES)  # kinds whose header is read
_ENDS: dict[str, Callable[[bytes], int | str]] = {
    "jpeg": picture_ends.jpeg_end,
    "png": picture_ends.png_end,
    "gif": picture_ends.gif_end,
    "bmp": picture_ends.bmp_end,
    "webp": picture_ends.webp_end,
    **dict.fromkeys(("ppm", "pgm", "pbm"), picture_ends.pnm_end),
}
# Kinds of what is no image, with words for it.
IN_PLACE = {
    "html": "HTML page in place of an image",
    "json": "JSON in place of an image",
    "text": "text in place of an image",
}


def kind_of(head: bytes) -> str | None:
    r"""Return what the bytes are, by how they begin, or None where it is not known.

    Images: jpeg, png, gif, bmp, webp, tiff, jpeg2000, avif, heif, jpeg-xl, ppm, pgm and pbm. An
    array that NumPy saved: npy. What stands where an image should: html, json and text. Of no
    bytes at all: none.

    >>> kind_of(b"\xff\xd8\xff\xe0\x00\x10JFIF"), kind_of(b"404: Not Found"), kind_of(b"")
    ('jpeg', 'text', 'none')
    """
    if not head:
        return "none"
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[:2] == b"BM" and int.from_bytes(head[14:18], "little") in _BMP_HEADERS:
        return "bmp" if len(head) >= 18 else None
    if head[4:8] == b"ftyp":
        return _kind_of_heif(head)
    if found := _PNM.match(head, 0, picture_sizes.PNM_REACH):
        return {b"1": "pbm", b"4": "pbm", b"2": "pgm", b"5": "pgm"}.get(found[1], "ppm")
    return None if _cut_signature(head) else _kind_of_text(head)


def _kind_of_heif(head: bytes) -> str | None:
    """ISO/IEC 23008-12, 10: brands in the box ftyp. An AVIF may name one of HEIF's first."""
    stop = min(int.from_bytes(head[:4], "big"), len(head), 256)
    brands = {head[at : at + 4] for at in range(8, stop, 4) if at != 12}  # a version stands there
    if brands & _AVIF:
        return "avif"
    return "heif" if brands & _HEIF else None


def _cut_signature(head: bytes) -> str | None:
    """Which kind of image the bytes begin, where they end inside of its signature."""
    if head[:4] == b"RIFF" and len(head) < 12:
        return "webp"
    for signature, kind in _SIGNATURES:
        if kind in _CAN_BE_CUT and signature.startswith(head):
            return kind
    return None


def _kind_of_text(head: bytes) -> str | None:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    lowered = text[:64].lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "html"
    if lowered.startswith(b"<?xml") and b"<html" in text[:1024].lower():
        return "html"
    if not _is_printable(text):
        return None
    if _JSON.match(text, 0, 1024) and len(set(text[:64])) > 1:  # not one grey, which is a bracket
        return "json"
    return "text" if _is_worded(text) else None


_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_NUMBER = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_JSON = re.compile(rb"\{\s*[\"}]|\[\s*(?:[\"{\[\]]|(?:" + _NUMBER + rb"|true|false|null)\s*[,\]])")
# JPEG, PNG, GIF and WebP in base64 begin so; addresses, too, have no white space.
_UNSPACED = (b"/9j/", b"iVBORw0KGgo", b"R0lGOD", b"UklGR", b"data:", b"http:", b"https:")


def _is_printable(text: bytes) -> bool:
    """Whether it is UTF-8 without control characters; the last character may be cut."""
    if _CONTROL.search(text):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return False
    return True


def _is_worded(text: bytes) -> bool:
    """Whether printable bytes are likely text. Raw pixels of an even grey are printable, too."""
    if len(text) < 4 or len(set(text[:1024])) < 3:
        return False
    if not re.search(rb"[A-Za-z]{2}|[\x80-\xff]{8}", text[:1024]):
        return False
    return len(text) <= 64 or text.startswith(_UNSPACED) or bool(re.search(rb"\s", text[:1024]))


def dimensions(head: bytes) -> tuple[int, int] | None:
    r"""Return (width, height) in pixels, as the header of the image has them.

    None where the bytes given do not reach that far, for kinds whose header is not read (avif,
    heif, jpeg-xl, npy), and where it holds no size. The size is that of the stored pixels: an EXIF
    orientation, by which viewers turn an image, is ignored.

    >>> dimensions(b"GIF89a\x40\x01\xc8\x00")
    (320, 200)
    """
    read = _SIZES.get(kind_of(head) or "")
    try:
        size = read(head) if read else None
    except picture_sizes.CutError:
        return None
    return size if size and min(size) > 0 else None


def image_end(data: bytes) -> int | None:
    r"""Return the offset after the last byte of an image, or None where its kind does not tell.

    It is -1 where the image is cut off.

    >>> image_end(b"\xff\xd8\xff\xda\x00\x02 and so on\xff\xd9\x00\x00")
    18
    """
    kind = kind_of(data) or ""
    if kind not in _ENDS:
        return None
    end = _ENDS[kind](data)
    return -1 if isinstance(end, str) else end


def complaint(data: bytes) -> str | None:
    r"""Return what is wrong with a whole image, or None where nothing is seen to be.

    The image is not decoded: what is seen is that it is cut, or that it is something else. What
    stands before the first colon stays the same, so that complaints can be counted by it. Of tiff,
    jpeg2000, avif, heif, jpeg-xl, npy and what is unknown, nothing is said. Bytes after the end of
    an image are no complaint: see `remark`.

    >>> complaint(b"\xff\xd8\xff\xda\x00\x02 and so on")
    'JPEG without its end marker: 16 bytes'
    """
    if not data:
        return "empty"
    if not any(data[:64]) and data.count(0) == len(data):
        return f"zeros only: {len(data)} bytes"
    if cut := _cut_signature(data):
        return f"cut inside its signature: {len(data)} bytes, as a {cut} begins"
    kind = kind_of(data) or ""
    if kind in IN_PLACE:
        return f"{IN_PLACE[kind]}: {_excerpt(data)}"
    end = _ENDS[kind](data) if kind in _ENDS else None
    return end if isinstance(end, str) else None


def _excerpt(text: bytes) -> str:
    """The first words of a text, with nothing in them that a terminal would obey."""
    words = text[:400].decode("utf-8", "replace").split()
    return ascii(" ".join(words)[:60].lstrip("\ufeff"))


def remark(data: bytes) -> str | None:
    r"""Return what stands after the end of a whole image, or None; decoders do not look at it.

    Zeros are padding; other bytes may be a second image or what a camera keeps there.

    >>> remark(b"\xff\xd8\xff\xda\x00\x02 and so on\xff\xd9\x00\x00")
    '2 zero bytes after its end'
    """
    kind = kind_of(data) or ""
    end = _ENDS[kind](data) if kind in _ENDS else len(data)
    if isinstance(end, str) or end >= len(data):
        return None
    count = len(data) - end
    what = "zero bytes" if data.count(0, end) == count else "bytes"
    return f"{count} {what} after its end"
