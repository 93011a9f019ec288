"""salvage() from and to URLs: the same new file, and nothing where it fails."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
from damage import flip_byte
from damaged_files import damaged_file
from reference import part
from samples import SIX, SIX_INDEX, image
from servers import Manners, Nginx, OwnServer, S3Server

from rec2idx import DamagedRegion, FileChangedError, UnsafeTargetError, rewrite, salvage, scan
from rec2idx.errors import RemoteError

DAMAGED = flip_byte(SIX, 44)
KEPT = SIX[:44] + SIX[88:]
KEPT_INDEX = SIX_INDEX[: SIX_INDEX.index(b"5\t")]


def test_from_bucket_to_bucket(s3: S3Server):
    url = s3.put("salvage", "a.rec", DAMAGED)
    summary = salvage(url, "s3://salvage/b.rec", "s3://salvage/b.idx")
    assert (summary.records, summary.damaged_bytes) == (5, 44)
    assert s3.get("salvage", "b.rec") == KEPT
    assert s3.get("salvage", "b.idx") == KEPT_INDEX
    assert s3.get("salvage", "a.rec") == DAMAGED
    assert s3.keys("salvage") == ["a.rec", "b.idx", "b.rec"]


def test_from_web_servers(nginx: Nginx, web_folder: Path, own: OwnServer, tmp_path: Path):
    (web_folder / "a.rec").write_bytes(DAMAGED)
    for number, url in enumerate([f"{nginx.url}/a.rec", own.put("a.rec", DAMAGED)]):
        target = tmp_path / f"{number}.rec"
        salvage(url, target)
        assert target.read_bytes() == KEPT


def test_a_server_that_gives_whole_files_only(own: OwnServer, tmp_path: Path):
    url = own.put("a.rec", DAMAGED, Manners(ranges=False))
    with pytest.raises(OSError, match="a file must be readable at any place"):
        salvage(url, tmp_path / "b.rec")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("block", ["REMOTE_BLOCK", "LOCAL_BLOCK"])
def test_records_that_are_larger_than_what_is_read_at_once(
    s3: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: str
):
    """Or larger than what is laid out anew in one piece."""
    monkeypatch.setattr(rewrite, block, 10_000)
    data = b"".join(part(0, bytes([number]) * 50_001) for number in range(10))
    odd = data[:-1] + b"x" + part(0, b"last")
    salvage(s3.put("large", "a.rec", odd), tmp_path / "b.rec")
    assert (tmp_path / "b.rec").read_bytes() == data + part(0, b"last")


def test_the_bytes_are_asked_for_in_large_pieces(s3: S3Server, tmp_path: Path):
    data = part(0, bytes(10_000)) * 2000
    url = s3.put("requests", "a.rec", data)
    salvage(url, tmp_path / "b.rec")
    assert (tmp_path / "b.rec").read_bytes() == data
    assert len(s3.traffic.requests) < 30


def test_no_object_is_replaced(s3: S3Server):
    url = s3.put("taken", "a.rec", DAMAGED)
    other = s3.put("taken", "b.rec", SIX)
    for target in (url, other):
        with pytest.raises(UnsafeTargetError):
            salvage(url, target)
    with pytest.raises(UnsafeTargetError, match="would be the same file"):
        salvage(url, "s3://taken/c.rec", "s3://taken/c.rec")
    assert s3.keys("taken") == ["a.rec", "b.rec"]
    assert s3.get("taken", "b.rec") == SIX


def test_an_index_that_is_refused_takes_the_file_along(s3: S3Server, monkeypatch):
    url = s3.put("both", "a.rec", DAMAGED)
    s3.put("both", "b.idx", SIX_INDEX)

    def refuse(environ):
        no = ("403 Forbidden", [("Content-Length", "0")], b"")
        index = environ["PATH_INFO"].endswith(".idx")
        return no if index and environ["REQUEST_METHOD"] in ("PUT", "POST") else None

    monkeypatch.setattr(s3, "answer", refuse)
    with pytest.raises(RemoteError, match="access is denied"):
        salvage(url, "s3://both/b.rec", "s3://both/b.idx")
    assert s3.keys("both") == ["a.rec", "b.idx"]
    assert s3.get("both", "b.idx") == SIX_INDEX
    assert any(request.method == "DELETE" for request in s3.traffic.requests)


def kept_of(place: str | Path, **how) -> tuple[list[int], list[DamagedRegion]]:
    offsets: list[int] = []
    regions: list[DamagedRegion] = []
    for batch in scan(place, salvage=regions.append, **how):
        offsets += batch.offsets
    return offsets, [replace(region, path="") for region in regions]


def test_a_server_that_is_slow_and_sends_little_gives_the_same(own: OwnServer, tmp_path: Path):
    for seed in range(25):
        data = damaged_file(seed).data
        (tmp_path / "a.rec").write_bytes(data)
        url = own.put(f"{seed}.rec", data, Manners(delay=0.001, most=3000, breaks=1))
        for jobs in (1, 3):
            assert kept_of(url, jobs=jobs) == kept_of(tmp_path / "a.rec", jobs=1)


def test_damage_takes_few_requests(s3: S3Server):
    """One search and a few reads of contents, in a file of 20 MB."""
    whole = b"".join(part(0, image(1, at, bytes(10_000))) for at in range(2000))
    url = s3.put("few", "a.rec", flip_byte(whole, 1000 * (len(whole) // 2000)))
    offsets, [region] = kept_of(url, jobs=1)
    assert (len(offsets), region.cause.kind) == (1999, "header")
    assert len(s3.traffic.requests) < 40


def test_a_storage_where_files_grow():
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pipe_file("/a.rec", DAMAGED)
    salvage("memory://a.rec", "memory://b.rec", "memory://b.idx")
    found = {name: file.getvalue() for name, file in system.store.items()}
    assert found == {"/a.rec": DAMAGED, "/b.rec": KEPT, "/b.idx": KEPT_INDEX}


def test_a_local_url_of_the_record_file(tmp_path: Path):
    (tmp_path / "a.rec").write_bytes(DAMAGED)
    with pytest.raises(UnsafeTargetError):
        salvage(tmp_path / "a.rec", f"file://{tmp_path}/a.rec")
    assert (tmp_path / "a.rec").read_bytes() == DAMAGED


def test_an_object_that_changes_meanwhile(s3: S3Server, tmp_path: Path):
    url = s3.put("changes", "a.rec", SIX + b"x")
    with pytest.raises(FileChangedError):
        salvage(url, tmp_path / "b.rec", damaged=lambda region: s3.put("changes", "a.rec", SIX * 2))
    assert list(tmp_path.iterdir()) == []


def test_the_command(s3: S3Server):
    url = s3.put("command", "a b.rec", DAMAGED)
    recordio = Path(sys.executable).with_name("recordio")
    done = subprocess.run(
        [recordio, "salvage", url, "s3://command/new b.rec", "--index", "s3://command/b.idx"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1].endswith(
        "recordio check 's3://command/new b.rec' s3://command/b.idx"
    )
    assert s3.get("command", "new b.rec") == KEPT
