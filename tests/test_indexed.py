"""Reading records by their keys."""

import multiprocessing
import os
import pickle
import random
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import SIX, SIX_INDEX, payload_lists, whole_file

from rec2idx._records import SMALL
from rec2idx.errors import BadIndexError, DamagedRecordError, NotRecordIOError, TruncatedError
from rec2idx.recordio import MXIndexedRecordIO

SIX_PAYLOADS = [payload for _, payload in read(SIX)[0]]


def indexed(data: bytes = SIX, index: bytes = SIX_INDEX, key_type=int) -> MXIndexedRecordIO:
    Path("a.rec").write_bytes(data)
    Path("a.idx").write_bytes(index)
    return MXIndexedRecordIO("a.idx", "a.rec", "r", key_type)


@pytest.fixture(autouse=True)
def _in_a_folder(folder):
    """Each test has one."""


def lines(keys, offsets) -> bytes:
    return b"".join(b"%d\t%d\n" % pair for pair in zip(keys, offsets, strict=True))


@given(payload_lists, st.randoms(), st.sampled_from(["running", "rising", "shuffled", "few"]))
def test_each_key_gives_its_record(contents, rng, kind):
    """Whatever keys there are, and in whatever order the lines."""
    data = whole_file(contents)
    offsets = [offset for offset, _ in read(data)[0]]
    keys = list(range(len(contents)))
    if kind == "running":
        keys = [key + 7 for key in keys]
    else:
        keys = sorted(rng.sample(range(1000), len(keys)))
    entries = list(zip(keys, offsets, contents, strict=True))
    if kind == "shuffled":
        rng.shuffle(entries)
    if kind == "few":
        entries = entries[::2]
    with indexed(data, lines(*list(zip(*entries, strict=True))[:2])) as reader:
        for key, _, payload in rng.sample(entries, len(entries)):
            assert reader.read_idx(key) == payload
        assert reader.keys == [key for key, _, _ in entries]
        assert reader.idx == {key: offset for key, offset, _ in entries}
        assert all(reader.read_idx(key) == payload for key, _, payload in entries)
        for key in {-1, 1001, 2**70} - set(keys):
            with pytest.raises(KeyError):
                reader.read_idx(key)


@pytest.mark.parametrize(
    "index", [SIX_INDEX, b"0\t0\n3\t132\n", b"3\t132\n0\t0\n", b"-1\t0\n0\t0\n3\t132\n"]
)
def test_keys_that_equal_a_number(index):
    """As a dict looks them up: keys that are running, rising, in no order, and others."""
    with indexed(index=index) as reader:
        for key in (3, 3.0, np.int64(3), np.float32(3)):
            assert reader.read_idx(key) == SIX_PAYLOADS[3]
        assert reader.read_idx(False) == SIX_PAYLOADS[0]
        for key in ("3", 3.5, float("nan"), float("inf"), None, b"3", 2**64, -2, (3,)):
            with pytest.raises(KeyError):
                reader.read_idx(key)
        with pytest.raises(TypeError):
            reader.read_idx([3])


@pytest.mark.parametrize("index", [b"7\t0\n7\t44\n", b"7\t88\n9\t132\n7\t44\n", b"x\t0\nx\t44\n"])
def test_of_equal_keys_the_last_one_counts(index):
    key_type = str if index.startswith(b"x") else int
    with indexed(index=index, key_type=key_type) as reader:
        assert reader.read_idx(reader.keys[0]) == SIX_PAYLOADS[1]
        assert len(reader.keys) == index.count(b"\n")


def test_other_types_of_keys():
    with indexed(index=b"a b\t0\nb\t44\n", key_type=str) as reader:
        assert (reader.read_idx("b"), reader.keys) == (SIX_PAYLOADS[1], ["a b", "b"])
    with indexed(key_type=str) as reader:
        assert reader.read_idx("5") == SIX_PAYLOADS[5]
    with indexed(index=b"0.5\t0\n1.5\t44\n", key_type=float) as reader:
        assert (reader.read_idx(1.5), reader.idx) == (SIX_PAYLOADS[1], {0.5: 0, 1.5: 44})
    with indexed(index=b"1_0\t44\n 2 \t 88 \t x\r\n") as reader:
        assert (reader.read_idx(10), reader.read_idx(2)) == (SIX_PAYLOADS[1], SIX_PAYLOADS[2])


