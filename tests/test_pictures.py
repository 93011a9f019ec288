"""What an image is, how large, and whether it is whole.

The images in `pictures/` are real ones; `pictures/make.py` says what wrote them.
"""

import base64
import random
import struct
import zlib

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from reference import read

from rec2idx.pictures import complaint, dimensions, kind_of, remark

FOLDER = ROOT / "tests/pictures"
IMAGES = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.suffix[1:] != "py"}
IMAGES = {name: IMAGES[name] for name in sorted(IMAGES) if (FOLDER / name).is_file()}

KINDS = {
    "jpg": "jpeg",
    "mpo": "jpeg",  # two JPEGs, one after the other
    "png": "png",
    "gif": "gif",
    "bmp": "bmp",
    "webp": "webp",
    "tif": "tiff",
    "jp2": "jpeg2000",
    "j2k": "jpeg2000",
    "avif": "avif",
    "ppm": "ppm",
    "pgm": "pgm",
    "pbm": "pbm",
    "npy": "npy",
}
NO_SIZE = ("still.avif", "array.npy")
# Behind these the image is whole, though bytes are missing: a second image; padding of a last row.
SLACK = {"two.mpo": len(IMAGES["two.mpo"]) - IMAGES["two.mpo"].index(b"\xff\xd9\xff\xd8") - 2}
SLACK |= {"rgb.bmp": 1, "opencv.bmp": 1, "top-down.bmp": 1, "os2.bmp": 1, "grey.bmp": 3}

named = pytest.mark.parametrize("name", IMAGES)


def jpeg(*segments: bytes) -> bytes:
    return b"\xff\xd8" + b"".join(segments)


