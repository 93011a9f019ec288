"""What a file is that people mistake for RecordIO, told from its first bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from .framing import MAGIC_BYTES

HEAD_SIZE = 4096  # bytes from the start of the file that `looks_like` wants


class Lookalike(NamedTuple):
    """Something that is not RecordIO, what to do with it, and whether it holds somebody's data."""

    name: str
    advice: str
    is_data: bool = True


_DOWNLOAD = "download the file itself: open the link in a browser to see what the server says"
_UNPACK = "unpack it and index the .rec inside"

_SIGNATURES: tuple[tuple[bytes, Lookalike], ...] = (
    (
        b"version https://git-lfs.github.com/spec/",
        Lookalike("a Git LFS pointer", "fetch the file it stands for: git lfs pull", False),
    ),
    (b"\x1f\x8b", Lookalike("gzip data", "unpack it first: gzip -d")),
    (b"PK\x03\x04", Lookalike("a zip archive", _UNPACK)),
    (b"PK\x05\x06", Lookalike("an empty zip archive", _UNPACK)),
    (b"BZh", Lookalike("bzip2 data", "unpack it first: bzip2 -d")),
    (b"\xfd7zXZ\x00", Lookalike("xz data", "unpack it first: xz -d")),
    (b"\x28\xb5\x2f\xfd", Lookalike("zstd data", "unpack it first: zstd -d")),
    (b"7z\xbc\xaf\x27\x1c", Lookalike("a 7z archive", _UNPACK)),
    (b"\xff\xd8\xff", Lookalike("a JPEG image", "pack images into a .rec with im2rec")),
    (b"\x89PNG\r\n\x1a\n", Lookalike("a PNG image", "pack images into a .rec with im2rec")),
)

INDEX = Lookalike("an index", "give the .rec file first, then the index", False)
_HTML = Lookalike("an HTML page", _DOWNLOAD, False)
_XML = Lookalike("an XML document", _DOWNLOAD, False)
_TAR = Lookalike("a tar archive", _UNPACK)
ZEROS = "zeros"
_ZEROS = Lookalike(ZEROS, "the download or copy was not finished: start it again", False)
_TFRECORD = Lookalike("a TFRecord file", "index it with DALI's tfrecord2idx")
_SWAPPED = Lookalike(
    "RecordIO in big-endian byte order", "write it again on a little-endian machine"
)


# How the names begin of record files with damage in front, after which there may be whole records.
DAMAGED = ("RecordIO after ", "RecordIO without ")


def looks_like(head: bytes, size: int) -> Lookalike | None:
    r"""Return what a file seems to be, or None where it is not recognised.

    Args:
        head: the first `HEAD_SIZE` bytes of the file, or all of a shorter one.
        size: bytes in the file.

    >>> looks_like(b"PK\x03\x04...", 2000).name
    'a zip archive'
    """
    for signature, thing in _SIGNATURES:
        if head.startswith(signature):
            return thing
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    lowered = text[:64].lower()
    if lowered.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return _HTML
    if lowered.startswith(b"<?xml"):
        return _HTML if b"<html" in text.lower() else _XML
    if re.match(rb"[^\t\n]{1,40}\t\d{1,20}\r?(\n|$)", text):
        return INDEX
    if head[257:262] == b"ustar":
        return _TAR
    if head and not any(head):
        return _ZEROS
    if head[:4] == b"\xce\xd7\x23\x0a":
        return _SWAPPED
    if _is_tfrecord(head, size):
        return _TFRECORD
    return _damaged_recordio(head)


def _damaged_recordio(head: bytes) -> Lookalike | None:
    """What is known of a record file that does not begin as one."""
    if head.startswith(MAGIC_BYTES.replace(b"\n", b"\r\n")):
        return Lookalike(
            "RecordIO in which each 0a became 0d 0a (copied in text mode)",
            "copy it in binary mode, or undo it: recordio salvage",
        )
    if head.startswith(MAGIC_BYTES[1:]):
        return Lookalike(
            "RecordIO without its first byte",
            "recordio salvage puts it back; or copy or download the file again",
        )
    start = head.find(MAGIC_BYTES)
    if start > 0 and (kind := in_front(head[:start])):
        return Lookalike(
            f"RecordIO after {start} other byte{'s' * (start != 1)} ({kind})",
            "recordio salvage leaves them out, rec2idx --salvage indexes what follows",
        )
    return None


_HTTP_FIELDS = re.compile(rb"(?:[A-Za-z-]+: [^\r\n]*\r?\n)+\r?\n")


def in_front(head: bytes) -> str | None:
    r"""Return what stands before the first record of a file, by its bytes; None if that is unknown.

    >>> in_front(b"HTTP/1.1 200 OK\r\nContent-Length: 264\r\n\r\n"), in_front(b"\n")
    ('HTTP header', 'white space')
    """
    if re.match(rb"HTTP/\d\S* \d{3}", head) or _HTTP_FIELDS.fullmatch(head):
        return "HTTP header"
    if head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and len(head) < 6:
        return "byte order mark"
    return "white space" if head and not head.strip() else None


def _is_tfrecord(head: bytes, size: int) -> bool:
    """TFRecord frames: uint64 length, masked CRC-32C of the length, data, CRC of the data."""
    if len(head) < 12:
        return False
    length = int.from_bytes(head[:8], "little")
    if length + 16 > size:
        return False
    crc = _crc32c(head[:8])
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return head[8:12] == masked.to_bytes(4, "little")


def _crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) of a few bytes, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF
