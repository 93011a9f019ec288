"""One index over several files, as DALI and MXNet want it where a data set is in several files."""

from __future__ import annotations

import errno
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from .concurrency import ahead, files_at_once, in_parallel, jobs_of_each, walkers
from .damage import Damage, one_at_a_time
from .errors import EmptyFileError, FileChangedError
from .index import lines_of
from .paths import StrPath, as_path
from .progress import Report, Together
from .redaction import in_text, redacted, redacted_repr
from .scan import Salvage, scan
from .segments import Batch
from .select import Keys, Selection
from .sinks import Sink
from .sources import Source, Stream, opened
from .targets import Target, new_files, target_at

if TYPE_CHECKING:
    from .sources import Place


@redacted_repr
@dataclass(frozen=True)
class CombinedFile:
    """A file in a combined index.

    Attributes:
        path: its path.
        records: lines that it has in the index: its records, but for those left out.
        bytes: bytes in it.
        first: number of the first of them among all lines; where keys are numbers, its key.
        offset: bytes in the files before it.
        first_offset: offset in its first line, counted as those are from the first file's start.
    """

    path: str
    records: int
    bytes: int
    first: int
    offset: int
    first_offset: int


@redacted_repr
@dataclass(frozen=True)
class CombinedSummary:
    """What was indexed, and how it is read.

    Attributes:
        index: path of the index.
        files: the files that it is over, in order.
        left_out: empty files, which are not among them. DALI fails where it is given one.
        seconds: how long it took.
        without_image: files of which no record has an image, and which are not among them either.
        records_left_out: records that are not in the index, by what they are.
        damaged: damaged regions that were passed over.
        damaged_bytes: bytes in them.
        doubtful: records next to them whose own bytes may have changed, too; with `strict`, they
            are left out.
        unused_keys: with the keys of an old index, its entries where no record starts.
    """

    index: str
    files: tuple[CombinedFile, ...]
    left_out: tuple[str, ...]
    seconds: float
    without_image: tuple[str, ...] = ()
    records_left_out: Mapping[str, int] = field(default_factory=dict)
    damaged: int = 0
    damaged_bytes: int = 0
    unused_keys: int = 0
    doubtful: int = 0

    @property
    def records(self) -> int:
        """Lines in the index: the records in all files, but for those left out."""
        return sum(file.records for file in self.files)

    @property
    def bytes(self) -> int:
        """Bytes in all files."""
        return sum(file.bytes for file in self.files)

    @property
    def path(self) -> list[str]:
        """The files, as DALI's ``path`` takes them."""
        return [file.path for file in self.files]

    @property
    def dali_call(self) -> str:
        """The call of DALI's reader, as Python text."""
        return redacted(f"fn.readers.mxnet(path={self.path!r}, index_path={[self.index]!r})")

    @property
    def mxnet_call(self) -> str | None:
        """The call of MXNet's reader, as Python text; None where it cannot be told these paths."""
        if self._untold():
            return None
        paths = ";".join(self.path)
        return redacted(
            f"mx.io.ImageRecordIter(path_imgrec={paths!r}, path_imgidx={self.index!r}, "
            "data_shape=..., batch_size=...)"
        )

    @property
    def warnings(self) -> list[str]:
        """What to know before the index is used, a line each that begins with a path."""
        lines = [
            f"{path}: empty, so left out of the index; leave it out of the reader's path too"
            for path in self.left_out
        ]
        lines.extend(
            f"{path}: no image in it, so left out; leave it out of the reader's path too"
            for path in self.without_image
        )
        lines.extend(
            f"{path}: named {times} times; so often its records come"
            for path, times in Counter(self.path).items()
            if times > 1
        )
        lines.extend(self._behind_dali())
        lines.extend(
            f"{path}: in a path, the character {character} means something else to MXNet; "
            "rename it if MXNet is to read it"
            for path, character in self._untold()
        )
        return [in_text(line) for line in lines]

    def _behind_dali(self) -> list[str]:
        """Return the warning about a record that DALI looks for in a file before its own, if any.

        It goes on to the next file at the first entry in it, but not at the last entry of all. As
        each file has an entry, only that one can go wrong: where it is the only one of its file.
        """
        last = self.files[-1]
        if last.records > 1 or len(self.files) == 1:
            return []
        if last.first_offset == last.offset:
            return [
                f"{last.path}: the last file, with a single record: where the files are on S3, "
                "DALI fails at it; put another file last"
            ]
        return [
            f"{last.path}: the last file, with a single record in the index, which is not at its "
            "start: DALI looks for it in the file before, and fails, or with dont_use_mmap gives "
            "another record; put a file with several records in the index last, or leave this one "
            "out, or write it anew so that it begins with that record (where damage stands before "
            "it, with recordio salvage)"
        ]

    def _untold(self) -> list[tuple[str, str]]:
        """Return the paths that MXNet would take apart, each with the character at fault."""
        paths = dict.fromkeys([*self.path, self.index])
        return [(path, at[0]) for path in paths if (at := [c for c in path if c in ";#?"])]


