"""InsightFace's procedure on MXNet's module and on ours, and a data set over the same file.

The procedure: read key 0; if that is a file header, the images are the keys from 1 to what it
says, else all keys; of an array of labels, the first one counts; decode. See ``load_faces``.
"""

import hashlib
import struct
from pathlib import Path

import pytest
from environments import ROOT
from test_recordio_module import in_both

import rec2idx.mx as mx
from rec2idx import RecordDataset
from rec2idx.recordio import MXIndexedRecordIO, MXRecordIO, unpack

CLASSES = 4
IMAGES = 24


def payloads(flags: str) -> list[bytes]:
    """Real images of four people, with one label or two; the file header; the people."""
    with MXRecordIO(ROOT / "examples/sample.rec", "r") as reader:
        pictures = [unpack(payload)[1] for payload in iter(reader.read, None)]
    made = []
    for number, picture in enumerate(pictures, 1):
        label = (number - 1) // (IMAGES // CLASSES)
        if flags == "two" or (flags == "mixed" and number % 3 == 0):
            made.append(struct.pack("<IfQQ2f", 2, 0, number, 0, label, 1) + picture)
        else:
            made.append(struct.pack("<IfQQ", 0, label, number, 0) + picture)
    step = IMAGES // CLASSES
    header = struct.pack("<IfQQ2f", 2, 0, 0, 0, IMAGES + 1, IMAGES + 1 + CLASSES)
    people = [
        struct.pack("<IfQQ2f", 2, 0, IMAGES + 1 + n, 0, 1 + n * step, 1 + n * step + step)
        for n in range(CLASSES)
    ]
    return [*made, header, *people]


# face2rec2.py, which writes the file header behind the images, gives each of these two labels.
LAYOUTS = [("one", False), ("two", False), ("mixed", False), ("two", True)]


@pytest.mark.parametrize(("flags", "behind"), LAYOUTS)
def test_all_three_give_the_same_images(tmp_path: Path, flags: str, behind: bool) -> None:
    """Decoded to the same pixels."""
    contents = payloads(flags)
    if not behind:
        contents.insert(0, contents.pop(IMAGES))
    record, index = tmp_path / "train.rec", tmp_path / "train.idx"
    with MXIndexedRecordIO(index, record, "w") as writer:
        for payload in contents:
            writer.write_idx(struct.unpack_from("<Q", payload, 8)[0], payload)
    theirs, ours = in_both({"do": "load_faces", "record": record, "index": index})
    assert ours == theirs
    ranges, samples = theirs[0]
    assert (len(ranges), len(samples)) == (CLASSES, IMAGES)

    with RecordDataset(record, decode=mx.image.imdecode) as dataset:
        found = []
        for header, picture in dataset:
            pixels = picture.asnumpy()
            digest = hashlib.sha256(pixels.tobytes()).hexdigest()
            found.append([int(header.label), list(pixels.shape), digest])
        assert found == samples
        assert (dataset.classes, dataset.left_out) == (CLASSES, 1 + CLASSES)
        assert list(dataset.keys) == list(range(1, IMAGES + 1))
