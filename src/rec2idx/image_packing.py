"""Image records with images in them, as ``mxnet.recordio`` packs and unpacks them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import PayloadError
from .image_record import IRHeader, pack, unpack

if TYPE_CHECKING:
    from .image_codecs import Codec


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Return the payload of an image record with an image.

    With OpenCV of the same version, it is the one that MXNet makes, byte for byte.

    Args:
        header: as for `pack`.
        img: an array of uint8, (height, width, 3) in the order blue, green, red, or (height,
            width) in grey.
        quality: for JPEG 1 to 100; for PNG how hard to compress, 0 to 9.
        img_fmt: the suffix that a file in the image's format has.

    Raises:
        PayloadError: the image cannot be encoded.
        MissingExtraError: neither OpenCV nor Pillow is installed.

    >>> import numpy
    >>> payload = pack_img(IRHeader(0, 4, 2574, 0), numpy.zeros((2, 3, 3), "u1"), 9, ".png")
    >>> header, image = unpack_img(payload)
    >>> header.label, image.shape
    (4.0, (2, 3, 3))
    """
    return pack(header, _codec().encode(img, img_fmt, quality))


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, Any]:
    """Return the header of an image record, and its image.

    Args:
        s: the payload, as `MXRecordIO.read` returns it.
        iscolor: -1 for the image as it is, 0 for grey, 1 for color; with OpenCV any flag of
            ``cv2.imdecode``.

    Returns:
        The header as `unpack` returns it; and an array, as `pack_img` takes it, or None where the
        image cannot be decoded.

    Raises:
        PayloadError: the payload is no image record, or has no bytes behind its labels.
        MissingExtraError: neither OpenCV nor Pillow is installed.

    >>> from rec2idx.recordio import MXRecordIO
    >>> record = MXRecordIO("examples/sample.rec", "r")
    >>> header, image = unpack_img(record.read())
    >>> image.shape
    (109, 113, 3)
    """
    header, image = unpack(s)
    if not len(image):
        raise PayloadError("the record has no image", advice="skip records without one")
    return header, _codec().decode(image, iscolor)


def _codec() -> Codec:
    from .image_codecs import codec  # not needed to read records

    return codec()
