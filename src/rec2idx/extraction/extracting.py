"""The images of a record file as files again, byte for byte."""

from __future__ import annotations

import errno
import os
import struct
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from .. import _heads
from ..concurrency import ahead
from ..dialects import IMAGE_RECORDS_64, MOST_LABELS, PROTOBUF, payload_of
from ..errors import EmptyFileError, FileChangedError, NoImageError, PayloadError
from ..framing import HEADER_SIZE, MAGIC_BYTES, MAX_LENGTH
from ..paths import StrPath, as_path, is_url
from ..progress import Progress, Report
from ..read_ahead import read_ahead
from ..redaction import in_text, redacted
from ..scan import scan
from ..segments import Batch
from ..select import FILE_HEADER, IDENTITY, WHAT_IS_LEFT_OUT, is_file_header
from ..sources import Source, Stream, opened
from ..spans import Records
from ..stretches import Stretch, stretches
from ..workers import require_positive
from .extracted import Image, image_in
from .file_names import UNKNOWN, IdNames, ListNames, Names, suffix_of
from .folders import LIST, Flat, LabelFolders
from .named import NamedRecords
from .out_folder import OutFolder
from .shards import DEFAULT_COUNT, Shards, ShardSize

Layout = Literal["imagefolder", "flat", "wds"]
LAYOUTS = ("imagefolder", "flat", "wds")

MOST_JOBS = 8  # stretches that are written at once
STRETCH = 1 << 20  # bytes of one, if its records are shorter
NOT_NAMED = "record that the index does not name"
HEADS = 32  # bytes of each payload that tell what it is
MOST = 0.5  # share of the first records that tells what all are
TOO_LONG = "record longer than the format allows"
_FLAG = struct.Struct(f"<8xI{HEADS - 4}x")  # of a head
MANY_LABELS = f"record with more than {MOST_LABELS} labels"


@dataclass(frozen=True)
class ExtractSummary:
    """What became of the records of a file.

    `records` is the sum of `extracted`, `already_there` and all that was left out.

    Attributes:
        records: records in the file.
        extracted: images that were written.
        already_there: images that stood there from a run before.
        left_out: records without an image, or that were not asked for, by what they are.
        unrecognised: images, written or there, whose bytes are of no known kind; they have the
            suffix ``.bin``.
        repeated: images, written or there, whose id one before them has: their names end in the
            offset of their record.
        inexact: with ``flat``, images of which the list does not say all that their record does.
        shards: with ``wds``, archives that are there now.
        bytes: bytes in the record file.
        bytes_written: bytes of the images that were written.
        seconds: how long it took.
        path: the folder.
    """

    records: int
    extracted: int
    already_there: int
    left_out: Mapping[str, int]
    unrecognised: int
    repeated: int
    inexact: int
    shards: int
    bytes: int
    bytes_written: int
    seconds: float
    path: str