@pytest.mark.parametrize(
    ("index", "line"),
    [
        (b"0 0\n", 1),
        (b"\n", 1),
        (b"0\t0\n\n1\t44\n", 2),
        (b"0\t0\n1\t44\n\n", 3),
        (b"a\t0\n", 1),
        (b"0\tx\n", 1),
        (b"0\n", 1),
        (b"\xef\xbb\xbf0\t0\n", 1),
    ],
)
def test_where_mxnet_fails(index, line):
    """The line is named, and the record file is closed again."""
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(BadIndexError, match=f"a.idx: line {line} .*; mend the line") as caught:
        indexed(index=index)
    assert caught.value.line == line
    assert len(os.listdir("/dev/fd")) == before
    with pytest.raises(BadIndexError, match="line 1 "):
        indexed(index=b"x\t0\n", key_type=float)


def test_an_index_without_lines():
    with indexed(index=b"") as reader:
        assert (reader.keys, reader.idx, reader.read()) == ([], {}, SIX_PAYLOADS[0])
        with pytest.raises(KeyError):
            reader.read_idx(0)


def test_files_that_are_missing():
    for existing, missing in (("a.rec", "a.idx"), ("a.idx", "a.rec")):
        Path(missing).unlink(missing_ok=True)
        Path(existing).write_bytes(b"")
        with pytest.raises(FileNotFoundError, match=missing):
            MXIndexedRecordIO("a.idx", "a.rec", "r")


def test_read_goes_on_behind_the_record():
    """After read_idx and seek, as MXNet does."""
    with indexed() as reader:
        assert reader.read() == SIX_PAYLOADS[0]
        assert (reader.read_idx(3), reader.tell()) == (SIX_PAYLOADS[3], 176)
        assert [reader.read(), reader.read(), reader.read()] == [*SIX_PAYLOADS[4:], None]
        reader.seek(1)
        assert (reader.tell(), reader.read(), reader.tell()) == (44, SIX_PAYLOADS[1], 88)
        reader.reset()
        assert reader.read() == SIX_PAYLOADS[0]


def test_a_dict_that_was_changed_is_used():
    with indexed() as reader:
        reader.idx["new"] = 44
        assert (reader.read_idx("new"), reader.read_idx(0)) == (SIX_PAYLOADS[1], SIX_PAYLOADS[0])
        reader.idx, reader.keys = {5: 0}, [5]
        assert (reader.read_idx(5), reader.keys) == (SIX_PAYLOADS[0], [5])


@pytest.mark.parametrize("offset", [264, 265, 1000, 2**63, 2**64 - 4, -4])
def test_offsets_past_the_end(offset):
    """At the end, too, where MXNet gives None."""
    with indexed(index=b"7\t%d\n" % offset) as reader:
        with pytest.raises(TruncatedError, match=r"a\.rec: key 7 at byte .* below 264") as caught:
            reader.read_idx(7)
        assert (caught.value.key, caught.value.record) == (7, None)
        reader.seek(7)
        if offset != 264:
            with pytest.raises(TruncatedError):
                reader.read()


@pytest.mark.parametrize("offset", [1, 8, 45, 46, 257, 263])
def test_offsets_that_lead_to_no_record(offset):
    with indexed(index=b"7\t%d\n" % offset) as reader:
        with pytest.raises(DamagedRecordError, match=f"a.rec: key 7 at byte {offset}") as caught:
            reader.read_idx(7)
        assert (caught.value.offset, caught.value.key) == (offset, 7)


def test_a_length_that_lies_takes_no_memory():
    data = MAGIC + b"\xff\xff\xff\x1f" + bytes(100)
    with indexed(data, b"0\t0\n") as reader:
        for read_one in (lambda: reader.read_idx(0), reader.read):
            with pytest.raises(TruncatedError, match="expected a part of 536870919 bytes, found"):
                read_one()


