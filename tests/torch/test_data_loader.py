"""A data set in PyTorch's own loader, with workers of both kinds."""

import random
import struct
import zlib
from pathlib import Path

import pytest
import torch
from torch.utils.data import DataLoader

import rec2idx

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),  # few cores
]
COUNT = 1000


def image(number: int) -> bytes:
    return random.Random(number).randbytes(number % 997)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose record i has the label i, and its index."""
    path = tmp_path_factory.mktemp("torch") / "train.rec"
    with open(path, "wb") as file:
        for number in range(COUNT):
            payload = struct.pack("<IfQQ", 0, number, number, 0) + image(number)
            file.write(struct.pack("<II", 0xCED7230A, len(payload)))
            file.write(payload + bytes(-len(payload) % 4))
    rec2idx.create_index(path)
    return path


def sample(header: rec2idx.IRHeader, checksum: int) -> tuple[float, int]:
    return header.label, checksum


@pytest.mark.parametrize(
    ("method", "mapped"), [(None, False), ("fork", False), ("fork", True), ("spawn", False)]
)
def test_every_record_comes_once(path, method, mapped):
    with rec2idx.RecordDataset(path, decode=zlib.crc32, transform=sample, mmap=mapped) as dataset:
        dataset[0]  # the file is open before the workers start
        loader = DataLoader(
            dataset,
            batch_size=32,
            shuffle=True,
            num_workers=4 if method else 0,
            multiprocessing_context=method,
        )
        for _ in range(2):
            seen = {}
            for labels, checksums in loader:
                assert labels.dtype == torch.float64
                seen.update(zip(labels.tolist(), checksums.tolist(), strict=True))
            assert seen == {number: zlib.crc32(image(number)) for number in range(COUNT)}


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_items_as_they_are(path, method):
    """Headers become tensors; payloads stay a list."""
    with rec2idx.RecordDataset(path) as dataset:
        loader = DataLoader(dataset, 50, num_workers=2, multiprocessing_context=method)
        numbers, images = [], []
        for header, payloads in loader:
            assert header.label.tolist() == header.id.tolist()
            numbers += header.id.tolist()
            images += payloads
        assert numbers == list(range(COUNT))
        assert images == list(map(image, numbers))


def test_a_subset_and_a_slice(path):
    with rec2idx.RecordDataset(path) as dataset:
        part = torch.utils.data.Subset(dataset[100:], [5, 3])
        header, payloads = next(iter(DataLoader(part, 2)))
        assert header.id.tolist() == [105, 103]
        assert list(payloads) == [image(105), image(103)]
