"""The kernel of reading an index: numbers to the last bit, and where it stops."""

import io
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_reference import strict
from index_texts import BORDERS, TOP, numbers, texts

from rec2idx._lines import parse_lines, sort_distinct
from rec2idx.lines import read_index


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
