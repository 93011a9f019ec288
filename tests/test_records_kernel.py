"""The kernel of reading a record: what it takes, held against plain Python, and what it leaves."""

import os
from array import array

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import SIX, damaged_files, files

from rec2idx._records import SMALL, Running, read_record
from rec2idx.errors import FileChangedError, TruncatedError
from rec2idx.record_file import RecordFile

LONG = 1 << 70
guesses = st.one_of(
    st.integers(-20, 200), st.sampled_from([SMALL, SMALL + 1, 1 << 40, (1 << 63) - 1, LONG, -LONG])
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("records") / "a.rec"


def simple(data: bytes, offset: int) -> tuple[bytes, int] | None:
    """The record of one part that starts at an offset, and where it ends."""
    records, _ = read(data[offset:]) if 0 <= offset <= len(data) - 8 else ([], None)
    if not records or data[offset + 7] >> 5:
        return None
    payload = records[0][1]
    return payload, offset + 8 + len(payload) + -len(payload) % 4


def at_each(path, data: bytes, guess: int) -> None:
    path.write_bytes(data)
    with path.open("rb") as file:
        for offset in range(-1, len(data) + 2):
            found = read_record(file.fileno(), offset, guess, len(data))
            assert found == simple(data, offset)


@given(st.one_of(files, damaged_files()), guesses)
@example(part(0, b"") + part(0, b"x"), 8)
@example(SIX + part(0, b"last")[:-1], 12)
@example(part(0, b"abc")[:-1], 0)
def test_a_record_at_each_offset(path, data, guess):
    """Whatever the guess; nothing where none of one part is whole, with its padding."""
    at_each(path, data, guess)


@pytest.mark.parametrize("cflag", range(8))
def test_cflags(path, cflag):
    at_each(path, part(cflag, b"abcd") + part(3, b"efgh"), 0)


@pytest.mark.parametrize("length", [0, 1, 4087, 4088, 4089, SMALL - 8, SMALL - 7, 3 * SMALL + 1])
@pytest.mark.parametrize("guess", [0, 7, 8, 9, 12, 4096, SMALL - 1, SMALL, SMALL + 1, LONG])
def test_lengths_and_guesses_around_what_is_read_at_once(path, length, guess):
    payload = os.urandom(length)
    path.write_bytes(SIX + part(0, payload) + SIX)
    end = len(SIX) + 8 + length + -length % 4
    with path.open("rb") as file:
        found = read_record(file.fileno(), len(SIX), guess, end + len(SIX))
        assert found == (payload, end)
        # In a file that is said to end where the record does, or one byte before.
        assert read_record(file.fileno(), len(SIX), guess, end) == (payload, end)
        assert read_record(file.fileno(), len(SIX), guess, end - 1) is None


@pytest.mark.parametrize("offset", [-1, -LONG, 1 << 63, (1 << 63) - 1, (1 << 63) - 8, LONG])
def test_offsets_of_any_size(path, offset):
    path.write_bytes(SIX)
    with path.open("rb") as file:
        for size in (len(SIX), (1 << 63) - 1, 0, -1):
            assert read_record(file.fileno(), offset, 44, size) is None


def test_a_length_that_lies(path):
    """Also where it fits into the size that the file is said to have."""
    path.write_bytes(MAGIC + b"\xff\xff\x0f\x00" + bytes(100))
    with path.open("rb") as file:
        for guess in (0, 8, 108, LONG):
            assert read_record(file.fileno(), 0, guess, 108) is None
            assert read_record(file.fileno(), 0, guess, 1 << 40) is None


@pytest.mark.parametrize("guess", [0, 8, 60, LONG])
@pytest.mark.parametrize("length", [40, 3 * SMALL])
def test_a_file_that_becomes_shorter(path, guess, length):
    """In the padding, in the payload and in the header."""
    whole = SIX + part(0, bytes(length - 1))
    for missing in (1, 2, length, length + 1, length + 8):
        path.write_bytes(whole)
        file = RecordFile(path)
        os.truncate(path, len(whole) - missing)
        found = read_record(file.fd, len(SIX), guess, file.size)
        if missing == 1:  # what was to be read is there
            assert found == (bytes(length - 1), len(whole))
        else:
            assert found is None
            with pytest.raises((FileChangedError, TruncatedError)):
                file.at(len(SIX), guess)


def test_reads_that_fail(path):
    path.write_bytes(SIX)
    fd = os.open(path, os.O_WRONLY)
    for closed in (-1, fd):
        assert read_record(closed, 0, 44, len(SIX)) is None
        assert Running(0, array("Q", [0, len(SIX)])).read(closed, 0) is None
    os.close(fd)


def test_numbers_are_whole():
    for numbers in (("0", 0, 8), (0, 0.5, 8), (0, 0, None)):
        with pytest.raises(TypeError):
            read_record(0, *numbers)


class Odd(int):
    """An int that equals another one."""

    def __eq__(self, other):
        return other == int(self) + 1

    def __hash__(self):
        return hash(int(self) + 1)


@pytest.mark.parametrize("first", [0, 1, 7, (1 << 63) - 3, 1 << 63, (1 << 64) - 2])
def test_keys_that_run_on(path, first):
    """Numbers that equal one, and no others; what is not sure, is left to others."""
    path.write_bytes(SIX)
    offsets = array("Q", [*range(0, 264, 44), 264])
    running = Running(first, offsets)
    with path.open("rb") as file:
        for place in range(-9, 9):
            key = first + place
            taken = 0 <= place < 6 and key < 1 << 63
            expected = (read(SIX)[0][place][1], 44 * place + 44) if taken else None
            assert running.read(file.fileno(), key) == expected
            if 0 <= key < 1 << 61:
                assert running.read(file.fileno(), np.int64(key)) == expected
                assert running.read(file.fileno(), Odd(key)) is None
        for key in (None, "7", 7.0, LONG, -LONG, b"7", (7,), np.float32(7)):
            assert running.read(file.fileno(), key) is None
        with pytest.raises(TypeError, match="unhashable"):
            running.read(file.fileno(), np.array(7))
    with pytest.raises(BufferError):
        offsets.append(0)  # it is looked at


@given(st.lists(st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1)), min_size=1))
def test_offsets_that_lie(path, offsets):
    """Of records and of the file's end: any numbers of 64 bits."""
    path.write_bytes(SIX)
    running = Running(5, array("Q", offsets))
    with path.open("rb") as file:
        for key in range(4, 7 + len(offsets)):
            place = key - 5
            expected = None
            if 0 <= place < len(offsets) - 1 and offsets[-1] < 1 << 63:
                found = simple(SIX, offsets[place])
                expected = found if found and found[1] <= offsets[-1] else None
            assert running.read(file.fileno(), key) == expected


def test_what_offsets_must_be():
    with pytest.raises(ValueError, match="offsets is empty"):
        Running(0, array("Q"))
    for offsets in (array("q", [1]), b"12345678", None):
        with pytest.raises((ValueError, TypeError)):
            Running(0, offsets)
    assert Running(0, array("Q", [8])).read(0, 0) is None


def test_record_of_several_parts(path):
    """Left to the walk, which joins them."""
    data = SIX + record(b"abcd" + MAGIC + b"e")
    path.write_bytes(data)
    file = RecordFile(path)
    assert read_record(file.fd, 264, 0, len(data)) is None
    assert file.at(264, 0) == (b"abcd" + MAGIC + b"e", len(data))
