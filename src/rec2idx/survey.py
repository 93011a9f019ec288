"""What a check knows of a record file: where its records are, and what is true of each."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import _heads, _tally
from .damage import DamagedRegion, region_of
from .errors import DamagedRecordError
from .framing import IR_HEADER_SIZE
from .redaction import redacted_repr
from .scan import scan
from .segments import Batch
from .sources import Source, Stream

if TYPE_CHECKING:
    from concurrent.futures import Executor

KEPT = IR_HEADER_SIZE + 8  # bytes of each payload: an IRHeader and two labels
REGIONS = 1000  # damaged regions that are kept, the first ones


@redacted_repr
@dataclass
class Survey:
    """A record file, in 17 bytes a record.

    Attributes:
        path: the file.
        size: bytes in it.
        offsets: where each whole record starts, an array of int64.
        ids: the id in its IRHeader, an array of uint64; 0 where it has none.
        traits: what is true of it, an array of bytes with a bit for each: `_tally.NO_IMAGE`,
            `CUT_LABELS`, `NO_HEADER`, `SHORT_FIRST`, `LABELS_SPLIT`, `FLAGGED`, `MULTI_PART`.
        regions: the first damaged regions.
        damaged: how many there are.
        damaged_bytes: bytes in all of them.
    """

    path: str
    size: int = 0
    offsets: array[int] = field(default_factory=lambda: array("q"))
    ids: array[int] = field(default_factory=lambda: array("Q"))
    traits: array[int] = field(default_factory=lambda: array("B"))
    regions: list[DamagedRegion] = field(default_factory=list)
    damaged: int = 0
    damaged_bytes: int = 0

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, batch: Batch) -> array[int]:
        """Add the records of a batch with heads of `KEPT` bytes; return their traits."""
        assert batch.heads is not None
        traits = _tally.traits(batch.sizes, batch.heads, 8 + KEPT)
        self.offsets.extend(batch.offsets)
        self.ids.extend(_heads.ids(batch.sizes, batch.heads))
        self.traits.extend(traits)
        return traits

    def add_region(self, region: DamagedRegion) -> None:
        """Add a damaged region."""
        self.damaged += 1
        self.damaged_bytes += region.bytes
        if len(self.regions) < REGIONS:
            self.regions.append(region)


def survey(
    source: Source | Stream,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    seen: Callable[[Batch, array[int]], None] = lambda batch, traits: None,
) -> Survey:
    """Walk through a file, past all damage; through a stream, up to the first.

    Args:
        source: the file.
        jobs: as for `scan`.
        executor: as for `scan`.
        seen: called with each batch, whose heads have `KEPT` bytes, and the traits of its records.

    Raises:
        NotRecordIOError: the file is something else.
        OSError: a read failed.
    """
    found = Survey(source.path)
    batches = scan(source, jobs=jobs, executor=executor, heads=KEPT, salvage=found.add_region)
    try:
        with closing(batches):
            for batch in batches:
                seen(batch, found.add(batch))
    except DamagedRecordError as error:  # in a stream, or where nothing is whole
        found.add_region(region_of(error, error.record_offset or 0, source.size, len(found)))
    found.size = source.size
    return found
