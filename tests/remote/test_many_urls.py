"""Many files behind URLs: an index for each, one over all, and one that is there when needed."""

import os
import time
from pathlib import Path

import fsspec
import pytest
from reference import index, part
from samples import FACE, SIX, SIX_INDEX, A, B
from servers import Manners, Nginx, OwnServer, S3Server

import rec2idx

PAGE = b"<html>no</html>"


@pytest.fixture
def shards(s3: S3Server) -> str:
    """A folder in a bucket; returns its URL."""
    for key, data in {"a.rec": A, "deep/b.rec": B, "page.rec": PAGE, "text": b"x"}.items():
        s3.put("shards", f"set/{key}", data)
    return "s3://shards/set"


def test_a_folder_in_a_bucket(s3, shards):
    summary = rec2idx.create_indexes(shards, recursive=True)
    assert [file.record for file in summary.files] == [f"{shards}/a.rec", f"{shards}/deep/b.rec"]
    assert [file.path for file in summary.skipped] == [f"{shards}/page.rec"]
    assert (summary.failed, summary.records, summary.bytes) == ([], 6, 264)
    assert s3.get("shards", "set/a.idx") == s3.get("shards", "set/deep/b.idx") == index(A)
    assert len(s3.keys("shards")) == 6


def test_a_folder_in_a_bucket_into_a_local_one(shards, tmp_path, s3):
    before = s3.keys("shards")
    summary = rec2idx.create_indexes(shards + "/", tmp_path / "out", recursive=True)
    assert summary.failed == []
    assert (tmp_path / "out/a.idx").read_bytes() == (tmp_path / "out/deep/b.idx").read_bytes()
    assert (tmp_path / "out/a.idx").read_bytes() == index(A)
    assert s3.keys("shards") == before


def test_the_total_of_a_folder_is_known(shards, tmp_path):
    seen = []
    rec2idx.create_indexes(shards, tmp_path, recursive=True, progress=seen.append)
    assert {progress.total for progress in seen} == {264}
    assert (seen[-1].records, seen[-1].bytes) == (6, 264)


def test_a_folder_on_a_web_server(nginx: Nginx, web_folder: Path, tmp_path):
    (web_folder / "set/deep").mkdir(parents=True)
    (web_folder / "set/a.rec").write_bytes(A)
    (web_folder / "set/deep/b.rec").write_bytes(B)
    summary = rec2idx.create_indexes(f"{nginx.url}set/", tmp_path, recursive=True)
    assert [file.record for file in summary.files] == [
        f"{nginx.url}set/a.rec",
        f"{nginx.url}set/deep/b.rec",
    ]
    assert (tmp_path / "deep/b.idx").read_bytes() == index(B)


def test_a_bucket_that_is_not_there(s3, tmp_path):
    summary = rec2idx.create_indexes("s3://nowhere/set", tmp_path, recursive=True)
    assert [type(file.error) for file in summary.failed] == [FileNotFoundError]


def test_one_index_over_objects(s3):
    urls = [s3.put("whole", f"{name}.rec", data) for name, data in (("a", A), ("b", B), ("e", b""))]
    summary = rec2idx.combine_index(urls, "s3://whole/all.idx")
    assert s3.get("whole", "all.idx") == SIX_INDEX
    assert (summary.records, summary.path, summary.left_out) == (6, urls[:2], (urls[2],))
    assert summary.dali_call == (
        "fn.readers.mxnet(path=['s3://whole/a.rec', 's3://whole/b.rec'], "
        "index_path=['s3://whole/all.idx'])"
    )


def test_one_index_over_many_objects_of_some_size(s3, tmp_path):
    """More of them than are under way at once, in the order that was given."""
    contents = [part(0, bytes([n]) * (3000 + n)) * (5 + n) for n in range(40)]
    urls = [s3.put("some", f"{n}.rec", data) for n, data in enumerate(contents)]
    rec2idx.combine_index(urls, tmp_path / "all.idx")
    assert (tmp_path / "all.idx").read_bytes() == index(b"".join(contents))


@pytest.mark.parametrize("damaged", [3, 17])
def test_of_two_damaged_objects_the_first_is_named(s3, tmp_path, damaged):
    contents = [SIX] * 20
    contents[damaged] = contents[19] = SIX[:-4]
    urls = [s3.put("half", f"{n}.rec", data) for n, data in enumerate(contents)]
    with pytest.raises(rec2idx.TruncatedError) as caught:
        rec2idx.combine_index(urls, tmp_path / "all.idx")
    assert (caught.value.path, caught.value.record) == (urls[damaged], 5)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["s3://targets/a.rec", "s3://targets/other.rec"])
def test_no_object_that_is_a_record_file_is_replaced(s3, target):
    url = s3.put("targets", "a.rec", SIX)
    s3.put("targets", "other.rec", FACE)
    with pytest.raises(rec2idx.UnsafeTargetError):
        rec2idx.combine_index([url, url], target)
    assert s3.get("targets", "a.rec") == SIX
    assert s3.get("targets", "other.rec") == FACE


def test_several_objects_are_under_way_at_once(own: OwnServer, tmp_path):
    urls = [own.put(f"{n}.rec", SIX, Manners(delay=0.01)) for n in range(8)]
    summary = rec2idx.create_indexes(urls, tmp_path)
    assert summary.failed == []
    assert {(tmp_path / f"{n}.idx").read_bytes() for n in range(8)} == {SIX_INDEX}
    assert own.most_at_once > 1
    own.most_at_once = 0
    rec2idx.create_indexes(urls, tmp_path, jobs=1)
    assert own.most_at_once == 1


