"""How a writer lays out a record, held against plain Python."""

from hypothesis import given
from reference import MAGIC, record
from samples import payloads

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
