"""extract() of a file behind a URL: the same files, and each byte transferred once."""

import subprocess
import sys
from pathlib import Path

import pytest
from damage import flip_byte
from extracting import Expected, tree
from reference import record
from samples import SIX, image
from servers import Manners, Nginx, OwnServer, S3Server

from rec2idx import DamagedRecordError, extract, read_ahead

JPEG = b"\xff\xd8\xff\xe0"
DATA = b"".join(record(image(n % 5, n, JPEG + bytes(n * 37 % 9000))) for n in range(3000))
RECORDIO = Path(sys.executable).with_name("recordio")


@pytest.mark.parametrize("to", ["imagefolder", "flat", "wds"])
def test_the_same_as_from_a_file(s3: S3Server, tmp_path: Path, to: str):
    (tmp_path / "a.rec").write_bytes(DATA)
    extract(tmp_path / "a.rec", tmp_path / "local", to=to)
    extract(s3.put("extract", "a.rec", DATA), tmp_path / "remote", to=to)
    assert tree(tmp_path / "remote") == tree(tmp_path / "local")


def test_from_web_servers(nginx: Nginx, web_folder: Path, own: OwnServer, tmp_path: Path):
    (web_folder / "a.rec").write_bytes(SIX)
    for number, url in enumerate([f"{nginx.url}/a.rec", own.put("a.rec", SIX)]):
        extract(url, tmp_path / str(number))
        assert tree(tmp_path / str(number)) == Expected(SIX).by_label()


@pytest.mark.parametrize("block", [1000, 100_000, 1 << 22])
def test_in_blocks_of_any_size(own: OwnServer, tmp_path: Path, monkeypatch, block: int):
    """Also where a record is larger than all blocks that are kept."""
    monkeypatch.setattr(read_ahead, "BLOCK", block)
    data = record(image(0, 1, JPEG + bytes(50_000))) + SIX
    extract(own.put("a.rec", data), tmp_path / "out")
    assert tree(tmp_path / "out") == Expected(data).by_label()


def test_each_byte_is_transferred_once(s3: S3Server, tmp_path: Path, monkeypatch):
    """But for what tells that the object can be read at all."""
    monkeypatch.setattr(read_ahead, "BLOCK", 1 << 20)
    monkeypatch.setattr("rec2idx.segments.REMOTE_BLOCK", 1 << 20)
    url = s3.put("extract", "once.rec", DATA)
    s3.traffic.clear()
    extract(url, tmp_path / "out")
    assert len(DATA) <= s3.traffic.sent <= len(DATA) + 10_000


def test_a_damaged_object(s3: S3Server, tmp_path: Path):
    url = s3.put("extract", "bad.rec", flip_byte(SIX, 132))
    with pytest.raises(DamagedRecordError) as caught:
        extract(url, tmp_path / "out")
    assert caught.value.offset == 132
    assert tree(tmp_path / "out") == Expected(SIX[:132]).by_label()


def test_a_server_that_gives_whole_files_only(own: OwnServer, tmp_path: Path):
    url = own.put("a.rec", SIX, Manners(ranges=False))
    with pytest.raises(OSError, match="must be readable at any place"):
        extract(url, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_command(own: OwnServer, tmp_path: Path):
    url = own.put("a.rec", SIX)
    done = subprocess.run(
        [RECORDIO, "extract", url, "out"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"recordio: {url}: 6 records: 6 images extracted; ")
