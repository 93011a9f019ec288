"""Keys and images only: beside the real im2rec, and read by real DALI."""

import hashlib
import struct
import subprocess
from pathlib import Path

import pytest
from environments import MXNET, ROOT, in_dali, in_mxnet, require
from reference import read, record
from samples import image, labelled

import rec2idx
from rec2idx.select import tells_other_ids

PICTURES = [
    payload[24 + 4 * struct.unpack("<I", payload[:4])[0] :]
    for _, payload in read((ROOT / "examples/sample.rec").read_bytes())[0]
]


def im2rec(folder: Path, *arguments: str) -> None:
    """Run MXNet's own im2rec."""
    require(MXNET)
    [found] = MXNET.glob("lib/python3*/site-packages/mxnet/tools/im2rec.py")
    done = subprocess.run(
        [MXNET / "bin/python", "-W", "ignore", found, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """The sample's pictures as im2rec packs a shuffled list of them."""
    for number, picture in enumerate(PICTURES):
        path = tmp_path / f"pictures/{number % 3}/{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(picture)
    im2rec(tmp_path, "--list", "--recursive", "train", "pictures")
    im2rec(tmp_path, "--pass-through", "train.lst", "pictures")
    return tmp_path / "train.rec"


def test_ids_give_the_index_back_that_im2rec_wrote(packed: Path) -> None:
    theirs = packed.with_suffix(".idx").read_bytes()
    summary = rec2idx.create_index(packed, packed.with_name("by-id.idx"), keys="id")
    assert packed.with_name("by-id.idx").read_bytes() == theirs
    assert summary.records == len(PICTURES)
    keys = [int(line.split()[0]) for line in theirs.splitlines()]
    assert keys != sorted(keys)


def test_that_they_would_is_said(packed: Path) -> None:
    """And a key of running numbers means another record to MXNet than one of im2rec's."""
    rec2idx.create_index(packed, packed.with_name("by-number.idx"))
    assert tells_other_ids(str(packed))
    theirs, ours = in_mxnet(
        {"do": "read_indexed", "record": packed, "index": packed.with_suffix(".idx")},
        {"do": "read_indexed", "record": packed, "index": packed.with_name("by-number.idx")},
    )
    assert dict(map(tuple, theirs)) != dict(map(tuple, ours))
    rec2idx.create_index(packed, packed.with_name("by-id.idx"), keys="id")
    [by_id] = in_mxnet(
        {"do": "read_indexed", "record": packed, "index": packed.with_name("by-id.idx")}
    )
    assert by_id == theirs


@pytest.fixture
def faces(tmp_path: Path) -> Path:
    """A file as InsightFace makes them, with five pictures of two people."""
    payloads = [
        labelled([6, 8], 0),
        *(image(label, n, PICTURES[n]) for n, label in enumerate([0, 0, 0, 1, 1], 1)),
        labelled([1, 4], 6),
        labelled([4, 6], 7),
    ]
    (tmp_path / "faces.rec").write_bytes(b"".join(map(record, payloads)))
    return tmp_path / "faces.rec"


def test_dali_decodes_each_image_of_an_index_of_images(faces: Path) -> None:
    """And fails by an index of all records, which is why there is the other."""
    index = faces.with_suffix(".idx")
    rec2idx.create_index(faces, index, images_only=True)
    samples, shapes = in_dali(
        {"do": "read", "record": [faces], "index": index},
        {"do": "decode", "record": faces, "index": index},
    )
    expected = [hashlib.sha256(PICTURES[n]).hexdigest() for n in range(1, 6)]
    assert [digest for digest, _ in samples] == expected
    assert [label for _, label in samples] == [[0.0], [0.0], [0.0], [1.0], [1.0]]
    assert len(shapes) == rec2idx.info(faces).images == 5
    found = rec2idx.check(faces, index, readers=["dali"]).findings
    assert {finding.severity for finding in found} == {"note"}
    rec2idx.create_index(faces, index)
    with pytest.raises(AssertionError, match="decod"):
        in_dali({"do": "decode", "record": faces, "index": index})


def test_dali_reads_the_images_of_two_files(faces: Path) -> None:
    """The second of three has none, and is left out of the call."""
    other = faces.with_name("other.rec")
    other.write_bytes(faces.read_bytes())
    none = faces.with_name("none.rec")
    none.write_bytes(record(labelled([1, 2], 0)))
    index = faces.with_name("all.idx")
    summary = rec2idx.combine_index([faces, none, other], index, images_only=True)
    assert summary.path == [str(faces), str(other)]
    for dont_use_mmap in (False, True):
        step = {"do": "read", "record": summary.path, "index": index}
        [samples] = in_dali({**step, "dont_use_mmap": dont_use_mmap})
        expected = [hashlib.sha256(PICTURES[n]).hexdigest() for n in range(1, 6)]
        assert [digest for digest, _ in samples] == expected * 2
