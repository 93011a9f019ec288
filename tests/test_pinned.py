"""What MXNet and DALI's tool did, pinned: the same is asked of us without having them here.

`make pins` writes the folder; its PROVENANCE.md says with which versions.
"""

import hashlib
import json
import re
from pathlib import Path

import pytest
from reference import part

from rec2idx import MXRecordIO, create_index

ROOT = Path(__file__).parent.parent
FOLDER = Path(__file__).parent / "pinned/mxnet-1.9.1"
FILES = json.loads((FOLDER / "expected.json").read_text())["files"]

every_file = pytest.mark.parametrize("name", FILES)


def test_nothing_is_missing() -> None:
    """Each pinned file has its index and its expectations, and there are some."""
    assert len(FILES) >= 7
    for suffix in ("rec", "idx"):
        assert {path.stem for path in FOLDER.glob(f"*.{suffix}")} == set(FILES)
    # First, middle and last parts without a byte are among them: the hardest there is.
    only_magics = (FOLDER / "only_magics.rec").read_bytes()
    for cflag in (1, 2, 3):
        assert part(cflag, b"") in only_magics


@every_file
def test_index(name: str, tmp_path: Path) -> None:
    """Our index has the bytes of the one that DALI's tool wrote."""
    index = tmp_path / "made.idx"
    summary = create_index(FOLDER / f"{name}.rec", index)
    assert index.read_bytes() == (FOLDER / f"{name}.idx").read_bytes()
    assert summary.records == FILES[name]["records"] > 0


@every_file
def test_printed_lines(name: str, tmp_path: Path, run) -> None:
    """Our command prints the lines that DALI's tool printed."""
    done = run(FOLDER / f"{name}.rec", tmp_path / "made.idx")
    assert done.returncode == 0
    printed = re.sub(r"time: \d\S*  count", "time: SECONDS  count", done.stdout)
    assert printed.splitlines() == FILES[name]["printed"]


@every_file
def test_payloads(name: str) -> None:
    """Our reader gives the payloads that MXNet was given to write."""
    with MXRecordIO(FOLDER / f"{name}.rec", "r") as reader:
        payloads = list(iter(reader.read, None))
    assert len(payloads) == FILES[name]["records"]
    assert hashlib.sha256(b"".join(payloads)).hexdigest() == FILES[name]["sha256"]


def test_sample(tmp_path: Path) -> None:
    """The index of the sample has the bytes of the one that DALI's tool wrote."""
    create_index(ROOT / "examples/sample.rec", tmp_path / "made.idx")
    expected = (ROOT / "examples/sample.mxnet.idx").read_bytes()
    assert (tmp_path / "made.idx").read_bytes() == expected
    assert expected.count(b"\n") == 24