def extract(
    record: StrPath | Source,
    folder: StrPath,
    *,
    to: Layout = "imagefolder",
    index: StrPath | None = None,
    names: StrPath | None = None,
    shard_count: int | None = None,
    shard_bytes: int | None = None,
    jobs: int | None = None,
    progress: Report | None = None,
) -> ExtractSummary:
    """Write the images of a RecordIO file into a folder, byte for byte. Prints nothing.

    A file appears under its name when it is whole. None is replaced: one with the same bytes, which
    are compared, counts as written before, so that a run that was interrupted goes on where it was;
    one with others is an error. Nothing is written outside of the folder.

    The file is read once, from its beginning to its end. Besides what is under way, memory grows
    with the ids (a bit each, if they lie close together), the index (16 bytes an entry) and the
    list of names.

    Args:
        record: path or URL of the record file.
        folder: the folder, on this machine; made if there is none.
        to: "imagefolder" for a folder for each label, as torchvision reads it; "flat" for all
            images in the folder itself, beside ``images.lst``, im2rec's list of them; "wds" for
            the tar archives of a WebDataset. ``docs/extract.md`` says more.
        index: path or URL of an index; records that it does not name are left out.
        names: path of a list of im2rec's, which has a name for each id. Without, names are ids.
        shard_count: images of an archive at most; 10,000 if there is no other limit.
        shard_bytes: bytes of an archive at most, unless it is of one image.
        jobs: stretches of the file that are written at once; None for some.
        progress: called with the `Progress` in the record file, from time to time. What it raises
            ends the run.

    Raises; what was extracted before stays:
        NotRecordIOError: the record file is something else.
        DamagedRecordError: the record file cannot be followed to its end.
        FileChangedError: the record file changed while it was read.
        NoImageError: there was nothing to extract.
        PayloadError: the records are no image records; or a label names no folder.
        BadIndexError: the index is none, or names a place where no record starts.
        BadListError: the list is none, has a name that leads elsewhere, or none for an image.
        KeysError: two images have the same id, for which the list has one name.
        UnsafeTargetError: something else stands where a file should go.
        ValueError: an argument has no meaning.
        OSError: reading or writing failed, or the record file is a pipe.

    >>> done = extract("examples/sample.rec", "images", to="flat")
    >>> done.records, done.extracted, sorted(os.listdir("images"))[:2]
    (24, 24, ['0000000000.jpg', '0000000001.jpg'])
    """
    began = time.perf_counter()
    path = as_path(folder)
    _require_sense(path, to, jobs)
    limits = _shard_size(to, shard_count, shard_bytes)
    namer = _namer(to, names)
    with _opened(record) as file, read_ahead(file) as source, OutFolder(path) as out:
        named = None if index is None else NamedRecords(index, source)
        layout = _layout(to, out, namer, source.path, limits)
        with layout:
            plan = _Plan(source, named, layout)

            def report(done: _Done) -> None:
                if progress is not None:
                    seconds = time.perf_counter() - began
                    progress(Progress(done.records, done.stop, source.size, seconds))

            report(_Done(0, 0))
            with (
                closing(plan.makers()) as makers,
                ahead(makers, jobs or min(os.cpu_count() or 1, MOST_JOBS)) as running,
            ):
                for stretch in running:
                    for done in stretch:
                        layout.take(done.result)
                        report(done)
            plan.require_some()
            layout.finish()
    return ExtractSummary(
        records=plan.records,
        extracted=layout.extracted,
        already_there=layout.already_there,
        left_out=plan.left_out,
        unrecognised=plan.unrecognised,
        repeated=namer.repeated,
        inexact=layout.inexact if isinstance(layout, Flat) else 0,
        shards=layout.shards if isinstance(layout, Shards) else 0,
        bytes=source.size,
        bytes_written=layout.bytes_written,
        seconds=time.perf_counter() - began,
        path=path,
    )


class _Done(NamedTuple):
    """What has been done with a stretch.

    Attributes:
        records: records of the file up to its end.
        stop: where it ends.
        result: what the layout is to take.
    """

    records: int
    stop: int
    result: Any = None


