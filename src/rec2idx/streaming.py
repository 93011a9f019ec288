"""Records one after the other from anything that gives bytes, and to anything that takes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import BinaryIO, TypeVar

from . import _walk
from ._layout import lay_out
from ._walk import Walk
from .damage import error_of, shrunk
from .errors import PayloadError
from .framing import HEADER_SIZE, MAX_LENGTH, as_bytes, padded, payload_of
from .paths import StrPath
from .segments import BATCH, LOCAL_BLOCK, REMOTE_BLOCK
from .sinks import Sink
from .sources import LocalFile, Source, Stream, opened
from .streams import MORE_MAY_FOLLOW

T = TypeVar("T")

# Called with some bytes, where in them a record starts and stops, and its payload size.
Take = Callable[[bytearray, int, int, int], T]


def read_records(record: StrPath | BinaryIO | Source | Stream) -> Iterator[bytes]:
    """Yield the payloads of a file, one record after the other.

    Nothing is sought, so a pipe or the body of an HTTP response will do. No more is kept in memory
    than the record that has not yet come to its end and one block of bytes.

    Args:
        record: a path or URL, or a binary file object, which needs no more than `read`. It is left
            open.

    Raises:
        NotRecordIOError: it is something else.
        DamagedRecordError: it cannot be followed to its end. The records before come first.
        FileChangedError: the file became shorter meanwhile.
        MissingExtraError: a package is missing, for a URL.
        OSError: it cannot be read.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_records(file, [b"one", b"two"])
    2
    >>> list(read_records(io.BytesIO(file.getvalue())))
    [b'one', b'two']
    """
    with opened(record) as source:
        yield from each_record(source, _payload)


def write_records(file: BinaryIO, payloads: Iterable[bytes]) -> int:
    """Write records to a binary file object, as ``mxnet.recordio`` lays them out.

    Args:
        file: where to; it needs no more than `write`, and is left open.
        payloads: each bytes, a bytearray or a memoryview of fewer than 2^29 bytes.

    Returns:
        How many were written.

    Raises:
        PayloadError: a payload is too long. Those before it were written.
        TypeError: it is text, or something else, or `file` cannot be written to.
        OSError: writing failed.

    >>> import io
    >>> file = io.BytesIO()
    >>> write_records(file, [b"text"]), file.getvalue().hex(" ", 4)
    (1, '0a23d7ce 04000000 74657874')
    """
    if not hasattr(file, "write"):
        raise TypeError(f"file is {type(file).__name__}, expected a file object to write to")
    sink = Sink(file, str(getattr(file, "name", "the file")))
    count = 0
    for payload in map(as_bytes, payloads):
        if len(payload) > MAX_LENGTH:
            raise PayloadError(
                "the payload is too long for a record",
                record=count,
                expected=f"{MAX_LENGTH} bytes at most",
                found=str(len(payload)),
            )
        sink.write(lay_out(payload))
        count += 1
    return count


def _blocks(source: Source) -> Iterator[bytes]:
    """Yield the bytes of a file from its beginning, some at once."""
    size = LOCAL_BLOCK if isinstance(source, LocalFile) else REMOTE_BLOCK
    for offset in range(0, source.size, size):
        block = source.read(offset, min(size, source.size - offset))
        if len(block) < min(size, source.size - offset):
            raise shrunk(source.path, source.size, offset + len(block))
        yield block


def each_record(source: Source | Stream, take: Take[T]) -> Iterator[T]:
    """Yield what `take` returns for each record; raises what `read_records` does."""
    blocks = iter(source.next, b"") if isinstance(source, Stream) else _blocks(source)
    walk = Walk(0, 0)
    kept = bytearray()  # from the first record on that was not yielded
    start = count = 0
    for block in chain(blocks, [b""]):  # an empty file is walked, too
        kept += block
        walk.grow(start + len(kept))
        end = start
        for offset, stop, size in _found(walk, kept, start):
            yield take(kept, offset - start, stop - start, size)
            count += 1
            end = stop
        del kept[: end - start]
        start = end
        if walk.status not in MORE_MAY_FOLLOW:
            break
    if walk.status != _walk.END:
        raise error_of(walk, source, count)


def _found(walk: Walk, kept: bytearray, start: int) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and payload size of the whole records in the bytes from `start` on."""
    more = True
    while more:
        starts, sizes, _ = walk.feed(kept, start, BATCH)
        more = len(starts) == BATCH and walk.status == _walk.WALKING
        if starts:
            ends = [*starts[1:], walk.opened if walk.opened >= 0 else walk.position]
            yield from zip(starts, ends, sizes, strict=True)


def _payload(kept: bytearray, start: int, stop: int, size: int) -> bytes:
    with memoryview(kept) as view:
        if stop - start == HEADER_SIZE + padded(size):
            return bytes(view[start + HEADER_SIZE : start + HEADER_SIZE + size])
        return payload_of(bytes(view[start:stop]))
