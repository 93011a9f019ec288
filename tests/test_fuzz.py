"""What a fuzzer starts from passes its own checks: `make fuzz` goes on from there."""

import pytest
from fuzz.seeds import dictionary, inputs
from fuzz.targets import NAMES, target


@pytest.mark.parametrize("name", NAMES)
def test_a_target_takes_the_seeds(name):
    """And inputs too short for the choices in them."""
    for content in [*inputs(1), *inputs(2), b"", b"\x01", bytes(range(15))]:
        target(name)(content)


def test_words_are_written_as_the_fuzzer_reads_them():
    assert dictionary().startswith('"\\x0a\\x23\\xd7\\xce"\n')
