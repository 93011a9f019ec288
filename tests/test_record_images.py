"""Images in records, by OpenCV and by Pillow, and what training scripts use of mx.image."""

import io
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from conftest import ROOT
from PIL import Image

import rec2idx.mx as mx
from rec2idx import image_codecs
from rec2idx.errors import PayloadError
from rec2idx.recordio import IRHeader, MXRecordIO, pack, pack_img, unpack, unpack_img

SAMPLE = ROOT / "examples/sample.rec"
HEADER = IRHeader(0, 1.0, 2, 3)
COLOR = np.random.RandomState(0).randint(0, 256, (20, 30, 3), np.uint8)
ALPHA = np.dstack([COLOR, COLOR[:, :, :1]])
GREY = COLOR[:, :, 0]


@pytest.fixture(params=["_OpenCV", "_Pillow"])
def _codec(request, monkeypatch):
    """Each of the two, whichever is preferred."""
    codec = getattr(image_codecs, request.param)()
    monkeypatch.setattr(image_codecs, "codec", lambda: codec)


both = pytest.mark.usefixtures("_codec")


@both
@pytest.mark.parametrize(
    "image", [COLOR, ALPHA, GREY, GREY[:, :, None]], ids=["color", "alpha", "grey", "flat"]
)
@pytest.mark.parametrize("quality", [0, 9, 95])
def test_png_keeps_every_pixel(image, quality):
    """In the order blue, green, red, with alpha last."""
    payload = pack_img(HEADER, image, quality, ".png")
    assert payload[24:28] == b"\x89PNG"
    header, found = unpack_img(payload)
    assert header == HEADER
    assert np.array_equal(found, image.squeeze())
    with Image.open(io.BytesIO(payload[24:])) as seen:
        assert np.array_equal(
            np.array(seen.convert("RGB"))[0, 0],
            image[0, 0].squeeze()[..., [2, 1, 0]]
            if image.ndim == 3 and image.shape[2] > 1
            else [image[0, 0].squeeze()] * 3,
        )


@both
@pytest.mark.parametrize("suffix", [".jpg", ".JPEG"])
def test_jpeg(suffix):
    smooth = np.dstack([np.full((16, 16), level, np.uint8) for level in (200, 100, 20)])
    for image in (smooth, np.dstack([smooth, smooth[:, :, :1]])):
        payload = pack_img(HEADER, image, img_fmt=suffix)
        assert payload[24:26] == b"\xff\xd8"
        assert np.abs(unpack_img(payload)[1].astype(int) - smooth).max() < 4
    assert (
        len(pack_img(HEADER, COLOR, 10))
        < len(pack_img(HEADER, COLOR))
        < len(pack_img(HEADER, COLOR, 100))
    )


@both
def test_flags():
    payload = pack_img(HEADER, ALPHA, 3, ".png")
    shapes = [unpack_img(payload, flag)[1].shape for flag in (-1, 0, 1)]
    assert shapes == [(20, 30, 4), (20, 30), (20, 30, 3)]


@both
@pytest.mark.parametrize("suffix", [".xyz", "jpg", ""])
def test_no_such_format(suffix):
    with pytest.raises(PayloadError, match="cannot encode the image"):
        pack_img(HEADER, COLOR, img_fmt=suffix)


@both
@pytest.mark.parametrize("image", [COLOR[:0], COLOR.tolist(), None, np.zeros((2, 2, 7), np.uint8)])
def test_no_image_to_encode(image):
    with pytest.raises(PayloadError, match="cannot encode the image"):
        pack_img(HEADER, image)


@both
def test_no_image_to_decode():
    """None where MXNet gives None; an error where it raises one of OpenCV."""
    assert unpack_img(pack(HEADER, b"nope")) == (HEADER, None)
    with pytest.raises(PayloadError, match="the record has no image"):
        unpack_img(pack(HEADER, b""))


