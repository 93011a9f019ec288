"""A file of records for PyTorch's loader, and a data set as training scripts write one."""

import random
import zlib
from pathlib import Path

from torch.utils.data import Dataset, get_worker_info

import rec2idx
import rec2idx.mx as mx

COUNT = 1000


def image(number: int) -> bytes:
    """The bytes of an image, and among them, for each seventh one, a magic to be split at."""
    content = random.Random(number).randbytes(number % 997)
    return content + bytes(-len(content) % 4) + b"\x0a\x23\xd7\xce" if number % 7 == 0 else content


def write(path: Path) -> None:
    """Write a file whose record i has the label i, and its index."""
    with mx.recordio.MXIndexedRecordIO(path.with_suffix(".idx"), path, "w") as record:
        for number in range(COUNT):
            header = mx.recordio.IRHeader(0, number, number, 0)
            record.write_idx(number, mx.recordio.pack(header, image(number)))


class Faces(Dataset):
    """As InsightFace's loader does: the reader is made once, and used wherever an item is read."""

    def __init__(self, path: Path) -> None:
        self.imgrec = mx.recordio.MXIndexedRecordIO(str(path.with_suffix(".idx")), str(path), "r")
        header, _ = mx.recordio.unpack(self.imgrec.read_idx(0))
        assert header.flag == 0
        self.imgidx = list(self.imgrec.keys)

    def __getitem__(self, index: int) -> tuple[float, int]:
        header, content = mx.recordio.unpack(self.imgrec.read_idx(self.imgidx[index]))
        return sample(header, zlib.crc32(content))

    def __len__(self) -> int:
        return len(self.imgidx)


def records(path: Path, **options) -> rec2idx.RecordDataset:
    """The same items."""
    return rec2idx.RecordDataset(path, decode=zlib.crc32, transform=sample, **options)


def sample(header: rec2idx.IRHeader, checksum: int) -> tuple[float, int]:
    return header.label, checksum


class Told(Dataset):
    """Items of another data set, each with the worker that read it."""

    def __init__(self, inner: Dataset) -> None:
        self.inner = inner

    def __getitem__(self, index: int) -> tuple[int, tuple]:
        return get_worker_info().id, self.inner[index]

    def __len__(self) -> int:
        return len(self.inner)
