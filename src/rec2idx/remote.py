"""Bytes behind URLs, through fsspec: a source that is read by ranges.

Nothing here knows of RecordIO. fsspec and what it needs for a protocol are imported by the
functions that use them, so that local files do not wait for them.
"""

from __future__ import annotations

import errno
import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple, cast

from .closing import Closing
from .errors import RemoteError
from .faults import NO_BUCKET, attempt, changed
from .redaction import redacted, redacted_repr
from .storage import HTTP, facts_of, find, modified, pinned, protocols_of, tries

HEAD_SIZE = 4096
PROBE = 64  # bytes asked for to see whether a server knows ranges

# What storages say about an object that changes with it.
MARKS = (
    "ETag", "etag", "VersionId", "generation", "LastModified", "Last-Modified", "last_modified",
    "updated", "mtime", "modificationTime", "modified",
)  # fmt: skip

Marks = tuple[tuple[str, str], ...]


@redacted_repr  # a Dask worker logs it where it fails
@dataclass(frozen=True)
class RemoteLocation:
    """Where another process finds an object.

    Attributes:
        path: the URL.
        size: bytes it should have.
        marks: what else its storage says about this version of it.
    """

    path: str
    size: int
    marks: Marks

    def open(self) -> RemoteFile:
        """Open the object; it must be the one that was meant."""
        file = RemoteFile(self.path)
        file.require_same(self)
        return file


