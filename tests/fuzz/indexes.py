"""Indexes as they are read: their lines, their order, and a whole one in pieces."""

from __future__ import annotations

import io
import struct
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from index_reference import dali_offsets, mxnet_lines, strict, universal_lines

from rec2idx import _lines, lines
from rec2idx.lines import IndexFile, dali_entries, mxnet_entries, read_index

from .buffers import column, exact
from .choices import LARGEST, Choices
from .drip import Drip


def parses(data: bytes) -> None:
    """Lines that are written as they should be, up to the first other one."""
    choices = Choices(data)
    separator, returns = choices.one_of((b"\t", b" ", b",")), choices.below(2) == 1
    text, end = choices.rest, b"\r\n" if returns else b"\n"
    start = choices.below(2) * choices.up_to(len(text))
    expected, at = [], start
    while entry := _strict(text[at : text.find(b"\n", at) + 1 or len(text)], separator, end):
        expected.append(entry)
        at = text.index(b"\n", at) + 1
    keys, offsets = array("Q"), array("Q")
    found = _lines.parse_lines(exact(text), start, keys, offsets, separator[0], returns)
    assert found == (at, len(expected))
    assert list(zip(keys, offsets, strict=True)) == expected


def _strict(line: bytes, separator: bytes, end: bytes) -> tuple[int, int] | None:
    """Numbers of more than 20 digits, zeros before them, are left to whoever calls the kernel."""
    entry = strict(line, separator, end)
    return entry if entry and len(line.removesuffix(end).partition(separator)[2]) <= 20 else None


def runs(data: bytes) -> None:
    """Lines whose keys run on, up to the first other one; and what order numbers are in."""
    choices = Choices(data)
    text = choices.rest
    first = _strict(text[: text.find(b"\n") + 1], b"\t", b"\n")
    key = first[0] if first else choices.large()
    expected, at = [], 0
    while at < len(text) and (
        entry := _strict(text[at : text.find(b"\n", at) + 1 or len(text)], b"\t", b"\n")
    ):
        if entry[0] != key + len(expected):
            break
        expected.append(entry[1])
        at = text.index(b"\n", at) + 1
    offsets = array("Q")
    assert _lines.parse_running(exact(text), key, offsets) == (at, len(expected))
    assert list(offsets) == expected
    shift = choices.below(64)
    whole = text[: len(text) // 8 * 8]
    _order([number >> shift for (number,) in struct.iter_unpack("<Q", whole)])
    _order([key + place for place in range(len(expected))])


def _order(numbers: list[int]) -> None:
    steps = [b - a for a, b in pairwise(numbers)]
    order = _lines.UNORDERED
    if all(step > 0 for step in steps):
        order = _lines.RUNNING if all(step == 1 for step in steps) else _lines.RISING
    assert _lines.order_of(column("Q", numbers)) == order


def entries(data: bytes) -> None:
    """Entries in the order of their offsets, and the keys that they give to records."""
    choices = Choices(data)
    shift, base = choices.below(64), choices.one_of((0, choices.below(9), choices.large()))
    whole = choices.rest[: len(choices.rest) // 16 * 16]
    pairs = [(at >> shift, key >> shift) for at, key in struct.iter_unpack("<QQ", whole)]
    offsets, keys = (column("Q", [pair[place] for pair in pairs]) for place in (0, 1))
    distinct = offsets[:]
    _lines.sort_distinct(distinct)
    assert list(distinct) == sorted(set(offsets))
    _lines.sort_entries(offsets, keys)
    pairs.sort(key=lambda pair: pair[0])
    assert list(zip(offsets, keys, strict=True)) == pairs
    _match(pairs, sorted({at & LARGEST for at in keys} | {at & LARGEST for at in distinct}), base)


def _match(pairs: list[tuple[int, int]], records: list[int], base: int) -> None:
    expected = []
    at_records = 0
    for record in records:
        given = [key for at, key in pairs if at == record + base]
        at_records += len(given)
        mark = _lines.SEVERAL if len(set(given)) > 1 else _lines.ONE if given else _lines.NONE
        expected.append((given[0] if given else 0, mark))
    offsets, keys = (column("Q", [pair[place] for pair in pairs]) for place in (0, 1))
    picked, marks, found = _lines.match(offsets, keys, column("q", records), base)
    assert list(zip(picked, marks, strict=True)) == expected
    assert found == at_records


def indexes(data: bytes) -> None:
    """An index in any pieces is what it is at once, and readers make of it what they make of it."""
    choices = Choices(data)
    longest = choices.one_of((lines.LONGEST, 250))
    text = choices.rest[:600]  # plain Python takes its time
    most = max(choices.one_of((1, 2, 3, 7, 30)), len(text) // 30)
    with _longest(longest):
        whole = read_index(io.BytesIO(text))
        pieces = read_index(Drip(text, most))
        assert _everything(pieces) == _everything(whole)
    assert whole.lines == len(universal_lines(text))
    if longest == lines.LONGEST:
        assert sorted(set(dali_offsets(text))) == list(dali_entries(whole).offsets)
        _as_mxnet(whole, text)


def _as_mxnet(index: IndexFile, data: bytes) -> None:
    for kind in (int, str):
        found, expected = mxnet_entries(index, kind), mxnet_lines(data, kind)
        if isinstance(expected, int):
            assert found.failure is not None
            assert found.failure.line == expected
        else:
            assert found.failure is None
            assert (list(found.keys), found.places()) == expected


def _everything(index: IndexFile) -> list[object]:
    places = [index.line_of(entry) for entry in range(len(index.offsets))]
    dali, mxnet = dali_entries(index), [mxnet_entries(index, kind) for kind in (int, str)]
    return [
        (index.size, index.lines, index.keys, index.offsets, index.problems, places),
        (dali.offsets, dali.pairs, dali.stop, dali.failure),
        *((found.keys, found.offsets, found.failure) for found in mxnet),
    ]


@contextmanager
def _longest(length: int) -> Iterator[None]:
    """Let lines longer than this be too long to be kept, so that short inputs have some."""
    usual = lines.LONGEST
    try:
        lines.LONGEST = length
        yield
    finally:
        lines.LONGEST = usual
