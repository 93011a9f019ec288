"""The kernel against the plain reference: offsets, sizes, and where and why it stops."""

import struct
import threading
from array import array
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import payload_lists, payloads, whole_file

from rec2idx import _walk
from rec2idx._format import format_lines
from rec2idx._walk import Walk

NUMBERS = st.integers(0, (1 << 63) - 1)
BLOCKS = st.sampled_from([8, 9, 11, 12, 16, 40, 100, 4096, 1 << 17])


def walk(path: Path, size: int, most: int = 100, block: int = 1 << 17) -> tuple[list, Walk]:
    """Walk to the end; return (offset, size) of each record, and the walk."""
    found = []
    this = Walk(0, size, block)
    with path.open("rb") as file:
        while this.status == _walk.WALKING:
            found += zip(*this.records(file.fileno(), most)[:2], strict=True)
    return found, this


@given(payload_lists, BLOCKS, st.integers(1, 5))
def test_records_are_those_of_the_reference(tmp_path, contents, block, most):
    """Offsets and payload sizes are the reference's for any block size and batch size."""
    path = tmp_path / "a.rec"
    data = whole_file(contents)
    path.write_bytes(data)
    found, end = walk(path, len(data), most, block)
    assert found == [(at, len(payload)) for at, payload in read(data)[0]]
    assert [size for _, size in found] == [len(payload) for payload in contents]
    assert (end.status, end.position) == (_walk.END, len(data))


@given(st.binary(max_size=200), payload_lists, BLOCKS, st.data())
def test_any_bytes_stop_where_the_reference_stops(tmp_path, junk, contents, block, data):
    """Files overwritten anywhere with anything give the same records and the same stop."""
    whole = bytearray(whole_file(contents))
    at = data.draw(st.integers(0, len(whole)))
    whole[at : at + len(junk)] = junk
    path = tmp_path / "a.rec"
    path.write_bytes(whole)
    found, end = walk(path, len(whole), block=block)
    records, broken = read(bytes(whole))
    assert found == [(at, len(payload)) for at, payload in records]
    assert end.position == (broken.args[2] if broken else len(whole))
    assert (end.status == _walk.END) == (broken is None)


def test_both_ways_of_reading_meet_in_one_file(tmp_path):
    """Small and huge records in turn, over many blocks, so that the way of reading changes."""
    contents = []
    for _ in range(3):
        contents += [b"s" * 20] * 20_000 + [bytes(300_000) + MAGIC + b"tail"] * 40
    path = tmp_path / "a.rec"
    data = whole_file(contents)
    path.write_bytes(data)
    found, end = walk(path, len(data), most=1000)
    expected, at = [], 0
    for payload in contents:
        expected.append((at, len(payload)))
        at += 28 if len(payload) == 20 else 8 + 300_000 + 8 + 4
    assert found == expected
    assert end.position == at == len(data)


@given(payloads)
def test_writing_then_walking_gives_the_payload_size(tmp_path, payload):
    """Also where the payload begins or ends with the magic, and parts are of length 0."""
    path = tmp_path / "a.rec"
    path.write_bytes(record(payload))
    found, _ = walk(path, len(record(payload)))
    assert found == [(0, len(payload))]


