"""Many files: which they are, and an index for each of them."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .errors import NotRecordIOError, RecordIOError, UnsafeTargetError
from .framing import MAGIC_BYTES
from .index import IndexSummary, create_index, default_index_path
from .progress import Progress, Report
from .scan import scan
from .sources import LocalFile, StrPath, is_url

if TYPE_CHECKING:
    from concurrent.futures import Executor

SUFFIX = ".rec"  # of the files that are taken where a folder is walked


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
class SkippedFile:
    """A file in a folder that is named like RecordIO and is something else.

    Attributes:
        path: its path.
        reason: what it is instead.
    """

    path: str
    reason: NotRecordIOError | OSError


@dataclass(frozen=True)
class RepeatedFile:
    """A file that was named or met before, perhaps through a link.

    Attributes:
        path: the later name.
        same_as: the first one, which counts.
    """

    path: str
    same_as: str


@dataclass(frozen=True)
class FoundFile:
    """A file to work on.

    Attributes:
        path: its path.
        below: its folder, seen from the folder that was given; empty for a file that was given.
    """

    path: str
    below: str = ""


@dataclass
class FoundFiles:
    """The files that some paths stand for.

    Attributes:
        files: those to work on.
        skipped: those met in folders that are not RecordIO.
        repeated: those met before.
        failed: folders that could not be read.
    """

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    repeated: list[RepeatedFile] = field(default_factory=list)
    failed: list[FileResult] = field(default_factory=list)


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
        """Records in the indexed files."""
        return sum(summary.records for summary in self.done)

    @property
    def bytes(self) -> int:
        """Bytes in the indexed files."""
        return sum(summary.bytes for summary in self.done)


def create_indexes(
    records: StrPath | Iterable[StrPath],
    out_dir: StrPath | None = None,
    *,
    recursive: bool = False,
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
        recursive: take the ``*.rec`` files in the given folders and all folders in them, in sorted
            order, also through links. Those that do not begin like RecordIO are skipped; one that
            is empty is an error.
        jobs: as for `create_index`.
        executor: as for `create_index`.
        progress: called with the `Progress` over all files, from time to time. What it raises
            ends the run.

    Raises:
        UnsafeTargetError: two of the files would have the same index. Nothing was written.
        OSError: `out_dir` cannot be made.

    >>> summary = create_indexes(["examples/sample.rec"], "indexes")
    >>> [done.index for done in summary.done], summary.records, summary.failed
    (['indexes/sample.idx'], 24, [])
    """
    began = time.perf_counter()
    found = find_records(records, recursive=recursive)
    folder = None if out_dir is None else os.fsdecode(out_dir)
    plan = [(file.path, _index_path(file, folder)) for file in found.files]
    _require_different(plan)
    if folder is not None:
        _make_folder(folder)
    sizes = {path: size_of(path) for path, _ in plan}
    together = Together(progress, total_of(sizes.values()))
    results = list(found.failed)
    for path, index in plan:
        try:
            if folder is not None:
                _make_folder(os.path.dirname(index))
            done = create_index(path, index, jobs=jobs, executor=executor, progress=together)
        except (RecordIOError, OSError) as error:
            if error is together.raised:
                raise
            results.append(FileResult(path, error=error))
            together.next_file(0, sizes[path] or 0)
        else:
            results.append(FileResult(path, summary=done))
            together.next_file(done.records, done.bytes)
    together.show(0, 0)
    seconds = time.perf_counter() - began
    return ManySummary(tuple(results), tuple(found.skipped), tuple(found.repeated), seconds)


def _index_path(file: FoundFile, folder: str | None) -> str:
    path = default_index_path(file.path)
    return path if folder is None else os.path.join(folder, file.below, os.path.basename(path))


def _make_folder(path: str) -> None:
    if not is_url(path):  # where URLs lead, a folder is there with the first file in it
        os.makedirs(path, exist_ok=True)


def _require_different(plan: list[tuple[str, str]]) -> None:
    first: dict[str, str] = {}
    for path, index in plan:
        other = first.setdefault(os.path.realpath(index), path)
        if other != path:
            raise UnsafeTargetError(
                f"the indexes of {other} and of {path} would be the same file",
                path=index,
                advice="nothing was written; give them names that differ, or index them apart",
            )