def segment(marker: int, body: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body


def size_of(name: str) -> tuple[int, int] | None:
    if name in NO_SIZE:
        return None
    return (300, 260) if name.startswith("large") else (21, 13)


@named
def test_a_whole_image(name):
    data = IMAGES[name]
    assert kind_of(data) == KINDS[name.rpartition(".")[2]]
    assert dimensions(data) == size_of(name)
    assert complaint(data) is None
    assert remark(data) == (f"{SLACK[name]} bytes after its end" if name == "two.mpo" else None)


def test_there_are_images_of_each_kind():
    assert {name.rpartition(".")[2] for name in IMAGES} == set(KINDS)


@named
def test_every_prefix(name):
    """The size is right or not known, and what is known at some length is so with more bytes."""
    data, size, known = IMAGES[name], size_of(name), False
    for length in range(len(data)):
        head = data[:length]
        assert dimensions(head) == size or not (known or dimensions(head))
        known = dimensions(head) is not None
        kind_of(head)
        remark(head)


# Formats of which it is said whether they are whole; before these lengths their kind is not known.
KNOWN_FROM = {"jpeg": 1, "png": 1, "gif": 1, "bmp": 18, "webp": 4}
EXAMINED = [name for name in IMAGES if KINDS[name.rpartition(".")[2]] in KNOWN_FROM]


@pytest.mark.parametrize("name", EXAMINED)
def test_every_cut_is_seen(name):
    data = IMAGES[name]
    whole = len(data) - SLACK.get(name, 0)
    for length in range(KNOWN_FROM[kind_of(data)], len(data)):
        assert (complaint(data[:length]) is None) == (length >= whole), length


@pytest.mark.parametrize("name", ["rgb.ppm", "grey.pgm", "bilevel.pbm", "opencv.ppm"])
def test_every_cut_among_raw_samples_is_seen(name):
    data = IMAGES[name]
    for length in range(24, len(data)):
        assert complaint(data[:length]).startswith("PNM shorter than it says: ")


@named
def test_a_wrong_byte_is_survived(name):
    rng = random.Random(name)
    for at in range(len(IMAGES[name])):
        data = bytearray(IMAGES[name])
        data[at] ^= rng.randrange(1, 256)
        survives(bytes(data))


def survives(data: bytes) -> None:
    """Nothing is raised, and answers fit each other."""
    kind_of(data)
    size = dimensions(data)
    assert size is None or min(size) > 0
    assert complaint(data) is None or remark(data) is None


heads = st.sampled_from(
    [data[:40] for data in IMAGES.values()] + [b"P6 ", b"P5\n#", b"[", b"<?xml"]
)


@given(st.one_of(st.binary(), st.tuples(heads, st.binary()).map(b"".join)))
def test_any_bytes(data):
    survives(data)


@given(st.sampled_from(sorted(IMAGES)), st.data())
def test_any_bytes_in_the_middle(name, data):
    image = IMAGES[name]
    at = data.draw(st.integers(0, len(image)))
    stop = data.draw(st.integers(at, min(len(image), at + 9)))
    survives(image[:at] + data.draw(st.binary(max_size=9)) + image[stop:])


@pytest.mark.parametrize("name", EXAMINED)
def test_bytes_after_the_end_are_no_complaint(name):
    data = IMAGES[name]
    if name != "two.mpo":
        assert remark(data + bytes(5)) == "5 zero bytes after its end"
        assert remark(data + b"\0more") == "5 bytes after its end"
    for more in (bytes(1), bytes(5000), b"\x0a\x23\xd7\xce", data, b"\xff", b"\xff\xda"):
        assert complaint(data + more) is None


def test_the_images_of_the_sample():
    """MXNet packed them; one ends with four bytes after its end, the magic of RecordIO."""
    records, _ = read((ROOT / "examples/sample.rec").read_bytes())
    flags = [struct.unpack("<I", payload[:4])[0] for _, payload in records]
    images = [payload[24 + 4 * flag :] for flag, (_, payload) in zip(flags, records, strict=True)]
    assert len(images) == 24
    assert {kind_of(image) for image in images} == {"jpeg"}
    assert [complaint(image) for image in images] == [None] * 24
    assert [i for i, image in enumerate(images) if remark(image)] == [11]
    assert all(96 <= dimensions(image)[0] <= 160 for image in images)
    assert all(72 <= dimensions(image)[1] <= 120 for image in images)


BASELINE, RGB_PNG = IMAGES["baseline.jpg"], IMAGES["rgb.png"]
THUMBNAIL = IMAGES["thumbnail.jpg"]
CUT_THUMBNAIL = THUMBNAIL[: THUMBNAIL.index(b"\xff\xd9") + 2]
FRAME = segment(0xC0, b"\x08\0\2\0\3\1")  # two lines of three samples
SOS = segment(0xDA, b"\1\1\0\0\x3f\0")

COMPLAINTS = {
    "empty": b"",
    "zeros only: 1 bytes": b"\0",
    "zeros only: 4096 bytes": bytes(4096),
    "cut inside its signature: 2 bytes, as a jpeg begins": b"\xff\xd8",
    "cut inside its signature: 5 bytes, as a png begins": b"\x89PNG\r",
    "cut inside its signature: 4 bytes, as a gif begins": b"GIF8",
    "cut inside its signature: 8 bytes, as a webp begins": b"RIFF\x10\0\0\0",
    "JPEG without its end marker: 692 bytes": BASELINE[:-2],
    "JPEG without its end marker: 693 bytes": BASELINE[:-1],
    "JPEG without its end marker: 792 bytes, the last 100 of them zeros": BASELINE[:-2]
    + bytes(100),
    "JPEG cut inside a segment: APP0 at byte 2 has 16 bytes, 8 of them are there": BASELINE[:12],
    "JPEG cut inside a segment: DQT at byte 20": BASELINE[:23],
    "JPEG cut inside a segment: SOF2 at byte 2 has 17 bytes, 2 of them are there": (
        b"\xff\xd8\xff\xc2\0\x11"
    ),
    "JPEG without image data: it ends at byte 4": b"\xff\xd8\xff\xd9 and more",
    "PNG cut inside a chunk: 'IHDR' at byte 8 has 25 bytes, 24 of them are there": RGB_PNG[:32],
    "PNG cut inside a chunk: the one at byte 8": RGB_PNG[:15],
    "PNG without IEND: 76 bytes": RGB_PNG[:-12],
    "PNG without IHDR: its first chunk is 'IDAT'": RGB_PNG[:8] + RGB_PNG[33:],
    "PNG without image data: it ends at byte 45": RGB_PNG[:33] + RGB_PNG[-12:],
    "PNG with a wrong CRC of IHDR: "
    f"{RGB_PNG[29:33].hex()}, not {zlib.crc32(RGB_PNG[12:23] + bytes(1) + RGB_PNG[24:29]):08x}": (
        RGB_PNG[:23] + bytes(1) + RGB_PNG[24:]
    ),
    "GIF without its trailer: 208 bytes": IMAGES["still.gif"][:-1],
    "GIF without its trailer: 1208 bytes, the last 1001 of them zeros": (
        IMAGES["still.gif"][:-1] + bytes(1000)
    ),
    "WebP shorter than it says: 122 bytes, 100 of them are there": IMAGES["lossy.webp"][:100],
    "BMP shorter than it says: 885 bytes, 884 of them are there": IMAGES["rgb.bmp"][:884],
    "BMP shorter than it says: 1624 bytes, 100 of them are there": IMAGES["large.bmp"][:100],
    "BMP cut inside its header: 20 bytes": IMAGES["rgb.bmp"][:20],
    "PNM shorter than it says: 832 bytes, 831 of them are there": IMAGES["rgb.ppm"][:831],
    "HTML page in place of an image: '<!DOCTYPE html> <title>404</title>'": (
        b"\n<!DOCTYPE html>\n<title>404</title>"
    ),
    'JSON in place of an image: \'{"error": "not found"}\'': b'{"error": "not found"}',
    "text in place of an image: '404: Not Found'": b"404: Not Found",
    "text in place of an image: 'na\\xefve \\u2603'": "na\xefve \u2603".encode(),
}


@pytest.mark.parametrize("expected", COMPLAINTS)
def test_a_complaint(expected):
    assert complaint(COMPLAINTS[expected]) == expected
    assert remark(COMPLAINTS[expected]) is None


def test_the_end_of_a_thumbnail_is_not_the_end():
    assert CUT_THUMBNAIL.endswith(b"\xff\xd9")
    assert complaint(CUT_THUMBNAIL) == f"JPEG without its end marker: {len(CUT_THUMBNAIL)} bytes"
    longer = THUMBNAIL[:22] + b"\x7f\xff" + THUMBNAIL[24:]  # APP1 goes on behind the thumbnail
    assert complaint(longer).startswith("JPEG cut inside a segment: APP1 at byte 20 has 32767 ")


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("jpeg", b"\xff\xd8\xff"),
        ("gif", b"GIF87a"),
        ("tiff", b"MM\0+"),
        ("heif", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"),
        ("heif", b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic"),
        ("avif", b"\0\0\0\x18ftypmif1\0\0\0\0mif1avif"),
        (None, b"\0\0\0\x18ftypisom\0\0\0\0isomavc1"),
        (None, b"\0\0\0\x14ftypisom\0\0\0\0isomheic"),  # what stands behind the box is no brand
        ("jpeg-xl", b"\xff\x0a\xfa"),
        ("jpeg-xl", b"\0\0\0\x0cJXL \r\n\x87\n"),
        ("pgm", b"P2\n# by hand\n3 2 9\n"),
        ("pbm", b"P1 3 2 0 1 0"),
        ("ppm", b"P3#\n3"),
        ("html", b"\xef\xbb\xbf<html>"),
        ("html", b'<?xml version="1.0"?>\n<html xmlns="http://www.w3.org/1999/xhtml"></html>'),
        ("html", b"<!doctype html>\xff\xfe\0 cut to pieces"),
        ("text", b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'),
        ("text", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n"),
        ("text", b"BMW, a picture of a car"),
        ("text", b"P6 is a format"),
        ("text", b"[2026-11-30] download failed"),
        ("text", "Bildgröße, nicht gefunden".encode()[:8]),  # cut inside of a character
        ("text", base64.b64encode(BASELINE)),
        ("json", b"[]"),
        ("json", b"[1.5e3, 2]"),
        ("json", b' {"a": 1}'),
        ("none", b""),
        (None, b"x"),
        (None, b"GIF8"),
        (None, b"0 1 2 3 4 5 6 7"),
        (None, bytes(40)),
        (None, b"\x0a\x23\xd7\xce"),
        (None, "naïve words".encode("latin-1")),
    ],
)
def test_a_kind(kind, data):
    assert kind_of(data) == kind


@pytest.mark.parametrize(
    "pixels",
    [
        bytes(range(32, 127)) * 8 + b"\x80",
        bytes(97 + at % 26 for at in range(784)),
        struct.pack("<196f", *range(1, 197)),
    ],
)
def test_raw_pixels_are_not_taken_for_text(pixels):
    """Some datasets hold arrays without any header."""
    assert complaint(pixels) is None


def test_one_grey_is_not_taken_for_text():
    assert [complaint(bytes([grey]) * 784) for grey in range(1, 256)] == [None] * 255


@pytest.mark.parametrize(
    ("size", "data"),
    [
        # Fill bytes, garbage between segments, a length that is too small: libjpeg reads on.
        ((3, 2), jpeg(b"\xff\xff\xff", FRAME[1:])),
        ((3, 2), jpeg(segment(0xE0, b""), b"\0\xff\0", segment(0xC9, b"\x08\0\2\0\3\1"))),
        ((3, 2), jpeg(b"\xff\xe0\0\0", segment(0xCF, b"\x08\0\2\0\3\1"))),
        # What looks like a frame inside of a segment, and the tables among the frames' numbers.
        ((3, 2), jpeg(segment(0xE1, segment(0xC0, b"\x08\0\7\0\7\1")), FRAME)),
        (None, jpeg(*(segment(marker, b"\x08\0\7\0\7\1") for marker in (0xC4, 0xC8, 0xCC)))),
        (None, jpeg(SOS, FRAME)),
        (None, jpeg(segment(0xC0, b"\x08\0\0\0\3\1"))),  # DNL behind the scan has the height
        ((3, 2), b"P6#\n3 # wide\n2\n255\n"),
        (None, b"P6 3 2"),  # of 2, or of 20
        (None, b"P6 3 0 255\n"),
        (None, b"II*\0" + struct.pack("<I", 0xFFFFFFFF)),
        (None, b"II+\0" + struct.pack("<HHQ", 8, 0, 2**64 - 1)),
        (None, b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, 2**64 - 1) + bytes(200)),
        (None, b"\0\0\0\x0cjP  \r\n\x87\n" + struct.pack(">I4s", 0, b"xml ") + bytes(20)),
        (None, b"\0\0\0\x0cjP  \r\n\x87\n" + struct.pack(">I4sQ", 1, b"xml ", 15) + bytes(20)),
        ((7, 5), b"\xff\x4f\xff\x51" + struct.pack(">HHIIII", 47, 0, 10, 9, 3, 4)),
    ],
)  # fmt: skip
def test_the_size_in_a_header(size, data):
    assert dimensions(data) == size


@pytest.mark.parametrize(
    "data",
    [
        jpeg(SOS, b"\xff\0\xff\xd0\xff\xd7\xff\x7f\xff\1", b"\xff\xff\xff\xd9"),
        jpeg(SOS, b"data", segment(0xC4, b"\xff\xd9"), SOS, b"more", b"\xff\xd9"),
        jpeg(SOS, b"data", segment(0xDC, b"\0\2"), b"\xff\xd9"),
        IMAGES["still.gif"][:-1] + b"\0\0;",  # Pillow and browsers skip what stands there
        IMAGES["rgb.bmp"][:2] + b"\xff\xff\xff\xff" + IMAGES["rgb.bmp"][6:],  # no decoder looks
        IMAGES["large.bmp"][:2] + b"\0\0\0\0" + IMAGES["large.bmp"][6:],
        b"P3 1 1 255 0 0",
        b"P5 1 1 255\n\0",
        b"P5 1 1 65535\n\0\0",
        b"SIMPLE  =                    T" + bytes(range(128, 256)),  # FITS: text, then pixels
    ],
)
def test_no_complaint(data):
    assert complaint(data) is None
