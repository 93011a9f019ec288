"""The index of a RecordIO file: one line a record, ``key<TAB>offset<LF>``."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any, BinaryIO

from ._format import format_lines
from .damage import Damage
from .errors import EmptyFileError, UnsafeTargetError
from .paths import StrPath, as_path
from .progress import Progress, Report
from .redaction import redacted_repr
from .scan import Salvage, scan
from .segments import BATCH
from .select import Chosen, KeepKeys, Keys, Selection
from .sinks import Sink, Writer
from .sources import LocalFile, Source, Stream, opened
from .targets import index_target, new_files

if TYPE_CHECKING:
    from concurrent.futures import Executor

KeyType = Callable[[int], Any]


@redacted_repr
@dataclass(frozen=True)
class IndexSummary:
    """What was indexed.

    Attributes:
        records: lines in the index: the records of the file, but for those left out.
        bytes: bytes in the record file.
        seconds: how long it took.
        index: path of the index.
        left_out: records that are not in the index, by what they are.
        damaged: damaged regions that were passed over.
        damaged_bytes: bytes in them.
        doubtful: records next to them whose own bytes may have changed, too; with `strict`, they
            are left out.
        unused_keys: with the keys of an old index, its entries where no record starts.
    """

    records: int
    bytes: int
    seconds: float
    index: str
    left_out: Mapping[str, int] = field(default_factory=dict)
    damaged: int = 0
    damaged_bytes: int = 0
    unused_keys: int = 0
    doubtful: int = 0


def default_index_path(record: StrPath) -> str:
    """Return where the index of `record` goes if nobody says: its suffix becomes ``.idx``.

    >>> default_index_path("data/train.rec"), default_index_path("data.v2/train")
    ('data/train.idx', 'data.v2/train.idx')
    >>> default_index_path("https://example.org/train.rec?version=1.2")
    'https://example.org/train.idx'
    """
    path = as_path(record)
    if re.match("https?://", path):  # elsewhere ? and # may be in a name
        path = re.split("[?#]", path, maxsplit=1)[0]
    return os.path.splitext(path)[0] + ".idx"


def create_index(
    record: StrPath | BinaryIO | Source | Stream,
    index: StrPath | Writer | None = None,
    *,
    key_type: KeyType = int,
    keys: Keys = "sequence",
    images_only: bool = False,
    salvage: Salvage = None,
    strict: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> IndexSummary:
    """Write the index of a RecordIO file. Prints nothing.

    The index appears at its path when it is whole. Until then, and if anything fails, whatever
    was there before stays as it was.

    Args:
        record: path of the record file (``.rec``); or a binary file object, which is read once,
            without seeking.
        index: path of the index, by default that of the record with the suffix ``.idx``; or a
            binary file object, which gets the lines as they are found.
        key_type: makes a key from a record's number or id. Its `str` is written. Keys of an old
            index are taken as they are.
        keys: "sequence" for numbers that count from 0; "id" for the ids in the records' IRHeader,
            which im2rec uses as keys. They are kept in memory until it is certain that they differ:
            8 bytes each, and three times as many at the end if they do not rise. `KeepKeys(path)`
            for the keys of an old index.
        images_only: leave out records with no bytes after their labels, whatever their flag, such
            as the file header and the identity records of InsightFace.
        salvage: called with each `DamagedRegion`; the index then names all records that are whole.
            None to raise at the first damage.
        strict: with `salvage`, leave out the records, too, that are whole as far as can be seen,
            but next to damage that may have changed their own bytes.
        jobs: parts of the file that are walked at once; None for what suits the machine and the
            storage. The index does not depend on it.
        executor: who walks them; None for threads of this process.
        progress: called with a `Progress` at the start and as records are found, from time to
            time. What it raises ends the run.

    Returns:
        An `IndexSummary`.

    Raises:
        NotRecordIOError: the record file is something else, or empty.
        DamagedRecordError: the record file cannot be followed to its end; with `salvage`, no
            record of it is whole.
        FileChangedError: the record file changed while it was read.
        KeysError: two records have the same key, or one has none; or an old index is no index.
        ValueError: there is a `key_type` with the keys of an old index.
        NoImageError: with `images_only`, no record is left.
        WorkerError: a worker of `executor` does not see the record file.
        UnsafeTargetError: `index` is the record file itself, or another file that is no index.
        OSError: reading or writing failed.

    >>> import rec2idx
    >>> summary = rec2idx.create_index("examples/sample.rec", "sample.idx")
    >>> summary.records, summary.index
    (24, 'sample.idx')
    """
    began = time.perf_counter()
    if index is None:
        if not isinstance(record, (str, bytes, os.PathLike)):
            raise TypeError("a file object has no name to make that of the index from: give index")
        index = default_index_path(record)
    if isinstance(keys, KeepKeys) and key_type is not int:
        raise ValueError("key_type makes keys from numbers; those of an old index are kept")
    selection = Selection(keys, images_only)  # reads an old index before a new one replaces it
    with opened(record) as source, _sink(source, index) as (sink, path):

        def report(records: int, stop: int) -> None:
            if progress is not None:
                # Of a stream it is not known how much is still to come.
                total = None if isinstance(source, Stream) else source.size
                progress(Progress(records, stop, total, time.perf_counter() - began))

        damage = Damage(salvage)
        report(0, 0)
        stop = 0
        scanned = scan(
            source,
            jobs=jobs,
            executor=executor,
            heads=selection.heads,
            salvage=damage.salvage,
            strict=strict,
        )
        with closing(scanned) as batches:
            for batch in batches:
                for lines in lines_of(selection.choose(batch, source.path), key_type):
                    sink.write(lines)
                stop = batch.stop
                report(selection.records, stop)
        if stop == 0:
            raise EmptyFileError(
                "the file is empty, and loaders refuse an empty index",
                path=source.path,
                advice="check whether it was written or copied to the end",
            )
        selection.require_all(source.path)
    seconds = time.perf_counter() - began
    return IndexSummary(
        selection.records,
        source.size,
        seconds,
        path,
        selection.left_out,
        damage.regions,
        damage.bytes,
        selection.unused_keys,
        damage.doubtful,
    )


@contextmanager
def _sink(source: Source | Stream, index: StrPath | Writer) -> Iterator[tuple[Sink, str]]:
    """Give what takes the lines of the index, and its name."""
    if isinstance(index, (str, bytes, os.PathLike)):
        path = as_path(index)
        with new_files(index_target(path, source)) as (sink,):
            yield sink, path
    else:
        name = str(getattr(index, "name", "the stream"))
        sink = index if isinstance(index, Sink) else Sink(index, name)
        _require_other_file(source, sink)
        yield sink, sink.name


def _require_other_file(source: Source | Stream, sink: Sink) -> None:
    """Refuse an open file as index that is the record file itself."""
    try:
        status = os.fstat(sink.fileno())
    except (AttributeError, OSError):
        return
    if isinstance(source, (LocalFile, Stream)) and source.is_same_file(status):
        raise UnsafeTargetError(
            f"the index would replace the record file {source.path} itself",
            path=sink.name,
            advice="give the index another name",
        )


def lines_of(chosen: Chosen, key_type: KeyType = int, base: int = 0) -> Iterator[bytes]:
    r"""Yield the lines of a batch, in pieces that fit into a processor's cache.

    Args:
        chosen: the records.
        key_type: makes their keys.
        base: bytes in the files before theirs.

    >>> from array import array
    >>> list(lines_of(Chosen(array("q", [0, 44]), 0, ["cat", "dog"]), base=100))
    [b'cat\t100\ndog\t144\n']
    """
    for start in range(0, len(chosen), BATCH):
        stop = min(start + BATCH, len(chosen))
        if isinstance(chosen.keys, list):  # texts of an old index, of whatever bytes
            texts = map(_line, chosen.keys[start:stop], chosen.offsets[start:stop], repeat(base))
            yield "".join(texts).encode("utf-8", "surrogateescape")
        elif key_type is int:
            yield format_lines(chosen.offsets, chosen.first, start, stop, base, chosen.keys)
        else:
            keys = chosen.keys or range(chosen.first, chosen.first + len(chosen))
            made = map(key_type, keys[start:stop])
            yield "".join(map(_line, made, chosen.offsets[start:stop], repeat(base))).encode()


def _line(key: object, offset: int, base: int) -> str:
    text = str(key)
    if not text or "\t" in text or "\n" in text:
        raise ValueError(f"the key of the record at byte {offset} is {text!r}: no loader reads it")
    return f"{text}\t{offset + base}\n"
