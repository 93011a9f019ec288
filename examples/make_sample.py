"""Makes sample.rec: drawings as JPEGs, packed by MXNet. Runs where MXNet and OpenCV are.

Usage: python examples/make_sample.py examples/sample.rec
"""

import random
import sys

import cv2
import mxnet as mx
import numpy as np

RECORDS = 24
MAGIC = (0xCED7230A).to_bytes(4, "little")
HEADER_SIZE = 24  # bytes of IRHeader, which stand before the labels and the image


def draw(shape: int, rng: random.Random) -> tuple[np.ndarray, tuple[int, int, int, int]]:
    """Return a picture of a circle (0), a square (1) or a triangle (2), and the box around it."""
    width, height = rng.randrange(96, 161), rng.randrange(72, 121)
    # Integers only, so that the picture is the same on every machine.
    ramp = np.add.outer(np.arange(height) * rng.randrange(1, 3), np.arange(width))
    picture = np.stack([(ramp + rng.randrange(256)) % 256 // 2 for _ in range(3)], axis=2)
    picture = np.ascontiguousarray(picture.astype(np.uint8))
    radius = rng.randrange(16, 32)
    x, y = rng.randrange(radius, width - radius), rng.randrange(radius, height - radius)
    color = tuple(rng.randrange(128, 256) for _ in range(3))
    left, top, right, bottom = x - radius, y - radius, x + radius, y + radius
    if shape == 0:
        cv2.circle(picture, (x, y), radius, color, thickness=-1)
    elif shape == 1:
        cv2.rectangle(picture, (left, top), (right, bottom), color, thickness=-1)
    else:
        corners = np.array([(x, top), (left, bottom), (right, bottom)], np.int32)
        cv2.fillPoly(picture, [corners], color)
    return picture, (left, top, right, bottom)


def with_comment(jpeg: bytes, comment: bytes) -> bytes:
    """Return the JPEG with a comment (a COM segment) right after its first marker."""
    length = (2 + len(comment)).to_bytes(2, "big")
    return jpeg[:2] + b"\xff\xfe" + length + comment + jpeg[2:]


def with_aligned_magics(jpeg: bytes) -> bytes:
    """Return the JPEG with a comment that holds the magic of RecordIO twice, at multiples of 4.

    The comment begins 6 bytes into the image, so 2 more bytes bring the magic to a multiple of 4.
    MXNet ends a part at each: a first part, a middle one without a byte, and a last one.
    """
    assert HEADER_SIZE % 4 == 0
    return with_comment(jpeg, b"--" + MAGIC + MAGIC)


def with_magic_at_end(jpeg: bytes) -> bytes:
    """Return the JPEG with the magic after its end, at a multiple of 4: an empty last part."""
    return jpeg + bytes(-len(jpeg) % 4) + MAGIC


def main() -> None:
    """Write the file."""
    rng = random.Random(20261130)
    record = mx.recordio.MXRecordIO(sys.argv[1], "w")
    for number in range(RECORDS):
        shape = number % 3
        picture, box = draw(shape, rng)
        done, encoded = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 85])
        assert done
        jpeg = encoded.tobytes()
        label = float(shape)
        if number % 8 == 3:  # a label array: the shape and how large it is
            label = [shape, box[2] - box[0]]
        elif number % 8 == 6:  # a label array: the shape and its box
            label = [shape, *box]
        if number in (5, 11):
            jpeg = with_aligned_magics(jpeg) if number == 5 else with_magic_at_end(jpeg)
        record.write(mx.recordio.pack(mx.recordio.IRHeader(0, label, number, 0), jpeg))
    record.close()


if __name__ == "__main__":
    main()
