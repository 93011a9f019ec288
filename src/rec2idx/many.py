"""Many files: an index for each of them."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from .concurrency import files_at_once, in_parallel, jobs_of_each, walkers
from .damage import one_at_a_time
from .errors import KeysError, RecordIOError, UnsafeTargetError
from .find import FoundFile, RepeatedFile, SkippedFile, find_records
from .index import IndexSummary, create_index, default_index_path
from .paths import StrPath, as_path, is_url
from .progress import Report, Together
from .redaction import redacted_repr
from .scan import Salvage
from .select import KeepKeys, Keys


@redacted_repr
@dataclass(frozen=True)
class FileResult:
    """What became of one file: it has an index now, or an error says why not.

    Attributes:
        record: path of the record file, or of a folder that could not be read.
        summary: what was indexed, or None.
        error: why it was not, or None.
    """

    record: str
    summary: IndexSummary | None = None
    error: RecordIOError | OSError | None = None


@dataclass(frozen=True)
class ManySummary:
    """What was indexed, and what was not.

    Attributes:
        files: the result for each file, in the order in which they were taken.
        skipped: files met in folders that are named like RecordIO and are not.
        repeated: files that were named or met before; they are indexed once.
        seconds: how long it took.
    """

    files: tuple[FileResult, ...]
    skipped: tuple[SkippedFile, ...]
    repeated: tuple[RepeatedFile, ...]
    seconds: float

    @property
    def done(self) -> list[IndexSummary]:
        """What was indexed."""
        return [file.summary for file in self.files if file.summary is not None]

    @property
    def failed(self) -> list[FileResult]:
        """The files that have no new index."""
        return [file for file in self.files if file.error is not None]

    @property
    def records(self) -> int:
        """Lines in the indexes."""
        return sum(summary.records for summary in self.done)

    @property
    def left_out(self) -> dict[str, int]:
        """Records of the indexed files that are in no index, by what they are."""
        return dict(sum((Counter(summary.left_out) for summary in self.done), Counter()))

    @property
    def damaged(self) -> int:
        """Damaged regions that were passed over."""
        return sum(summary.damaged for summary in self.done)

    @property
    def damaged_bytes(self) -> int:
        """Bytes in them."""
        return sum(summary.damaged_bytes for summary in self.done)

    @property
    def doubtful(self) -> int:
        """Records next to them whose own bytes may have changed, too."""
        return sum(summary.doubtful for summary in self.done)

    @property
    def unused_keys(self) -> int:
        """With the keys of an old index, its entries where no record starts."""
        return sum(summary.unused_keys for summary in self.done)

    @property
    def bytes(self) -> int:
        """Bytes in the indexed files."""
        return sum(summary.bytes for summary in self.done)


def create_indexes(
    records: StrPath | Iterable[StrPath],
    out_dir: StrPath | None = None,
    *,
    recursive: bool = False,
    keys: Keys = "sequence",
    images_only: bool = False,
    salvage: Salvage = None,
    strict: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> ManySummary:
    """Write an index for each of many RecordIO files. Prints nothing.

    A file that cannot be indexed does not stop the others: its error stands in the summary.

    Args:
        records: paths of record files; with `recursive`, of folders too.
        out_dir: the folder for the indexes, made where it is absent; by default each goes beside
            its record file. Below it, the folders found by `recursive` are kept.
        recursive: take the ``*.rec`` files in the given folders, which may be URLs, and in all
            folders in them, in sorted order, also through links. Those that do not begin like
            RecordIO are skipped; one that is empty is an error.
        keys: as for `create_index`; the old index of a `KeepKeys` is that of a single file.
        images_only: as for `create_index`.
        salvage: as for `create_index`; it may be called in other threads, one region at a time.
        strict: as for `create_index`.
        jobs: as for `create_index`; and so many files are under way at once at most.
        executor: as for `create_index`.
        progress: called with the `Progress` over all files, from time to time, in this thread.
            What it raises ends the run.

    Raises:
        UnsafeTargetError: two of the files would have the same index. Nothing was written.
        KeysError: there are several files, and one old index. Nothing was written.
        OSError: `out_dir` cannot be made.

    >>> summary = create_indexes(["examples/sample.rec"], "indexes")
    >>> [done.index for done in summary.done], summary.records, summary.failed
    (['indexes/sample.idx'], 24, [])
    """
    began = time.perf_counter()
    found = find_records(records, recursive=recursive)
    folder = None if out_dir is None else as_path(out_dir)
    plan = [(file, _index_path(file, folder)) for file in found.files]
    _require_different(plan)
    if isinstance(keys, KeepKeys):
        _require_single(len(plan), as_path(keys.index))
    if folder is not None:
        _make_folder(folder)
    together = Together(progress, _sum([file.size for file in found.files]))
    at_once = files_at_once([file.path for file in found.files], jobs, executor)
    with walkers(executor, at_once) as shared:
        create = partial(
            create_index,
            keys=keys,
            images_only=images_only,
            salvage=one_at_a_time(salvage),
            strict=strict,
            jobs=jobs_of_each(jobs, at_once),
            executor=shared,
        )

        def index_one(item: tuple[FoundFile, str]) -> FileResult:
            return _index_one(*item, create, together)

        results = in_parallel(index_one, plan, at_once, together, shared)
    together.show()
    unread = [FileResult(folder.path, error=folder.error) for folder in found.unread]
    return ManySummary(
        (*unread, *results),
        tuple(found.skipped),
        tuple(found.repeated),
        time.perf_counter() - began,
    )


def _index_one(
    file: FoundFile, index: str, create: Callable[..., IndexSummary], together: Together
) -> FileResult:
    part = together.part()
    try:
        if file.below:
            _make_folder(os.path.dirname(index))
        done = create(file.path, index, progress=part)
    except (RecordIOError, OSError) as error:
        if error is together.raised:
            raise
        together.finish(part, 0, file.size or 0)
        return FileResult(file.path, error=error)
    together.finish(part, done.records, done.bytes)
    return FileResult(file.path, summary=done)


def _sum(sizes: list[int | None]) -> int | None:
    """Return the sum of sizes, or None where one of them is not known."""
    known = [size for size in sizes if size is not None]
    return sum(known) if len(known) == len(sizes) else None


def _index_path(file: FoundFile, folder: str | None) -> str:
    path = default_index_path(file.path)
    return path if folder is None else os.path.join(folder, file.below, os.path.basename(path))


def _make_folder(path: str) -> None:
    if not is_url(path):  # where URLs lead, a folder is there with the first file in it
        os.makedirs(path, exist_ok=True)


def _require_different(plan: list[tuple[FoundFile, str]]) -> None:
    first: dict[str, str] = {}
    for file, index in plan:
        other = first.setdefault(os.path.realpath(index), file.path)
        if other != file.path:
            raise UnsafeTargetError(
                f"the indexes of {other} and of {file.path} would be the same file",
                path=index,
                advice="nothing was written; give them names that differ, or index them apart",
            )


def _require_single(files: int, old_index: str) -> None:
    if files > 1:
        raise KeysError(
            f"the old index of one file cannot have the keys of {files} files",
            path=old_index,
            advice="index each file by itself, with its own old index; or, if this one is over all "
            "of them, use --combine",
        )
