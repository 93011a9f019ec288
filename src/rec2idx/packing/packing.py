"""Pictures, from a list or a folder, into a new file of image records with its index."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain

from ..concurrency import ahead
from ..errors import NoImageError, UnsafeTargetError
from ..index import default_index_path
from ..paths import StrPath, as_path
from ..progress import Progress, Report
from ..redaction import redacted_repr
from ..targets import Target, index_target, new_files, new_target, require_two_files
from ..workers import require_positive
from .pack_list import FailedImage, listed
from .packer import Packer

_LIST_STANDS = "pack that list, give the record file another name, or remove the list first"
# More of them get no more from a disk; and each costs time where the pictures are in memory.
THREADS = 4


@redacted_repr
@dataclass(frozen=True)
class PackSummary:
    """What was packed, and what is to be known about it.

    Attributes:
        records: records in the new file.
        bytes_written: bytes in it.
        failed: pictures that could not be packed.
        empty: records with a picture of no bytes.
        unrecognised: records with a picture that is none of a known kind.
        labels_left_out: records of whose labels only the first was packed.
        repeated: records with the number of a record before them: by their key, a reader finds
            another one.
        repeated_number: the least such number, None if there is none.
        folders: of a folder, the folder in it that each label stands for; of a list, empty.
        others: of a folder, files in it that are no pictures by their names.
        seconds: how long it took.
        path: path of the new file.
        index: path of its index.
        list: path of the list that was written, None if one was given.
        index_replaced: whether an index was replaced, which stood there before.
    """

    records: int
    bytes_written: int
    failed: int
    empty: int
    unrecognised: int
    labels_left_out: int
    repeated: int
    repeated_number: int | None
    folders: tuple[str, ...]
    others: int
    seconds: float
    path: str
    index: str
    list: str | None
    index_replaced: bool


def pack_images(
    images: StrPath,
    record: StrPath,
    *,
    root: StrPath | None = None,
    pack_label: bool = False,
    shuffle: bool = False,
    jobs: int | None = None,
    progress: Report | None = None,
    failed: Callable[[FailedImage], object] | None = None,
) -> PackSummary:
    r"""Write pictures, as they are, to a new RecordIO file with an index. Prints nothing.

    The files are those that im2rec writes with ``--pass-through`` for the same list, byte for byte.
    Id and key of a record are the picture's number in the list; labels are stored as float32, so
    that whole numbers above 2^24 are rounded. Files appear when all of them are on the disk, or
    none does; a record file is never replaced, an index is.

    Args:
        images: path of a list: lines with a number, a label or more, and a name, with tabs between
            them. Or of a folder: then its pictures are listed first, as im2rec lists them with
            ``--list --recursive``, and the list is written beside the new file, with the suffix
            ``.lst``, where there is none yet.
        record: path or URL of the new file, at which there is none. Its index goes beside it, with
            the suffix ``.idx``.
        root: the folder from which names in the list go; by default that of the list. A name may
            lead out of it, or be absolute: who gives a list says which files are read.
        pack_label: whether to pack all labels of a picture that has several, for which NumPy is
            needed, and not only the first.
        shuffle: of a folder, whether to shuffle the list, into the order into which im2rec does.
        jobs: pictures to read at once; None for several. The files do not depend on it.
        progress: called with the `Progress` from time to time: records and bytes written. What it
            raises ends the run.
        failed: called with each `FailedImage`, in the order of the list: a picture that cannot be
            read, or of 2^29 bytes or more. It is left out, and the others are packed. What this
            raises ends the run.

    Raises, before anything stands at `record`:
        BadListError: a line of the list is none, or its number is negative, 2^64 or more.
        NoImageError: there is no picture to pack, or none that can be.
        UnsafeTargetError: a file stands at `record`, or something that is no index where the index
            goes, or a list where that goes.
        MissingExtraError: NumPy is needed, and not installed.
        ValueError: `root` or `shuffle` is given, and makes no sense there; or `jobs` is less
            than 1.
        OSError: the list or a folder cannot be read, or writing failed.

    >>> from pathlib import Path
    >>> for name in ("cats/a.jpg", "dogs/b.jpg"):
    ...     path = Path("pictures", name)
    ...     path.parent.mkdir(parents=True)
    ...     _ = path.write_bytes(b"\xff\xd8\xff and so on")
    >>> done = pack_images("pictures", "pictures.rec")
    >>> done.records, done.folders, done.list
    (2, ('cats', 'dogs'), 'pictures.lst')
    >>> Path("pictures.lst").read_text().splitlines()[1].split()
    ['1', '1.000000', 'dogs/b.jpg']
    """
    began = time.perf_counter()
    require_positive("jobs", jobs)
    source, path = as_path(images), as_path(record)
    index = default_index_path(path)
    target = f"{os.path.splitext(index)[0]}.lst" if os.path.isdir(source) else None
    targets = _targets(source, path, target, index)
    failures = 0

    def fail(failure: FailedImage) -> None:
        nonlocal failures
        failures += 1
        if failed is not None:
            failed(failure)

    folder = None if root is None else as_path(root)
    with (
        listed(source, folder, shuffle, fail) as listing,
        new_files(*targets) as sinks,
    ):
        packer = Packer(listing.root, pack_label, sinks[0], sinks[-1])

        def report() -> None:
            if progress is not None:
                seconds = time.perf_counter() - began
                progress(Progress(packer.records, packer.bytes, None, seconds))

        report()
        with ahead(packer.readers(listing.lines()), jobs or THREADS) as streams:
            for pictures in chain.from_iterable(streams):
                for failure in packer.write(pictures):
                    fail(failure)
                report()
        packer.flush()
        if packer.records == 0:
            raise NoImageError(
                "none of its pictures can be packed",
                path=source,
                advice=f"names go from {listing.root}; --root, or root=, says from where",
            )
        if target is not None:
            listing.copy(sinks[1])
    repeated, repeated_number = packer.repeated()
    return PackSummary(
        packer.records,
        packer.bytes,
        failures,
        packer.empty,
        packer.unrecognised,
        packer.labels_left_out,
        repeated,
        repeated_number,
        listing.folders,
        listing.others,
        time.perf_counter() - began,
        path,
        index,
        target,
        targets[-1].replaced,
    )


def _targets(source: str, path: str, target: str | None, index: str) -> list[Target]:
    """Return where the record file goes, its list if one is written, and its index.

    Args:
        source: the list or folder.
        path: where the record file is to go.
        target: where its list is to go, if one is written.
        index: where its index is to go.
    """
    targets = [new_target(path, "record file")]
    require_two_files(path, index)
    if target is not None:
        require_two_files(path, target, "list")
        targets.append(new_target(target, "list", advice=_LIST_STANDS))
    elif os.path.isfile(index) and os.path.isfile(source) and os.path.samefile(index, source):
        raise UnsafeTargetError(
            "the index would replace the list",
            path=index,
            advice="give the record file another name",
        )
    targets.append(index_target(index))
    return targets
