"""rec2idx.recordio beside mxnet.recordio: the same steps, the same results, the same bytes."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from corpus import CORPUS
from environments import MXNET, ROOT, encode, require

from rec2idx.recordio import MXIndexedRecordIO, MXRecordIO, unpack

SCRIPT = Path(__file__).with_name("in_mxnet_recordio.py")
SAMPLE = ROOT / "examples/sample.rec"


def in_module(python: Path, words: list[str], steps: list[dict]) -> list:
    done = subprocess.run(
        [python, SCRIPT, *words],
        input=json.dumps(steps, default=str),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_both(*steps: dict) -> tuple[list, list]:
    """Do the steps with MXNet's module and with ours, here."""
    require(MXNET)
    theirs = in_module(MXNET / "bin/python", [], list(steps))
    return theirs, in_module(Path(sys.executable), ["ours"], list(steps))


def writes(folder: Path) -> list[dict]:
    """Each file of the corpus, some with an index, with keys of several kinds."""
    steps = []
    for number, (name, payloads) in enumerate(CORPUS.items()):
        key_type = ("int", "str", "float", "int")[number % 4]
        keys = [key * 3 % 1009 + number for key in range(len(payloads))]
        index = None if number % 4 == 3 else folder / f"{name}.idx"
        steps.append(
            {
                "do": "write",
                "record": folder / f"{name}.rec",
                "index": index,
                "payloads": encode(payloads),
                "keys": keys,
                "key_type": key_type,
            }
        )
    return steps


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, list, list]:
    """The corpus, written by MXNet into one folder and by us into another."""
    require(MXNET)
    theirs, ours = tmp_path_factory.mktemp("theirs"), tmp_path_factory.mktemp("ours")
    told = in_module(MXNET / "bin/python", [], writes(theirs))
    return theirs, ours, told, in_module(Path(sys.executable), ["ours"], writes(ours))


def test_files_and_indexes_are_mxnet_s_byte_for_byte(
    written: tuple[Path, Path, list, list],
) -> None:
    theirs, ours, told, ours_told = written
    assert ours_told == told
    names = sorted(path.name for path in theirs.iterdir())
    assert names == sorted(path.name for path in ours.iterdir())
    for name in names:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name


def test_each_reads_what_the_other_wrote(written: tuple[Path, Path, list, list]) -> None:
    """In order, and by key from the last on."""
    theirs, ours, *_ = written
    steps = [
        {"do": "read", "record": theirs / f"{name}.rec", "index": path, "key_type": kind}
        for number, name in enumerate(CORPUS)
        if (path := ours / f"{name}.idx").exists()
        and (kind := ("int", "str", "float", "int")[number % 4])
    ]
    theirs_found, ours_found = in_both(*steps)
    assert ours_found == theirs_found
    for name, payloads in CORPUS.items():
        with MXRecordIO(theirs / f"{name}.rec", "r") as reader:
            assert list(iter(reader.read, None)) == payloads


HEADERS = """(2, 17672687.0, 0, 0)
(0, [1, 2, 3], 0, 0)
(5, [1, 2, 3], 0, 0)
(0, [], 0, 0)
(0, 25130987, 0, 0)
(0, 1e40, 0, 0)
(0, -1e40, 0, 0)
(0, 3.4028236e38, 0, 0)
(0, 1e-46, 0, 0)
(0, nan, 0, 0)
(0, -inf, 0, 0)
(0, True, 1, 2)
(0, 1j, 1, 2)
(0, np.float64(3), 1, 2)
(0, np.float32(0.1), 1, 2)
(0, np.int64(-3), np.int64(1), np.uint8(2))
(0, np.bool_(True), 1, 2)
(0, np.array(3.0), 1, 2)
(0, np.zeros((2, 3)), 1, 2)
(0, np.arange(10)[::2], 1, 2)
(0, np.arange(7, dtype=">f8"), 1, 2)
(0, [0.1] * 1000, 1, 2)
(0, [1e40, 2**70, True, None], 1, 2)
(0, "3", 1, 2)
(0, "x", 1, 2)
(0, b"7", 1, 2)
(0, None, 1, 2)
(0, (1, 2), 1, 2)
(0, range(3), 1, 2)
(0, {1, 2}, 1, 2)
(0, [[1], [2, 3]], 1, 2)
(0, 2**70, 1, 2)
(0, 2**2000, 1, 2)
(0, 1, -1, 0)
(0, 1, 0, -1)
(0, 1, 2**64 - 1, 2**64 - 1)
(0, 1, 2**64, 0)
(0, 1, 1.0, 0)
(0, 1, "1", 0)
(-1, 1, 0, 0)
("z", [1], 0, 0)
(0, 1, 0)
(0, 1, 0, 0, 0)""".splitlines()


@pytest.mark.parametrize(
    "payload", ["b''", "b'image'", "bytearray(b'xy')", "memoryview(b'xy')", "'text'", "None", "5"]
)
def test_pack_and_unpack(payload: str) -> None:
    """Odd headers and payloads too; what is refused is refused with the same kind of error."""
    theirs, ours = in_both({"do": "pack", "headers": HEADERS, "payload": payload})
    different = [
        pair for pair in zip(HEADERS, theirs[0], ours[0], strict=True) if pair[1] != pair[2]
    ]
    assert different == []


def test_images() -> None:
    """Decoded alike; encoded alike, too, where OpenCV has the same encoders."""
    theirs, ours = in_both({"do": "images", "record": SAMPLE})
    decoded = [
        [found for found in result[0] if isinstance(found, list)] for result in (theirs, ours)
    ]
    assert decoded[0] == decoded[1]
    assert len(decoded[0]) == 24 * 6


@pytest.fixture(params=[True, False], ids=["ranges", "plain"])
def faces(request: pytest.FixtureRequest, tmp_path: Path) -> dict:
    """A small InsightFace file of real images, and one without a file header."""
    with MXRecordIO(SAMPLE, "r") as reader:
        pictures = [unpack(payload)[1] for payload in iter(reader.read, None)]
    payloads = [
        struct.pack("<IfQQ", 0, key // 4, key, 0) + image for key, image in enumerate(pictures, 1)
    ]
    if request.param:
        payloads[3] = struct.pack("<IfQQ2f", 2, 0, 4, 0, 0, 9) + pictures[3]
        people = [(first, first + 6) for first in range(1, 25, 6)]
        payloads.insert(0, struct.pack("<IfQQ2f", 2, 0, 0, 0, 25, 25 + len(people)))
        payloads += [struct.pack("<IfQQ2f", 2, 0, 25 + n, 0, *p) for n, p in enumerate(people)]
    paths = {"record": tmp_path / "train.rec", "index": tmp_path / "train.idx"}
    with MXIndexedRecordIO(paths["index"], paths["record"], "w") as writer:
        for key, payload in enumerate(payloads):
            writer.write_idx(key, payload)
    return {"do": "load_faces", **paths}


def test_insightface_s_way_of_loading(faces: dict) -> None:
    theirs, ours = in_both(faces)
    assert ours == theirs
    ranges, samples = ours[0]
    assert len(samples) == 24
    assert len(ranges) in (0, 4)
