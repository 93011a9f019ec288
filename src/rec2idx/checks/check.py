"""A check of record files and their index: all that is found, as one value."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .. import _tally
from ..findings import READERS, USUAL_READERS, Finding, Findings, Reader
from ..lines import IndexFile, read_index
from ..paths import StrPath, as_path
from ..progress import Progress, Report
from ..redaction import redacted_repr, shown
from ..segments import Batch
from ..sources import Source, Stream, opened
from ..survey import Survey
from .file import check_file
from .keys import with_keys
from .reading import check_reading

if TYPE_CHECKING:
    from concurrent.futures import Executor

LONG_INDEX = 1 << 22  # bytes; a shorter one is read in less time than a thread takes to start
_ORDER = ("error", "warning", "note")
_IMAGELESS = _tally.NO_IMAGE | _tally.CUT_LABELS | _tally.NO_HEADER

Record = StrPath | BinaryIO | Source | Stream


@redacted_repr
@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes:
        paths: the record files, in order.
        index: the index, or None if there was none.
        bytes: bytes in the record files.
        records: whole records in them.
        images: those with bytes after their labels.
        findings: errors first, then warnings, then notes; of each, those about the record files
            come first, in the order in which they stand there, then those about the index.
        seconds: how long it took.
    """

    paths: tuple[str, ...]
    index: str | None
    bytes: int
    records: int
    images: int
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings where data is lost, or a reader fails or reads something else."""
        return self._of("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings where that depends on what is done."""
        return self._of("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings that are worth knowing, and no more."""
        return self._of("note")

    def as_dict(self) -> dict[str, Any]:
        """Return it as what JSON has: the same names. ``docs/check.md`` describes it."""
        return cast("dict[str, Any]", shown(asdict(self)))

    def _of(self, severity: str) -> tuple[Finding, ...]:
        return tuple(found for found in self.findings if found.severity == severity)


def check(
    records: Record | Sequence[Record],
    index: StrPath | BinaryIO | None = None,
    *,
    readers: Iterable[Reader] = USUAL_READERS,
    full: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> Check:
    """Check a record file, and its index; return what was found. Prints nothing.

    What is wrong with the files is no exception here, but a `Finding`.

    Args:
        records: path or URL of the record file; or several, over which the index is a combined
            one; or a binary file object, which is read once.
        index: path or URL of the index, or a binary file object; None to check the records alone.
        readers: who is to read the files: "dali", "mxnet" and "rocal".
        full: read all payloads too, and judge their images. Without it, payloads are searched for
            unescaped magics in the first 16 MiB of each local file, and not read otherwise.
        jobs: as for `create_index`.
        executor: as for `create_index`. Payloads are read by threads of this process.
        progress: as for `create_index`; over all record files.

    Returns:
        A `Check`. While it is made, it takes about 20 bytes of memory a record, and about 45 with
        an index. With several files, in InsightFace's layout, or where entries are missing, double
        or in another order, it may take up to 100, and where keys are texts, 150.

    Raises:
        OSError: a file is missing, or reading failed.

    >>> found = check("examples/sample.rec")
    >>> found.records, found.errors, [warning.code for warning in found.warnings]
    (24, (), ['label-widths'])
    """
    began = time.perf_counter()
    wanted = tuple(reader for reader in READERS if reader in _known(readers))
    findings = Findings()
    # What is no list or tuple is one file: a path is a sequence too.
    several = isinstance(records, (list, tuple))
    sources = list(cast("Sequence[Record]", records if several else [records]))
    if not sources:
        raise ValueError("records is empty, expected at least one file")
    surveys: list[Survey] = []
    paths: list[str] = []
    size = 0
    course = _Course(progress, _total(sources), began)
    with _read_meanwhile(index) as lines_of:
        for record in sources:
            with opened(record) as source:
                found = check_file(
                    findings,
                    source,
                    wanted,
                    full=full,
                    jobs=jobs,
                    executor=executor,
                    seen=course,
                )
                paths.append(source.path)
                size += source.size
                course.file_done(source.size)
            if found is not None:
                surveys.append(found)
        lines = lines_of()
    whole_set = surveys if len(surveys) == len(sources) else []
    check_reading(findings, whole_set, lines, wanted)
    found_all = findings.all() if lines is None else with_keys(findings.all(), lines, whole_set)
    return Check(
        tuple(paths),
        None if lines is None else lines.path,
        size,
        sum(map(len, surveys)),
        sum(map(_images, surveys)),
        tuple(sorted(found_all, key=lambda found: _ORDER.index(found.severity))),
        time.perf_counter() - began,
    )


@contextmanager
def _read_meanwhile(index: Record | None) -> Iterator[Callable[[], IndexFile | None]]:
    """Give what returns the index; a long one is read while the records are looked at."""
    if index is None:
        yield lambda: None
    elif (_size(index) or 0) < LONG_INDEX:
        yield lambda: read_index(index)
    else:
        from concurrent.futures import ThreadPoolExecutor  # 12 ms

        with ThreadPoolExecutor(1) as pool:
            yield pool.submit(read_index, index).result


def _known(readers: Iterable[Reader]) -> set[Reader]:
    wanted = set(readers)
    if unknown := wanted - set(READERS):
        raise ValueError(f"readers has {sorted(unknown)}, expected some of {', '.join(READERS)}")
    return wanted


def _images(survey: Survey) -> int:
    """Return how many records have bytes after their labels."""
    traits = survey.traits.tobytes()
    imageless = bytes(trait for trait in range(256) if trait & _IMAGELESS)
    return len(traits.translate(None, imageless))


class _Course:
    """How far the run has come, over all files."""

    def __init__(self, progress: Report | None, total: int | None, began: float) -> None:
        self._progress = progress
        self._total = total
        self._began = began
        self._records = 0
        self._bytes = 0  # in the files that are done

    def file_done(self, size: int) -> None:
        """Say that the next batches are those of another file."""
        self._bytes += size

    def __call__(self, batch: Batch) -> None:
        """Say that a batch is done."""
        self._records += len(batch)
        if self._progress is not None:
            seconds = time.perf_counter() - self._began
            done = self._bytes + batch.stop
            self._progress(Progress(self._records, done, self._total, seconds))


def _total(sources: Sequence[Record]) -> int | None:
    """Return bytes in all files, None where that is not known before they are read."""
    sizes = [_size(source) for source in sources]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _size(source: Record) -> int | None:
    if isinstance(source, (str, bytes, os.PathLike)):
        path = as_path(source)
        with suppress(OSError):
            return os.stat(path).st_size if os.path.isfile(path) else None
    return None
