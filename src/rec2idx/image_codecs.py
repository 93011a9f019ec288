"""Images to bytes and back, by OpenCV or Pillow: by whichever is installed, OpenCV first.

Images are arrays as OpenCV has them: of uint8, (height, width) in grey, (height, width, 3) in the
order blue, green, red, or (height, width, 4) with alpha last.
"""

from __future__ import annotations

import functools
import io
from typing import Any, Protocol

from .errors import MissingExtraError, PayloadError
from .image_record import import_numpy

AS_IT_IS, GREY, COLOR = -1, 0, 1  # the flags of OpenCV that Pillow's part knows
_JPEG = (".jpg", ".jpeg")


class Codec(Protocol):
    """What encodes and decodes images."""

    def encode(self, image: Any, suffix: str, quality: int) -> bytes:
        """Return an image in the format of a file name's suffix.

        Raises:
            PayloadError: that cannot be.
        """

    def decode(self, data: Any, flag: int) -> Any:
        """Return the image in `data`, or None where there is none that can be decoded.

        Args:
            data: bytes, not none.
            flag: as ``cv2.imdecode`` takes it.
        """


@functools.cache
def codec() -> Codec:
    """Return what is installed.

    Raises:
        MissingExtraError: nothing is.
    """
    missing = []
    for kind in (_OpenCV, _Pillow):
        try:
            return kind()
        except ImportError as error:
            missing.append(str(error))
    raise MissingExtraError(
        f"images need OpenCV or Pillow, and neither is installed ({'; '.join(missing)})",
        advice="run: pip install 'rec2idx[images]', or: pip install pillow numpy",
    )


class _OpenCV:
    def __init__(self) -> None:
        import cv2

        self._cv2 = cv2

    def encode(self, image: Any, suffix: str, quality: int) -> bytes:
        cv2 = self._cv2
        options = None
        if suffix.lower() in _JPEG:
            options = [cv2.IMWRITE_JPEG_QUALITY, quality]
        elif suffix.lower() == ".png":
            options = [cv2.IMWRITE_PNG_COMPRESSION, quality]
        try:
            done, data = cv2.imencode(suffix, image, options)
        except cv2.error as error:
            raise _not_encoded(suffix, "OpenCV", error) from error
        if not done:
            raise _not_encoded(suffix, "OpenCV", "it does not say why")
        return bytes(data.tobytes())

    def decode(self, data: Any, flag: int) -> Any:
        numpy = import_numpy("an image")
        try:
            return self._cv2.imdecode(numpy.frombuffer(data, dtype=numpy.uint8), flag)
        except self._cv2.error:  # it has more pixels than OpenCV takes
            return None


class _Pillow:
    def __init__(self) -> None:
        from PIL import Image, ImageOps

        self._image = Image
        self._ops = ImageOps

    def encode(self, image: Any, suffix: str, quality: int) -> bytes:
        numpy = import_numpy("an image")
        if not isinstance(image, numpy.ndarray) or image.dtype != numpy.uint8 or not image.size:
            raise _not_encoded(suffix, "Pillow", "the image is no array of uint8, or has no pixels")
        if image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] not in (1, 3, 4)):
            raise _not_encoded(suffix, "Pillow", f"it has the shape {image.shape}")
        if image.ndim == 3 and image.shape[2] == 1:
            image = image[:, :, 0]
        elif image.ndim == 3:  # red, green and blue; JPEG knows no alpha
            channels = [2, 1, 0, 3][: 3 if suffix.lower() in _JPEG else image.shape[2]]
            image = image[:, :, channels]
        options: dict[str, int] = {}
        if suffix.lower() in _JPEG:
            options = {"quality": min(max(quality, 1), 100)}
        elif suffix.lower() == ".png":
            options = {"compress_level": min(max(quality, 0), 9)}
        out = io.BytesIO()
        try:
            kind = self._image.registered_extensions()[suffix.lower()]
            self._image.fromarray(numpy.ascontiguousarray(image)).save(out, kind, **options)
        except (KeyError, OSError, ValueError, TypeError) as error:
            raise _not_encoded(suffix, "Pillow", error) from error
        return out.getvalue()

    def decode(self, data: Any, flag: int) -> Any:
        if flag not in (AS_IT_IS, GREY, COLOR):
            raise PayloadError(
                "Pillow decodes images as they are, in grey or in color",
                expected="the flag -1, 0 or 1",
                found=str(flag),
                advice="install OpenCV for others: pip install opencv-python-headless",
            )
        numpy = import_numpy("an image")
        try:
            image = self._image.open(io.BytesIO(data))
            image.load()
        except (OSError, SyntaxError, ValueError):  # SyntaxError: a broken PNG
            return None
        except self._image.DecompressionBombError:  # it has more pixels than Pillow takes
            return None
        image = self._turned(image, flag)
        pixels = numpy.array(image)
        if pixels.ndim == 3:
            pixels = pixels[:, :, [2, 1, 0, 3][: pixels.shape[2]]]
        return numpy.ascontiguousarray(pixels)

    def _turned(self, image: Any, flag: int) -> Any:
        """Return an image upright and in the colors that are wanted, as OpenCV does."""
        if flag == GREY:
            return self._ops.exif_transpose(image).convert("L")
        if flag == COLOR:
            return self._ops.exif_transpose(image).convert("RGB")
        if image.mode in ("L", "RGB", "RGBA", "I;16"):
            return image
        if image.mode == "1":
            return image.convert("L")
        alpha = image.mode in ("LA", "PA") or "transparency" in image.info
        return image.convert("RGBA" if alpha else "RGB")


def _not_encoded(suffix: str, by: str, why: object) -> PayloadError:
    return PayloadError(f"{by} cannot encode the image as {suffix!r} ({why})")
