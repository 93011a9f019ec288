"""The lines of an index."""

from __future__ import annotations

import struct

from rec2idx._format import format_lines

from .buffers import column
from .choices import LARGEST, Choices


def formats(data: bytes) -> None:
    """Writing them, with numbers of any size."""
    choices = Choices(data)
    first, base = choices.large(), choices.large()
    start, stop, has_keys = choices.below(20), choices.up_to(300), choices.below(2)
    shift, lift = choices.one_of((0, choices.below(64))), choices.one_of((0, 3 << 62))
    times = 1 + choices.below(60)
    whole = choices.rest[: len(choices.rest) // 8 * 8]
    numbers = [number >> shift | lift for (number,) in struct.iter_unpack("<Q", whole)]
    numbers = (numbers * times)[:200]  # many long lines, too
    offsets = [number & LARGEST for number in numbers]
    keys = numbers if has_keys else list(range(first, first + len(numbers)))
    lines = format_lines(
        column("q", offsets), first, start, stop, base, column("Q", keys) if has_keys else None
    )
    pairs = list(zip(keys, offsets, strict=True))[start:stop]
    assert lines == "".join(f"{key}\t{at + base}\n" for key, at in pairs).encode()
