"""New files behind URLs: an object appears whole, or not at all, and replaces only an index."""

from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from samples import SIX, SIX_INDEX
from servers import OwnServer, S3Server

from rec2idx.errors import CredentialsError, RemoteError, UnsafeTargetError
from rec2idx.targets import index_target, new_files, new_target, require_two_files

OLD = b"0\t0\n"


class StopError(Exception):
    pass


def written(url: str, *pieces: bytes | Exception | Callable[[], object]) -> None:
    """Write the pieces to a URL; one that is an error is raised, a function is called."""
    with new_files(index_target(url)) as (sink,):
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            if callable(piece):
                piece()
            else:
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
        written(url, b"7\t0\n")
        assert s3.get("out", key) == b"7\t0\n"
    written("s3://out/empty.idx")
    assert s3.get("out", "empty.idx") == b""
    assert s3.keys("out") == ["a b/ü.idx", "a.idx", "empty.idx", "other"]


def test_s3_in_several_parts(s3: S3Server):
    s3.put("large", "other", b"")
    block = bytes(range(256)) * 4096
    written("s3://large/a.idx", *[block] * 110)
    assert s3.get("large", "a.idx") == block * 110


def test_nothing_is_visible_before_the_end(s3: S3Server):
    s3.put("whole", "old.idx", OLD)
    with new_files(index_target("s3://whole/old.idx")) as (sink,):
        sink.write(b"new")
        assert s3.get("whole", "old.idx") == OLD
    assert s3.get("whole", "old.idx") == b"new"


def test_a_failure_leaves_what_was_there(s3: S3Server, memory):
    s3.put("fails", "old.idx", OLD)
    memory.pipe_file("/old.idx", OLD)
    for url in ("s3://fails/old.idx", "s3://fails/new.idx", "memory://old.idx", "memory://new.idx"):
        with pytest.raises(StopError):
            written(url, b"new", StopError())
    assert s3.keys("fails") == ["old.idx"]
    assert s3.get("fails", "old.idx") == OLD
    assert {name: file.getvalue() for name, file in memory.store.items()} == {"/old.idx": OLD}


