"""What extract() wrote, read by those that it is for: torchvision and webdataset."""

import io
import json
import random
import struct
from pathlib import Path

import pytest
import webdataset
from PIL import Image
from torchvision.datasets import ImageFolder

import rec2idx

# webdataset leaves shards open.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
COUNT = 60


def picture(number: int) -> bytes:
    """A real JPEG or PNG."""
    image = Image.frombytes("RGB", (8, 8), random.Random(number).randbytes(192))
    buffer = io.BytesIO()
    image.save(buffer, "PNG" if number % 3 == 0 else "JPEG")
    return buffer.getvalue()


def written(path: Path, payloads: list[bytes]) -> Path:
    with open(path, "wb") as file:
        for payload in payloads:
            assert b"\x0a\x23\xd7\xce" not in payload
            file.write(struct.pack("<II", 0xCED7230A, len(payload)))
            file.write(payload + bytes(-len(payload) % 4))
    return path


@pytest.fixture(scope="module")
def face(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An InsightFace file: image n has the label n % 12, and a second one."""
    images = [
        struct.pack("<IfQQ2f", 2, 0, number, 0, number % 12, 0.5) + picture(number)
        for number in range(1, COUNT + 1)
    ]
    header = struct.pack("<IfQQ2f", 2, 0, 0, 0, COUNT + 1, COUNT + 13)
    identities = [struct.pack("<IfQQ2f", 2, 0, COUNT + 1 + number, 0, 1, 2) for number in range(12)]
    path = tmp_path_factory.mktemp("face") / "train.rec"
    return written(path, [header, *images, *identities])


def test_image_folder(face, tmp_path):
    """Its classes are the labels, and its samples the images."""
    done = rec2idx.extract(face, tmp_path / "out")
    assert (done.extracted, sum(done.left_out.values())) == (COUNT, 13)
    dataset = ImageFolder(tmp_path / "out", loader=lambda path: Path(path).read_bytes())
    assert dataset.classes == [f"{label:08}" for label in range(12)]
    expected = sorted((number % 12, number) for number in range(1, COUNT + 1))
    assert [(label, data) for data, label in dataset] == [
        (label, picture(number)) for label, number in expected
    ]
    decoded, _ = ImageFolder(tmp_path / "out")[0]
    assert decoded.size == (8, 8)


@pytest.mark.parametrize("count", [7, 1000])
def test_webdataset(face, tmp_path, count):
    """Every sample with its JSON, in order, through as many shards as there are."""
    done = rec2idx.extract(face, tmp_path / "out", to="wds", shard_count=count)
    shards = sorted(str(path) for path in (tmp_path / "out").iterdir())
    assert len(shards) == done.shards == -(-COUNT // count)
    dataset = webdataset.WebDataset(shards, shardshuffle=False, empty_check=False)
    found = []
    for sample in dataset:
        facts = json.loads(sample["json"])
        found.append(
            (sample["__key__"], sample.get("jpg") or sample["png"], facts["id"], facts["label"])
        )
    assert found == [
        (f"{number:010}", picture(number), number, [number % 12, 0.5])
        for number in range(1, COUNT + 1)
    ]


def test_webdataset_decodes(face, tmp_path):
    rec2idx.extract(face, tmp_path / "out", to="wds")
    shard = str(tmp_path / "out/000000.tar")
    dataset = webdataset.WebDataset(shard, shardshuffle=False).decode("pil")
    images = [(sample.get("jpg") or sample["png"], sample["json"]) for sample in dataset]
    assert [image.size for image, _ in images] == [(8, 8)] * COUNT
    assert [facts["key"] for _, facts in images] == list(range(1, COUNT + 1))


def test_webdataset_with_names_from_a_list(tmp_path):
    """In folders, with letters beyond ASCII, and longer than a header has room for."""
    names = ["n01/a b.JPEG", "n02/é.jpg", f"n03/{'x' * 200}.jpg", "n04.5/c.png"]
    payloads = [struct.pack("<IfQQ", 0, n, n, 0) + picture(n) for n in range(len(names))]
    record = written(tmp_path / "a.rec", payloads)
    text = "".join(f"{number}\t0\t{name}\n" for number, name in enumerate(names))
    (tmp_path / "a.lst").write_text(text, encoding="utf-8")
    rec2idx.extract(record, tmp_path / "out", to="wds", names=tmp_path / "a.lst")
    shard = str(tmp_path / "out/000000.tar")
    found = list(webdataset.WebDataset(shard, shardshuffle=False))
    assert [sample["__key__"] for sample in found] == [name.rpartition(".")[0] for name in names]
    for number, (sample, name) in enumerate(zip(found, names, strict=True)):
        assert sample[name.rpartition(".")[2].lower()] == picture(number)
