"""Of ``mxnet.image``, the function that decodes an image."""

from __future__ import annotations

from typing import Any

from ..errors import PayloadError
from ..image_record import import_numpy


class DecodedImage:
    """An image, as far as it is used like MXNet's array.

    NumPy takes it as an array.

    Attributes:
        shape: (height, width, channels).
        dtype: the type of its numbers, uint8.
    """

    def __init__(self, pixels: Any) -> None:
        self._pixels = pixels
        self.shape: tuple[int, ...] = pixels.shape
        self.dtype = pixels.dtype.type

    def asnumpy(self) -> Any:
        """Return the image as an array of NumPy, which is the caller's own."""
        return self._pixels.copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._pixels.astype(dtype or self.dtype, copy=copy is not False)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<DecodedImage {'x'.join(map(str, self.shape))}>"


def imdecode(buf: Any, flag: int = 1, to_rgb: bool = True) -> DecodedImage:
    """Decode an image, as ``mxnet.image.imdecode``.

    Args:
        buf: bytes, a bytearray or an array of uint8.
        flag: 1 for color, 0 for grey.
        to_rgb: whether colors come in the order red, green, blue; else blue, green, red.

    Returns:
        The image, (height, width, 3) or, in grey, (height, width, 1); uint8. Its `asnumpy` is the
        array.

    Raises:
        ValueError: `buf` is something else, or `flag`.
        PayloadError: there is no image that can be decoded.
        MissingExtraError: neither OpenCV nor Pillow is installed.

    >>> imdecode(b"text")
    Traceback (most recent call last):
    rec2idx.errors.PayloadError: no image that can be decoded: expected an image, found 74 65 78 74
    """
    from ..image_codecs import COLOR, GREY, codec

    if flag not in (GREY, COLOR):
        raise ValueError(f"flag is {flag!r}, expected 1 for color or 0 for grey")
    if not isinstance(buf, (bytes, bytearray)):
        numpy = import_numpy("an array")
        if not isinstance(buf, numpy.ndarray):
            raise ValueError(f"buf is {type(buf).__name__}, expected bytes or an array of uint8")
        buf = buf.tobytes()
    pixels = codec().decode(buf, flag) if buf else None
    if pixels is None:
        raise PayloadError(
            "no image that can be decoded",
            expected="an image",
            found=bytes(buf[:4]).hex(" ") or "nothing",
        )
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    elif to_rgb:
        pixels = pixels[:, :, ::-1]
    return DecodedImage(pixels)
