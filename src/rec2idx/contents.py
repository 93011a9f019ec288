"""What is in a record file, told from the headers and the first bytes of its records."""

from __future__ import annotations

import math
import struct
import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from . import _heads, _tally
from .damage import empty
from .dialects import IMAGE_RECORDS, payload_of
from .framing import IR_HEADER_SIZE
from .paths import StrPath
from .pictures import dimensions, kind_of
from .progress import Progress, Report
from .redaction import redacted_repr, shown
from .scan import scan
from .segments import Batch
from .select import is_file_header
from .sources import Source, Stream, opened
from .spans import Records, unescaped

if TYPE_CHECKING:
    from concurrent.futures import Executor

SEARCHED = 1 << 20  # bytes of the file that are searched for magics that should be escaped
KEPT = 64  # bytes of each payload: an IRHeader, up to six labels, the signature of an image
SIGNATURE = 20  # bytes of an image that tell what it is
UNKNOWN = "unknown"
SAMPLE = 8  # images whose dimensions are looked for
SAMPLE_BYTES = 1 << 16  # of each of them; what says how large they are mostly stands there


@dataclass(frozen=True)
class Sizes:
    """Payload sizes, in bytes; magics between parts count.

    Attributes:
        min: the least.
        median: of an even number of records, the lower one of the two in the middle.
        mean: the sum by the number of records.
        max: the largest.
        total: the sum.
    """

    min: int
    median: int
    mean: float
    max: int
    total: int


@dataclass(frozen=True)
class Ids:
    """The ids in the IRHeader of the records that have one.

    Attributes:
        min: the least.
        max: the largest.
        unique: whether they all differ.
        in_order: whether each is larger than the one before it.
        running: whether they are the numbers of the records, from 0.
    """

    min: int
    max: int
    unique: bool
    in_order: bool
    running: bool


@dataclass(frozen=True)
class Picture:
    """An image that was looked at.

    Attributes:
        record: number of the record, from 0.
        kind: what it is by its signature.
        width: in pixels; None where its first 64 KB do not tell.
        height: in pixels; None likewise.
    """

    record: int
    kind: str
    width: int | None
    height: int | None


@dataclass(frozen=True)
class InsightFace:
    """The layout of InsightFace's files: a file header, the images, a record for each identity.

    Attributes:
        announced_images: images that the file header announces.
        announced_identities: identity records that it announces.
        images: images that there are.
        identities: identity records that there are.
    """

    announced_images: int
    announced_identities: int
    images: int
    identities: int

    @property
    def complete(self) -> bool:
        """Whether there is what is announced."""
        return (self.announced_images, self.announced_identities) == (self.images, self.identities)


