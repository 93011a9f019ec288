"""Whole files that mean harm: what all the rest stands on gives one answer, or one error."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from reference import read

import rec2idx
from rec2idx import Batch, MXRecordIO, RecordIOError, scan
from rec2idx.contents import info

from .buffers import PATH, file_of
from .choices import Choices
from .drip import Drip

T = TypeVar("T")

SEGMENTS = (4, 8, 12, 20, 64, 256)
MOST_SEGMENTS = 20  # of a file, since each of them takes time
MOST_CHUNKS = 20  # of a stream, likewise
BLOCKS = (None, 8, 13, 40, 100)


class Inline(ThreadPoolExecutor):
    """Takes the place of threads: does at once what it is asked for, many times as fast."""

    def submit(self, function: Callable[..., T], /, *args: object, **options: object) -> Future[T]:
        future: Future[T] = Future()
        future.set_result(function(*args, **options))
        return future


INLINE, THREADS = Inline(), ThreadPoolExecutor(2)  # for good, since threads take long to start
# Modules, of which one has the name of a function, that know how many records a batch has.
BATCHING = [importlib.import_module(f"rec2idx.{name}") for name in ("scan", "segments", "streams")]


@contextmanager
def _batches_of(most: int) -> Iterator[None]:
    """Let batches have few records: so short files have many, and memory is given out faster."""
    usual = BATCHING[0].BATCH
    try:
        for module in BATCHING:
            module.BATCH = most
        yield
    finally:
        for module in BATCHING:
            module.BATCH = usual


def scans(data: bytes) -> None:
    """A file in segments, whoever walks them, gives what one walk gives."""
    choices = Choices(data)
    keep, block = choices.one_of((0, 24, 64)), choices.one_of(BLOCKS)
    segment = max(choices.one_of(SEGMENTS), len(choices.rest) // MOST_SEGMENTS)
    executor = choices.one_of((INLINE, INLINE, INLINE, THREADS))
    file_of(choices.rest)
    with _batches_of(choices.one_of((1, 5, 64))):
        expected = _outcome(scan(PATH, jobs=1, heads=keep))
        several = _outcome(
            scan(PATH, executor=executor, segment_size=segment, block_size=block, heads=keep)
        )
    assert expected[0] == [(at, len(payload)) for at, payload in read(choices.rest)[0]]
    assert several == expected


def streams(data: bytes) -> None:
    """A stream in pieces gives what a file gives."""
    choices = Choices(data)
    keep = choices.one_of((0, 24, 64))
    most = max(choices.one_of((1, 3, 8, 11, 64, 4096)), len(choices.rest) // MOST_CHUNKS)
    file_of(choices.rest)
    with _batches_of(choices.one_of((1, 5, 64))):
        expected = _outcome(scan(PATH, jobs=1, heads=keep))
        stream = _outcome(scan(Drip(choices.rest, most), heads=keep))
    # Of a file that is none of ours, too little is known to say what it is.
    assert stream[:2] == expected[:2]
    assert (stream[2] or ("",))[:3] == (expected[2] or ("",))[:3]


def infos(data: bytes) -> None:
    """What is in a file can be told, or the error is one of ours."""
    choices = Choices(data)
    content = choices.rest
    file_of(content)
    with _batches_of(choices.one_of((1, 5, 64))):
        try:
            found = info(PATH, jobs=1).as_dict()
        except RecordIOError:
            return
        streamed = info(io.BytesIO(content)).as_dict()
    json.dumps(found)
    apart = {"path", "seconds", "sample", "unescaped"}
    assert {k: v for k, v in found.items() if k not in apart} == {
        k: v for k, v in streamed.items() if k not in apart
    }


def reads(data: bytes) -> None:
    """MXNet's class gives the payloads of the reference, then the end or an error."""
    content = Choices(data).rest
    file_of(content)
    records, broken = read(content)
    with MXRecordIO(PATH, "r") as reader:
        for _, payload in records:
            assert reader.read() == payload
        try:
            assert reader.read() is None
            assert broken is None
        except RecordIOError:
            assert broken is not None


def _outcome(batches: Iterable[Batch]) -> tuple[list[tuple[int, int]], bytes, tuple | None]:
    """The records, their heads, and the error: its type, reason, byte and message."""
    found: list[tuple[int, int]] = []
    heads, stop = b"", 0
    try:
        for batch in batches:
            assert batch.first == len(found)
            assert batch.offsets[0] == stop
            found += zip(batch.offsets, batch.sizes, strict=True)
            heads += bytes(batch.heads or b"")
            stop = batch.stop
    except (rec2idx.DamagedRecordError, rec2idx.NotRecordIOError) as error:
        reason = getattr(error, "reason", "")
        return found, heads, (type(error), reason, error.offset, error.describe())
    return found, heads, None