class RemoteFile(Closing):
    """An object behind a URL, open for reading by many threads at once.

    It pickles, and is opened anew on the other side.

    Args:
        url: as fsspec takes it.

    Attributes:
        path: the URL, as it was given.
        size: bytes in the object when it was opened; -1 where the server does not say.
        modified: when it was last changed, in nanoseconds since 1970; None if that is not known.
        ranges: whether any bytes of it can be asked for; if not, there is only `stream`.

    Raises:
        FileNotFoundError: there is no such object, or no such bucket.
        IsADirectoryError: it is a folder.
        CredentialsError: credentials are missing, and the object is not public.
        MissingExtraError: a package is missing.
        RemoteError: the server cannot be reached, or refuses.
    """

    def __init__(self, url: str) -> None:
        self.path = url
        system, self._name, info = find(url)
        if info.get("type") == "directory":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), redacted(url))
        size = info.get("size")
        self.size = -1 if size is None else int(size)
        self.modified = modified(info)
        self._marks = marks_of(info)
        self._http = bool(protocols_of(system) & HTTP)
        self._storage = system  # tells of any version of the object; `_system` reads but this one
        self._system = pinned(system, info)
        self._tries = tries(system)
        self.ranges = self.size >= 0 and info.get("partial", True) and self._knows_ranges()

    def read(self, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`, or fewer where the object ends.

        What a server sends less than was asked for is asked for again from where it stopped.

        Raises:
            FileChangedError: the object is not the one that was opened.
            RemoteError: the bytes cannot be had.
        """
        if not self.ranges:
            raise _RangesIgnoredError(
                "the server sends whole objects only",
                path=self.path,
                advice="read it once, from its beginning to its end",
            )
        stop = min(offset + length, self.size)
        pieces = []
        while offset < stop:
            call = functools.partial(self._range, offset, stop)
            pieces.append(attempt(call, self.path, self._tries))
            offset += len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def stream(self) -> BinaryIO:
        """Return the bytes once, from the first to the last."""
        return cast(BinaryIO, _Pass(self._system, self._name, self.path, self.size, self._http))

    def require_unchanged(self) -> None:
        """Raise `FileChangedError` if the object is not the one that was opened."""
        info = attempt(lambda: facts_of(self._storage, self._name), self.path, self._tries)
        size = info.get("size")
        now = RemoteLocation(self.path, -1 if size is None else int(size), marks_of(info))
        self.require_same(now)

    def require_same(self, other: RemoteLocation) -> None:
        """Raise `FileChangedError` if `other` is not what was opened."""
        if other != self.location():
            raise changed(
                self.path,
                _described(self.size, self._marks),
                _described(other.size, other.marks),
            )

    def location(self) -> RemoteLocation:
        """Return where another process finds the object."""
        return RemoteLocation(self.path, self.size, self._marks)

    def close(self) -> None:
        """Let go of what is kept for reading. Closing twice is allowed."""
        self._system = self._storage = None

    def _knows_ranges(self) -> bool:
        """Ask for the first bytes: only HTTP servers may answer with all of them."""
        if not self._http or self.size == 0:
            return True
        stop = min(PROBE, self.size)
        try:
            attempt(lambda: self._range(0, stop), self.path, self._tries)
        except _RangesIgnoredError:
            return False
        return True

    def _range(self, start: int, stop: int) -> bytes:
        options: dict[str, Any] = {}
        if self._http:
            options["trace_request_ctx"] = functools.partial(self._check, start, stop)
        data: bytes = self._system.cat_file(self._name, start=start, end=stop, **options)
        if not data:
            raise ConnectionError("an answer without bytes")
        if len(data) > stop - start:
            raise RemoteError(
                "the server sends more than was asked for",
                path=self.path,
                expected=f"{stop - start} bytes",
                found=str(len(data)),
            )
        return data

    def _check(self, start: int, stop: int, status: int, headers: Any) -> None:
        """Refuse an HTTP answer, before its bytes are read, if they are not those asked for."""
        if status == 200:
            raise _RangesIgnoredError("the server ignores ranges", path=self.path)
        if status == 416:
            raise changed(self.path, f"{self.size} bytes", "fewer")
        if status != 206:
            return  # an error, which is raised by itself
        opened, now = dict(self._marks).get("ETag"), headers.get("ETag")
        if opened and now and opened != now:
            raise changed(self.path, f"ETag {opened}", now)
        sent = headers.get("Content-Range", "")
        match = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", sent.strip())
        if not match or int(match[1]) != start or int(match[2]) >= stop:
            raise RemoteError(
                "the server sends other bytes than were asked for",
                path=self.path,
                expected=f"bytes {start}-{stop - 1}",
                found=sent or "no Content-Range",
            )
        if match[3] not in ("*", str(self.size)):
            raise changed(self.path, f"{self.size} bytes", match[3])

    def __reduce__(self) -> tuple[Callable[[RemoteLocation], RemoteFile], tuple[RemoteLocation]]:
        return RemoteLocation.open, (self.location(),)


class _RangesIgnoredError(RemoteError):
    """A server sends whole objects only."""


class _Pass(Closing):
    """An object's bytes, once and in order. What breaks cannot be resumed."""

    def __init__(self, system: Any, name: str, url: str, size: int, http: bool) -> None:
        self.name = url
        self._size = size
        self._count = 0
        options = {"block_size": 0} if http else {}
        self._file: Any = attempt(lambda: system.open(name, "rb", **options), url, tries(system))

    def read(self, size: int = -1) -> bytes:
        """Return at most `size` bytes, none at the end."""
        data: bytes = attempt(lambda: self._file.read(size), self.name, tries=1)
        self._count += len(data)
        if not data and size and self._count < self._size:
            raise RemoteError(
                "the connection broke, and the server cannot go on from there",
                path=self.name,
                expected=f"{self._size} bytes",
                found=str(self._count),
                advice="run again",
            )
        return data

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()


def head(url: str) -> bytes | None:
    """Return the first 4096 bytes of an object; None if there is none, but could be."""
    try:
        with RemoteFile(url) as file:
            if file.ranges:
                return file.read(0, HEAD_SIZE)
            data = b""
            with file.stream() as stream:
                while len(data) < HEAD_SIZE and (more := stream.read(HEAD_SIZE - len(data))):
                    data += more
            return data
    except FileNotFoundError as error:
        if error.strerror == NO_BUCKET:
            raise
        return None


class RemoteName(NamedTuple):
    """A file in a folder behind a URL.

    Attributes:
        url: its own.
        name: as seen from the folder. Whoever wrote the file chose it: it may hold ``..``.
        size: bytes in it; None where that is not said.
    """

    url: str
    name: str
    size: int | None


def files_below(url: str) -> list[RemoteName] | None:
    """Return the files in a folder and in those in it; None if `url` is no folder.

    Raises what `RemoteFile` raises.
    """
    if "::" in url:  # what is in an archive, for instance, has no URL that could be made from names
        return None
    system, name, info = find(url)
    web = bool(protocols_of(system) & HTTP)
    # To a web server a folder is a page, whose links are what is in it.
    if not (url.endswith("/") if web else info.get("type") == "directory"):
        return None
    inside = attempt(lambda: system.find(name, detail=True), url, tries(system))
    top = name.rstrip("/") + "/"
    return [
        RemoteName(system.unstrip_protocol(path), path.removeprefix(top), facts.get("size"))
        for path, facts in inside.items()
        if path.startswith(top)
    ]


def marks_of(info: dict[str, Any]) -> Marks:
    """Return what a storage says of an object that changes with it."""
    keys = MARKS if any(info.get(key) for key in MARKS) else ("created",)
    return tuple((key, str(info[key])) for key in keys if info.get(key))


def _described(size: int, marks: Marks) -> str:
    return ", ".join([f"{size} bytes", *(f"{key} {value}" for key, value in marks)])
