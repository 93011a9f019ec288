"""`RemoteFile` on storages that behave: the same bytes from all of them, and clear errors."""

import pickle
import random
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fsspec
import pytest
from servers import Manners, Nginx, OwnServer, S3Server, refusal

from rec2idx.errors import (
    CredentialsError,
    FileChangedError,
    MissingExtraError,
    RecordIOError,
    RemoteError,
)
from rec2idx.paths import is_url
from rec2idx.remote import RemoteFile, head

DATA = random.Random(1).randbytes(300_000)
Put = Callable[[bytes], str]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3://bucket/a.rec", True),
        ("https://host/a.rec?x=1", True),
        ("file:///a.rec", True),
        ("memory://a", True),
        ("simplecache::s3://bucket/a.rec", True),
        ("/data/a.rec", False),
        ("data/a::b.rec", False),
        ("a:b", False),
        ("./s3://x", False),
        ("-", False),
        ("", False),
    ],
)
def test_what_is_a_url(path, expected):
    assert is_url(path) is expected


def test_to_ask_whether_something_is_a_url_imports_nothing():
    code = (
        "import sys, rec2idx.remote, rec2idx.paths;"
        "rec2idx.paths.is_url('s3://a'); print('fsspec' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.fixture(params=["memory", "file", "simplecache", "nginx", "nginx-moved", "own", "s3"])
def put(request: pytest.FixtureRequest, tmp_path: Path) -> Put:
    """Return what puts bytes into a storage and returns their URL."""

    def to_memory(data: bytes) -> str:
        fsspec.filesystem("memory").pipe_file("/folder/a.rec", data)
        return "memory://folder/a.rec"

    def to_file(data: bytes) -> str:
        (tmp_path / "a.rec").write_bytes(data)
        return f"file://{tmp_path}/a.rec"

    def to_nginx(data: bytes) -> str:
        (request.getfixturevalue("web_folder") / "a.rec").write_bytes(data)
        moved = "moved/" if request.param == "nginx-moved" else ""
        return f"{request.getfixturevalue('nginx').url}{moved}a.rec"

    return {
        "memory": to_memory,
        "simplecache": lambda data: f"simplecache::{to_memory(data)}",
        "file": to_file,
        "nginx": to_nginx,
        "nginx-moved": to_nginx,
        "own": lambda data: request.getfixturevalue("own").put("a.rec", data),
        "s3": lambda data: request.getfixturevalue("s3").put("bucket", "folder/a.rec", data),
    }[request.param]


def test_reads_exactly_the_bytes_that_are_asked_for(put: Put):
    with RemoteFile(url := put(DATA)) as file:
        assert (file.path, file.size, file.ranges) == (url, len(DATA), True)
        places = [(0, 1), (0, 64), (1, 5), (65_535, 2), (len(DATA) - 3, 3), (0, len(DATA))]
        for offset, length in places:
            assert file.read(offset, length) == DATA[offset : offset + length]
        assert file.read(len(DATA) - 3, 100) == DATA[-3:]
        assert file.read(len(DATA), 4) == b""
        assert file.read(len(DATA) + 50, 4) == b""
        assert file.read(7, 0) == b""
        file.require_unchanged()


def test_many_threads_read_one_file(put: Put):
    places = [(offset, 5_000) for offset in range(0, len(DATA), 4_999)]
    with RemoteFile(put(DATA)) as file, ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda place: file.read(*place), places))
    assert found == [DATA[offset : offset + length] for offset, length in places]


def test_an_empty_object(put: Put):
    with RemoteFile(put(b"")) as file:
        assert file.size == 0
        assert file.read(0, 10) == b""


def test_an_object_pickles(put: Put):
    with RemoteFile(put(DATA)) as file:
        again = pickle.loads(pickle.dumps(file))
        location = pickle.loads(pickle.dumps(file.location()))
        assert again.location() == location == file.location()
        assert again.read(100, 50) == DATA[100:150]
        with location.open() as third:
            assert third.read(5, 5) == DATA[5:10]


def test_an_object_that_was_replaced_is_noticed(put: Put):
    with RemoteFile(url := put(DATA)) as file:
        sent = pickle.dumps(file)
        assert put(DATA[:-1]) == url
        if url.startswith("simplecache"):
            pytest.skip("the cache gives what it has")
        with pytest.raises(FileChangedError, match="changed while it was read") as caught:
            file.require_unchanged()
        assert caught.value.path == url
        assert "300000 bytes" in str(caught.value)
        with pytest.raises(FileChangedError):
            pickle.loads(sent)


def test_a_pass_gives_all_bytes(put: Put):
    with RemoteFile(put(DATA)) as file, file.stream() as stream:
        pieces = list(iter(lambda: stream.read(70_000), b""))
    assert b"".join(pieces) == DATA
    assert max(map(len, pieces)) <= 70_000


