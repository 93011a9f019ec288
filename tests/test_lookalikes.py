"""Files that are something else are named (case C6), and nothing is written."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import folder_content
from samples import SIX, SIX_INDEX

import rec2idx


def a_zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("six.rec", SIX)
    return stream.getvalue()


def a_tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        entry = tarfile.TarInfo("six.rec")
        entry.size = len(SIX)
        archive.addfile(entry, io.BytesIO(SIX))
    return stream.getvalue()


# One record framed by hand; the checksum of its length was computed apart from the product.
TFRECORD = struct.pack("<QI", 5, 0x3E04B2EA) + b"hello" + struct.pack("<I", 0)

LFS = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    b"size 12345678\n"
)

FILES = {
    "a Git LFS pointer": [LFS],
    "an HTML page": [
        b"<!DOCTYPE html>\n<html><body>404</body></html>",
        b"\n  <HTML>Not found</HTML>",
        b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"></html>',
    ],
    "an XML document": [b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'],
    "gzip data": [gzip.compress(SIX)],
    "bzip2 data": [bz2.compress(SIX)],
    "xz data": [lzma.compress(SIX)],
    "a zip archive": [a_zip()],
    "a tar archive": [a_tar()],
    "a TFRecord file": [TFRECORD],
    "an index": [SIX_INDEX, b"n01440764\t0\r\n", b"0\t0", b"\xef\xbb\xbf0\t0\n"],
    "zeros": [bytes(1 << 20), bytes(3)],
    "a JPEG image": [b"\xff\xd8\xff\xe0 and so on"],
    "a PNG image": [b"\x89PNG\r\n\x1a\n and so on"],
    "RecordIO in big-endian byte order": [struct.pack(">II", 0xCED7230A, 4) + b"1234"],
}


@pytest.mark.parametrize(
    ("name", "data"), [(name, data) for name, examples in FILES.items() for data in examples]
)
def test_it_is_named_and_nothing_is_written(tmp_path, name, data):
    (tmp_path / "train.rec").write_bytes(data)
    (tmp_path / "train.idx").write_bytes(SIX_INDEX)
    with pytest.raises(rec2idx.NotRecordIOError) as caught:
        rec2idx.create_index(tmp_path / "train.rec")
    assert caught.value.looks_like == name
    assert f"not a RecordIO file, but {name}: " in str(caught.value)
    assert caught.value.advice
    assert (caught.value.record, caught.value.offset) == (0, 0)
    assert folder_content(tmp_path) == {"train.rec": data, "train.idx": SIX_INDEX}


class Pieces(io.BytesIO):
    """Gives at most seven bytes at a time, as a slow connection may."""

    def read(self, size=-1):
        return super().read(7 if size < 0 else min(size, 7))


@pytest.mark.parametrize(
    ("name", "data"), [(name, data) for name, examples in FILES.items() for data in examples]
)
@pytest.mark.parametrize("stream", [io.BytesIO, Pieces])
def test_it_is_named_in_whatever_pieces_it_comes(name, data, stream):
    with pytest.raises(rec2idx.NotRecordIOError) as caught:
        rec2idx.create_index(stream(data), io.BytesIO())
    assert caught.value.looks_like == name


def test_a_tfrecord_that_is_longer_than_a_chunk():
    """How long a stream is, is not known when its first record is looked at."""
    from rec2idx.lookalikes import _crc32c

    length = struct.pack("<Q", 5 << 20)
    crc = _crc32c(length)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    with pytest.raises(rec2idx.NotRecordIOError) as caught:
        rec2idx.create_index(
            io.BytesIO(length + struct.pack("<I", masked) + bytes(5 << 20)), io.BytesIO()
        )
    assert caught.value.looks_like == "a TFRecord file"


@pytest.mark.parametrize("data", [b"x", b"\x0a", b"some text\n", b"\x00\x00\x01\xba" * 100])
def test_what_is_not_recognised_is_not_named(tmp_path, data):
    """But refused all the same, with the bytes that stand there."""
    (tmp_path / "a.rec").write_bytes(data)
    with pytest.raises(rec2idx.NotRecordIOError) as caught:
        rec2idx.create_index(tmp_path / "a.rec")
    assert caught.value.looks_like is None
    assert (caught.value.expected, caught.value.found) == (
        "the magic 0a 23 d7 ce",
        data[:4].hex(" "),
    )


def test_a_length_that_only_looks_like_tfrecord(tmp_path):
    """The checksum of the length decides."""
    path = Path(tmp_path / "a.rec")
    path.write_bytes(TFRECORD[:8] + b"\x00" * 20)
    with pytest.raises(rec2idx.NotRecordIOError) as caught:
        rec2idx.create_index(path)
    assert caught.value.looks_like is None
