"""One record file, looked at by all checks that need no index, in one walk."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from ..dialects import IMAGE_RECORDS, payload_of
from ..errors import NotRecordIOError
from ..findings import Findings, Reader
from ..segments import Batch
from ..sources import LocalFile, Source, Stream
from ..survey import KEPT, Survey, survey
from .insightface import Layout
from .labels import Labels
from .payloads import SEARCHED, Payloads
from .regions import add_not_recordio, check_regions

if TYPE_CHECKING:
    from concurrent.futures import Executor

LOOK = 256  # records that tell what all are
MOST = 0.5  # share of the first records that must be image records for the rest to be faulty ones

Seen = Callable[[Batch], None]


def check_file(
    findings: Findings,
    source: Source | Stream,
    readers: tuple[Reader, ...],
    *,
    full: bool = False,
    jobs: int | None = None,
    executor: Executor | None = None,
    seen: Seen = lambda batch: None,
) -> Survey | None:
    """Walk through a record file and add what is wrong with it.

    Args:
        findings: gets what is found.
        source: the file.
        readers: who is to read it.
        full: read all payloads, too.
        jobs: as for `scan`; also stretches of payloads that are read at once.
        executor: as for `scan`.
        seen: called with each batch once it was looked at.

    Returns:
        The survey, None where the file is not RecordIO.

    Raises:
        OSError: a read failed.
    """
    looks = _Looks(source, readers, full, jobs)

    def look(batch: Batch, traits: array[int]) -> None:
        looks.add(batch, traits)
        seen(batch)

    try:
        with looks:
            found = survey(source, jobs=jobs, executor=executor, seen=look)
    except NotRecordIOError as error:
        add_not_recordio(findings, error)
        return None
    check_regions(findings, found, readers)
    looks.add_to(findings, found)
    return found


class _Looks:
    """What each check makes of the records while they are walked."""

    def __init__(
        self,
        source: Source | Stream,
        readers: tuple[Reader, ...],
        full: bool,
        jobs: int | None,
    ) -> None:
        self._source = source
        self._full = full
        self._readers = readers
        self._searches = "mxnet" in readers
        self._jobs = jobs
        self._findings = Findings()
        self._payloads: Payloads | None = None
        self._labels: Labels | None = None
        self._layout: Layout | None = None
        self._dialect = ""
        # The first batches, until it is told what they are.
        self._held: list[tuple[Batch, array[int]]] = []
        self._exits = ExitStack()

    def __enter__(self) -> _Looks:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._held:
            self._begin()
        self._exits.__exit__(kind, error, trace)

    def add(self, batch: Batch, traits: array[int]) -> None:
        """Look at a batch and the traits of its records; they come in order."""
        if self._dialect:
            self._look(batch, traits)
            return
        # Damage may end the first batch behind a record that says little.
        self._held.append((batch, traits))
        if sum(len(batch) for batch, _ in self._held) >= LOOK:
            self._begin()

    def add_to(self, findings: Findings, found: Survey) -> None:
        """Add what was found."""
        path = found.path
        if len(found) and self._dialect != IMAGE_RECORDS:
            findings.add(
                "no-image-records",
                "note",
                path,
                f"the payloads are {self._dialect}, no image records",
                "DALI's reader and MXNet's iterators want image records",
            )
        if self._layout is not None:
            self._layout.add_to(findings, found)
        if self._labels is not None:
            self._labels.add_to(findings, path)
        findings.add_all(self._findings)
        self._add_limits(findings, found)

    def _begin(self) -> None:
        """Tell from the first batches what the records are; look at these batches."""
        first = _joined([batch for batch, _ in self._held])
        self._dialect = payload_of(first.sizes, first.heads, KEPT, MOST)
        of_images = self._dialect == IMAGE_RECORDS
        if of_images:
            self._labels = Labels(self._readers)
            if Layout.is_of(self._held[0][0]):
                self._layout = Layout()
        images = self._full and of_images
        wanted = self._limit and (self._searches or images)
        if wanted and not isinstance(self._source, Stream):
            self._payloads = self._exits.enter_context(
                Payloads(
                    self._source,
                    self._findings,
                    self._limit,
                    magics=self._searches,
                    images=images,
                    with_empty=self._layout is None,
                    jobs=self._jobs,
                )
            )
        for batch, traits in self._held:
            self._look(batch, traits)
        self._held.clear()

    def _look(self, batch: Batch, traits: array[int]) -> None:
        if self._labels is not None:
            self._labels.add(batch, traits)
        if self._layout is not None:
            self._layout.add(batch)
        if self._payloads is not None:
            self._payloads.add(batch)

    @property
    def _limit(self) -> int:
        """Where the payloads end that are looked into."""
        if self._full:
            return self._source.size
        return SEARCHED if self._searches and isinstance(self._source, LocalFile) else 0

    def _add_limits(self, findings: Findings, found: Survey) -> None:
        """Add what was not looked at, though somebody may think so."""
        if self._full and isinstance(self._source, Stream):
            findings.add(
                "not-searched",
                "warning",
                found.path,
                "the payloads of a stream were not read, since they come only once",
                "put it into a file and check that",
            )
        elif self._searches and not self._full and 0 < self._limit < found.size:
            findings.add(
                "not-searched",
                "note",
                found.path,
                f"payloads behind byte {self._limit} were not searched for unescaped magics",
                "--full reads them all",
            )


def _joined(batches: Sequence[Batch]) -> Batch:
    """Return batches as one."""
    sizes, heads, offsets = array("q"), array("B"), array("q")
    for batch in batches:
        offsets.extend(batch.offsets)
        sizes.extend(batch.sizes)
        heads.extend(batch.heads or b"")
    return Batch(batches[0].first, offsets, sizes, batches[-1].stop, heads)
