"""The walk along a file and along pieces of it, and the guess at a record's start."""

from __future__ import annotations

import struct

from reference import MAGIC

from rec2idx import _walk
from rec2idx._walk import Walk

from .buffers import exact, file_of
from .choices import LARGEST, Choices
from .plain import Found, walked

BLOCKS = (8, 9, 12, 16, 21, 32, 64, 100, 257, 4096, 1 << 17)
HEADS = (0, 1, 3, 4, 5, 8, 24, 25, 36, 64, 119, 120)


def records(data: bytes) -> None:
    """A walk in a file, of which less may be meant to be seen than there is."""
    choices = Choices(data)
    block, keep, most = choices.one_of(BLOCKS), choices.one_of(HEADS), 1 + choices.below(6)
    stop, behind = _stop(choices), choices.below(2) * choices.below(20)
    fd = file_of(choices.rest)
    seen = choices.rest[: max(len(choices.rest) - behind, 0)]
    start = choices.below(2) * choices.up_to(len(seen))
    walk = Walk(start, len(seen), block, stop, keep)
    found = Found([], b"", 0, 0)
    while walk.status == _walk.WALKING:
        _add(found, walk.records(fd, most), most)
    _compare(walk, found, walked(seen, start, stop, keep))
    # Where it may not go past the place to the end of a record, the last one may be missing.
    walk = Walk(start, len(seen), block, stop, keep, past=False)
    fewer = Found([], b"", 0, 0)
    while walk.status == _walk.WALKING:
        _add(fewer, walk.records(fd, most), most)
    assert found.records[: len(fewer.records)] == fewer.records
    assert len(fewer.records) >= len(found.records) - 1
    assert walk.position <= found.position
    assert walk.opened < 0 or walk.position >= stop or walk.status != _walk.PASSED


def shrunk(data: bytes) -> None:
    """A walk in a file that has fewer bytes than it was said to have."""
    choices = Choices(data)
    block, keep, most = choices.one_of(BLOCKS), choices.one_of(HEADS), 1 + choices.below(6)
    missing = 1 + choices.below(200)
    fd = file_of(choices.rest)
    walk = Walk(0, len(choices.rest) + missing, block, heads=keep)
    found = Found([], b"", 0, 0)
    while walk.status == _walk.WALKING:
        _add(found, walk.records(fd, most), most)
    # The headers that are there are followed, and no others are made up.
    expected = walked(choices.rest + bytes(missing), 0, LARGEST, keep)
    assert found.records == expected.records[: len(found.records)]
    if walk.status == _walk.SHRUNK:
        assert walk.position >= len(choices.rest)
    else:
        assert (walk.status, walk.position) == (expected.status, expected.position)


def feed(data: bytes) -> None:
    """A walk along pieces of a file, cut anywhere, that begin before the next header or at it."""
    choices = Choices(data)
    keep, most, stop = choices.one_of(HEADS), 1 + choices.below(6), _stop(choices)
    whole = choices.rest
    # What is fed may stand anywhere in a file, up to the last byte that one can have.
    base = choices.one_of((0, 0, 4, 1 << 32, LARGEST - 1 - len(whole)))
    lengths = [1 + choices.up_to(300) for _ in range(3)]
    back = choices.below(3) * choices.below(40)
    walk = Walk(base, base + len(whole), stop=min(base + stop, LARGEST), heads=keep)
    found, longer, turn = Found([], b"", 0, 0), 0, 0
    while walk.status == _walk.WALKING:
        before = walk.position
        at = max(before - base - back, 0)
        piece = whole[at : at + back + lengths[turn % 3] + longer]
        _add(found, walk.feed(exact(piece), base + at, most), most)
        turn += 1
        # What is too short for a header and the head behind it is asked for again, and longer.
        longer = 0 if walk.position > before else 2 * longer + 8
        assert longer < 1000 or at + len(piece) < len(whole), "the whole rest does not do"
    found.records = [(at - base, size) for at, size in found.records]
    expected = walked(whole, 0, min(stop, LARGEST - base), keep)
    expected.position += base
    _compare(walk, found, expected)


def find_start(data: bytes) -> None:
    choices = Choices(data)
    at = choices.one_of((choices.below(9), choices.large()))
    piece = choices.rest
    at = min(at, LARGEST - len(piece))
    expected = -1
    for here in range(-at % 4, len(piece) - 7, 4):
        word, lrec = piece[here : here + 4], struct.unpack_from("<I", piece, here + 4)[0]
        if word == MAGIC and lrec >> 29 < 2:
            expected = at + here
            break
    assert _walk.find_start(exact(piece), at) == expected


def _stop(choices: Choices) -> int:
    place = choices.up_to(1000)
    return choices.one_of((LARGEST, place))


def _add(found: Found, columns: tuple, most: int) -> None:
    """Add what one call returned."""
    offsets, sizes, heads = columns
    assert len(offsets) == len(sizes) <= most
    found.records += zip(offsets, sizes, strict=True)
    found.heads += bytes(heads or b"")


def _compare(walk: Walk, found: Found, expected: Found) -> None:
    found.status, found.position = walk.status, walk.position
    assert found == expected, f"{found} is not {expected}"