def test_a_failing_upload_leaves_nothing(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    s3.put("upload", "old.idx", OLD)

    def refuse(environ):
        no = ("403 Forbidden", [("Content-Length", "0")], b"")
        return no if environ["REQUEST_METHOD"] in ("PUT", "POST") else None

    monkeypatch.setattr(s3, "answer", refuse)
    with pytest.raises(RemoteError, match="access is denied"):
        written("s3://upload/old.idx", b"new")
    with pytest.raises(RemoteError, match="access is denied"):
        written("s3://upload/new.idx", b"new")
    assert s3.keys("upload") == ["old.idx"]
    assert s3.get("upload", "old.idx") == OLD


def test_a_storage_where_files_grow(memory):
    written("memory://folder/a.idx", b"one", b"two")
    written("memory://b.idx", b"3\t0\n")
    written("memory://b.idx", b"four")
    found = {name: file.getvalue() for name, file in memory.store.items()}
    assert found == {"/folder/a.idx": b"onetwo", "/b.idx": b"four"}


def test_a_failing_upload_where_files_grow(memory, monkeypatch: pytest.MonkeyPatch):
    memory.pipe_file("/a.idx", OLD)

    def fail(self, *_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(memory), "mv", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        written("memory://a.idx", b"new")
    assert caught.value.filename == "memory://a.idx"
    assert {name: file.getvalue() for name, file in memory.store.items()} == {"/a.idx": OLD}


def test_a_local_url(tmp_path: Path):
    written(f"file://{tmp_path}/a b.idx", b"12", b"3")
    assert [path.name for path in tmp_path.iterdir()] == ["a b.idx"]
    assert (tmp_path / "a b.idx").read_bytes() == b"123"


def test_what_cannot_work_is_said_before_anything_is_written(
    s3: S3Server, own: OwnServer, monkeypatch: pytest.MonkeyPatch
):
    def refused(url: str, kind: type[Exception], match: str) -> None:
        with pytest.raises(kind, match=match):
            index_target(url)

    s3.put("early", "folder/a", b"")
    refused("s3://no-such/a.idx", FileNotFoundError, "the bucket does not exist")
    refused("s3://early/folder", IsADirectoryError, "Is a directory")
    refused(own.url + "a.idx", RemoteError, "web servers take no files")
    refused("simplecache::s3://early/a.idx", RemoteError, "chain")
    s3.use(monkeypatch, anonymous=True)
    refused("s3://early/a.idx", CredentialsError, "no credentials were found; set AWS_ACCESS")


def test_a_large_index_is_replaced_in_several_parts(s3: S3Server):
    s3.put("larger", "a.idx", OLD)
    block = bytes(range(256)) * 4096
    written("s3://larger/a.idx", *[block] * 110)
    assert s3.get("larger", "a.idx") == block * 110


THINGS = [SIX, SIX[1:], b"some text\n", b"0\t1.0\ta.jpg\n", SIX_INDEX * 9000 + b"the end\n"]


@pytest.mark.parametrize("content", THINGS)
def test_an_index_replaces_nothing_but_an_index(s3: S3Server, memory, content: bytes):
    s3.put("things", "a.idx", content)
    memory.pipe_file("/a.idx", content)
    for url in ("s3://things/a.idx", "s3a://things/a.idx", "memory://a.idx", "memory:///a.idx"):
        with pytest.raises(UnsafeTargetError, match="the index would replace"):
            index_target(url)


@pytest.mark.parametrize("content", [b"", OLD, b"other"])
def test_a_new_file_replaces_nothing(s3: S3Server, memory, content: bytes):
    s3.put("taken", "a.rec", content)
    memory.pipe_file("/a.rec", content)
    for url in ("s3://taken/a.rec", "memory://a.rec"):
        with pytest.raises(UnsafeTargetError, match="a file stands there already"):
            new_target(url, "record file")


def theirs(s3: S3Server, memory, url: str, content: bytes) -> None:
    """Let somebody else write to a URL."""
    if url.startswith("s3:"):
        s3.put("race", "a.idx", content)
    else:
        memory.pipe_file("/a.idx", content)


@pytest.mark.parametrize("old", [None, OLD])
@pytest.mark.parametrize("url", ["s3://race/a.idx", "memory://a.idx"])
def test_what_comes_there_meanwhile_is_not_replaced(s3: S3Server, memory, url: str, old: bytes):
    s3.put("race", "b", b"")
    s3.client.delete_object(Bucket="race", Key="a.idx")
    if old is not None:
        theirs(s3, memory, url, old)
    with pytest.raises(UnsafeTargetError, match="another program wrote there"):
        written(url, b"mine", lambda: theirs(s3, memory, url, b"theirs"))
    assert fsspec.open(url).open().read() == b"theirs"


@pytest.mark.parametrize("old", [None, OLD])
def test_s3_itself_refuses_what_comes_there_after_the_last_look(
    s3: S3Server, memory, monkeypatch: pytest.MonkeyPatch, old: bytes
):
    def meanwhile(environ) -> None:
        if environ["REQUEST_METHOD"] == "PUT":
            monkeypatch.setattr(s3, "answer", lambda _: None)
            s3.put("race", "a.idx", b"theirs")

    s3.put("race", "b", b"")
    s3.client.delete_object(Bucket="race", Key="a.idx")
    if old is not None:
        s3.put("race", "a.idx", old)
    with pytest.raises(UnsafeTargetError, match="another program wrote there"):
        written("s3://race/a.idx", b"mine", lambda: monkeypatch.setattr(s3, "answer", meanwhile))
    assert s3.get("race", "a.idx") == b"theirs"


def test_the_same_bytes_may_come_there_meanwhile(s3: S3Server):
    """As where many processes make the same index at once."""
    s3.put("same", "other", b"")
    written("s3://same/a.idx", OLD, lambda: s3.put("same", "a.idx", OLD))
    assert s3.get("same", "a.idx") == OLD


SPELLINGS = [
    ("s3://b/a.rec", "s3a://b/a.rec"),
    ("s3://b/a.rec", "s3://b/./a.rec"),
    ("s3://b/a.rec", "s3://b/x/../a.rec"),
    ("s3://b/a.rec", "s3://b//a.rec"),
    ("memory://a.rec", "memory:///a.rec"),
    ("memory://a.rec", "memory://./a.rec"),
]


@pytest.mark.parametrize(("one", "other"), SPELLINGS)
def test_two_ways_to_write_a_url_are_one_object(s3: S3Server, one: str, other: str):
    with pytest.raises(UnsafeTargetError, match="would be the same file"):
        require_two_files(one, other)
