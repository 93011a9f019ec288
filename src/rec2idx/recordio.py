"""What ``mxnet.recordio`` has, without MXNet: ``from rec2idx import recordio`` takes its place.

Files and indexes that are written are the same byte for byte; ``docs/recordio.md`` lists what
differs. NumPy is imported where labels are arrays, and OpenCV or Pillow where images are encoded
or decoded; nothing else needs them.
"""

from .image_packing import pack_img, unpack_img
from .image_record import IRHeader, pack, unpack
from .indexed import MXIndexedRecordIO
from .sequential import MXRecordIO

__all__ = [
    "IRHeader",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "pack",
    "pack_img",
    "unpack",
    "unpack_img",
]
