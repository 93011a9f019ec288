"""Real DALI, without a GPU: it reads through our indexes, and we live in its environment."""

import hashlib
import os
import random
import struct
import subprocess
from pathlib import Path

import pytest
from environments import DALI, DALI_SECOND, ROOT, encode, in_dali, in_mxnet, ours, require
from reference import MAGIC, read
from samples import image, labelled

from rec2idx import __version__

SAMPLE = ROOT / "examples/sample.rec"
SAMPLE_INDEX = SAMPLE.with_name("sample.mxnet.idx")


def pixels(rng: random.Random) -> bytes:
    """Bytes for an image. After IRHeader and labels, the magics stand at multiples of 4."""
    pieces = [rng.randbytes(4 * rng.randrange(200)), MAGIC * rng.randrange(3)]
    return b"".join(pieces) + rng.randbytes(rng.randrange(300))


def some_payloads() -> list[bytes]:
    """Image records of every make that DALI accepts: several parts, label arrays, odd lengths."""
    rng = random.Random(24)
    payloads = [
        image(7, 0, MAGIC + b"first part has the header only"),
        image(0.5, 1, MAGIC * 4),
        labelled([1.5], 2, b"x"),
        labelled([1, 2, 3], 3, MAGIC + b"between labels and image" + MAGIC),
    ]
    for number in range(len(payloads), 200):
        if rng.random() < 0.5:
            payloads.append(image(rng.randrange(1000), number, b"J" + pixels(rng)))
        else:
            labels = [rng.randrange(-50, 50) / 4 for _ in range(rng.randrange(1, 9))]
            payloads.append(labelled(labels, number, b"JPEG" + pixels(rng)))
    return payloads


def sample_of(payload: bytes) -> list:
    """What DALI should give for a record: [SHA-256 of the bytes after the labels, labels]."""
    flag, label = struct.unpack("<If", payload[:8])
    labels = [label]
    if flag > 0:
        labels = list(struct.unpack(f"<{flag}f", payload[24 : 24 + 4 * flag]))
    return [hashlib.sha256(payload[24 + 4 * flag :]).hexdigest(), labels]


def test_every_sample_of_a_file_that_mxnet_wrote(tmp_path: Path) -> None:
    """DALI gives each record once, in order, with its very bytes and labels, by our index."""
    payloads = some_payloads()
    assert sum(MAGIC in payload for payload in payloads) > 50
    record, index = tmp_path / "train.rec", tmp_path / "train.idx"
    in_mxnet({"do": "write", "record": record, "payloads": encode(payloads)})
    assert ours(record, cwd=tmp_path).returncode == 0
    [found] = in_dali({"do": "read", "record": record, "index": index})
    assert len(found) == len(payloads)
    assert found == [sample_of(payload) for payload in payloads]


def test_every_sample_of_the_sample(tmp_path: Path) -> None:
    """DALI gives each record of the sample as it was packed, and decodes it as MXNet does."""
    index = tmp_path / "sample.idx"
    assert ours(SAMPLE, index, cwd=tmp_path).returncode == 0
    step = {"record": SAMPLE, "index": index}
    found, shapes = in_dali({"do": "read", **step}, {"do": "decode", **step})
    records, broken = read(SAMPLE.read_bytes())
    assert broken is None
    assert found == [sample_of(payload) for _, payload in records]
    assert shapes == in_mxnet({"do": "decode", "record": SAMPLE})[0]
    assert len(shapes) == 24


@pytest.fixture(params=[DALI, DALI_SECOND], ids=["dali-first", "dali-second"])
def environment(request: pytest.FixtureRequest) -> Path:
    """DALI and our wheel in one environment, installed in either order."""
    require(request.param)
    return request.param


def run(environment: Path, *words: object, cwd: Path) -> str:
    command = [environment / "bin" / str(words[0]), *words[1:]]
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_are_installed(environment: Path, tmp_path: Path) -> None:
    """The tests below mean something: DALI's module file of our name is there beside ours."""
    [module] = environment.glob("lib/python3*/site-packages/rec2idx.py")
    assert "mxnet" in module.read_text()
    assert (module.with_suffix("") / "__init__.py").exists()
    listed = run(environment, "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path)
    assert {f"rec2idx=={__version__}", "nvidia-dali-cuda120==2.4.0"} <= set(listed.splitlines())


@pytest.mark.parametrize("words", [["rec2idx"], ["python", "-m", "rec2idx"]], ids=" ".join)
def test_command_beside_dali(environment: Path, words: list[str], tmp_path: Path) -> None:
    """Whichever of the two was installed last, the command is ours and works."""
    assert run(environment, *words, "--version", cwd=tmp_path) == f"rec2idx {__version__}\n"
    os.link(SAMPLE, tmp_path / "sample.rec")
    printed = run(environment, *words, "sample.rec", "sample.idx", cwd=tmp_path)
    assert printed.endswith("  count: 0\n")
    assert (tmp_path / "sample.idx").read_bytes() == SAMPLE_INDEX.read_bytes()


def test_import_beside_dali(environment: Path, tmp_path: Path) -> None:
    """`from rec2idx import IndexCreator` gives our class, not the one that imports MXNet."""
    code = """if True:
        import sys, rec2idx
        from rec2idx import IndexCreator
        with IndexCreator(sys.argv[1], "made.idx") as creator:
            creator.create_index()
        print(rec2idx.__file__)
    """
    printed = run(environment, "python", "-c", code, SAMPLE, cwd=tmp_path)
    assert Path(printed.splitlines()[-1]).parts[-2:] == ("rec2idx", "__init__.py")
    assert (tmp_path / "made.idx").read_bytes() == SAMPLE_INDEX.read_bytes()
