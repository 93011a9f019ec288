"""Where we differ from DALI's tool on purpose: it destroys a file, or loses records silently.

Each test runs both on copies of the same file and states what each leaves behind.
"""

import os
from pathlib import Path

import pytest
from damage import cut_tail
from environments import original, ours
from reference import MAGIC, part
from samples import SIX, SIX_INDEX

GOOD = part(0, b"good")  # 12 bytes


@pytest.fixture(params=[original, ours], ids=["original", "ours"])
def tool(request: pytest.FixtureRequest):
    return request.param


def test_swapped_arguments(tool, tmp_path: Path) -> None:
    """With the arguments swapped, the original empties the dataset; we touch neither file."""
    record, index = tmp_path / "train.rec", tmp_path / "train.idx"
    record.write_bytes(SIX)
    index.write_bytes(SIX_INDEX)
    done = tool(index, record, cwd=tmp_path)
    assert done.returncode == 1
    assert record.read_bytes() == (b"" if tool is original else SIX)
    assert index.read_bytes() == SIX_INDEX


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["same", "symbolic", "hard"])
def test_index_is_the_record(tool, link, tmp_path: Path) -> None:
    """Where the index is the record file, the original empties it and is content; we refuse."""
    record = tmp_path / "train.rec"
    record.write_bytes(SIX)
    index = record
    if link is not None:
        index = tmp_path / "train.idx"
        link(record, index)
    done = tool(record, index, cwd=tmp_path)
    assert done.returncode == (0 if tool is original else 1)
    assert record.read_bytes() == (b"" if tool is original else SIX)


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (part(1, b"first") + part(2, b"middle"), "the file ends between the parts of a record"),
        (part(1, b"first"), "the file ends between the parts of a record"),
        (part(2, b"x") + part(3, b"last"), "expected a part with cflag 0 or 1"),
        (part(3, b"last"), "expected a part with cflag 0 or 1"),
        (part(1, b"first") + GOOD, "expected a part with cflag 2 or 3"),
        (part(1, b"first") + part(1, b"again") + part(3, b""), "expected a part with cflag 2 or 3"),
        (part(5, b"five") + GOOD, "wrong cflag: expected 0 to 3, found 5"),
    ],
    ids=["ends-12", "ends-1", "opens-2", "opens-3", "0-inside", "1-inside", "cflag-5"],
)
def test_silent_losses(tool, end: bytes, reason: str, tmp_path: Path) -> None:
    """The original drops or joins such records and exits 0; we name the place and write nothing."""
    record, index = tmp_path / "train.rec", tmp_path / "train.idx"
    record.write_bytes(GOOD + end)
    done = tool(record, index, cwd=tmp_path)
    assert "Traceback" not in done.stderr
    if tool is original:
        assert done.returncode == 0
        assert index.read_bytes() in (b"0\t0\n", b"0\t0\n1\t12\n")
    else:
        assert done.returncode == 1
        assert reason in done.stderr
        assert not index.exists()


@pytest.mark.parametrize(
    ("data", "left"),
    [
        (cut_tail(SIX, 150), b"0\t0\n1\t44\n2\t88\n"),
        (SIX + b"\r\n\r\n", SIX_INDEX),
        (SIX + MAGIC, SIX_INDEX),
        (SIX + b"12345678" + GOOD, SIX_INDEX),
    ],
    ids=["cut", "stray", "cut-header", "wrong-magic"],
)
def test_partial_index(tool, data: bytes, left: bytes, tmp_path: Path) -> None:
    """Of a damaged file the original leaves an index that looks whole; we leave the old one."""
    record, index = tmp_path / "train.rec", tmp_path / "train.idx"
    record.write_bytes(data)
    index.write_bytes(b"0\t0\n")
    done = tool(record, index, cwd=tmp_path)
    assert done.returncode != 0
    if tool is original:
        assert index.read_bytes().startswith(left[:4])
        assert index.read_bytes() == left
    else:
        assert done.returncode == 1
        assert index.read_bytes() == b"0\t0\n"
        assert sorted(os.listdir(tmp_path)) == ["train.idx", "train.rec"]


def test_empty_file(tool, tmp_path: Path) -> None:
    """Of an empty file the original makes an empty index, which DALI refuses; we refuse at once."""
    record, index = tmp_path / "train.rec", tmp_path / "train.idx"
    record.write_bytes(b"")
    done = tool(record, index, cwd=tmp_path)
    assert done.returncode == (0 if tool is original else 1)
    assert index.exists() == (tool is original)
