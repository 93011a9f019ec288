"""One index over several files: read by real DALI, without a GPU, and by real MXNet."""

import ast
import hashlib
import struct
import subprocess
from pathlib import Path

import pytest
from environments import COMMAND, ROOT, in_dali, in_mxnet
from reference import read, record
from samples import image

SAMPLE = ROOT / "examples/sample.rec"

# The sample's pictures, each with a label of its own; MXNet wants as many labels of each record.
PICTURES = [
    payload[24 + 4 * struct.unpack("<I", payload[:4])[0] :]
    for _, payload in read(SAMPLE.read_bytes())[0]
]
PAYLOADS = [image(number + 0.5, number, picture) for number, picture in enumerate(PICTURES)]
CUTS = {"a.rec": PAYLOADS[:7], "b.rec": PAYLOADS[7:8], "c.rec": PAYLOADS[8:]}
LABELS = {name: [struct.unpack("<f", p[4:8])[0] for p in cut] for name, cut in CUTS.items()}


def sample_of(payload: bytes) -> list:
    """What DALI should give for a record: [SHA-256 of the picture, labels]."""
    return [hashlib.sha256(payload[24:]).hexdigest(), list(struct.unpack("<f", payload[4:8]))]


def combine(folder: Path, *names: str) -> tuple[list[str], list[str]]:
    """Run the command; return the two calls that it prints, and what it said."""
    done = subprocess.run(
        [COMMAND.with_name("recordio"), "index", "--combine", folder / "all.idx"]
        + [folder / name for name in names],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.splitlines()


def arguments(call: str) -> dict:
    """The arguments of a call that is given as text."""
    [call_node] = [node for node in ast.walk(ast.parse(call)) if isinstance(node, ast.Call)]
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call_node.keywords}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, the second with one record, and an empty one."""
    for name, payloads in CUTS.items():
        (tmp_path / name).write_bytes(b"".join(record(payload) for payload in payloads))
    (tmp_path / "empty.rec").touch()
    return tmp_path


ORDERS = [
    ["a.rec", "b.rec", "c.rec"],
    ["c.rec", "b.rec", "a.rec"],
    ["a.rec", "c.rec", "b.rec"],
    ["a.rec", "empty.rec", "b.rec", "empty.rec", "c.rec"],
]


def test_dali_reads_each_record_once(folder: Path) -> None:
    """In order, by the call that was printed, with and without mmap; also without empty files."""
    for names in ORDERS:
        [call, _], _ = combine(folder, *names)
        given = arguments(call)
        [index] = given["index_path"]
        step = {"do": "read", "record": given["path"], "index": index}
        expected = [sample_of(payload) for name in names for payload in CUTS.get(name, [])]
        assert len(expected) == 24
        mapped, streamed = in_dali(step, {**step, "dont_use_mmap": True})
        assert mapped == expected
        assert streamed == expected


def test_dali_fails_at_an_empty_file(folder: Path) -> None:
    """Why they are left out: by the same index, with the empty file among the paths."""
    combine(folder, "a.rec", "empty.rec", "c.rec")
    paths = [folder / name for name in ("a.rec", "empty.rec", "c.rec")]
    with pytest.raises(AssertionError, match=r"empty\.rec"):
        in_dali({"do": "read", "record": paths, "index": folder / "all.idx"})


def test_mxnet_reads_each_record_once(folder: Path) -> None:
    """By the call that was printed: the samples that its index-less reader gives of one file."""
    for names in ORDERS:
        [_, call], _ = combine(folder, *names)
        content = b"".join((folder / name).read_bytes() for name in names)
        (folder / "whole.rec").write_bytes(content)
        whole = f"mx.io.ImageRecordIter(path_imgrec={str(folder / 'whole.rec')!r}, {SHAPE})"
        combined, expected = in_mxnet(
            {"do": "iterate", "call": call}, {"do": "iterate", "call": whole}
        )
        assert combined == expected
        labels = [number for name in names for number in LABELS.get(name, [])]
        assert [label for _, label in combined] == labels


SHAPE = "data_shape=..., batch_size=..."


@pytest.mark.parametrize("character", [";", "#", "?"])
def test_mxnet_cannot_be_told_every_path(
    folder: Path, character: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why no call is printed for these: MXNet aborts, or gives the samples of other files only."""
    monkeypatch.chdir(folder)  # behind a #, it takes what follows for a file to write
    name = f"x{character}y.rec"
    (folder / "c.rec").rename(folder / name)
    printed, said = combine(folder, "a.rec", name)
    assert len(printed) == 1
    assert f"{name}: in a path, the character {character} means something else to MXNet" in said[0]
    paths = f"{folder / 'a.rec'};{folder / name}"
    index = str(folder / "all.idx")
    call = f"mx.io.ImageRecordIter(path_imgrec={paths!r}, path_imgidx={index!r}, {SHAPE})"
    if character == "#":
        [samples] = in_mxnet({"do": "iterate", "call": call})
        assert [label for _, label in samples] == LABELS["a.rec"]
    else:
        with pytest.raises(AssertionError, match=r"MXNetError|terminate called"):
            in_mxnet({"do": "iterate", "call": call})