class _Plan:
    """What is to be done with the records of a file, stretch by stretch.

    Args:
        source: the file.
        named: the records that are wanted; None for all.
        layout: where their images go.

    Attributes:
        records: records so far.
        images: images of them.
        unrecognised: of these, those that are of no known kind.
        left_out: records that are left out, by what they are.
    """

    def __init__(
        self, source: Source, named: NamedRecords | None, layout: LabelFolders | Flat | Shards
    ) -> None:
        self.records = self.images = self.unrecognised = 0
        self.left_out: dict[str, int] = {}
        self._source = source
        self._named = named
        self._layout = layout
        self._of_insightface = False

    def makers(self) -> Generator[Callable[[], Generator[_Done, None, None]], None, None]:
        """Yield, for each stretch in order, what does the work in any thread."""
        with closing(scan(self._source, jobs=1, heads=HEADS)) as batches:
            for batch in batches:
                if batch.first == 0:
                    self._look_at_first(batch)
                wanted = self._wanted(batch)
                for stretch in stretches(batch, STRETCH):
                    at = stretch.first - batch.first
                    images = list(self._images(stretch, wanted[at : at + len(stretch.offsets)]))
                    self.images += len(images)
                    yield partial(
                        _once,
                        self._layout.work(images),
                        stretch.first + len(stretch.offsets),
                        stretch.stop,
                    )
        if self._named is not None:
            self._named.require_all()

    def require_some(self) -> None:
        """Raise what says that there was nothing to extract."""
        if self.records == 0:
            raise EmptyFileError(
                "the file is empty, so there is nothing to extract",
                path=self._source.path,
                advice="check whether it was written or copied to the end",
            )
        if self.images == 0:
            raise NoImageError(
                "no record that is wanted has an image",
                path=self._source.path,
                advice="recordio ls shows what there is",
            )

    def _look_at_first(self, batch: Batch) -> None:
        """Look at what kind of file it is."""
        payload = payload_of(batch.sizes, batch.heads, HEADS, MOST)
        if payload in (IMAGE_RECORDS_64, PROTOBUF):
            raise PayloadError(
                f"the payloads are {payload}, no image records",
                path=self._source.path,
                advice="MXRecordIO reads them as they are",
            )
        self._of_insightface = is_file_header(batch)
        if isinstance(self._layout, LabelFolders):
            self._layout.first_label = self._of_insightface

    def _wanted(self, batch: Batch) -> list[int | str | None]:
        """Return the key of each record of a batch, None where it is left out, and count these."""
        assert batch.heads is not None
        numbers = range(batch.first, batch.first + len(batch))
        keys: list[int | str | None] = [*numbers]
        if self._named is not None:
            keys = self._named.keys(batch)
        kinds = _heads.kinds(batch.sizes, batch.heads)
        flags = _FLAG.iter_unpack(batch.heads)
        for at, (kind, (flag,), size) in enumerate(zip(kinds, flags, batch.sizes, strict=True)):
            what = None
            if keys[at] is None:
                what = NOT_NAMED
            elif kind != _heads.IMAGE:
                what = self._without_image(kind, batch.first + at)
            elif size > MAX_LENGTH:
                what = TOO_LONG
            elif flag > MOST_LABELS:
                what = MANY_LABELS
            if what is not None:
                keys[at] = None
                self.left_out[what] = self.left_out.get(what, 0) + 1
        self.records += len(batch)
        return keys

    def _without_image(self, kind: int, record: int) -> str:
        if kind == _heads.NO_IMAGE and self._of_insightface:
            return IDENTITY if record else FILE_HEADER
        return WHAT_IS_LEFT_OUT[kind]

    def _images(self, stretch: Stretch, keys: list[int | str | None]) -> Iterator[Image]:
        if all(key is None for key in keys):
            return
        records = stretch.read(self._source)
        for at, key in enumerate(keys):
            if key is None:
                continue
            payload = _payload(records, at)
            if len(payload) != records.sizes[at]:
                raise FileChangedError(
                    "the file was written to while it was read", path=self._source.path
                )
            image = image_in(payload, key, records.offsets[at])
            self.unrecognised += suffix_of(image.kind) == UNKNOWN
            yield image


def _once(work: Callable[[], Any], records: int, stop: int) -> Generator[_Done, None, None]:
    yield _Done(records, stop, work())


def _payload(records: Records, at: int) -> memoryview:
    """Return the payload of a record, without a copy where it is one part."""
    view = memoryview(records.data)
    start, size = records.offsets[at] - records.base + HEADER_SIZE, records.sizes[at]
    if view[start - 4 : start] == size.to_bytes(4, "little"):  # with the cflag of a whole record
        return view[start : start + size]
    payload = bytearray()
    # One after the other: they may be so many that a list of them would be large.
    for number, (start, stop) in enumerate(records.parts(at)):
        if number:
            payload += MAGIC_BYTES
        payload += view[start:stop]
    return memoryview(payload)


def _namer(to: Layout, names: StrPath | None) -> Names:
    if names is None:
        return IdNames()
    return ListNames(names, samples=to == "wds", reserved=LIST if to == "flat" else "")


def _layout(
    to: Layout, out: OutFolder, names: Names, path: str, limits: ShardSize
) -> LabelFolders | Flat | Shards:
    if to == "wds":
        return Shards(out, names, limits)
    return Flat(out, names, path) if to == "flat" else LabelFolders(out, names, path)


def _require_sense(folder: str, to: str, jobs: int | None) -> None:
    if to not in LAYOUTS:
        raise ValueError(f"to is {to!r}, expected one of {', '.join(LAYOUTS)}")
    if is_url(folder):
        raise ValueError(f"{in_text(folder)} is a URL, expected a folder on this machine")
    require_positive("jobs", jobs)


def _shard_size(to: str, images: int | None, size: int | None) -> ShardSize:
    for name, value in (("shard_count", images), ("shard_bytes", size)):
        if value is not None and to != "wds":
            raise ValueError(f"{name} is for wds, not for {to}")
        require_positive(name, value)
    return ShardSize(DEFAULT_COUNT if images is None and size is None else images, size)


@contextmanager
def _opened(record: StrPath | Source) -> Iterator[Source]:
    with opened(record) as source:
        if isinstance(source, Stream):
            what = "headers are read before images, so a file must be readable at any place"
            raise OSError(errno.EINVAL, f"{what}; this one is not", redacted(source.path))
        yield source
