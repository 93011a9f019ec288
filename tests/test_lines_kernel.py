"""The kernel of reading an index: numbers to the last bit, and where it stops."""

import io
from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from index_reference import strict
from index_texts import BORDERS, TOP, numbers, texts

from rec2idx import key_table
from rec2idx._lines import (
    NONE,
    ONE,
    RISING,
    RUNNING,
    SEVERAL,
    UNORDERED,
    match,
    order_of,
    parse_lines,
    parse_running,
    sort_distinct,
    sort_entries,
)
from rec2idx.key_table import read_running
from rec2idx.lines import read_index
from rec2idx.sources import LocalFile


@given(texts, st.sampled_from([b"\t", b" "]), st.sampled_from([b"\n", b"\r\n"]), st.data())
def test_the_kernel_stops_at_the_first_other_line(text, separator, end, data):
    """It takes what the reference takes, from any line on, and appends to what is there."""
    lines = text.splitlines(keepends=True) if end == b"\n" else text.split(b"\n")
    lines = [line + b"\n" * (end != b"\n") for line in lines]
    lines = [line for line in lines if line.endswith(b"\n") and line.count(b"\r") < 2]
    skipped = data.draw(st.integers(0, len(lines)))
    whole, start = b"".join(lines), len(b"".join(lines[:skipped]))
    expected = []
    for line in whole[start:].split(b"\n"):
        pair = strict(line + b"\n", separator, end)
        if pair is None:
            break
        start += len(line) + 1
        expected.append(pair)
    keys, offsets = array("Q", [5]), array("Q", [6])
    begin = len(b"".join(lines[:skipped]))
    assert parse_lines(whole, begin, keys, offsets, ord(separator), end != b"\n") == (
        start,
        len(expected),
    )
    assert list(zip(keys, offsets, strict=True)) == [(5, 6), *expected]


runs = st.tuples(
    st.sampled_from([0, 7, 98, 10**19 - 2, TOP - 3]), st.lists(numbers, max_size=9)
).map(lambda run: b"".join(b"%d\t%d\n" % (run[0] + n, at) for n, at in enumerate(run[1])))


@given(runs, texts, st.integers(-1, 1))
def test_keys_that_run_on(text, more, other):
    """The kernel takes lines as long as they are strict, and their keys run on."""
    text += more
    first = strict(text[: text.find(b"\n") + 1])
    key = first[0] + other if first and 0 <= first[0] + other < TOP else 5
    expected, at = [], 0
    while at < len(text):
        line = text[at : text.find(b"\n", at) + 1 or len(text)]
        entry = strict(line)
        if entry is None or entry[0] != key + len(expected) or len(line.split(b"\t")[1]) > 21:
            break
        expected.append(entry[1])
        at += len(line)
    offsets = array("Q", [6])
    assert parse_running(text, key, offsets) == (at, len(expected))
    assert list(offsets) == [6, *expected]


def test_no_key_follows_the_largest():
    offsets = array("Q")
    assert parse_running(b"%d\t4\n0\t8\n" % (TOP - 1), TOP - 1, offsets) == (23, 1)
    with pytest.raises(TypeError, match="expected 'Q'"):
        parse_running(b"", 0, array("q"))


@pytest.mark.parametrize("piece", [42, 43, 50, 1000])
@given(runs, texts)
def test_an_index_whose_keys_run_on(tmp_path_factory, piece, text, more):
    """It is read in pieces of any size, as it is otherwise; any other one is not."""
    path = tmp_path_factory.getbasetemp() / "a.idx"
    for data in (text, text + more):
        path.write_bytes(data)
        with pytest.MonkeyPatch.context() as patch, LocalFile(path) as source:
            patch.setattr(key_table, "PIECE", piece)
            found = read_running(source)
        lines = data.splitlines(keepends=True) if b"\r" not in data else [data]
        entries = [strict(line) for line in lines if len(line) <= 42]
        first = entries[0][0] if entries and entries[0] else 0
        keys = range(first, first + len(lines))
        if [entry and entry[0] for entry in entries] == list(keys) and first < 10**19:
            assert found == (keys, array("Q", [entry[1] for entry in entries]))
            index = read_index(path)
            assert (list(keys), found[1]) == (list(index.keys), index.offsets)
        else:
            assert found is None


@pytest.mark.parametrize("key", BORDERS)
@pytest.mark.parametrize("offset", BORDERS)
def test_the_kernel_at_the_borders(key, offset):
    """Numbers on both sides of 2^64 and of a digit more; no digit is lost, and none wraps round."""
    line = b"%d\t%d\n" % (key, offset)
    keys, offsets = array("Q"), array("Q")
    if key < TOP and offset < TOP:
        assert parse_lines(line, 0, keys, offsets) == (len(line), 1)
        assert (keys[0], offsets[0]) == (key, offset)
    else:
        assert parse_lines(line, 0, keys, offsets) == (0, 0)
        assert len(keys) == len(offsets) == 0