def combine_index(
    records: Iterable[StrPath],
    index: StrPath,
    *,
    keys: Keys = "sequence",
    images_only: bool = False,
    salvage: Salvage = None,
    strict: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> CombinedSummary:
    """Write one index over several RecordIO files, laid end to end in this order. Prints nothing.

    A reader must be given the same files in the same order, without those that are empty; the
    summary has the call. A file that is named twice comes twice.

    Args:
        records: paths of the record files.
        index: path of the index.
        keys: as for `create_index`; numbers run on from file to file, and an old index is one
            over all the files.
        images_only: as for `create_index`.
        salvage: as for `create_indexes`.
        strict: as for `create_index`.
        jobs: as for `create_index`.
        executor: as for `create_index`.
        progress: called with the `Progress` over all files, from time to time. What it raises
            ends the run.

    Raises, before anything stands at `index`:
        KeysError: two records have the same key, or one has none; or an old index is no index.
        NoImageError: with `images_only`, no record is left.
        NotRecordIOError: one of the files is something else, or all are empty.
        DamagedRecordError: one of them cannot be followed to its end.
        FileChangedError: one of them changed before the index was whole.
        UnsafeTargetError: `index` is one of them, or another file that is no index.
        OSError: reading or writing failed.

    >>> summary = combine_index(["examples/sample.rec", "examples/sample.rec"], "all.idx")
    >>> summary.records, summary.files[1].first
    (48, 24)
    >>> summary.dali_call
    "fn.readers.mxnet(path=['examples/sample.rec', 'examples/sample.rec'], index_path=['all.idx'])"
    """
    began = time.perf_counter()
    target = target_at(as_path(index), replaces_index=True)
    paths = [as_path(record) for record in records]
    if not paths:
        raise ValueError("no record files were given")
    at_once = files_at_once(paths, jobs, executor)
    places = in_parallel(lambda path: _survey(path, target), paths, at_once)
    target.require_room()
    full = [place for place in zip(paths, places, strict=True) if place[1].size > 0]
    if not full:
        raise EmptyFileError(
            "no file has any record, and loaders refuse an empty index",
            path=paths[0] if len(paths) == 1 else None,
            advice="check whether they were written or copied to the end",
        )
    together = Together(progress, sum(place.size for _, place in full))
    together.show()
    damage = Damage(one_at_a_time(salvage))
    selection = Selection(keys, images_only)  # reads an old index before a new one replaces it
    with new_files(target) as (sink,):
        with walkers(executor, at_once) as shared:
            run = _Run(sink, selection, together, damage.salvage, strict)
            run.write(full, at_once, jobs_of_each(jobs, at_once), shared)
        selection.require_all(target.path)
        # The offsets behind a file are wrong if it grew while those after it were read.
        in_parallel(lambda item: _require_same(*item), zip(paths, places, strict=True), at_once)
    left_out = [path for path, place in zip(paths, places, strict=True) if place.size == 0]
    return CombinedSummary(
        target.path,
        tuple(run.files),
        tuple(left_out),
        time.perf_counter() - began,
        tuple(run.without_image),
        selection.left_out,
        damage.regions,
        damage.bytes,
        selection.unused_keys,
        damage.doubtful,
    )


class _Run:
    """The lines of all files, in order, while those to come are already walked."""

    def __init__(
        self,
        sink: Sink,
        selection: Selection,
        together: Together,
        salvage: Salvage,
        strict: bool,
    ) -> None:
        self.selection = selection
        self.files: list[CombinedFile] = []
        self.without_image: list[str] = []
        self._sink = sink
        self._together = together
        self._salvage = salvage
        self._strict = strict
        self._offset = 0  # bytes in the files before

    def write(
        self,
        full: list[tuple[str, Place]],
        at_once: int,
        jobs: int | None,
        executor: Executor | None,
    ) -> None:
        """Write the lines of these files."""

        def batches(path: str, place: Place) -> Generator[Batch, None, None]:
            with _the_same(path, place) as source:
                yield from scan(
                    source,
                    jobs=jobs,
                    executor=executor,
                    heads=self.selection.heads,
                    salvage=self._salvage,
                    strict=self._strict,
                )

        makers = [partial(batches, *item) for item in full]
        with ahead(makers, at_once, executor) as walked:
            for (path, place), found in zip(full, walked, strict=True):
                self._append(path, place.size, found)

    def _append(self, path: str, size: int, batches: Iterator[Batch]) -> None:
        """Write the lines of a file. One without any counts as if it were not there."""
        first, fitting = self.selection.records, self.selection.fitting
        first_offset: int | None = None
        part = self._together.part()
        for batch in batches:
            chosen = self.selection.choose(batch, path, self._offset)
            if first_offset is None and chosen:
                first_offset = self._offset + chosen.offsets[0]
            for lines in lines_of(chosen, base=self._offset):
                self._sink.write(lines)
            part.set(self.selection.records - first, batch.stop)
        count = self.selection.records - first
        self._together.finish(part, count, size)
        if count:
            # None where a record has no key: then nothing is written, and the run fails at its end.
            begins = self._offset if first_offset is None else first_offset
            self.files.append(CombinedFile(path, count, size, first, self._offset, begins))
            self._offset += size
        else:
            self.without_image.append(path)
            self.selection.fitting = fitting  # the next file is where this one was taken to be


def _survey(path: str, target: Target) -> Place:
    """Return what the file is now; refuse a target that is this very file."""
    with _opened(path) as source:
        target.require_other(source)
        return source.location()


def _require_same(path: str, place: Place) -> None:
    with _the_same(path, place):
        pass


@contextmanager
def _the_same(path: str, place: Place) -> Iterator[Source]:
    """Open a file, which must be as it was."""
    with _opened(path) as source:
        if source.location() != place:
            raise FileChangedError(
                "the file changed while the index over several files was made",
                path=path,
                expected=f"{place.size} bytes",
                found=f"{source.size}, or modified at another time",
                advice="run again when nothing writes to it",
            )
        yield source


@contextmanager
def _opened(path: str) -> Iterator[Source]:
    with opened(path) as source:
        if isinstance(source, Stream):
            what = "a reader needs files that can be read at any place, and this cannot"
            raise OSError(errno.EINVAL, what, redacted(path))
        yield source