@redacted_repr
@dataclass(frozen=True)
class Info:
    """What is in a record file.

    Attributes:
        path: what the file is called.
        bytes: bytes in it.
        records: records in it: images, and those below up to `without_header`.
        images: records with bytes after their labels.
        without_image: records whose labels end where they end, such as InsightFace's file header
            and identity records.
        cut_labels: records that end before as many labels as their flag says.
        without_header: records shorter than an IRHeader.
        multi_part: records of several parts; of all those above.
        payload: what the payloads are: ``image records``, ``image records with 64-bit labels``,
            ``protobuf (SageMaker)`` or ``raw``. Only in the first do labels, ids and images mean
            anything.
        unescaped: records whose payload holds a magic at a multiple of 4 bytes from its start,
            of those that lie in the first MiB of the file. A writer that follows the format splits
            a record there. None for a stream, which is not read again.
        sizes: payload sizes.
        label_widths: number of records by number of labels, of images and those without.
        labels: distinct labels of the images that have one label.
        ids: ids of the records, None if none has an IRHeader.
        kinds: number of images by kind, told from their first 20 bytes; ``not looked at`` are those
            with so many labels that these are not among the first 64 of the payload.
        sample: some of the images.
        insightface: what the file header announces, if there is one.
        seconds: how long it took.
    """

    path: str
    bytes: int
    records: int
    images: int
    without_image: int
    cut_labels: int
    without_header: int
    multi_part: int
    payload: str
    unescaped: int | None
    sizes: Sizes
    label_widths: Mapping[int, int]
    labels: int
    ids: Ids | None
    kinds: Mapping[str, int]
    sample: tuple[Picture, ...]
    insightface: InsightFace | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return it as what JSON has: the same names, and keys as text."""
        return cast("dict[str, Any]", shown(asdict(self)))


def info(
    record: StrPath | BinaryIO | Source | Stream,
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> Info:
    """Return what is in a record file. Payloads are not read, but for their first bytes.

    Those in the first MiB of the file are searched for magics.

    Memory grows with the number of records, by 16 bytes each.

    Args:
        record: path or URL of the record file; or a binary file object, which is read once.
        jobs: as for `create_index`.
        executor: as for `create_index`.
        progress: as for `create_index`.

    Raises what `create_index` raises for a file that is damaged or something else.

    >>> found = info("examples/sample.rec")
    >>> found.records, found.images, dict(found.kinds), found.sample[0].width
    (24, 24, {'jpeg': 24}, 113)
    """
    began = time.perf_counter()
    with opened(record) as source:
        count = _Count()
        with closing(scan(source, jobs=jobs, executor=executor, heads=KEPT)) as batches:
            for batch in batches:
                count.add(batch)
                if progress is not None:
                    total = None if isinstance(source, Stream) else source.size
                    seconds = time.perf_counter() - began
                    progress(Progress(count.records, batch.stop, total, seconds))
        if count.records == 0:
            raise empty(source.path)
        return count.result(source, lambda: time.perf_counter() - began)


@dataclass
class _Count:
    """What was counted so far."""

    records: int = 0
    multi_part: int = 0
    payload: str = ""
    behind: int = 0
    kinds: Counter[int] = field(default_factory=Counter)
    widths: Counter[int] = field(default_factory=Counter)
    images: Counter[str] = field(default_factory=Counter)
    announced: tuple[float, float] | None = None
    sizes: array[int] = field(default_factory=lambda: array("q"))
    ids: array[int] = field(default_factory=lambda: array("Q"))
    labels: _tally.Distinct = field(default_factory=_tally.Distinct)
    # Of each batch the first images: number of the record, offset, where in the payload it begins.
    places: list[tuple[int, int, int]] = field(default_factory=list)
    # The records that start in the bytes that are searched.
    searched: array[int] = field(default_factory=lambda: array("q"))

    def add(self, batch: Batch) -> None:
        heads, sizes = batch.heads, batch.sizes
        assert heads is not None
        stride = 8 + KEPT
        if batch.first == 0:
            self.payload = payload_of(batch.sizes, batch.heads, KEPT)
            if is_file_header(batch):
                self.announced = struct.unpack_from("<2f", heads, 8 + IR_HEADER_SIZE)
        if len(batch) and batch.offsets[0] < SEARCHED:
            self.searched.extend(batch.offsets)
        self.records += len(batch)
        self.multi_part += _tally.multi_part(heads, stride)
        self.sizes.extend(sizes)
        kinds = _heads.kinds(sizes, heads)
        text = bytes(kinds)
        self.kinds.update({kind: text.count(kind) for kind in range(4)})
        for flag, count in _tally.flag_runs(heads, kinds, stride, _heads.NO_IMAGE):
            self.widths[flag or 1] += count
        self.labels.add_labels(heads, kinds, stride, _heads.IMAGE)
        self._add_ids(batch, kinds)
        self._add_images(batch, kinds, stride)

    def _add_ids(self, batch: Batch, kinds: array[int]) -> None:
        assert batch.heads is not None
        ids = _heads.ids(batch.sizes, batch.heads)
        if _heads.NO_HEADER in kinds:
            ids = array("Q", (i for i, kind in zip(ids, kinds, strict=True) if kind < 3))
        self.ids.extend(ids)

    def _add_images(self, batch: Batch, kinds: array[int], stride: int) -> None:
        assert batch.heads is not None
        jpegs, pngs, unknown, others, behind = _tally.signatures(
            batch.sizes, batch.heads, kinds, stride, _heads.IMAGE
        )
        self.images.update({"jpeg": jpegs, "png": pngs, UNKNOWN: unknown})
        self.images.update(kind_of(head) or UNKNOWN for head in others)
        self.behind += behind
        if len(self.places) < 4 * SAMPLE and _heads.IMAGE in kinds:
            at = kinds.index(_heads.IMAGE)
            flag = struct.unpack_from("<I", batch.heads, at * stride + 8)[0]
            place = IR_HEADER_SIZE + 4 * flag
            self.places.append((batch.first + at, batch.offsets[at], place))

    def result(self, source: Source | Stream, seconds: Callable[[], float]) -> Info:
        sizes = _tally.order(self.sizes)
        images = +self.images
        if self.behind:
            images["not looked at"] = self.behind
        return Info(
            path=source.path,
            bytes=source.size,
            records=self.records,
            images=self.kinds[_heads.IMAGE],
            without_image=self.kinds[_heads.NO_IMAGE],
            cut_labels=self.kinds[_heads.CUT_LABELS],
            without_header=self.kinds[_heads.NO_HEADER],
            multi_part=self.multi_part,
            payload=self.payload,
            unescaped=None if isinstance(source, Stream) else self._unescaped(source),
            sizes=Sizes(*sizes[:2], sizes[3] / self.records, *sizes[2:]),
            label_widths=dict(sorted(self.widths.items())),
            labels=len(self.labels),
            ids=_ids(self.ids),
            kinds=dict(images.most_common()),
            sample=self._sample(source),
            insightface=self._insightface(),
            seconds=seconds(),
        )

    def _unescaped(self, source: Source) -> int:
        data = source.read(0, SEARCHED)
        sizes = self.sizes[: len(self.searched)]
        records = Records(source.path, data, 0, 0, self.searched, sizes)
        return unescaped(records)

    def _insightface(self) -> InsightFace | None:
        if self.announced is None or self.payload != IMAGE_RECORDS:
            return None
        if not all(map(math.isfinite, self.announced)):  # it announces no numbers
            return None
        behind_images, end = map(int, self.announced)
        return InsightFace(
            announced_images=behind_images - 1,
            announced_identities=end - behind_images,
            images=self.kinds[_heads.IMAGE],
            identities=self.kinds[_heads.NO_IMAGE] - 1,
        )

    def _sample(self, source: Source | Stream) -> tuple[Picture, ...]:
        if isinstance(source, Stream) or self.payload != IMAGE_RECORDS:
            return ()
        step = max(1, len(self.places) // SAMPLE)
        return tuple(_picture(source, *place) for place in self.places[::step][:SAMPLE])


def _picture(source: Source, record: int, offset: int, place: int) -> Picture:
    # Of a record of several parts, only the first one's bytes are looked at.
    lrec = int.from_bytes(source.read(offset + 4, 4), "little")
    length = min((lrec & 0x1FFFFFFF) - place, SAMPLE_BYTES)
    head = source.read(offset + 8 + place, length) if length > 0 else b""
    known = head.startswith((b"\xff\xd8\xff", b"\x89PNG", *_tally.KNOWN))
    kind = kind_of(head[:SIGNATURE]) if known else None
    width, height = dimensions(head) or (None, None)
    return Picture(record, kind or UNKNOWN, width, height)


def _ids(ids: array[int]) -> Ids | None:
    if not ids:
        return None
    unique, in_order = _heads.repeats(ids)[0] == 0, _heads.rises(ids)
    least, largest = _heads.bounds(ids)
    # Rising numbers from 0 with as many steps as there are leave no gap.
    running = in_order and least == 0 and largest == len(ids) - 1
    return Ids(least, largest, unique, in_order, running)