def test_both_decode_the_sample_alike():
    """JPEG decoders may differ a little."""
    with MXRecordIO(SAMPLE, "r") as reader:
        for payload in iter(reader.read, None):
            image = unpack(payload)[1]
            for flag in (-1, 0, 1):
                one = image_codecs._OpenCV().decode(image, flag)
                other = image_codecs._Pillow().decode(image, flag)
                assert one.shape == other.shape
                assert np.abs(one.astype(int) - other).mean() < 2


def test_an_image_that_lies_on_its_side():
    """EXIF turns it, unless the image is wanted as it is."""
    exif = Image.Exif()
    exif[0x0112] = 6
    out = io.BytesIO()
    Image.fromarray(COLOR).save(out, "JPEG", exif=exif)
    for codec in (image_codecs._OpenCV(), image_codecs._Pillow()):
        shapes = [codec.decode(out.getvalue(), flag).shape[:2] for flag in (-1, 0, 1)]
        assert shapes == [(20, 30), (30, 20), (30, 20)]


@both
def test_imdecode():
    """Red first, unless that is not wanted; grey has a channel."""
    payload = unpack(pack_img(HEADER, COLOR, 3, ".png"))[1]
    for given in (payload, bytearray(payload), np.frombuffer(payload, np.uint8)):
        image = mx.image.imdecode(given)
        assert np.array_equal(image.asnumpy(), COLOR[:, :, ::-1])
    assert (image.shape, image.dtype, len(image)) == ((20, 30, 3), np.uint8, 20)
    assert np.array_equal(np.asarray(image), image.asnumpy())
    assert image.asnumpy().flags.writeable
    assert image.asnumpy().flags.c_contiguous
    assert np.array_equal(mx.image.imdecode(payload, to_rgb=0).asnumpy(), COLOR)
    assert mx.image.imdecode(payload, flag=0).shape == (20, 30, 1)


@pytest.mark.parametrize("given", ["text", None, memoryview(b"x")])
def test_imdecode_wants_bytes(given):
    with pytest.raises(ValueError, match="expected bytes"):
        mx.image.imdecode(given)


@both
@pytest.mark.parametrize("given", [b"", b"nope"])
def test_imdecode_of_no_image(given):
    with pytest.raises(PayloadError, match="no image that can be decoded"):
        mx.image.imdecode(given)
    with pytest.raises(ValueError, match="flag is -1"):
        mx.image.imdecode(given, flag=-1)


def test_without_opencv_pillow_is_taken():
    program = (
        "import sys; sys.modules['cv2'] = None\n"
        "import rec2idx.mx as mx\n"
        "record = mx.recordio.MXRecordIO(sys.argv[1], 'r')\n"
        "print(mx.recordio.unpack_img(record.read())[1].shape, 'PIL' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program, SAMPLE], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(109, 113, 3) True\n", "")


def test_pillow_says_which_flags_it_knows():
    with pytest.raises(PayloadError, match="install OpenCV for others"):
        image_codecs._Pillow().decode(b"x", 2)


def test_labels_before_an_image():
    payload = pack_img((0, [5, 6], 7, 8), COLOR, 3, ".png")
    assert struct.unpack_from("<IfQQ2f", payload) == (2, 0, 7, 8, 5, 6)
    assert np.array_equal(unpack_img(payload)[1], COLOR)


@both
@pytest.mark.filterwarnings("error")
def test_an_image_of_too_many_pixels():
    """Its header says so: neither library decodes it."""
    ihdr = struct.pack(">II", 60_000, 60_000) + bytes([8, 2, 0, 0, 0])
    chunks = [(b"IHDR", ihdr), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    image = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    assert unpack_img(pack(HEADER, image))[1] is None
    with pytest.raises(PayloadError, match="no image that can be decoded"):
        mx.image.imdecode(image)


def test_a_memoryview_with_gaps():
    assert unpack(pack(HEADER, memoryview(b"abcdef")[::2]))[1] == b"ace"
