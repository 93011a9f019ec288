"""URLs with secrets are opened as they are, and shown without them, whatever happens."""

import base64
import json
import os
import pickle
import pty
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from samples import SIX, SIX_INDEX
from servers import Manners, OwnServer, S3Server, refusal

import rec2idx
from rec2idx.datasets.dataset import RecordDataset
from rec2idx.remote import RemoteFile, RemoteLocation

SECRET = "s3cr3t"
QUERY = f"a.rec?X-Amz-Credential={SECRET}&X-Amz-Expires=60&X-Amz-Signature={SECRET}%2B"
AS_SENT = f"a.rec?X-Amz-Credential={SECRET}&X-Amz-Expires=60&X-Amz-Signature={SECRET}+"
SHOWN = "a.rec?X-Amz-Credential=***&X-Amz-Expires=60&X-Amz-Signature=***"
BASIC = "Basic " + base64.b64encode(f"me:{SECRET}".encode()).decode()


def all_said(error: BaseException) -> str:
    """All that an error and its causes say, and hold, in any way that Python shows errors."""
    said, todo, seen = [], [error], set()
    while todo:
        one = todo.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        todo += [one.__cause__, one.__context__]
        said += [str(one), repr(one), repr(one.args), repr(vars(one))]
        said += getattr(one, "__notes__", [])
        said.append(repr(getattr(one, "filename", None)))
        said += traceback.format_exception(one)
    return "\n".join(said)


def signed(own: OwnServer, data: bytes = SIX, **manners: object) -> str:
    own.put(AS_SENT, data, Manners(**manners))
    return own.url + QUERY


def with_password(own: OwnServer, data: bytes = SIX, **manners: object) -> str:
    own.put("a.rec", data, Manners(authorization=BASIC, **manners))
    return own.url.replace("://", f"://me:{SECRET}@") + "a.rec"


Make = Callable[..., str]


@pytest.fixture(params=[signed, with_password])
def url_of(request: pytest.FixtureRequest, own: OwnServer) -> Make:
    return lambda *args, **manners: request.param(own, *args, **manners)


def uses(url: str, folder: Path) -> Iterator[Callable[[], object]]:
    """All that the library does with the URL of a record file, an index or a list."""
    index = folder / "other.idx"
    local = folder / "local.rec"
    local.write_bytes(SIX)
    yield lambda: rec2idx.create_index(url, index)
    yield lambda: rec2idx.create_index(local, url)
    yield lambda: rec2idx.create_index(local, index, keys=rec2idx.KeepKeys(url))
    yield lambda: rec2idx.create_indexes([url], folder / "out").failed[0].error
    yield lambda: rec2idx.combine_index([url], index)
    yield lambda: rec2idx.ensure_index(url, index)
    yield lambda: rec2idx.check(url)
    yield lambda: rec2idx.check(local, url)
    yield lambda: rec2idx.info(url)
    yield lambda: list(rec2idx.list_records(url))
    yield lambda: list(rec2idx.list_records(local, url))
    yield lambda: list(rec2idx.list_records(local, names=url))
    yield lambda: list(rec2idx.scan(url))
    yield lambda: list(rec2idx.read_records(url))
    yield lambda: rec2idx.salvage(url, folder / "new.rec")
    yield lambda: rec2idx.salvage(local, url)
    yield lambda: rec2idx.extract(url, folder / "images")
    yield lambda: rec2idx.extract(local, url)
    yield lambda: rec2idx.pack_images(url, folder / "new.rec")
    yield lambda: rec2idx.pack_images(folder / "a.lst", url)
    yield lambda: RecordDataset(url)
    yield lambda: RecordDataset(local, url)
    yield lambda: rec2idx.MXRecordIO(url, "r")


def faults(url_of: Make, own: OwnServer) -> Iterator[str]:
    """URLs at which things go wrong, each in its own way."""
    yield url_of().replace("a.rec", "none.rec")  # not found, or not allowed
    yield url_of(status=403, failures=-1)
    yield url_of(status=500, failures=-1)
    yield url_of(b"no record " * 100)
    yield url_of(SIX[:100])
    yield url_of(b"")
    yield url_of(SIX * 100, breaks=-1)
    yield url_of(SIX * 100, shift=1)
    yield url_of(SIX, ranges=False, length=False)
    yield url_of(SIX * 9000, changes_after=2)
    whole = url_of()
    yield whole.replace(f":{own.server_port}", ":1")  # refused
    yield whole.replace(f":{own.server_port}", ":99999")  # no port
    yield whole.replace("127.0.0.1", "no-such-host.invalid")
    yield whole.replace("http://", "https://")
    yield whole.replace("http://", "hxxp://")
    yield whole.replace("http://", "simplecache::http://", 1).replace("a.rec", "none.rec")
    yield whole.replace("http://", "zip://a.rec::http://", 1)
    yield whole.replace("http://", "ftp://").replace(f":{own.server_port}", ":1")
    yield whole.replace("http://", "s3://")


def test_errors_and_their_causes(url_of, own, folder, s3):
    """Some ways of use do not fail at some faults; then what they return is looked at."""
    for url in faults(url_of, own):
        failed = 0
        for use in uses(url, folder):
            try:
                result = use()
            except Exception as error:
                result = error
            if isinstance(result, Exception):
                failed += 1
                said = all_said(result)
                assert BASIC.removeprefix("Basic ") not in said, url
            else:
                said = repr(result)
            assert SECRET not in said, (url, said)
        assert failed, url