@given(payload_lists, BLOCKS, st.integers(0, 400), st.booleans())
def test_a_walk_up_to_a_place(tmp_path, contents, block, stop, past):
    """To the end of a record that starts before it, or not even that."""
    path = tmp_path / "a.rec"
    data = whole_file(contents)
    path.write_bytes(data)
    records = [(at, len(payload)) for at, payload in read(data)[0]]
    parts = [0]
    while parts[-1] < len(data):
        length = struct.unpack_from("<I", data, parts[-1] + 4)[0] % (1 << 29)
        parts.append(parts[-1] + 8 + (length + 3) // 4 * 4)
    starts = [at for at, _ in records] + [len(data)]
    last = next((at for at in (starts if past else parts) if at >= stop), len(data))
    this = Walk(0, len(data), block, stop, past=past)
    found = []
    with path.open("rb") as file:
        while this.status == _walk.WALKING:
            found += zip(*this.records(file.fileno(), 3)[:2], strict=True)
    ends = zip(records, starts[1:], strict=True)
    assert found == [found for found, end in ends if end <= last]
    assert (this.position, this.followed) == (last, sum(at < last for at in parts))
    assert this.status == (_walk.PASSED if last >= stop else _walk.END)
    assert this.opened == (-1 if last in starts else max(at for at in starts if at < last))


def test_lengths_near_the_limit_neither_allocate_nor_read_beyond(tmp_path):
    """A header that claims 2^29 - 1 bytes in a file of 20 is cut off, at once."""
    path = tmp_path / "a.rec"
    path.write_bytes(MAGIC + ((1 << 29) - 1).to_bytes(4, "little") + bytes(12))
    found, end = walk(path, 20)
    assert (found, end.status, end.position) == ([], _walk.CUT_PART, 0)


def test_offsets_above_four_gigabytes(tmp_path):
    """Eleven records in a sparse file of over 5 GB, read by headers alone."""
    path = tmp_path / "a.rec"
    length = (1 << 29) - 8
    with path.open("wb") as file:
        for number in range(11):
            file.seek(number * (1 << 29))
            file.write(part(0, b"")[:4] + length.to_bytes(4, "little"))
        file.truncate(11 << 29)
    found, end = walk(path, 11 << 29)
    assert found == [(number << 29, length) for number in range(11)]
    assert end.status == _walk.END


@pytest.mark.parametrize("length", [100, (1 << 29) - 1])
def test_a_part_that_ends_where_no_number_reaches(length):
    """A server may say that a file has as many bytes as a number of 64 bits can count."""
    size = (1 << 63) - 1
    this = Walk(size - 60, size)
    offsets, _, _ = this.feed(part(0, b"1234") + MAGIC + struct.pack("<I", length), size - 60, 9)
    assert list(offsets) == [size - 60]
    assert (this.status, this.position) == (_walk.CUT_PART, size - 48)


@pytest.mark.parametrize("behind", [b"", b"stray", part(0, b"")])
def test_a_walk_along_bytes_stops_where_one_along_a_file_stops(tmp_path, behind):
    """Where a record ends at the stop it is told that the stop was passed, whatever is behind."""
    data = part(0, b"1234") + behind
    (tmp_path / "a.rec").write_bytes(data)
    in_file, in_bytes = Walk(0, len(data), stop=12), Walk(0, len(data), stop=12)
    with (tmp_path / "a.rec").open("rb") as file:
        while in_file.status == _walk.WALKING:
            in_file.records(file.fileno(), 1)
    while in_bytes.status == _walk.WALKING:
        in_bytes.feed(data, 0, 1)
    assert (in_file.status, in_file.position) == (_walk.PASSED, 12)
    assert (in_bytes.status, in_bytes.position) == (_walk.PASSED, 12)


def test_a_file_shorter_than_its_size_was_said_to_be(tmp_path):
    """As when it shrinks after it was opened."""
    path = tmp_path / "a.rec"
    path.write_bytes(part(0, b"1234") * 3)
    found, end = walk(path, 48, block=16)
    assert found == [(0, 4), (12, 4), (24, 4)]
    assert (end.status, end.position) == (_walk.SHRUNK, 36)


def test_a_walk_serves_one_thread_at_a_time(tmp_path):
    """A second one is refused while the first is inside, as its state would be torn."""
    path = tmp_path / "pipe"
    path.write_bytes(part(0, b"") * 4_000_000)
    this = Walk(0, path.stat().st_size)
    refused, found = [], []

    def work():
        try:
            found.extend(this.records(file.fileno(), 1_000_000)[0])
        except RuntimeError as error:
            refused.append(str(error))

    with path.open("rb") as file:
        while len(found) < 4_000_000:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert sorted(found) == list(range(0, 32_000_000, 8))
    assert set(refused) <= {"a walk serves one thread at a time"}


def test_a_walk_begun_anew_elsewhere(tmp_path):
    """Behind damage, also from inside a record of several parts."""
    data = record(b"a" * 9) + record(MAGIC * 3)[:16] + record(b"b")
    (tmp_path / "a.rec").write_bytes(data)
    found, end = walk(tmp_path / "a.rec", len(data))
    assert found == [(0, 9)]
    assert (end.status, end.opened, end.position) == (_walk.NOT_ENDED, 20, 36)
    end.restart(36)
    with (tmp_path / "a.rec").open("rb") as file:
        assert list(end.records(file.fileno(), 9)[0]) == [36]
    assert (end.status, end.opened) == (_walk.END, -1)
    for at in (-1, len(data) + 1):
        with pytest.raises(ValueError, match=f"at is {at}, expected 0 to 48"):
            end.restart(at)


def test_a_failed_read_keeps_its_errno(tmp_path):
    """Reading from a descriptor that is not open gives EBADF, not a crash."""
    this = Walk(0, 100)
    assert [list(column) for column in this.records(-1, 10)[:2]] == [[], []]
    assert (this.status, this.failure) == (_walk.FAILED, 9)


@pytest.mark.parametrize("bad", [(-1, 8), (9, 8), (0, -1), (0, 8, 7)])
def test_impossible_bounds_are_refused(bad):
    with pytest.raises(ValueError, match="expected"):
        Walk(*bad)


@given(st.lists(NUMBERS), NUMBERS, NUMBERS)
@example([(1 << 63) - 1], (1 << 63) - 1, (1 << 63) - 1)
@example([0, 0], (1 << 63) - 1, 0)
def test_lines_are_those_of_a_format_string(offsets, first, base):
    """For any offsets, first key and base: all numbers of digits, and sums of 64 bits."""
    expected = "".join(f"{key}\t{base + offset}\n" for key, offset in enumerate(offsets, first))
    assert format_lines(array("q", offsets), first, base=base) == expected.encode()


def test_lines_of_some_records_moved():
    """As in a combined index: key and offset run on from the file before."""
    lines = format_lines(array("q", [0, 8, 20, 44]), 100, 1, 3, 1000)
    assert lines == b"101\t1008\n102\t1020\n"
    assert format_lines(array("q", [7]), 0, 5, 9) == b""
    with pytest.raises(ValueError, match="base is -1"):
        format_lines(array("q", [7]), 0, 0, 1, -1)


def test_lines_want_an_array_of_int64():
    with pytest.raises(TypeError, match="expected 'q'"):
        format_lines(array("i", [1]), 0)
    with pytest.raises(ValueError, match="expected 0 or more"):
        format_lines(array("q", [1]), -1)


def test_every_number_of_digits(tmp_path):
    """Around each power of ten, where the number of digits changes."""
    around = [10**power + step for power in range(19) for step in (-1, 0, 1)]
    for number in around:
        line = format_lines(array("q", [number]), number)
        assert line == f"{number}\t{number}\n".encode()
