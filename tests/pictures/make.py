"""Makes the small images beside it. Runs where Pillow and OpenCV are; the tests need neither.

Usage: python tests/pictures/make.py

Made with Python 3.12.1, Pillow 13.0.0 (libjpeg-turbo 3.2.0, libwebp 1.6.0, OpenJPEG 2.5.4,
libavif 1.4.2), OpenCV 5.0.0 and NumPy 2.5.5. Others may write other bytes, for the same sizes in
pixels. Pillow opens each file at the end, also those that are put together by hand here.
"""

import io
import struct
import zlib
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parent
WIDTH, HEIGHT = 21, 13
LARGE = (300, 260)  # both take a second byte, with other bits than the first


def pixels(shift: int = 0) -> np.ndarray:
    """A drawing of integers only, red, green and blue: the same on every machine."""
    rows, columns = np.mgrid[:HEIGHT, :WIDTH]
    planes = [columns * 12, rows * 19, (columns + rows + shift) * 7]
    return np.stack(planes, axis=2).astype(np.uint8)


RGB = Image.fromarray(pixels())
RGBA = RGB.copy()
RGBA.putalpha(RGB.convert("L"))
LATER = Image.fromarray(pixels(9))


def save(name: str, image: Image.Image, **options: object) -> None:
    image.save(FOLDER / name, **options)


def exif_with_thumbnail() -> bytes:
    """TIFF with two IFDs: an orientation that turns the image, and a thumbnail, which is a JPEG."""
    stream = io.BytesIO()
    RGB.resize((8, 5)).save(stream, "JPEG", quality=20)
    thumbnail = stream.getvalue()
    first = struct.pack("<H HHIHH I", 1, 0x112, 3, 1, 6, 0, 26)
    second = struct.pack("<H HHII HHII I", 2, 0x201, 4, 1, 56, 0x202, 4, 1, len(thumbnail), 0)
    return b"Exif\0\0" + b"II*\0\x08\0\0\0" + first + second + thumbnail


def jpegs() -> None:
    save("baseline.jpg", RGB)
    save("progressive.jpg", RGB, progressive=True)
    save("grey.jpg", RGB.convert("L"))
    save("cmyk.jpg", RGB.convert("CMYK"))
    save("restart.jpg", RGB, restart_marker_blocks=1)
    save("thumbnail.jpg", RGB, exif=exif_with_thumbnail(), quality=30)
    save("comment.jpg", RGB, comment=b"an end that is none: \xff\xd9")
    save("two.mpo", RGB, save_all=True, append_images=[LATER], quality=30)
    bgr = pixels()[:, :, ::-1]
    cv2.imwrite(str(FOLDER / "opencv.jpg"), bgr)
    options = [cv2.IMWRITE_JPEG_PROGRESSIVE, 1, cv2.IMWRITE_JPEG_RST_INTERVAL, 1]
    cv2.imwrite(str(FOLDER / "opencv-progressive.jpg"), bgr, options)


def interlaced() -> bytes:
    """A PNG in Adam7 (PNG specification, 8.2), which neither library writes."""
    scanlines = b""
    for y, x, down, right in (
        (0, 0, 8, 8),
        (0, 4, 8, 8),
        (4, 0, 8, 4),
        (0, 2, 4, 4),
        (2, 0, 4, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
    ):
        for row in pixels()[y::down, x::right]:
            scanlines += b"\0" + row.tobytes()
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 1)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(scanlines)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


def pngs() -> None:
    save("rgb.png", RGB)
    save("palette.png", RGB.quantize(8))
    save("bilevel.png", RGB.convert("1"))
    save("animated.png", RGBA, save_all=True, append_images=[LATER.convert("RGBA")])
    cv2.imwrite(str(FOLDER / "opencv-grey16.png"), pixels()[:, :, 0].astype(np.uint16) * 257)
    (FOLDER / "interlaced.png").write_bytes(interlaced())
    opened = Image.open(FOLDER / "interlaced.png")
    assert opened.info["interlace"] == 1
    assert np.array_equal(np.asarray(opened), pixels())


def bmp(header: bytes, body: bytes) -> bytes:
    start = 14 + len(header)
    return struct.pack("<2sIHHI", b"BM", start + len(body), 0, 0, start) + header + body


def bmps() -> None:
    save("rgb.bmp", RGB)
    save("grey.bmp", RGB.convert("L"))
    cv2.imwrite(str(FOLDER / "opencv.bmp"), pixels()[:, :, ::-1])
    rows = b"".join(row.tobytes() + bytes(-3 * WIDTH % 4) for row in pixels()[:, :, ::-1])
    top_down = struct.pack("<IiiHHIIIIII", 40, WIDTH, -HEIGHT, 1, 24, 0, 0, 0, 0, 0, 0)
    (FOLDER / "top-down.bmp").write_bytes(bmp(top_down, rows))
    (FOLDER / "os2.bmp").write_bytes(bmp(struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, 24), rows))
    assert np.array_equal(np.asarray(Image.open(FOLDER / "top-down.bmp")), pixels())
    assert np.array_equal(np.asarray(Image.open(FOLDER / "os2.bmp")), pixels()[::-1])
    packed = bytes([255, 1, 45, 1, 0, 0]) * 260 + b"\0\1"  # each row is of the second colour
    header = struct.pack("<IiiHHIIIIII", 40, *LARGE, 1, 8, 1, len(packed), 0, 0, 2, 0)
    data = struct.pack("<2sIHHI", b"BM", 62 + len(packed), 0, 0, 62)
    (FOLDER / "large.bmp").write_bytes(data + header + b"\0\0\0\0\x20\x40\x60\0" + packed)


def others() -> None:
    save("still.gif", RGB.quantize(16))
    save("animated.gif", RGB.quantize(8), save_all=True, append_images=[LATER.quantize(8)])
    save("lossy.webp", RGB)
    save("lossless.webp", RGB, lossless=True)
    save("alpha.webp", RGBA)
    save("animated.webp", RGB, save_all=True, append_images=[LATER])
    save("little.tif", RGB)
    save("big-endian.tif", Image.fromarray(pixels()[:, :, 0].astype(">u2")))
    save("big.tif", RGB, big_tiff=True)
    save("packed.tif", RGB, compression="tiff_lzw")
    save("boxes.jp2", RGB)
    save("codestream.j2k", RGB)
    save("still.avif", RGB)
    save("rgb.ppm", RGB)
    save("grey.pgm", RGB.convert("L"))
    save("bilevel.pbm", RGB.convert("1"))
    cv2.imwrite(str(FOLDER / "opencv.ppm"), pixels()[:, :, ::-1])
    flat = Image.new("L", LARGE, 77)
    save("large.jpg", flat, quality=1, optimize=True)
    for name in ("large.png", "large.gif", "large.jp2"):
        save(name, flat)
    save("large.tif", flat, compression="tiff_adobe_deflate")
    save("large-lossy.webp", flat)
    save("large-lossless.webp", flat, lossless=True)
    save("large-alpha.webp", Image.new("RGBA", LARGE, (1, 2, 3, 4)))
    np.save(FOLDER / "array.npy", pixels()[:, :, 0])


def main() -> None:
    """Write the files and look at them."""
    for make in (jpegs, pngs, bmps, others):
        make()
    for path in sorted(FOLDER.iterdir()):
        if path.suffix not in (".py", ".npy") and path.is_file():
            with Image.open(path) as image:
                image.load()
                print(path.name, image.format, image.size, path.stat().st_size)
                assert path.stat().st_size < 2048
                assert image.size == (LARGE if "large" in path.name else (WIDTH, HEIGHT))


if __name__ == "__main__":
    main()
