"""Which files some paths stand for: the files themselves, or those in folders."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .concurrency import WAITING_FILES, in_parallel
from .errors import NotRecordIOError
from .framing import MAGIC_BYTES
from .paths import StrPath, as_path, is_url
from .redaction import redacted_repr
from .scan import scan
from .sources import LocalFile

SUFFIX = ".rec"  # of the files that are taken where a folder is walked


@redacted_repr
@dataclass(frozen=True)
class SkippedFile:
    """A file in a folder that is named like RecordIO and is something else.

    Attributes:
        path: its path.
        reason: what it is instead.
    """

    path: str
    reason: NotRecordIOError | OSError


@redacted_repr
@dataclass(frozen=True)
class RepeatedFile:
    """A file that was named or met before, perhaps through a link.

    Attributes:
        path: the later name.
        same_as: the first one, which counts.
    """

    path: str
    same_as: str


@redacted_repr
@dataclass(frozen=True)
class UnreadFolder:
    """A folder that could not be read.

    Attributes:
        path: its path.
        error: why not.
    """

    path: str
    error: OSError


@redacted_repr
@dataclass(frozen=True)
class FoundFile:
    """A file to work on.

    Attributes:
        path: its path or URL.
        below: its folder, seen from the folder that was given; empty for a file that was given.
        size: bytes in it: 0 if it cannot be read, None if only opening it would tell.
    """

    path: str
    below: str = ""
    size: int | None = None


@dataclass
class FoundFiles:
    """The files that some paths stand for.

    Attributes:
        files: those to work on.
        skipped: those met in folders that are not RecordIO.
        repeated: those met before.
        unread: folders that could not be read.
    """

    files: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    repeated: list[RepeatedFile] = field(default_factory=list)
    unread: list[UnreadFolder] = field(default_factory=list)


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
        path = as_path(record)
        inside = _inside(path, walked, found.unread) if recursive else None
        if inside is None:
            yield FoundFile(path, size=_size(path))
            continue
        # Of files behind URLs each look takes as long as a server takes to answer.
        at_once = max(1, min(WAITING_FILES, len(inside))) if is_url(path) else 1
        reasons = in_parallel(_reason_to_skip, [file.path for file in inside], at_once)
        for file, reason in zip(inside, reasons, strict=True):
            if reason is None:
                yield file
            else:
                found.skipped.append(SkippedFile(file.path, reason))


def _inside(path: str, walked: set[object], unread: list[UnreadFolder]) -> list[FoundFile] | None:
    """Return the ``*.rec`` files in a folder, sorted; None if it is not a folder."""
    if is_url(path):
        return _behind(path)
    return _in_folder(path, walked, unread) if os.path.isdir(path) else None


def _behind(url: str) -> list[FoundFile] | None:
    from .remote import files_below  # imports fsspec

    try:
        files = files_below(url)
    except OSError:  # what is wrong is said where it is opened
        return None
    if files is None:
        return None
    found = [file for file in files if file.name.endswith(SUFFIX)]
    found.sort(key=lambda file: file.name.split("/"))
    return [FoundFile(file.url, _below(file.name), file.size) for file in found]


def _below(name: str) -> str:
    """Return the folder of a name that a storage gave, which may try to lead elsewhere."""
    parts = name.split("/")[:-1]
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def _in_folder(top: str, walked: set[object], unread: list[UnreadFolder]) -> list[FoundFile]:
    """Return the ``*.rec`` files below `top`, sorted; what is in `walked` is not walked again."""
    files = []
    if _is_new(top, walked):

        def failure(error: OSError) -> None:
            unread.append(UnreadFolder(str(error.filename), error))

        for folder, subfolders, names in os.walk(top, onerror=failure, followlinks=True):
            subfolders.sort()  # of the names of one folder, the first in sorted order counts
            subfolders[:] = [n for n in subfolders if _is_new(os.path.join(folder, n), walked)]
            below = "" if folder == top else os.path.relpath(folder, top)
            for name in names:
                if name.endswith(SUFFIX):
                    path = os.path.join(folder, name)
                    files.append(FoundFile(path, below, _size(path)))
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
        head = _head(path)
        if head and not head.startswith(MAGIC_BYTES):
            next(scan(path, jobs=1))
    except NotRecordIOError as error:
        return error
    except OSError as error:
        # A pipe or the like is none of ours. What cannot be read is, and must not be passed over.
        return error if error.errno == errno.EINVAL else None
    return None


def _head(path: str) -> bytes | None:
    if is_url(path):
        from .remote import head

        return head(path)
    with LocalFile(path) as file:
        return file.read(0, len(MAGIC_BYTES))


def _size(path: str) -> int | None:
    if is_url(path):
        return None
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