@pytest.mark.parametrize("offset", [0, 44, TOP - 1])
@pytest.mark.parametrize("zeros", [1, 18, 19, 20, 5000])
def test_zeros_before_an_offset(offset, zeros):
    """However many, the number is what counts, though lines of more than 20 digits take longer."""
    line = b"0\t" + b"0" * zeros + b"%d\n" % offset
    index = read_index(io.BytesIO(line))
    assert (list(index.keys), list(index.offsets), index.problems) == ([0], [offset], ())
    taken = zeros + len(str(offset)) <= 20
    assert parse_lines(line, 0, array("Q"), array("Q")) == (len(line) * taken, taken)


@pytest.mark.parametrize("length", range(len(b"12\t345\r\n")))
def test_the_kernel_looks_at_no_byte_behind_its_own(length):
    """A line that is cut off anywhere is none, though the buffer would go on."""
    line = b"12\t345\r\n"
    keys, offsets = array("Q"), array("Q")
    assert parse_lines(memoryview(line)[:length], 0, keys, offsets, 9, True) == (0, 0)
    assert parse_lines(memoryview(line)[:0], 0, keys, offsets) == (0, 0)


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 1025, 2048, 5000])
def test_counts_around_what_waits_on_the_stack(count):
    data = b"".join(b"%d\t%d\n" % (number, 44 * number) for number in range(count))
    keys, offsets = array("Q"), array("Q")
    assert parse_lines(data + b"x", 0, keys, offsets) == (len(data), count)
    assert list(keys) == list(range(count))
    assert list(offsets) == list(range(0, 44 * count, 44))


def test_the_kernel_refuses_other_arrays_and_positions():
    both = array("Q"), array("Q")
    with pytest.raises(TypeError, match="expected 'Q'"):
        parse_lines(b"", 0, array("q"), array("Q"))
    with pytest.raises(ValueError, match="expected two"):
        parse_lines(b"", 0, both[0], both[0])
    for start in (-1, 2):
        with pytest.raises(ValueError, match=f"start is {start}, expected 0 to 1"):
            parse_lines(b"1", start, *both)
    with pytest.raises(TypeError, match="expected 'Q'"):
        sort_distinct(array("q"))


@given(st.lists(numbers.filter(lambda number: number < TOP)))
def test_sorting(values):
    found = array("Q", values)
    sort_distinct(found)
    assert list(found) == sorted(set(values))


some_entries = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=40)


def columns(entries: list[tuple[int, int]]) -> tuple[array, array]:
    return array("Q", [offset for offset, _ in entries]), array("Q", [key for _, key in entries])


@given(some_entries)
@example([(TOP - 1, 1), (0, 2), (1 << 63, TOP - 1), (0, 1)])
def test_entries_in_order(entries):
    offsets, keys = columns(entries)
    sort_entries(offsets, keys)
    expected = sorted(entries, key=lambda entry: entry[0])
    assert list(zip(offsets, keys, strict=True)) == expected


@given(some_entries, st.sets(st.integers(0, 30)), st.integers(0, 10))
@example([(1 << 63, 7)], {(1 << 63) - 1}, 1)
def test_entries_and_records(entries, records, base):
    entries.sort(key=lambda entry: entry[0])
    offsets, keys = columns(entries)
    found, marks, fitting = match(offsets, keys, array("q", sorted(records)), base)
    for record, key, mark in zip(sorted(records), found, marks, strict=True):
        there = [key for offset, key in entries if offset == record + base]
        assert key == (there or [0])[0]
        expected = {0: NONE, 1: ONE}.get(len(set(there)), SEVERAL)
        assert mark == expected
    assert fitting == sum(offset - base in records for offset, _ in entries)


def test_the_kernel_refuses_what_it_cannot_take():
    numbers, signed = array("Q", [1, 2]), array("q", [1])
    with pytest.raises(TypeError, match="arrays of 'q' and 'Q', expected 'Q'"):
        sort_entries(signed, numbers)
    with pytest.raises(ValueError, match="2 offsets have 1 keys"):
        match(numbers, numbers[:1], signed)
    with pytest.raises(TypeError, match="records is an array of 'Q', expected 'q'"):
        match(numbers, numbers, numbers)
    with pytest.raises(ValueError, match="base is -1, expected 0 or more"):
        match(numbers, numbers, signed, -1)


@pytest.mark.parametrize(
    ("numbers", "order"),
    [
        ([], RUNNING),
        ([7], RUNNING),
        ([7, 8, 9], RUNNING),
        ([7, 9], RISING),
        ([7, 8, 10], RISING),
        ([7, 7], UNORDERED),
        ([7, 8, 8], UNORDERED),
        ([2, 1], UNORDERED),
        ([2**64 - 1, 0], UNORDERED),
        ([0, 2**64 - 1], RISING),
    ],
)
def test_the_order_of_keys(numbers, order):
    assert order_of(array("Q", numbers)) == order
