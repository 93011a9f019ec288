"""Records one by one: read at an offset, and laid out to be written."""

from __future__ import annotations

from reference import read, record

from rec2idx._layout import Pile, lay_out
from rec2idx._records import SMALL, Running, read_record

from .buffers import column, file_of
from .choices import LARGEST, Choices

GUESSES = (0, 7, 8, 12, 44, SMALL, SMALL + 1, LARGEST, 1 << 70, -5)


def one_record(data: bytes) -> None:
    """What stands at any offset of a file that may be shorter than it is said to be."""
    choices = Choices(data)
    guess, missing = choices.one_of(GUESSES), choices.below(2) * choices.below(60)
    at = choices.one_of((choices.up_to(len(choices.rest)), choices.large()))
    content = choices.rest
    size = len(content) + missing
    fd = file_of(content)
    expected = _one_part(content, at, size)
    assert read_record(fd, at, guess, size) == expected
    step = choices.one_of((0, 44, choices.large()))
    first = choices.one_of((0, 7, LARGEST, 2 * LARGEST))
    running = Running(first, column("Q", [at, (at + step) % (1 << 64), size]))
    taken = first <= LARGEST
    assert running.read(fd, first) == (expected if taken else None)
    assert running.read(fd, first + 2) is None
    assert running.read(fd, first - 1) is None


def _one_part(content: bytes, at: int, size: int) -> tuple[bytes, int] | None:
    """The record of one part there, if its payload is; its padding may be missing in the file."""
    records, _ = read(content[at:] + bytes(3)) if at < len(content) else ([], None)
    if at + 8 > len(content) or not records or content[at + 7] >> 5:
        return None
    payload = records[0][1]
    end = at + 8 + len(payload) + -len(payload) % 4
    return (payload, end) if at + 8 + len(payload) <= len(content) and end <= size else None


def layouts(data: bytes) -> None:
    """Records in a pile, some of which are taken back."""
    choices = Choices(data)
    lengths = [choices.up_to(300) for _ in range(4)]
    pile, content, written, at = Pile(), b"", 0, 0
    for length in lengths:
        payload = choices.rest[at : at + length]
        at += length
        laid_out = record(payload)
        assert lay_out(payload) == laid_out
        assert pile.add_record(payload) == written + len(content)
        what = choices.below(4)
        if what == 0:
            pile.cut(written + len(content))
        else:
            content += laid_out
        assert pile.content() == content
        if what == 1:
            written += len(content)
            content = b""
            pile.clear()
        assert (pile.start, pile.end) == (written, written + len(content))
