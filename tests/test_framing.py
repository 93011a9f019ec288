"""How a writer lays out a record, held against plain Python."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, record
from samples import payload_lists, payloads, whole_file

from rec2idx._layout import Pile, lay_out
from rec2idx.framing import payload_of


@given(payloads)
def test_a_record_is_laid_out_as_a_conforming_writer_does(payload):
    assert lay_out(payload) == record(payload)
    assert payload_of(record(payload)) == payload


@pytest.mark.parametrize("size", [0, 3, 4, 255, 256, 260, 512, 777])
def test_the_magic_at_a_multiple_of_4(size):
    """Wherever it is, and if there are two; elsewhere it is none."""
    for at in range(size - 3):
        data = bytes(at) + MAGIC + bytes(size - at - 4)
        assert lay_out(data) == record(data)
        assert lay_out(MAGIC + data) == record(MAGIC + data)
    assert lay_out(bytes(size)) == record(bytes(size))


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 100_000])
def test_nothing_but_magics(count):
    first, middle, last = (MAGIC + bytes([0, 0, 0, cflag << 5]) for cflag in (1, 2, 3))
    assert lay_out(MAGIC * count) == first + middle * (count - 1) + last


@given(payload_lists, st.lists(st.integers(0, 9)))
def test_a_pile_of_records(contents, cuts):
    """Each stands where it says; what is cut off is gone, and what is cleared was written."""
    pile, written = Pile(), b""
    for payload, cut in zip(contents, cuts + [0] * len(contents), strict=False):
        start = pile.add_record(payload)
        assert start == len(written) + len(pile.content()) - len(record(payload))
        if cut < 3:
            written += pile.content()
            pile.clear()
        elif cut == 3:
            pile.cut(start)
        assert (pile.start, pile.end) == (len(written), len(written) + len(pile.content()))
    if not cuts:
        assert written == whole_file(contents)


def test_what_a_pile_refuses():
    pile = Pile()
    pile.add(b"")
    pile.add(b"abc")
    pile.clear()
    pile.add(b"defgh")
    for end in (-1, 2, 9):
        with pytest.raises(ValueError, match=f"end is {end}, expected 3 to 8"):
            pile.cut(end)
    with pytest.raises(TypeError):
        pile.add_record(bytearray(b"x"))
    assert (pile.content(), pile.start, pile.end) == (b"defgh", 3, 8)
    pile.cut(3)
    assert pile.content() == b""


@pytest.mark.parametrize("size", [1 << 17, 1 << 18, (1 << 18) + 1, 3 << 20])
def test_piles_larger_than_what_they_keep(size):
    pile = Pile()
    for _ in range(3):
        pile.add(b"x" * size)
        pile.add_record(b"y")
        assert pile.content() == b"x" * size + record(b"y")
        pile.clear()
