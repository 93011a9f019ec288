"""New files behind URLs, through fsspec.

Their bytes are collected in a local file first. An object store then gets them in one go; on other
storage they go to another name beside the target, which is changed when all are there.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from typing import Any

from .errors import FileChangedError, RemoteError
from .faults import NO_BUCKET, attempt, status_of
from .framing import MAGIC_BYTES
from .index_text import reads_as_index
from .lookalikes import HEAD_SIZE, looks_like
from .redaction import redacted
from .remote import Marks, RemoteFile, marks_of
from .sinks import Sink
from .sources import LocalFile, Source, Stream
from .storage import HTTP, S3, connect, facts_of, protocols_of, tries
from .targets import Target

# Where an object is visible only once all of it is there.
OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oci", "oss"})
# Where an empty file is nobody's: no program can have it open.
_NO_OPEN_FILES = OBJECT_STORES | {"memory"}
_BLOCK = 1 << 22  # bytes that are compared at once
_TAKEN = (409, 412)  # what a server answers to "only if nothing is there"
_UNKNOWN = (400, 501)  # and where it does not know that condition


def place_of(url: str) -> object:
    """Return what is the same for all ways to write the URL of an object.

    Raises:
        MissingExtraError: a package is missing.
        RemoteError: it is no URL that can be used.
    """
    system, name = attempt(lambda: connect(url), url)
    endpoint = getattr(system, "endpoint_url", None)
    return type(system).__name__, endpoint, _plain(name)


def _plain(name: str) -> str:
    """Return a name without what many storages pass over: dots, and slashes in a row."""
    parts: list[str] = []
    for part in name.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


class RemoteTarget(Target):
    """An object behind a URL, which is there or not.

    Raises:
        FileNotFoundError: there is no such bucket.
        CredentialsError: credentials are missing.
        MissingExtraError: a package is missing.
        RemoteError: the server cannot be reached, takes no files, or does not say what is there.
    """

    local = False

    def __init__(
        self, path: str, what: str, replaces_index: bool, advice: str | None = None
    ) -> None:
        super().__init__(path, what, replaces_index, advice)
        self._system, self._name = attempt(lambda: connect(path), path)
        self._protocols = protocols_of(self._system)
        if self._protocols & HTTP:
            advice = "write it to a local path, then upload it"
            raise RemoteError("web servers take no files", path=path, advice=advice)
        if "::" in path:
            raise RemoteError("a chain of URLs cannot be written to", path=path)
        self._spool = ""
        self._is_sent = False
        self._facts = self._info()
        self._seen = _seen(self._facts)
        self._head = b""
        self._is_index = False
        if self._facts is not None and self._is_file() and replaces_index:
            self._look()

    def _is_file(self) -> bool:
        return self._facts is not None and self._facts.get("type") != "directory"

    def _info(self) -> dict[str, Any] | None:
        """Return what the storage says of the object; None if there is none, but could be."""
        try:
            return attempt(
                lambda: facts_of(self._system, self._name), self.path, tries(self._system)
            )
        except FileNotFoundError as error:
            if error.strerror == NO_BUCKET:
                raise
            return None

    def _look(self) -> None:
        try:
            with RemoteFile(self.path) as file:
                self.replaced = file.size > 0
                self._head = file.read(0, HEAD_SIZE)
                self._is_index = file.size > 0 and reads_as_index(file.read, file.size)
                self._seen = (file.size, file.location().marks)
        except FileNotFoundError:  # gone since
            self._facts = self._seen = None

    def require_other(self, source: Source | Stream) -> None:
        """Refuse a target that is the source, however both are written."""
        if isinstance(source, RemoteFile) and place_of(source.path) == place_of(self.path):
            raise self.itself(source)

    def require_room(self) -> None:
        """Refuse a target that may not be replaced."""
        if self._facts is None:
            return
        if not self._is_file():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), redacted(self.path))
        if not self.replaces_index:
            raise self.taken()
        if self._head.startswith(MAGIC_BYTES):
            raise self.swapped()
        if self.replaced and not self._is_index:
            thing = looks_like(self._head, self._facts.get("size") or len(self._head))
            raise self.not_an_index(thing.name if thing else "a file that is not an index")
        if not self.replaced and not self._protocols & _NO_OPEN_FILES:
            raise self.in_use()

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """Give what takes the bytes."""
        with tempfile.TemporaryFile(prefix="rec2idx-", buffering=0) as file:
            # A file without a name is gone with this process, however that ends.
            self._spool = f"/proc/self/fd/{file.fileno()}"
            if os.path.exists(self._spool):
                yield Sink(file, redacted(self.path))
                return
        with tempfile.TemporaryDirectory(prefix="rec2idx-") as folder:
            self._spool = os.path.join(folder, "file")
            with FileIO(self._spool, "xb") as named:
                yield Sink(named, redacted(self.path))

    def settle(self) -> None:
        """Do nothing: what takes long is to send the bytes, and then they are there."""

    def publish(self) -> None:
        """Send the bytes, unless something is there that was not, or another version of it."""
        if _seen(self._info()) != self._seen:
            self._require_same_bytes()
            return
        if self._protocols & OBJECT_STORES:
            self._is_sent = self._put_if(self._condition())
        else:
            self._put_beside()
            self._is_sent = True

    def _put_if(self, condition: dict[str, Any]) -> bool:
        """Send an object on a condition that the storage itself looks at, if it knows it.

        Returns:
            Whether it is certain that it was sent from here, and not the same by somebody else.
        """
        try:
            self._put(**condition)
        except FileExistsError:
            self._require_same_bytes()
            return False
        except (FileChangedError, RemoteError) as error:
            status = status_of(error)
            if status in _TAKEN:
                self._require_same_bytes()
                return False
            if not condition or status not in _UNKNOWN:
                raise
            self._put()
        return True

    def _condition(self) -> dict[str, Any]:
        """Return the options with which only what was seen is replaced."""
        if self._facts is not None:
            etag = self._facts.get("ETag")
            return {"IfMatch": etag} if etag and self._protocols & S3 else {}
        put = getattr(type(self._system), "_put_file", None)
        creates = put is not None and "mode" in inspect.signature(put).parameters
        return {"mode": "create"} if creates else {}

    def _require_same_bytes(self) -> None:
        """Refuse what is there by now, unless it has just these bytes.

        So it may be: where an answer gets lost, the same bytes are sent twice.
        """
        with LocalFile(self._spool) as own, RemoteFile(self.path) as file:
            for at in range(0, max(own.size, file.size), _BLOCK):
                if own.read(at, _BLOCK) != file.read(at, _BLOCK):
                    raise self.changed()

    def _put(self, **options: Any) -> None:
        attempt(
            lambda: self._system.put_file(self._spool, self._name, **options),
            self.path,
            tries(self._system),
        )

    def _put_beside(self) -> None:
        parent = self._name.rpartition("/")[0]
        temporary = f"{parent}/.rec2idx-{os.urandom(8).hex()}.tmp"
        try:
            attempt(
                lambda: self._system.put_file(self._spool, temporary),
                self.path,
                tries(self._system),
            )
            if _seen(self._info()) != self._seen:
                raise self.changed()
            attempt(lambda: self._system.mv(temporary, self._name), self.path, tries=1)
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(Exception):
                self._system.rm(temporary)
            raise

    def withdraw(self) -> None:
        """Remove the object, if it was sent from here, and is still that, and that can be done."""
        with contextlib.suppress(Exception):
            if self._is_sent:
                self._require_same_bytes()
                self._system.rm_file(self._name)


def _seen(facts: dict[str, Any] | None) -> tuple[int, Marks] | None:
    """Return by what a version of an object is known; None if there is none."""
    return None if facts is None else (int(facts.get("size") or 0), marks_of(facts))
