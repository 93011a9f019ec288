"""A data set whose files are behind URLs."""

import multiprocessing
import random

import pytest
from reference import index, record
from samples import FACE, SIX, image

from rec2idx import RecordDataset

IMAGES = [random.Random(i).randbytes(3000) for i in range(3000)]
SIZE = 8 + 24 + 3000  # bytes of a record
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
        assert len(s3.traffic.requests) == 3  # of 4 MiB at most
        s3.traffic.clear()
        assert images(dataset) == IMAGES
        assert len(s3.traffic.requests) == 3
        assert s3.traffic.sent == len(FILE)


@pytest.mark.parametrize(
    ("indices", "requests", "records"),
    [
        ([7], 1, 1),
        ([8, 7, 8], 1, 2),
        ([0, 345], 1, 346),  # less than 1 MiB lies between them
        ([0, 350], 2, 2),
        (range(3000), 3, 3000),
    ],
)
def test_how_much_is_asked_for(own, indices, requests, records):
    """As the server counts it."""
    url = own.put("a.rec", FILE)
    own.put("a.idx", index(FILE))
    with RecordDataset(url) as dataset:
        dataset[0]  # from here on the file is open
        own.traffic.clear()
        assert images(dataset.read_many(indices)) == [IMAGES[at] for at in indices]
        assert len(own.traffic.requests) == requests
        assert own.traffic.sent == records * SIZE
        own.traffic.clear()
        assert images(dataset[::2999]) == [IMAGES[0], IMAGES[2999]]
        assert (len(own.traffic.requests), own.traffic.sent) == (2, 2 * SIZE)


def test_opening_reads_the_index_and_little_else(own):
    """Of the records, the first one, and that of key 0 where it is another one."""
    url = own.put("a.rec", FILE)
    own.put("a.idx", index(FILE))
    with RecordDataset(url):
        sent = [r for r in own.traffic.requests if r.method == "GET"]
        assert sum(r.sent for r in sent if r.path == "/a.idx") < len(index(FILE)) + 200
        assert sum(r.sent for r in sent if r.path == "/a.rec") < 3 * 4096


def test_files_without_an_index(s3):
    """Of InsightFace: the labels of the second one come behind those of the first."""
    urls = [s3.put("none", "one.rec", FACE), s3.put("none", "two.rec", FACE)]
    with RecordDataset(urls) as dataset:
        assert [header.label for header, _ in dataset] == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]
        assert list(dataset.keys) == [1, 2, 3, 4, 5, 9, 10, 11, 12, 13]
        assert (dataset.classes, dataset.left_out) == (4, 6)
    with pytest.raises(ValueError, match="local files"):
        RecordDataset(urls, mmap=True)


def test_many_files(own):
    """More than are open at once."""
    urls = [own.put(f"{at}.rec", SIX[44 * at % 264 :][:44]) for at in range(200)]
    with RecordDataset(urls) as dataset:
        assert [header.id for header, _ in dataset] == [at % 6 for at in range(200)]
        wanted = random.Random(1).choices(range(200), k=300)
        found = dataset.read_many(wanted)
        assert [header.id for header, _ in found] == [at % 6 for at in wanted]


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