def test_the_head_of_an_object(put: Put):
    url = put(DATA)
    assert head(url) == DATA[:4096]
    if not url.startswith("simplecache"):  # it gives what it has
        assert head(put(b"short")) == b"short"


def test_the_head_of_nothing(own: OwnServer, s3: S3Server, nginx: Nginx, tmp_path: Path):
    s3.put("bucket", "other", b"")
    assert head("s3://bucket/nothing.idx") is None
    assert head(own.url + "nothing.idx") is None
    assert head(nginx.url + "nothing.idx") is None
    assert head("memory://nothing.idx") is None
    assert head(f"file://{tmp_path}/nothing.idx") is None


def test_a_missing_object(put: Put):
    url = put(DATA).replace("a.rec", "b.rec")
    with pytest.raises(FileNotFoundError, match="No such file or directory") as caught:
        RemoteFile(url)
    assert caught.value.filename == url
    assert not isinstance(caught.value, RecordIOError)


@pytest.mark.parametrize("key", ["val.rec", "a b/ü.rec", "a+b%20c#d.rec", "deep/er/x.rec"])
def test_names_of_objects(s3: S3Server, key: str):
    with RemoteFile(s3.put("bucket", key, b"0123456789")) as file:
        assert file.read(3, 4) == b"3456"


@pytest.mark.parametrize("name", ["a b ü.rec", "a%20b.rec"])
def test_names_in_web_addresses(nginx: Nginx, web_folder: Path, name: str):
    (web_folder / "a b ü.rec").write_bytes(b"spaces")
    (web_folder / "a b.rec").write_bytes(b"spaces")
    with RemoteFile(nginx.url + name) as file:
        assert file.read(0, 6) == b"spaces"


def test_requests_that_s3_is_asked(s3: S3Server):
    url = s3.put("bucket", "a.rec", DATA)
    with RemoteFile(url) as file:
        file.read(1000, 500)
        file.require_unchanged()
    asked = [(request.method, request.range, request.sent) for request in s3.traffic.requests]
    assert asked == [("HEAD", "", 0), ("GET", "bytes=1000-1499", 500), ("HEAD", "", 0)]


def test_requests_that_a_web_server_is_asked(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA)) as file:
        file.read(1000, 500)
    asked = [(request.method, request.range, request.sent) for request in own.traffic.requests]
    assert asked == [("HEAD", "", 0), ("GET", "bytes=0-63", 64), ("GET", "bytes=1000-1499", 500)]


def test_a_changed_s3_object_gives_no_bytes(s3: S3Server):
    with RemoteFile(s3.put("bucket", "a.rec", DATA)) as file:
        s3.put("bucket", "a.rec", DATA[::-1])  # as long as before
        with pytest.raises(FileChangedError):
            file.read(0, 10)
        with pytest.raises(FileChangedError):
            file.require_unchanged()


def test_a_missing_bucket(s3: S3Server):
    for use in (RemoteFile, head):
        with pytest.raises(FileNotFoundError, match="the bucket does not exist") as caught:
            use("s3://nobody-has-this/a.rec")
        assert caught.value.filename == "s3://nobody-has-this/a.rec"


def test_a_folder(s3: S3Server, tmp_path: Path):
    s3.put("bucket", "folder/a.rec", DATA)
    for url in ("s3://bucket/folder", "s3://bucket", f"file://{tmp_path}"):
        with pytest.raises(IsADirectoryError) as caught:
            RemoteFile(url)
        assert caught.value.filename == url


