"""`RemoteFile` on servers that misbehave: the right bytes, or an error; never other bytes."""

import random

import pytest
from servers import Manners, OwnServer

from rec2idx.errors import FileChangedError, RemoteError
from rec2idx.faults import TRIES
from rec2idx.remote import RemoteFile, head

DATA = random.Random(2).randbytes(50_000)


def opened(own: OwnServer, **manners: object) -> RemoteFile:
    """Open a file that is served well so far; from now on as it is told."""
    file = RemoteFile(own.put("a.rec", DATA))
    own.put("a.rec", DATA, Manners(**manners))
    own.traffic.clear()
    return file


def test_half_an_answer_is_asked_for_again(own: OwnServer):
    with opened(own, breaks=2) as file:
        assert file.read(1000, 8000) == DATA[1000:9000]
    assert own.traffic.ranges() == ["bytes=1000-8999"] * 3


def test_half_an_answer_each_time(own: OwnServer):
    with opened(own, breaks=-1) as file, pytest.raises(RemoteError, match="connection broke"):
        file.read(1000, 8000)
    assert len(own.traffic.requests) == TRIES


def test_a_short_answer_is_continued_from_where_it_stopped(own: OwnServer):
    with opened(own, most=3000) as file:
        assert file.read(1000, 8000) == DATA[1000:9000]
    assert own.traffic.ranges() == ["bytes=1000-8999", "bytes=4000-8999", "bytes=7000-8999"]


def test_busy_twice(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA, Manners(failures=2))) as file:
        own.put("a.rec", DATA, Manners(failures=2))
        assert file.read(5, 50) == DATA[5:55]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_busy_for_ever(own: OwnServer, status: int):
    said = f"the server answers {status}.*run again later"
    with opened(own, failures=-1, status=status) as file, pytest.raises(RemoteError, match=said):
        file.read(0, 10)
    assert len(own.traffic.requests) == TRIES


@pytest.mark.parametrize(
    ("status", "error"), [(401, RemoteError), (403, RemoteError), (404, FileNotFoundError)]
)
def test_a_refusal_is_not_tried_again(own: OwnServer, status: int, error: type[Exception]):
    with opened(own, failures=-1, status=status) as file, pytest.raises(error):
        file.read(0, 10)
    assert len(own.traffic.requests) == 1


@pytest.mark.parametrize("size", [10, 4096, 50_000])
def test_a_server_without_ranges_gives_one_pass(own: OwnServer, size: int):
    url = own.put("a.rec", DATA[:size], Manners(ranges=False))
    with RemoteFile(url) as file:
        assert (file.size, file.ranges) == (size, False)
        with pytest.raises(RemoteError, match="whole objects only; read it once"):
            file.read(0, 10)
        with file.stream() as stream:
            assert b"".join(iter(lambda: stream.read(1000), b"")) == DATA[:size]
            assert stream.read(10) == b""
        file.require_unchanged()
    assert head(url) == DATA[:size][:4096]


def test_whether_there_are_ranges_is_seen_without_reading_the_whole_object(own: OwnServer):
    large = bytes(64 << 20)
    with RemoteFile(own.put("large.rec", large, Manners(ranges=False))) as file:
        assert not file.ranges
    # Bytes that were under way are in some buffer; most of them were never sent.
    assert own.traffic.sent < 1 << 20


def test_a_server_that_does_not_say_how_long_it_is(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA, Manners(ranges=False, length=False))) as file:
        assert (file.size, file.ranges) == (-1, False)
        with file.stream() as stream:
            assert b"".join(iter(lambda: stream.read(7000), b"")) == DATA
        file.require_unchanged()


def test_a_pass_that_breaks_off(own: OwnServer):
    url = own.put("a.rec", DATA, Manners(ranges=False, breaks=-1))
    with RemoteFile(url) as file, file.stream() as stream:
        pieces = iter(lambda: stream.read(1000), b"")
        with pytest.raises(RemoteError, match="connection broke"):
            list(pieces)


def test_ranges_that_end_in_the_middle_of_a_run(own: OwnServer):
    with opened(own, ranges=False) as file, pytest.raises(RemoteError, match="ignores ranges"):
        file.read(100, 10)


def test_another_range_than_was_asked_for(own: OwnServer):
    with opened(own, shift=4) as file, pytest.raises(RemoteError) as caught:
        file.read(100, 10)
    assert str(caught.value) == (
        f"{own.url}a.rec: the server sends other bytes than were asked for: "
        "expected bytes 100-109, found bytes 104-113/50000"
    )


def test_a_range_that_is_not_named(own: OwnServer):
    with opened(own, silent=True) as file, pytest.raises(RemoteError, match="no Content-Range"):
        file.read(100, 10)


def test_more_than_was_asked_for(own: OwnServer):
    with opened(own, extra=3) as file, pytest.raises(RemoteError, match="more than was asked for"):
        file.read(100, 10)


def test_an_answer_that_says_it_is_longer_than_it_is(own: OwnServer):
    with opened(own, claim=5) as file, pytest.raises(RemoteError, match="connection broke"):
        file.read(100, 1000)


def test_an_answer_that_says_it_is_shorter_than_it_is(own: OwnServer):
    with opened(own, claim=-5) as file, pytest.raises(RemoteError, match="connection broke"):
        file.read(100, 1000)


@pytest.mark.parametrize("claim", [-100, 100])
def test_a_wrong_size(own: OwnServer, claim: int):
    url = own.put("a.rec", DATA, Manners(head_claim=claim))
    with pytest.raises(FileChangedError, match=f"expected {50_000 + claim} bytes, found 50000"):
        RemoteFile(url)


def test_links_that_are_signed_for_get_only(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA, Manners(refuses_head=True))) as file:
        assert file.read(100, 10) == DATA[100:110]


def test_another_etag(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA, Manners(changes_after=3))) as file:
        assert file.read(0, 10) == DATA[:10]
        with pytest.raises(FileChangedError, match=r'expected ETag "first", found "second"'):
            file.read(10, 10)
        with pytest.raises(FileChangedError, match='ETag "second"'):
            file.require_unchanged()


def test_a_shorter_object(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA)) as file:
        own.put("a.rec", DATA[:100])
        with pytest.raises(FileChangedError, match="expected 50000 bytes, found 100"):
            file.read(0, 10)


def test_a_slow_server(own: OwnServer):
    with RemoteFile(own.put("a.rec", DATA, Manners(delay=0.02))) as file:
        assert file.read(0, 50_000) == DATA
