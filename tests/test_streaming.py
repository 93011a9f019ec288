"""Payloads from what can only be read, and to what can only be written (case C26)."""

import io
import os
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, damaged_files
from test_streams import Forward, pipe

import rec2idx
from rec2idx import read_records, write_records

SIX_PAYLOADS = [payload for _, payload in read(SIX)[0]]


@pytest.mark.parametrize("most", [1 << 30, 7, 1])
def test_a_file_object_is_only_read(most):
    source = Forward(SIX, most)
    assert list(read_records(source)) == SIX_PAYLOADS
    assert source.asked == []
    assert not source.closed


def test_a_pipe():
    with pipe(SIX) as reader, open(reader, "rb", buffering=0) as source:
        assert list(read_records(source)) == SIX_PAYLOADS


def test_a_file_and_a_named_pipe(tmp_path: Path):
    path = tmp_path / "a.rec"
    path.write_bytes(FACE)
    assert list(read_records(path)) == [payload for _, payload in read(FACE)[0]]
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "six").write_bytes(SIX)
    if os.fork() == 0:
        (tmp_path / "pipe").write_bytes(SIX)
        os._exit(0)
    assert list(read_records(str(tmp_path / "pipe"))) == SIX_PAYLOADS
    os.wait()


def test_nothing():
    assert list(read_records(io.BytesIO())) == []
    assert write_records(io.BytesIO(), []) == 0


def test_a_file_object_is_only_written_to():
    target = Forward(b"")
    assert write_records(target, iter(SIX_PAYLOADS)) == 6
    assert target.getvalue() == SIX
    assert target.asked == []
    assert not target.closed


# Words that are the magic, whole or in part, at any place.
PAYLOADS = st.lists(
    st.lists(st.sampled_from([MAGIC, MAGIC[1:], b"a", b"bcde"]) | st.binary(max_size=9), max_size=6)
    .map(b"".join),
    max_size=9,
)  # fmt: skip


@given(PAYLOADS, st.integers(1, 50))
def test_what_is_written_is_read(payloads, most):
    target = io.BytesIO()
    assert write_records(target, payloads) == len(payloads)
    assert target.getvalue() == b"".join(map(record, payloads))
    assert list(read_records(Forward(target.getvalue(), most))) == payloads


@given(damaged_files(), st.integers(1, 99))
def test_records_before_damage_come_first(data, most):
    whole, broken = read(data)
    records = read_records(Forward(data, most))
    assert list(islice(records, len(whole))) == [payload for _, payload in whole]
    if broken is None:
        assert list(records) == []
        return
    with pytest.raises((rec2idx.DamagedRecordError, rec2idx.NotRecordIOError)) as raised:
        next(records)
    if isinstance(raised.value, rec2idx.DamagedRecordError):
        assert (raised.value.reason, raised.value.record, raised.value.offset) == broken.args
    else:
        assert not whole


def test_records_longer_than_what_is_read_at_once(tmp_path: Path):
    payloads = [os.urandom(3 << 20), b"", MAGIC * 40_000, os.urandom(100)]
    data = b"".join(map(record, payloads))
    assert list(read_records(io.BytesIO(data))) == payloads
    (tmp_path / "a.rec").write_bytes(data)
    assert list(read_records(tmp_path / "a.rec")) == payloads


def test_a_length_takes_no_memory():
    """Of a record that is said to have 512 MB, no more is kept than what comes."""
    data = part(0, b"") + MAGIC + ((1 << 29) - 1).to_bytes(4, "little") + bytes(1000)
    tracemalloc.start()
    try:
        with pytest.raises(rec2idx.TruncatedError):
            list(read_records(io.BytesIO(data)))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_memory_is_that_of_a_record(tmp_path: Path):
    path = tmp_path / "a.rec"
    path.write_bytes(record(bytes(10_000)) * 2000)
    tracemalloc.start()
    try:
        assert sum(map(len, read_records(path))) == 20_000_000
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_file_that_becomes_shorter(tmp_path: Path):
    path = tmp_path / "a.rec"
    path.write_bytes(record(bytes(100_000)) * 20)
    records = read_records(path)
    next(records)
    os.truncate(path, 250_000)
    with pytest.raises(rec2idx.FileChangedError, match="became shorter"):
        list(records)


def test_a_payload_that_is_too_long():
    target = io.BytesIO()
    with pytest.raises(rec2idx.PayloadError) as raised:
        write_records(target, [b"abcd", bytes(1 << 29)])
    assert raised.value.record == 1
    assert str(raised.value) == (
        "the payload is too long for a record: expected 536870911 bytes at most, found 536870912"
    )
    assert target.getvalue() == part(0, b"abcd")


def test_a_file_opened_for_text(tmp_path: Path):
    with pytest.raises(TypeError, match="open it in mode rb"):
        list(read_records(io.StringIO("text")))
    with pytest.raises(TypeError):
        write_records(io.StringIO(), [b"abcd"])


def test_swapped_arguments():
    with pytest.raises(TypeError, match="file is list, expected a file object to write to"):
        write_records([b"abcd"], io.BytesIO())