def test_values(url_of, own, folder):
    """They hold what was given, to be used again; their repr and JSON do not show it."""
    url = url_of()
    many = rec2idx.create_indexes([url, url], folder / "out")
    combined = rec2idx.combine_index([url, url], folder / "all.idx")
    info = rec2idx.info(url)
    check = rec2idx.check(url, full=True)
    assert many.files[0].record == url
    assert combined.path == [url, url]
    assert info.path == url
    assert check.paths == (url,)
    for value in (many, combined, combined.dali_call, combined.warnings, info, check):
        assert SECRET not in f"{value!r}"
    for value in (info, check):
        text = json.dumps(value.as_dict())
        assert SECRET not in text
        assert "***" in text
    damaged = url_of(SIX[:100])
    regions: list[rec2idx.DamagedRegion] = []
    done = rec2idx.create_index(damaged, folder / "a.idx", salvage=regions.append)
    assert SECRET not in f"{done} {regions}"
    assert len(regions) == 1


def test_the_url_itself_is_what_is_opened_and_sent_to_workers(url_of):
    url = url_of()
    with RemoteFile(url) as file:
        assert file.read(0, 1000) == SIX
        place = pickle.loads(pickle.dumps(file.location()))
        assert isinstance(place, RemoteLocation)
        with place.open() as again, pickle.loads(pickle.dumps(file)) as third:
            assert again.read(0, 44) == third.read(0, 44) == SIX[:44]
    assert SECRET not in f"{place} {place!r}"


def test_commands(own, folder):
    """Whether they succeed or fail; to a pipe, or with a bar on a terminal."""
    (folder / "local.rec").write_bytes(SIX)
    for url in (signed(own), with_password(own, SIX[:100])):
        for command in (
            ["rec2idx", url, "a.idx"],
            ["rec2idx", "--progress", "lines", "--salvage", url, "a.idx"],
            ["rec2idx", "local.rec", url],
            ["rec2idx", "local.rec", "a.idx", "--keys", f"keep={url}"],
            ["recordio", "index", url, "local.rec", "--out-dir", "out"],
            ["recordio", "index", "--combine", "all.idx", url, url],
            ["recordio", "info", url],
            ["recordio", "info", "--json", url],
            ["recordio", "ls", url],
            ["recordio", "ls", "--json", url],
            ["recordio", "ls", "local.rec", url],
            ["recordio", "cat", url, "nokey"],
            ["recordio", "check", url],
            ["recordio", "check", "--full", "--json", "--for", "dali,mxnet,rocal", url, url],
            ["recordio", "salvage", url, "new.rec"],
            ["recordio", "salvage", "local.rec", url],
            ["recordio", "extract", url, "images"],
            ["recordio", "extract", "local.rec", url],
            ["recordio", "pack", url, "new.rec"],
        ):
            done = subprocess.run(
                [Path(sys.executable).with_name(command[0]), *command[1:]],
                cwd=folder, capture_output=True, text=True, timeout=60,
            )  # fmt: skip
            assert SECRET not in done.stdout + done.stderr, command
            assert "Traceback" not in done.stderr, command
            for name in ("new.rec", "a.idx", "all.idx"):
                (folder / name).unlink(missing_ok=True)


def test_a_message_still_says_which_url_it_is(own, folder):
    url = signed(own).replace("a.rec", "none.rec")
    with pytest.raises(FileNotFoundError) as raised:
        rec2idx.create_index(url, "a.idx")
    assert raised.value.filename == own.url + SHOWN.replace("a.rec", "none.rec")


def test_a_bar(own, folder):
    """It is named after the file; each request takes a while, so that there is one."""
    url = signed(own, SIX * 20_000, delay=0.4)
    terminal, its_end = pty.openpty()
    command = Path(sys.executable).with_name("rec2idx")
    process = subprocess.Popen([command, "-j", "1", url, "a.idx"], cwd=folder, stderr=its_end)
    os.close(its_end)
    shown = b""
    try:
        while piece := os.read(terminal, 10_000):
            shown += piece
    except OSError:  # how Linux says that the other side has closed it
        pass
    assert process.wait(timeout=60) == 0
    assert SHOWN in shown.decode()
    assert SECRET not in shown.decode()


def test_indexes_beside_signed_urls(own, folder):
    """The name of the index is made from the URL itself; that it cannot be written is said."""
    with pytest.raises(rec2idx.errors.RemoteError, match="web servers take no files") as raised:
        rec2idx.create_index(with_password(own))
    assert raised.value.path == own.url.replace("://", "://me:***@") + "a.idx"
    assert SECRET not in all_said(raised.value)


def test_what_s3_says_about_keys(s3: S3Server, monkeypatch, folder):
    """The key that was used may stand in the words of the server."""
    url = s3.put("rec2idx-secrets", "a.rec", SIX)
    for code in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied", "InternalError"):
        text = f"AKIAIOSFODNN7S3CR3TX, AWSAccessKeyId={SECRET}, Signature={SECRET} are none"
        with RemoteFile(url) as file, monkeypatch.context() as refused:
            refused.setattr(s3, "answer", refusal("403 Forbidden", code, text))
            with pytest.raises(rec2idx.errors.RemoteError) as raised:
                file.read(0, 44)
        assert "*** are none" in str(raised.value)
        assert SECRET not in all_said(raised.value)
        assert "S3CR3T" not in all_said(raised.value)


def test_local_files_are_shown_as_they_are(folder):
    path = folder / "token=5,key=7@x.rec"
    path.write_bytes(SIX)
    done = rec2idx.create_index(path)
    assert repr(str(path.with_suffix(".idx"))) in repr(done)
    assert path.with_suffix(".idx").read_bytes() == SIX_INDEX
