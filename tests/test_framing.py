"""How a writer lays out a record, held against plain Python."""

import pytest
from hypothesis import given
from reference import MAGIC, record
from samples import payloads

from rec2idx._magic import find_word
from rec2idx.framing import lay_out, payload_of, split_at_magics


@given(payloads)
def test_a_record_is_laid_out_as_a_conforming_writer_does(payload):
    assert lay_out(payload) == record(payload)
    assert payload_of(record(payload)) == payload


@given(payloads)
def test_the_pieces_and_the_magics_between_them_are_the_payload(payload):
    pieces = split_at_magics(payload)
    assert MAGIC.join(pieces) == payload
    assert all(len(piece) % 4 == 0 for piece in pieces[:-1])
    assert not any(
        piece[at : at + 4] == MAGIC for piece in pieces for at in range(0, len(piece), 4)
    )


def test_a_payload_without_a_magic_is_not_copied():
    payload = bytes(1000)
    [piece] = split_at_magics(payload)
    assert piece is payload


@pytest.mark.parametrize("size", [0, 3, 4, 255, 256, 260, 512, 777])
def test_the_magic_at_a_multiple_of_4(size):
    """Wherever it is, and from wherever the search starts; elsewhere it is none."""
    for at in range(size - 3):
        data = bytes(at) + MAGIC + bytes(size - at - 4)
        for start in (0, at - at % 4, at - at % 4 + 4):
            assert find_word(data, start) == (at if at % 4 == 0 and start <= at else -1)
    assert find_word(bytes(size), 0) == -1
