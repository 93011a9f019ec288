"""Which records are laid out as a conforming writer lays them out, beside plain Python."""

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import SIX, damaged_files, files

from rec2idx._spans import find_magic, tidy

LARGE = 2**63 - 1
numbers = st.one_of(
    st.integers(-9, 300), st.sampled_from([-(2**63), LARGE, LARGE - 7, 2**29, 2**29 - 1, 2**32])
)


def records_of(data: bytes) -> tuple[array, array]:
    records, _ = read(data)
    return (
        array("q", [offset for offset, _ in records]),
        array("q", [len(payload) for _, payload in records]),
    )


def is_tidy(data: bytes, at: int, size: int) -> bool:
    """By what the format says of one record."""
    if not (0 <= at <= len(data) and 0 <= size < 2**29):
        return False
    payload = data[at + 8 : at + 8 + size]
    escaped = record(payload) == part(0, payload)
    return escaped and len(payload) == size and data[at:].startswith(part(0, payload))


def plain(data: bytes, base: int, offsets: array, sizes: array, start: int) -> int:
    number = start
    while number < len(offsets) and is_tidy(data, offsets[number] - base, sizes[number]):
        number += 1
        end = offsets[number - 1] + 8 + sizes[number - 1] + -sizes[number - 1] % 4
        if number < len(offsets) and offsets[number] != end:
            break
    return number - start


def test_all_of_a_file():
    offsets, sizes = records_of(SIX)
    assert tidy(SIX, 0, offsets, sizes, 0) == 6
    assert tidy(SIX, 0, offsets, sizes, 4) == 2
    assert tidy(SIX, 0, offsets, sizes, 6) == 0


def test_only_what_lies_wholly_in_the_data():
    offsets, sizes = records_of(SIX)
    assert tidy(SIX[:263], 0, offsets, sizes, 0) == 5
    assert tidy(SIX[44:], 44, offsets, sizes, 0) == 0
    assert tidy(SIX[44:], 44, offsets, sizes, 1) == 5
    assert tidy(b"", 44, offsets, sizes, 0) == 0
    assert tidy(SIX[:7], 0, offsets, sizes, 0) == 0


@pytest.mark.parametrize(
    ("odd", "why"),
    [
        (record(b"abcd" + MAGIC), "several parts"),
        (part(0, b"abcd" + MAGIC), "a magic in its payload"),
        (part(0, b"a")[:-1] + b"x", "padding that is not zeros"),
        (part(0, b"a" * 256 + MAGIC + b"b" * 900), "a magic behind many words"),
    ],
)
def test_ends_before_what_is_not_tidy(odd, why):
    data = part(0, b"first") + odd + part(0, b"last")
    offsets, sizes = records_of(data)
    assert tidy(data, 0, offsets, sizes, 0) == 1, why
    assert tidy(data, 0, offsets, sizes, 1) == 0, why
    assert tidy(data, 0, offsets, sizes, 2) == 1, why


def test_a_magic_elsewhere_than_at_a_multiple_of_4_is_tidy():
    data = part(0, b"a" + MAGIC + b"b" + MAGIC[:3])
    assert tidy(data, 0, *records_of(data), 0) == 1


def test_ends_before_a_gap():
    data = SIX[:88] + b"damage.." + SIX[88:]
    offsets = array("q", [0, 44, 96, 140, 184, 228])
    sizes = array("q", [36] * 6)
    assert tidy(data, 0, offsets, sizes, 0) == 2
    assert tidy(data, 0, offsets, sizes, 2) == 4


@given(st.one_of(files, damaged_files()), st.integers(0, 40), st.data())
def test_as_plain_python_says(data, cut, more):
    offsets, sizes = records_of(data)
    base = more.draw(st.sampled_from([0, *offsets]))
    piece = data[base : len(data) - cut]
    for start in range(len(offsets) + 1):
        expected = plain(piece, base, offsets, sizes, start)
        assert tidy(piece, base, offsets, sizes, start) == expected


@given(
    st.one_of(files, st.binary(max_size=200)),
    st.lists(st.tuples(numbers, numbers), max_size=9),
    st.integers(0, 9),
    st.one_of(st.integers(0, 300), st.just(LARGE)),
)
def test_any_numbers(data, records, start, base):
    """No number leads outside of the data: under the sanitizers this would be seen."""
    offsets = array("q", [offset for offset, _ in records])
    sizes = array("q", [size for _, size in records])
    start = min(start, len(records))
    assert tidy(data, base, offsets, sizes, start) == plain(data, base, offsets, sizes, start)


def test_wrong_arguments():
    offsets, sizes = records_of(SIX)
    with pytest.raises(ValueError, match="6 records have 5 sizes"):
        tidy(SIX, 0, offsets, sizes[:5], 0)
    for start in (-1, 7):
        with pytest.raises(ValueError, match=f"start is {start}, expected 0 to 6"):
            tidy(SIX, 0, offsets, sizes, start)
    with pytest.raises(ValueError, match="base is -1"):
        tidy(SIX, -1, offsets, sizes, 0)
    with pytest.raises(TypeError, match="arrays of 'q'"):
        tidy(SIX, 0, array("Q", offsets), sizes, 0)


@given(st.one_of(files, st.binary(max_size=600)), st.integers(0, 700))
def test_find_magic(data, start):
    places = range(start, len(data) - 3, 4)
    expected = next((at for at in places if data[at : at + 4] == MAGIC), -1)
    assert find_magic(data, start) == expected
    assert find_magic(memoryview(data), start) == expected


def test_find_magic_in_wrong_places():
    assert find_magic(MAGIC, LARGE) == -1
    assert find_magic(b"") == -1
    with pytest.raises(ValueError, match="start is -1"):
        find_magic(MAGIC, -1)