def test_missing_credentials(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    url = s3.put("private", "a.rec", DATA)
    s3.use(monkeypatch, anonymous=True)
    with pytest.raises(CredentialsError) as caught:
        RemoteFile(url)
    assert str(caught.value) == (
        "s3://private/a.rec: no credentials were found; set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; public objects need none of them"
    )


def test_public_objects_need_no_credentials(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    url = s3.put("public", "a.rec", DATA, public=True)
    s3.use(monkeypatch, anonymous=True)
    with RemoteFile(url) as file:
        assert file.read(10, 10) == DATA[10:20]
        assert pickle.loads(pickle.dumps(file)).read(0, 3) == DATA[:3]
        file.require_unchanged()
    with pytest.raises(FileNotFoundError):
        RemoteFile("s3://public/b.rec")


def test_access_that_is_denied(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    url = s3.put("bucket", "a.rec", DATA)
    monkeypatch.setattr(s3, "answer", refusal("403 Forbidden", "AccessDenied", "no"))
    with pytest.raises(RemoteError, match="access is denied") as caught:
        RemoteFile(url)
    assert not isinstance(caught.value, (CredentialsError, FileNotFoundError))


def test_access_that_is_denied_by_a_web_server(nginx: Nginx):
    with pytest.raises(RemoteError, match=r"access is denied.*403"):
        RemoteFile(nginx.url + "private/a.rec")


def test_credentials_that_are_refused(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    with RemoteFile(s3.put("bucket", "a.rec", DATA)) as file:
        monkeypatch.setattr(s3, "answer", refusal("400 Bad Request", "ExpiredToken", "expired"))
        with pytest.raises(CredentialsError, match=r"refused \(expired\); renew them"):
            file.read(0, 10)


def test_another_region_is_followed(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    url = s3.put("bucket", "a.rec", DATA)
    region = (("x-amz-bucket-region", "eu-central-1"),)
    redirect = refusal("301 Moved Permanently", "PermanentRedirect", "elsewhere", region)

    def answer(environ):
        signed_for = "/eu-central-1/s3/" in environ.get("HTTP_AUTHORIZATION", "")
        return None if signed_for else redirect(environ)

    monkeypatch.setattr(s3, "answer", answer)
    with RemoteFile(url) as file:
        assert file.read(20, 20) == DATA[20:40]


@pytest.mark.parametrize("status", ["301 Moved Permanently", "307 Temporary Redirect"])
def test_another_region_that_redirects_again(s3: S3Server, monkeypatch, status: str):
    url = s3.put("bucket", "a.rec", DATA)
    region = (("x-amz-bucket-region", "eu-central-1"),)
    monkeypatch.setattr(s3, "answer", refusal(status, "PermanentRedirect", "elsewhere", region))
    with pytest.raises(RemoteError, match=r"another region.*set AWS_DEFAULT_REGION"):
        RemoteFile(url)


def test_a_busy_s3_server_is_asked_again(s3: S3Server, monkeypatch: pytest.MonkeyPatch):
    busy = refusal("503 Service Unavailable", "SlowDown", "Please reduce your request rate.")
    with RemoteFile(s3.put("bucket", "a.rec", DATA)) as file:
        left = [busy] * 3
        monkeypatch.setattr(s3, "answer", lambda environ: left.pop()(environ) if left else None)
        assert file.read(30, 30) == DATA[30:60]


def test_no_server(monkeypatch: pytest.MonkeyPatch, s3: S3Server):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{probe.getsockname()[1]}"  # bound, but nobody listens
        with pytest.raises(RemoteError, match=r"cannot be reached.*check the URL"):
            RemoteFile(f"http://{nobody}/a.rec")
        s3.use(monkeypatch)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{nobody}")
        with pytest.raises(RemoteError, match=r"cannot be reached.*check the URL"):
            RemoteFile("s3://bucket/a.rec")


def test_a_name_that_nobody_knows(monkeypatch: pytest.MonkeyPatch, s3: S3Server):
    with pytest.raises(RemoteError, match="the server's name is not known"):
        RemoteFile("http://nobody.invalid/a.rec")
    s3.use(monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://nobody.invalid")
    with pytest.raises(RemoteError, match="the server's name is not known"):
        RemoteFile("s3://bucket/a.rec")


def test_a_protocol_that_nobody_knows():
    with pytest.raises(RemoteError, match="the protocol 'gopher' is not known"):
        RemoteFile("gopher://host/a.rec")


@pytest.mark.parametrize(
    ("package", "url"),
    [("fsspec", "memory://a"), ("s3fs", "s3://bucket/a"), ("aiohttp", "http://127.0.0.1:9/a")],
)
def test_a_package_that_is_missing(package: str, url: str):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from rec2idx.remote import RemoteFile\n"
        f"try: RemoteFile({url!r})\n"
        "except ImportError as error: print(type(error).__name__, error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.startswith(f"MissingExtraError {url}: a package for this kind of URL is")
    assert "pip install 'rec2idx[remote]'" in found.stdout


def test_the_errors_are_what_callers_catch():
    assert issubclass(RemoteError, OSError)
    assert issubclass(MissingExtraError, ImportError)
    assert issubclass(CredentialsError, RemoteError)


def test_what_the_user_set_for_fsspec_is_kept(own: OwnServer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(
        fsspec.config.conf, "http", {"client_kwargs": {"headers": {"Authorization": "Bearer 1"}}}
    )
    with RemoteFile(own.put("a.rec", DATA, Manners(authorization="Bearer 1"))) as file:
        assert file.read(1, 9) == DATA[1:10]
    monkeypatch.delitem(fsspec.config.conf, "http")
    with pytest.raises(RemoteError, match="access is denied"):
        RemoteFile(own.url + "a.rec")
