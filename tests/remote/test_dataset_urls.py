"""A data set whose files are behind URLs."""

import multiprocessing
import random

import pytest
from reference import index, record
from samples import FACE, SIX, image

from rec2idx import RecordDataset

IMAGES = [random.Random(i).randbytes(3000) for i in range(3000)]
FILE = b"".join(record(image(i % 7, i, payload)) for i, payload in enumerate(IMAGES))


def images(dataset) -> list[bytes]:
    return [payload for _, payload in dataset]


def test_a_file_with_an_index(s3):
    """Records that lie close together take a few requests, however many they are."""
    url = s3.put("data", "a.rec", FILE)
    s3.put("data", "a.idx", index(FILE))
    wanted = random.Random(1).sample(range(3000), 200)
    with RecordDataset(url) as dataset:
        assert len(dataset) == 3000
        assert dataset[1234][1] == dataset.get(1234)[1] == IMAGES[1234]
        s3.traffic.clear()
        assert images(dataset.read_many(wanted)) == [IMAGES[at] for at in wanted]
        assert len(s3.traffic.requests) <= 5
        s3.traffic.clear()
        assert images(dataset) == IMAGES
        assert len(s3.traffic.requests) <= 12


def test_files_without_an_index(s3):
    urls = [s3.put("none", "six.rec", SIX), s3.put("none", "face.rec", FACE)]
    with RecordDataset(urls) as dataset:
        assert [header.id for header, _ in dataset] == [0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5]
        assert list(dataset.keys) == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11]
    with pytest.raises(ValueError, match="local files"):
        RecordDataset(urls, mmap=True)


def test_a_web_server(nginx, web_folder):
    (web_folder / "face.rec").write_bytes(FACE)
    with RecordDataset(f"{nginx.url}/face.rec") as dataset:
        assert [header.label for header, _ in dataset] == [0, 0, 0, 1, 1]
    (web_folder / "face.idx").write_bytes(b"x\t40\n")
    with RecordDataset(f"{nginx.url}/face.rec") as dataset:
        assert dataset.get("x")[0].id == 1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers(s3, method):
    """A child reads with connections of its own."""
    url = s3.put("workers", "a.rec", FILE)
    with RecordDataset(url) as dataset:
        assert dataset[7][1] == IMAGES[7]
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.map(dataset.read_many, [range(100), range(2000, 2100)])
    assert [images(part) for part in found] == [IMAGES[:100], IMAGES[2000:2100]]
