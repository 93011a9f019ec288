"""Counts and choices over arrays of sizes, heads and kinds, which may not fit each other."""

from __future__ import annotations

import struct
from array import array
from contextlib import suppress
from itertools import groupby, pairwise

from rec2idx import _heads, _tally

from .buffers import column
from .choices import LARGEST, Choices

IR_HEADER = 24
PAYLOAD = 8  # where in a head the payload begins


class Columns:
    """Records as arrays: a size, a head of `stride` bytes and a kind for each."""

    def __init__(self, data: bytes, stride: int) -> None:
        step = 3 + stride
        pieces = [data[at : at + step].ljust(step, b"\0") for at in range(0, len(data), step)]
        self.stride = stride
        self.heads = [piece[3:] for piece in pieces]
        # Mostly sizes about as large as a head, and some that are larger by far.
        self.sizes = [piece[0] << piece[1] % 48 for piece in pieces]
        self.kinds = [piece[2] % 5 for piece in pieces]

    def arrays(self) -> tuple[array[int], array[int], array[int]]:
        heads = column("B", b"".join(self.heads))
        return column("q", self.sizes), heads, column("B", self.kinds)


def heads(data: bytes) -> None:
    choices = Choices(data)
    columns = Columns(choices.rest, 32 + choices.below(97))
    sizes, heads, _ = columns.arrays()
    kinds = [_kind(size, head) for size, head in zip(columns.sizes, columns.heads, strict=True)]
    ids = [struct.unpack_from("<Q", head, PAYLOAD + 8)[0] for head in columns.heads]
    assert list(_heads.kinds(sizes, heads)) == kinds
    assert list(_heads.ids(sizes, heads)) == ids
    wanted = choices.below(5)
    for values in (column("Q", ids), sizes):
        picked = _heads.pick(values, column("B", kinds), wanted)
        assert list(picked) == [v for v, kind in zip(values, kinds, strict=True) if kind == wanted]
    _numbers(ids)
    shift = choices.below(64)
    _numbers([number >> shift for number in ids])


def _numbers(ids: list[int]) -> None:
    """Numbers of 64 bits, of which some may repeat."""
    repeated = [b for a, b in pairwise(sorted(ids)) if a == b]
    assert _heads.repeats(column("Q", ids)) == (len(repeated), min(repeated, default=None))
    assert _heads.rises(column("Q", ids)) == (ids == sorted(set(ids)))
    if ids:
        assert _heads.bounds(column("Q", ids)) == (min(ids), max(ids))


def _kind(size: int, head: bytes) -> int:
    if size < IR_HEADER:
        return _heads.NO_HEADER
    rest = size - IR_HEADER - 4 * _flag(head)
    return _heads.CUT_LABELS if rest < 0 else _heads.IMAGE if rest else _heads.NO_IMAGE


def _flag(head: bytes) -> int:
    flag: int = struct.unpack_from("<I", head, PAYLOAD)[0]
    return flag


def tally(data: bytes) -> None:
    choices = Choices(data)
    columns = Columns(choices.rest, 32 + choices.below(97))
    sizes, heads, kinds = columns.arrays()
    stride, wanted = columns.stride, choices.below(5)
    parts = [struct.unpack_from("<I", head, 4)[0] for head in columns.heads]
    assert _tally.multi_part(heads, stride) == sum(count > 1 for count in parts)
    flags = [
        _flag(head)
        for kind, head in zip(columns.kinds, columns.heads, strict=True)
        if kind <= wanted
    ]
    runs = [(flag, len(list(run))) for flag, run in groupby(flags)]
    assert _tally.flag_runs(heads, kinds, stride, wanted) == runs
    assert _tally.signatures(sizes, heads, kinds, stride, wanted) == _signatures(columns, wanted)
    labels = _tally.Distinct()
    labels.add_labels(heads, kinds, stride, wanted)
    assert len(labels) == len(_labels(columns, wanted))
    numbers = array("f", bytes(heads)[: len(heads) // 4 * 4])
    labels = _tally.Distinct()
    labels.add_numbers(numbers)
    assert len(labels) == len({number for number in numbers if number == number})
    _order(columns.sizes)


def misfits(data: bytes) -> None:
    """Arrays that are too short for each other, or of another type, are refused."""
    choices = Choices(data)
    stride = choices.below(70)
    kind = choices.one_of(("B", "Q", "q", "H"))
    count, width = choices.below(40), array(kind).itemsize
    whole = array(kind, choices.rest[: len(choices.rest) // width * width])
    # A size is never below zero.
    some = column(kind, [abs(max(value, -LARGEST)) for value in whole])
    kinds, sizes = column("B", bytes(count)), column("q", range(count))
    arrays = [some, kinds, sizes]
    one, two, three = (choices.one_of(arrays) for _ in range(3))
    for call in (
        lambda: _heads.kinds(one, two),
        lambda: _heads.ids(one, two),
        lambda: _heads.pick(one, two, 0),
        lambda: _heads.rises(one),
        lambda: _heads.bounds(one),
        lambda: _heads.repeats(one),
        lambda: _tally.multi_part(one, stride),
        lambda: _tally.flag_runs(one, two, stride, 4),
        lambda: _tally.signatures(one, two, three, stride, 0),
        lambda: _tally.Distinct().add_labels(one, two, stride, 0),
    ):
        with suppress(TypeError, ValueError):
            call()


def _signatures(columns: Columns, wanted: int) -> tuple[int, int, int, list[bytes], int]:
    jpegs = pngs = unknown = behind = 0
    others = []
    for size, head, kind in zip(columns.sizes, columns.heads, columns.kinds, strict=True):
        if kind != wanted:
            continue
        at = PAYLOAD + IR_HEADER + 4 * _flag(head)
        there = min(size + PAYLOAD - at, 20)
        image = head[at : at + max(there, 0)]
        if at + there > columns.stride:
            behind += 1
        elif image.startswith(b"\xff\xd8\xff"):
            jpegs += 1
        elif image.startswith(b"\x89PNG\r\n\x1a\n"):
            pngs += 1
        elif image[:2] in _tally.KNOWN:
            others.append(image)
        else:
            unknown += 1
    return jpegs, pngs, unknown, others, behind


def _labels(columns: Columns, wanted: int) -> set[bytes]:
    """The labels, of which zero may have either sign."""
    labels = set()
    for head, kind in zip(columns.heads, columns.kinds, strict=True):
        place = {0: PAYLOAD + 4, 1: PAYLOAD + IR_HEADER}.get(_flag(head), columns.stride)
        label = head[place : place + 4]
        if kind == wanted and len(label) == 4:
            labels.add(bytes(4) if label == b"\0\0\0\x80" else label)
    return labels


def _order(sizes: list[int]) -> None:
    if sizes:
        least, median, largest, total = _tally.order(column("q", sizes))
        middle = sorted(sizes)[(len(sizes) - 1) // 2]
        assert (least, median, largest, total) == (min(sizes), middle, max(sizes), sum(sizes))
