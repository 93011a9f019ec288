"""Records and indexes behind URLs: what comes of them, and what is refused."""

from pathlib import Path

import pytest
from reference import part
from samples import SIX, SIX_INDEX
from servers import Manners, Nginx, OwnServer, S3Server

import rec2idx

THREES = b"".join(b"%d\t%d\n" % (3 * number, 44 * number) for number in range(6))


@pytest.fixture(params=["nginx", "own", "own without ranges", "s3"])
def put(request, nginx: Nginx, web_folder: Path, own: OwnServer, s3: S3Server):
    """Put bytes on a storage; returns their URL."""

    def put(name: str, data: bytes) -> str:
        if request.param == "nginx":
            (web_folder / name).write_bytes(data)
            return f"{nginx.url}/{name}"
        if request.param == "s3":
            return s3.put("bucket", name, data)
        return own.put(name, data, Manners(ranges="ranges" not in request.param))

    return put


def test_the_command_indexes_a_url(put, s3, tmp_path, run):
    url = put("six.rec", SIX)
    done = run(url, "out.idx", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "out.idx").read_bytes() == SIX_INDEX


def test_index_beside_the_record_in_a_bucket(s3, run):
    """As `s3://.../six.idx`, by default; whole, or not at all."""
    url = s3.put("beside", "a b/ü.rec", SIX)
    assert run(url, "-q").returncode == 0
    assert s3.get("beside", "a b/ü.idx") == SIX_INDEX
    url = s3.put("beside", "cut.rec", SIX[:250])
    done = run(url, "-q")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"{url}: record 5 at byte 220: cut off by the end of the file" in done.stderr
    assert "cut.idx" not in s3.keys("beside")


def test_a_record_in_a_bucket_is_not_replaced(s3, run):
    url = s3.put("safe", "six.rec", SIX)
    other = s3.put("safe", "other.rec", part(0, b"other"))
    for target, what in ((url, f"the record file {url} itself"), (other, "a RecordIO file")):
        done = run(url, target)
        assert done.returncode == 1
        assert f"the index would replace {what}; " in done.stderr
    assert s3.get("safe", "six.rec") == SIX
    assert s3.get("safe", "other.rec") == part(0, b"other")


def test_what_is_missing_is_named(s3, own, run):
    """A missing object, a closed port: two messages, each of one line, and no talk of damage."""
    url = s3.put("there", "six.rec", SIX).replace("six.rec", "none.rec")
    for wrong in (url, "http://127.0.0.1:1/a.rec"):
        done = run(wrong, "out.idx", "-q")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert done.stderr.startswith(f"rec2idx: {wrong}: ")
        assert "damaged" not in done.stderr


def test_a_faulty_server_gives_the_right_index_or_an_error(own):
    """Half a reply, a 503 twice: read again. An object that changes: an error."""
    data = part(0, bytes(100)) * 2000
    for manners in (Manners(failures=2), Manners(breaks=2)):
        url = own.put("a.rec", data, manners)
        found = [at for batch in rec2idx.scan(url, segment_size=20_000) for at in batch.offsets]
        assert found == list(range(0, len(data), 108))


def test_the_keys_of_an_old_index_behind_a_url(put, tmp_path, run):
    old = THREES + b"77\t5\n"
    done = run(
        put("six.rec", SIX),
        "out.idx",
        "--keys",
        f"keep={put('old.idx', old)}",
        "--progress",
        "none",
    )
    assert done.returncode == 0
    assert "old.idx fits no record; index written to out.idx" in done.stderr
    assert (tmp_path / "out.idx").read_bytes() == THREES


def test_the_old_index_in_a_bucket_is_the_one_that_is_replaced(s3, run):
    url = s3.put("kept", "six.rec", SIX)
    old = s3.put("kept", "six.idx", THREES + b"77\t5\n")
    assert run(url, "-q", "--keys", f"keep={old}").returncode == 0
    assert s3.get("kept", "six.idx") == THREES


def test_a_record_file_behind_a_url_is_no_old_index(put, tmp_path, run):
    url = put("six.rec", SIX)
    done = run(url, "out.idx", "-q", "--keys", f"keep={url}")
    assert done.returncode == 1
    assert f"{url}: not an old index, but a RecordIO file; " in done.stderr
    assert not (tmp_path / "out.idx").exists()
