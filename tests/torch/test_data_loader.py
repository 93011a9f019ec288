"""A data set in PyTorch's own loader, with workers of both kinds."""

import random
import re
import subprocess
import sys
import zlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from records import COUNT, Faces, Told, image, records, write
from torch.utils.data import DataLoader

import rec2idx
import rec2idx.mx as mx

pytestmark = [
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning"),  # few cores
]
SUMS = [zlib.crc32(image(number)) for number in range(COUNT)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("torch") / "train.rec"
    write(path)
    return path


@pytest.mark.parametrize("kind", [records, Faces])
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_four_workers_read_2000_random_records_each(path, kind, method):
    """All checked by checksum; the file was read before they start."""
    dataset = kind(path)
    assert dataset[7] == (7, SUMS[7])
    wanted = random.Random(1).choices(range(COUNT), k=4 * 2000)
    loader = DataLoader(
        Told(dataset), 50, sampler=wanted, num_workers=4, multiprocessing_context=method
    )
    read: Counter[int] = Counter()
    seen: list[int] = []
    for workers, (labels, checksums) in loader:
        read.update(workers.tolist())
        seen += map(int, labels.tolist())
        assert checksums.tolist() == [SUMS[int(label)] for label in labels.tolist()]
    assert seen == wanted
    assert read == dict.fromkeys(range(4), 2000)


@pytest.mark.parametrize("kind", [records, Faces])
def test_eight_threads_read_2000_random_records_each(path, kind):
    dataset = kind(path)

    def read(seed: int) -> bool:
        wanted = random.Random(seed).choices(range(COUNT), k=2000)
        return [dataset[at] for at in wanted] == [(at, SUMS[at]) for at in wanted]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(read, range(8))) == [True] * 8


@pytest.mark.parametrize(
    ("method", "mapped"), [(None, False), ("fork", False), ("fork", True), ("spawn", False)]
)
def test_every_record_comes_once(path, method, mapped):
    """In batches, which the loader asks the data set for at once."""
    with records(path, mmap=mapped) as dataset:
        dataset[0]  # the file is open before the workers start
        loader = DataLoader(
            dataset,
            batch_size=32,
            shuffle=True,
            num_workers=4 if method else 0,
            multiprocessing_context=method,
            persistent_workers=method is not None,
        )
        for _ in range(2):
            seen = {}
            for labels, checksums in loader:
                assert labels.dtype == torch.float64
                seen.update(zip(labels.tolist(), checksums.tolist(), strict=True))
            assert seen == dict(enumerate(SUMS))


def test_items_as_they_are(path):
    """Headers become tensors; payloads stay a list."""
    with rec2idx.RecordDataset(path) as dataset:
        loader = DataLoader(dataset, 50, num_workers=2, multiprocessing_context="fork")
        numbers, images = [], []
        for header, payloads in loader:
            assert header.label.tolist() == header.id.tolist()
            numbers += header.id.tolist()
            images += payloads
        assert numbers == list(range(COUNT))
        assert images == list(map(image, numbers))


def test_a_subset_a_slice_and_data_sets_one_after_the_other(path):
    with rec2idx.RecordDataset(path) as dataset:
        part = torch.utils.data.Subset(dataset[100:], [5, 3])
        header, payloads = next(iter(DataLoader(part, 2)))
        assert header.id.tolist() == [105, 103]
        assert list(payloads) == [image(105), image(103)]
        both = torch.utils.data.ConcatDataset([dataset[:2], dataset[5:6]])
        assert [header.id for header, _ in both] == [0, 1, 5]


def test_importing_this_package_does_not_import_torch():
    script = "import sys, rec2idx; rec2idx.RecordDataset; import rec2idx.mx; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    modules = done.stdout.split()
    assert "rec2idx.datasets.dataset" in modules
    assert not {"torch", "numpy"} & set(modules)


def test_the_example_in_the_docs(tmp_path, monkeypatch):
    """It trains on a file of InsightFace, as it stands there."""
    root = Path(__file__).parents[2]
    with rec2idx.RecordDataset(root / "examples/sample.rec") as dataset:
        pictures = [picture for _, picture in dataset]
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    count = len(pictures)
    with mx.recordio.MXRecordIO("data/train.rec", "w") as record:
        record.write(mx.recordio.pack((2, [1 + count, 2 + count], 0, 0), b""))
        for number, picture in enumerate(pictures, 1):
            record.write(mx.recordio.pack((0, number % 5, number, 0), picture))
        record.write(mx.recordio.pack((2, [1, 1 + count], 1 + count, 0), b""))
    [code] = re.findall(
        r"```python\n(import cv2.*?)```", (root / "docs/dataset.md").read_text(), re.S
    )
    names: dict = {}
    exec(code, names)
    [(images, labels)] = list(names["loader"])
    assert (images.dtype, images.shape) == (torch.uint8, (24, 3, 112, 112))
    assert sorted(labels.tolist()) == sorted(number % 5 for number in range(1, 25))
