"""What the payloads of a file are, told from their first bytes."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Sequence

IMAGE_RECORDS = "image records"
IMAGE_RECORDS_64 = "image records with 64-bit labels"
PROTOBUF = "protobuf (SageMaker)"
RAW = "raw"

LOOK = 256  # records of the first batch
MOST_LABELS = 1 << 20  # no image has more

# The fields of SageMaker's message Record, all of them of the type that a length precedes.
_TAGS = {number << 3 | 2 for number in range(1, 6)}


def payload_of(
    sizes: Sequence[int], heads: array[int] | None, kept: int, agreed: float = 1.0
) -> str:
    """Return what the payloads of a file are, told from its first records.

    Args:
        sizes: payload size of each record in bytes.
        heads: the first `kept` bytes of each payload, 8 bytes before each, as in a batch.
        kept: bytes of each payload that are in `heads`.
        agreed: share of the records that must be of that kind, 0 to 1.

    Sources: MXNet ``python/mxnet/recordio.py`` for IRHeader; the Python struct ``IdQQ`` where
    people widened its label; SageMaker ``record.proto``.
    """
    stride = 8 + kept
    first = bytes(heads[: LOOK * stride]) if heads is not None else b""
    payloads = [
        (size, first[at * stride + 8 :][: min(size, kept)]) for at, size in enumerate(sizes[:LOOK])
    ]
    # Short records are of no kind.
    payloads = [(size, head) for size, head in payloads if len(head) >= 4]
    counts = {name: sum(fits(size, head) for size, head in payloads) for name, fits in _DIALECTS}
    most = max(counts, key=counts.__getitem__)  # of several, the first one
    return most if payloads and counts[most] >= agreed * len(payloads) else RAW


def _is_image_record_64(size: int, head: bytes) -> bool:
    if len(head) < 32:
        return False
    flag, label, _, id2 = struct.unpack_from("<I4xdQQ", head)
    padded = head[4:8] == bytes(4)
    sane = label == 0 or 1e-9 < abs(label) < 1e18  # an id of IRHeader is no such number
    return padded and id2 == 0 and sane and 32 + 8 * flag <= size and flag < MOST_LABELS


def is_image_record(size: int, head: bytes) -> bool:
    """Return whether a payload of `size` bytes seems to begin with an IRHeader."""
    if len(head) < 24:
        return False
    flag, label, _, id2 = struct.unpack_from("<IfQQ", head)
    return 24 + 4 * flag <= size and flag < MOST_LABELS and math.isfinite(label) and id2 == 0


def _is_protobuf(size: int, head: bytes) -> bool:
    """The first field is one of Record, and ends inside the message."""
    length = shift = 0
    for at, byte in enumerate(head[1:6], 2):
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return head[0] in _TAGS and at + length <= size
    return False


class Trend:
    """Whether a file holds image records, as its records up to now say, one after the other.

    So the answer for a record depends on no other than those before it. The first `LOOK` of them
    count, and of those, most.

    >>> trend = Trend()
    >>> record = struct.pack("<IfQQ", 0, 3.0, 7, 0) + b"image"
    >>> trend.is_of_images(29, record), trend.is_of_images(4, b"text")
    (True, True)
    """

    def __init__(self) -> None:
        self._seen = self._images = self._others = 0

    def is_of_images(self, size: int, head: bytes) -> bool:
        """Return it, with regard to a record of `size` bytes, too, which begins with `head`."""
        if self._seen < LOOK and size >= 4:  # short records are of no kind
            self._seen += 1
            self._images += is_image_record(size, head)
            self._others += _is_image_record_64(size, head)
        return self._images >= self._others and 2 * self._images >= self._seen


_DIALECTS: tuple[tuple[str, Callable[[int, bytes], bool]], ...] = (
    (IMAGE_RECORDS_64, _is_image_record_64),
    (IMAGE_RECORDS, is_image_record),
    (PROTOBUF, _is_protobuf),
)