def test_an_index_in_a_bucket_that_is_there_when_it_is_needed(s3):
    url = s3.put("fresh", "a.rec", SIX)
    assert rec2idx.ensure_index(url) == "s3://fresh/a.idx"
    assert s3.get("fresh", "a.idx") == SIX_INDEX
    s3.traffic.clear()
    assert rec2idx.ensure_index(url) == "s3://fresh/a.idx"
    assert {request.method for request in s3.traffic.requests} == {"HEAD", "GET"}


def test_an_index_in_a_bucket_that_does_not_fit_is_made_anew(s3):
    url = s3.put("stale", "a.rec", SIX)
    s3.put("stale", "a.idx", b"0\t0\n")
    rec2idx.ensure_index(url)
    assert s3.get("stale", "a.idx") == SIX_INDEX


def test_an_older_index_in_a_bucket_is_made_anew(s3):
    s3.put("older", "a.idx", b"7\t0\n8\t220\n")
    time.sleep(1.1)  # a storage tells whole seconds
    url = s3.put("older", "a.rec", SIX)
    rec2idx.ensure_index(url)
    assert s3.get("older", "a.idx") == SIX_INDEX


def test_a_local_index_of_an_object(s3, tmp_path):
    url = s3.put("local", "a.rec", SIX)
    path = str(tmp_path / "a.idx")
    assert rec2idx.ensure_index(url, path) == path
    made = os.stat(path).st_ino
    rec2idx.ensure_index(url, path)
    assert os.stat(path).st_ino == made


def test_a_file_on_a_server_without_ranges_is_indexed_each_time(own: OwnServer, tmp_path):
    url = own.put("a.rec", SIX, Manners(ranges=False))
    for _ in range(2):
        assert rec2idx.ensure_index(url, tmp_path / "a.idx") == str(tmp_path / "a.idx")
        assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX


# Whoever fills a bucket chooses its names, and nothing else


@pytest.mark.parametrize("key", ["../../up.rec", "/tmp/up.rec", "..//../up.rec", "./up.rec"])
def test_no_index_outside_of_its_folder(s3, tmp_path, key):
    s3.put("names", f"set/{key}", SIX)
    out = tmp_path / "deep/out"
    summary = rec2idx.create_indexes("s3://names/set", out, recursive=True)
    [done] = summary.done
    assert Path(done.index).resolve().is_relative_to(out)
    assert Path(done.index).read_bytes() == SIX_INDEX
    assert [path for path in tmp_path.rglob("*.idx") if not path.is_relative_to(out)] == []
    s3.client.delete_object(Bucket="names", Key=f"set/{key}")


def test_no_link_leads_outside_of_its_folder(own: OwnServer, tmp_path):
    page = b'<a href="../up.rec">up</a> <a href="a.rec">a</a>'
    own.put("set/", page)
    own.put("set/a.rec", SIX)
    own.put("up.rec", SIX)
    out = tmp_path / "deep/out"
    rec2idx.create_indexes(f"{own.url}set/", out, recursive=True)
    assert {path.parent for path in tmp_path.rglob("*.idx")} <= {out}


def test_a_folder_without_files(tmp_path):
    (tmp_path / "empty").mkdir()
    summary = rec2idx.create_indexes(f"file://{tmp_path}/empty", recursive=True)
    assert summary.files == ()


def test_a_folder_in_memory(tmp_path):
    fsspec.filesystem("memory").pipe_file("/top/a.rec", SIX)
    for url in ("memory://top", "memory:///top/"):
        summary = rec2idx.create_indexes(url, tmp_path, recursive=True)
        assert summary.failed == []
        assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX


def test_a_chain_is_no_folder(tmp_path):
    """It is told, and not passed over in silence."""
    summary = rec2idx.create_indexes(f"simplecache::file://{tmp_path}", tmp_path, recursive=True)
    assert [type(file.error) for file in summary.failed] == [IsADirectoryError]


# What stands where an index is to go


@pytest.mark.parametrize("name", ["photo.jpg", "photo.idx", "notes.txt"])
def test_nothing_but_an_index_is_replaced(s3, name):
    content = b"some notes" if name.endswith("txt") else b"\xff\xd8\xff\xe0 and so on"
    target = s3.put("targets", name, content)
    url = s3.put("targets", "a.rec", SIX)
    with pytest.raises(rec2idx.UnsafeTargetError):
        rec2idx.create_index(url, target)
    assert s3.get("targets", name) == content


@pytest.mark.parametrize("content", [b"0\t0\n", b""])
def test_an_old_index_is_replaced(s3, content):
    target = s3.put("targets", "old.idx", content)
    rec2idx.create_index(s3.put("targets", "a.rec", SIX), target)
    assert s3.get("targets", "old.idx") == SIX_INDEX


def test_reads_smaller_than_a_head(s3):
    url = s3.put("heads", "a.rec", SIX)
    for size in (8, 16, 100):
        batches = list(rec2idx.scan(url, jobs=1, block_size=size, heads=120))
        assert [at for batch in batches for at in batch.offsets] == [*range(0, 264, 44)]
        assert sum(len(batch.heads) for batch in batches) == 6 * 128