def find_records(records: StrPath | Iterable[StrPath], *, recursive: bool = False) -> FoundFiles:
    """Return the files that `records` stands for, as `create_indexes` takes it.

    >>> [file.path for file in find_records("examples", recursive=True).files]
    ['examples/sample.rec']
    """
    found = FoundFiles()
    first: dict[object, str] = {}
    for file in _candidates(records, recursive, found):
        identity = _identity(file.path)
        if identity in first:
            found.repeated.append(RepeatedFile(file.path, first[identity]))
        else:
            first[identity] = file.path
            found.files.append(file)
    return found


def _candidates(
    records: StrPath | Iterable[StrPath], recursive: bool, found: FoundFiles
) -> Iterator[FoundFile]:
    if isinstance(records, (str, bytes, os.PathLike)):
        records = [records]
    walked: set[object] = set()
    for record in records:
        path = os.fsdecode(record)
        if not recursive or not os.path.isdir(path):
            yield FoundFile(path)
            continue
        for file in _in_folder(path, walked, found.failed):
            reason = _reason_to_skip(file.path)
            if reason is None:
                yield file
            else:
                found.skipped.append(SkippedFile(file.path, reason))


def _in_folder(top: str, walked: set[object], failed: list[FileResult]) -> list[FoundFile]:
    """Return the ``*.rec`` files below `top`, sorted; what is in `walked` is not walked again."""
    files = []
    if _is_new(top, walked):

        def failure(error: OSError) -> None:
            failed.append(FileResult(str(error.filename), error=error))

        for folder, subfolders, names in os.walk(top, onerror=failure, followlinks=True):
            subfolders.sort()  # of the names of one folder, the first in sorted order counts
            subfolders[:] = [n for n in subfolders if _is_new(os.path.join(folder, n), walked)]
            below = "" if folder == top else os.path.relpath(folder, top)
            for name in names:
                if name.endswith(SUFFIX):
                    files.append(FoundFile(os.path.join(folder, name), below))
    return sorted(files, key=lambda file: file.path.split(os.sep))


def _is_new(folder: str, walked: set[object]) -> bool:
    """Return whether a folder was not walked yet, under whatever name; from now on it was."""
    identity = _identity(folder)
    new = identity not in walked
    walked.add(identity)
    return new


def _identity(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:  # what is wrong is said where it is opened
        return path
    return status.st_dev, status.st_ino


def _reason_to_skip(path: str) -> NotRecordIOError | OSError | None:
    try:
        with LocalFile(path) as file:
            head = file.read(0, len(MAGIC_BYTES))
        if head and head != MAGIC_BYTES:
            next(scan(path, jobs=1))
    except NotRecordIOError as error:
        return error
    except OSError as error:
        # A pipe or the like is none of ours. What cannot be read is, and must not be passed over.
        return error if error.errno == errno.EINVAL else None
    return None


def size_of(path: str) -> int | None:
    """Return the bytes in a file: 0 if it cannot be read, None if only opening it would tell."""
    if is_url(path):
        return None
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def total_of(sizes: Iterable[int | None]) -> int | None:
    """Return the sum of sizes, or None where one of them is not known."""
    known = []
    for size in sizes:
        if size is None:
            return None
        known.append(size)
    return sum(known)


class Together:
    """A report for one file after the other, which makes them the progress over all.

    Attributes:
        raised: what the report for all raised, to tell it from what went wrong with a file.
    """

    def __init__(self, report: Report | None, total: int | None) -> None:
        self.raised: Exception | None = None
        self._report = report
        self._total = total
        self._began = time.perf_counter()
        self._records = 0  # in the files that are done
        self._bytes = 0

    def __call__(self, progress: Progress) -> None:
        """Report on the file under way."""
        self.show(progress.records, progress.bytes)

    def show(self, records: int, size: int) -> None:
        """Report on all, where so much of the file under way is done."""
        if self._report is None:
            return
        seconds = time.perf_counter() - self._began
        try:
            self._report(
                Progress(self._records + records, self._bytes + size, self._total, seconds)
            )
        except Exception as error:
            self.raised = error
            raise

    def next_file(self, records: int, size: int) -> None:
        """Count a file as done."""
        self._records += records
        self._bytes += size
