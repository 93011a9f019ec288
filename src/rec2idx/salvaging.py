"""A new file with the whole records of a damaged one."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ._format import format_lines
from .damage import Damage, DamagedRegion
from .errors import DamagedRecordError, EmptyFileError
from .mending import mended
from .paths import StrPath, as_path
from .progress import Progress, Report
from .redaction import redacted, redacted_repr
from .rewrite import Rewriter
from .scan import scan
from .segments import Batch
from .sinks import Sink
from .sources import LocalFile, Source, Stream, opened
from .targets import Target, index_target, new_files, new_target, require_two_files

if TYPE_CHECKING:
    from concurrent.futures import Executor


@redacted_repr
@dataclass(frozen=True)
class SalvageSummary:
    """What was kept of a record file, and what was lost.

    Attributes:
        records: records in the new file: all whole ones.
        bytes: bytes in the record file.
        bytes_written: bytes in the new file.
        damaged: damaged regions in the record file.
        damaged_bytes: bytes in them, which are lost. No record in them is whole.
        rewritten: records that are laid out in another way than they were: their padding was
            missing or not zeros, or they were not split at the magics in their payload, or split
            elsewhere. Their payloads are the same.
        seconds: how long it took.
        path: path of the new file.
        index: path of its index; None if none was asked for.
        index_replaced: whether that replaced an index, which stood there before.
        doubtful: records next to damage whose own bytes may have changed, too; with `strict`, they
            are left out.
        repaired: what was wrong with the whole file, and is undone; None for nothing.
    """

    records: int
    bytes: int
    bytes_written: int
    damaged: int
    damaged_bytes: int
    rewritten: int
    seconds: float
    path: str
    index: str | None
    index_replaced: bool = False
    doubtful: int = 0
    repaired: str | None = None


def salvage(
    record: StrPath | Source,
    target: StrPath,
    index: StrPath | None = None,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
    strict: bool = False,
    damaged: Callable[[DamagedRegion], object] | None = None,
) -> SalvageSummary:
    """Write the whole records of a RecordIO file to a new one. Prints nothing.

    The new file is what a conforming writer would have written for their payloads, byte for byte.
    It replaces none, and on this machine not even one that appears while it is written. When the
    bytes of both are on the disk, it appears, and then its index; if anything fails, even the last
    step, neither is there, and what stood at the path of the index stays as it was. Only a process
    that is killed between the two leaves the file without it.

    Args:
        record: path of the record file, damaged or not.
        target: path of the new file, at which there is none.
        index: path of its index, with running numbers as keys; None for no index. An index that
            stands there is replaced, and the summary says so.
        jobs: as for `create_index`; None for one where the record file is on this machine.
        executor: as for `create_index`.
        progress: called with the `Progress` in the record file, from time to time. What it
            raises ends the run.
        strict: as for `create_index`.
        damaged: called with each `DamagedRegion` of the record file, in order. What it raises ends
            the run.

    Raises, before anything stands at `target`:
        NotRecordIOError: the record file is something else, or empty.
        DamagedRecordError: no record in it is whole.
        FileChangedError: the record file changed while it was read.
        WorkerError: a worker of `executor` does not see the record file.
        UnsafeTargetError: `target` is the record file itself or another file, or `index` is one
            that is no index.
        OSError: reading or writing failed, or the record file is a pipe.

    >>> from pathlib import Path
    >>> Path("cut.rec").write_bytes(Path("examples/sample.rec").read_bytes()[:5000])
    5000
    >>> kept = salvage("cut.rec", "kept.rec")
    >>> kept.records, kept.bytes_written, kept.damaged_bytes
    (2, 4892, 108)
    """
    began = time.perf_counter()
    path = as_path(target)
    index_path = None if index is None else as_path(index)
    damage = Damage(damaged or _ignore)
    with _opened(record) as source:
        targets = _targets(source, path, index_path)
        if jobs is None and executor is None and isinstance(source, LocalFile):
            jobs = 1  # copying takes longer than walking, and others would be in its way
        whole, repaired = mended(source)
        if repaired is not None:
            executor = None  # others would see the file as it is
        scanned = scan(whole, jobs=jobs, executor=executor, salvage=damage.salvage, strict=strict)
        with new_files(*targets) as sinks, closing(scanned) as batches:

            def report(records: int, stop: int) -> None:
                if progress is not None:
                    seconds = time.perf_counter() - began
                    progress(Progress(records, stop, whole.size, seconds))

            rewriter = Rewriter(whole, sinks[0])
            records = _copy(batches, rewriter, sinks[1:], report)
            if records == 0:
                raise _nothing_in(source)
    return SalvageSummary(
        records,
        source.size,
        rewriter.written,
        damage.regions,
        damage.bytes,
        rewriter.rewritten,
        time.perf_counter() - began,
        path,
        index_path,
        targets[-1].replaced,
        damage.doubtful,
        repaired,
    )


def _copy(
    batches: Iterable[Batch],
    rewriter: Rewriter,
    indexes: Sequence[Sink],
    report: Callable[[int, int], None],
) -> int:
    """Append all records, and to each of `indexes` its lines; return how many there are."""
    records = 0
    report(0, 0)
    for batch in batches:
        places = rewriter.append(batch)
        for index in indexes:
            index.write(format_lines(places, records))
        records += len(batch)
        report(records, batch.stop)
    rewriter.flush()
    return records


@contextmanager
def _opened(record: StrPath | Source) -> Iterator[Source]:
    with opened(record) as source:
        if isinstance(source, Stream):
            what = "to go on behind damage, a file must be readable at any place; this one is not"
            raise OSError(errno.EINVAL, what, redacted(source.path))
        yield source


def _targets(source: Source, path: str, index: str | None) -> list[Target]:
    """Return where the new file goes, and then its index if there is to be one."""
    targets = [new_target(path, "record file", source)]
    if index is not None:
        targets.append(index_target(index, source))
        require_two_files(path, index)
    return targets


def _ignore(region: DamagedRegion) -> None:
    """Take no notice: the summary has the number of regions."""


def _nothing_in(source: Source) -> Exception:
    if source.size == 0:
        return EmptyFileError(
            "the file is empty, so there is nothing to salvage",
            path=source.path,
            advice="check whether it was written or copied to the end",
        )
    return DamagedRecordError(
        "no record in it is whole", path=source.path, advice="copy or download it again"
    )