def test_another_kind_of_file():
    reader = indexed(b"\x1f\x8b\x08" + bytes(300))
    with pytest.raises(NotRecordIOError, match="gzip"):
        reader.read_idx(0)


@pytest.mark.parametrize("data", [part(2, b"abcd"), part(1, b"abcd"), part(1, b"") + part(0, b"")])
def test_parts_that_do_not_fit(data):
    """MXNet joins them without a word."""
    with indexed(SIX + data, b"9\t264\n") as reader:
        with pytest.raises(DamagedRecordError, match="key 9"):
            reader.read_idx(9)
        reader.reset()
        assert [reader.read() for _ in range(6)] == SIX_PAYLOADS
        with pytest.raises(DamagedRecordError, match="record 6 at byte"):
            reader.read()


@pytest.mark.parametrize(
    "size", [SMALL - 12, SMALL - 8, SMALL, SMALL + 5, 8 * SMALL, 9 * SMALL + 1]
)
def test_large_records(size):
    """Alone, in a row, and with magics in them, by key and in order."""
    contents = [os.urandom(size), b"x" * size, b"", MAGIC * 9000, b"y" + os.urandom(size), b"z"]
    data = b"".join(record(payload) for payload in contents)
    offsets = [offset for offset, _ in read(data)[0]]
    with indexed(data, lines(range(6), offsets)) as reader:
        assert list(iter(reader.read, None)) == contents
        assert [reader.read_idx(key) for key in (5, 4, 3, 2, 1, 0)] == contents[::-1]


def checksums(reader: MXIndexedRecordIO, keys: list[int]) -> list[int]:
    return [zlib.crc32(reader.read_idx(key)) for key in keys]


@pytest.fixture
def many() -> tuple[MXIndexedRecordIO, list[int], list[int]]:
    """A reader, 2,000 random keys, and the checksum of the record of each."""
    rng = random.Random(5)
    contents = [rng.randbytes(rng.randrange(3000)) + MAGIC * (n % 3) for n in range(2000)]
    data = whole_file(contents)
    offsets = [offset for offset, _ in read(data)[0]]
    keys = [rng.randrange(2000) for _ in range(2000)]
    return indexed(data, lines(range(2000), offsets)), keys, [zlib.crc32(contents[k]) for k in keys]


def test_threads_share_a_reader(many):
    reader, keys, expected = many
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda turn: checksums(reader, keys[turn:] + keys[:turn]), range(8))
        assert [
            sums[len(sums) - turn :] + sums[: len(sums) - turn] for turn, sums in enumerate(found)
        ] == [expected] * 8


def test_processes_share_a_reader_after_a_fork(many):
    reader, keys, expected = many
    children = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if checksums(reader, keys) == expected else 1)
        children.append(pid)
    assert checksums(reader, keys) == expected
    assert [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children] == [0, 0, 0]


def test_workers_that_were_spawned(many):
    """A pickle holds paths, not the index."""
    reader, keys, expected = many
    reader.read_idx(0)
    assert len(pickle.dumps(reader)) < 500
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(checksums, [(reader, keys[:1000]), (reader, keys[1000:])])
    assert found[0] + found[1] == expected
    assert reader.is_open


def test_closed_readers():
    reader = indexed()
    reader.close()
    for use in (lambda: reader.read_idx(0), lambda: reader.seek(0), reader.read, reader.tell):
        with pytest.raises(ValueError, match="the reader is closed"):
            use()
    assert reader.keys == list(range(6))
    again = pickle.loads(pickle.dumps(reader))
    assert (again.is_open, again.keys) == (False, reader.keys)
    again.open()
    assert again.read_idx(5) == SIX_PAYLOADS[5]


@pytest.mark.parametrize("size", [3, SMALL + 1])
def test_a_record_without_its_padding(size):
    """By key as in order."""
    reader = indexed(record(b"x" * size)[:-1], b"0\t0\n")
    for use in (lambda: reader.read_idx(0), reader.read):
        with pytest.raises(TruncatedError, match="its padding is cut off"):
            use()
