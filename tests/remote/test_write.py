"""`new_remote_file`: an object appears whole, or not at all."""

from pathlib import Path

import fsspec
import pytest
from servers import OwnServer, S3Server

from rec2idx.errors import CredentialsError, RemoteError
from rec2idx.remote import new_remote_file


class StopError(Exception):
    pass


def written(url: str, *pieces: bytes | Exception) -> None:
    """Write the pieces to a URL; one that is an error is raised."""
    with new_remote_file(url) as sink:
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            sink.write(piece)


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    return system


def test_s3(s3: S3Server):
    s3.put("out", "other", b"")
    for url, key in (("s3://out/a.idx", "a.idx"), ("s3://out/a b/ü.idx", "a b/ü.idx")):
        written(url, b"0\t0\n", b"1\t44\n")
        assert s3.get("out", key) == b"0\t0\n1\t44\n"
        written(url, b"new")
        assert s3.get("out", key) == b"new"
    written("s3://out/empty.idx")
    assert s3.get("out", "empty.idx") == b""
    assert s3.keys("out") == ["a b/ü.idx", "a.idx", "empty.idx", "other"]


def test_s3_in_several_parts(s3: S3Server):
    s3.put("large", "other", b"")
    block = bytes(range(256)) * 4096
    written("s3://large/a.idx", *[block] * 110)
    assert s3.get("large", "a.idx") == block * 110


def test_nothing_is_visible_before_the_end(s3: S3Server):
    s3.put("whole", "old.idx", b"old")
    with new_remote_file("s3://whole/old.idx") as sink:
        sink.write(b"new")
        assert s3.get("whole", "old.idx") == b"old"
    assert s3.get("whole", "old.idx") == b"new"


def test_a_failure_leaves_what_was_there(s3: S3Server, memory):
    s3.put("fails", "old.idx", b"old")
    memory.pipe_file("/old.idx", b"old")
    for url in ("s3://fails/old.idx", "s3://fails/new.idx", "memory://old.idx", "memory://new.idx"):
        with pytest.raises(StopError):
            written(url, b"new", StopError())
    assert s3.keys("fails") == ["old.idx"]
    assert s3.get("fails", "old.idx") == b"old"
    assert {name: file.getvalue() for name, file in memory.store.items()} == {"/old.idx": b"old"}


def test_a_failing_upload_leaves_nothing(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    s3.put("upload", "old.idx", b"old")

    def refuse(environ):
        no = ("403 Forbidden", [("Content-Length", "0")], b"")
        return no if environ["REQUEST_METHOD"] in ("PUT", "POST") else None

    monkeypatch.setattr(s3, "answer", refuse)
    with pytest.raises(RemoteError, match="access is denied"):
        written("s3://upload/old.idx", b"new")
    with pytest.raises(RemoteError, match="access is denied"):
        written("s3://upload/new.idx", b"new")
    assert s3.keys("upload") == ["old.idx"]
    assert s3.get("upload", "old.idx") == b"old"


def test_a_storage_where_files_grow(memory):
    written("memory://folder/a.idx", b"one", b"two")
    written("memory://b.idx", b"three")
    written("memory://b.idx", b"four")
    found = {name: file.getvalue() for name, file in memory.store.items()}
    assert found == {"/folder/a.idx": b"onetwo", "/b.idx": b"four"}


def test_a_failing_upload_where_files_grow(memory, monkeypatch: pytest.MonkeyPatch):
    memory.pipe_file("/a.idx", b"old")

    def fail(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(memory), "mv", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        written("memory://a.idx", b"new")
    assert caught.value.filename == "memory://a.idx"
    assert {name: file.getvalue() for name, file in memory.store.items()} == {"/a.idx": b"old"}


def test_a_local_url(tmp_path: Path):
    written(f"file://{tmp_path}/a b.idx", b"12", b"3")
    assert [path.name for path in tmp_path.iterdir()] == ["a b.idx"]
    assert (tmp_path / "a b.idx").read_bytes() == b"123"


def test_what_cannot_work_is_said_before_anything_is_written(
    s3: S3Server, own: OwnServer, monkeypatch: pytest.MonkeyPatch
):
    def refused(url: str, kind: type[Exception], match: str) -> None:
        with pytest.raises(kind, match=match), new_remote_file(url):
            pytest.fail("too late")

    s3.put("early", "folder/a", b"")
    refused("s3://no-such/a.idx", FileNotFoundError, "the bucket does not exist")
    refused("s3://early/folder", IsADirectoryError, "Is a directory")
    refused(own.url + "a.idx", RemoteError, "web servers take no files")
    refused("simplecache::s3://early/a.idx", RemoteError, "chain")
    s3.use(monkeypatch, anonymous=True)
    refused("s3://early/a.idx", CredentialsError, "no credentials were found; set AWS_ACCESS")
