"""What can go wrong, as exceptions with the facts as attributes.

Operating-system errors (a missing file, no permission, a full disk) stay the `OSError` that they
are, with ``filename`` set. Everything below derives from `RecordIOError` and from the builtin that
a caller would catch without knowing this package.
"""

from __future__ import annotations

import struct

from .escaping import printable
from .redaction import redacted


class RecordIOError(Exception):
    """Base of this package's errors. Their text is one line, and has no secrets of URLs.

    Attributes (each None where it does not apply):
        what: what is wrong, a phrase.
        path: the file; of a URL, without passwords, signatures and the like.
        record: number of the record, counted from 0.
        key: the record's key, where it was named by that.
        offset: byte offset in the file.
        expected: what should stand there.
        found: what stands there.
        advice: what to do about it.

    >>> error = RecordIOError("wrong magic", path="a.rec", record=2, offset=88,
    ...                       expected="0xced7230a", found="0x00000000")
    >>> str(error)
    'a.rec: record 2 at byte 88: wrong magic: expected 0xced7230a, found 0x00000000'
    """

    def __init__(
        self,
        what: str = "",
        *,
        path: str | None = None,
        record: int | None = None,
        offset: int | None = None,
        expected: str | None = None,
        found: str | None = None,
        advice: str | None = None,
        key: object = None,
    ) -> None:
        super().__init__(redacted(what))
        self.what = what
        self.path = path
        self.record = record
        self.key = key
        self.offset = offset
        self.expected = expected
        self.found = found
        self.advice = advice

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, redacted(value) if isinstance(value, str) else value)

    def describe(self) -> str:
        """Return the message without the path."""
        text = self.what
        if self.expected is not None:
            text += f": expected {self.expected}, found {self.found}"
        if self.offset is not None:
            where = f"byte {self.offset}"
            if self.record is not None:
                text = f"record {self.record} at {where}: {text}"
            elif self.key is not None:
                text = f"key {self.key!r} at {where}: {text}"
        if self.advice is not None:
            text += f"; {self.advice}"
        return text

    def __str__(self) -> str:
        text = self.describe()
        return printable(text if self.path is None else f"{self.path}: {text}")


class DamagedRecordError(RecordIOError, ValueError):
    """A file that is RecordIO cannot be followed to its end.

    Attributes:
        reason: a stable word for the kind of damage: ``wrong-magic``, ``wrong-cflag``,
            ``no-first-part``, ``record-not-ended``, ``cut-header``, ``cut-part``,
            ``cut-padding``, ``stray-bytes`` or ``ends-inside-record``; and, where damage is passed
            over, ``wrong-length`` for a record after which no other one starts where it ends.
        record: number of the damaged record; so many records before it are whole.
        offset: byte offset of the part that is damaged.
        record_offset: byte offset of the record's first part.
    """

    reason: str = ""
    record_offset: int | None = None


class TruncatedError(DamagedRecordError, EOFError):
    """The end of the file cuts off a record or its padding."""


class NotRecordIOError(RecordIOError, ValueError):
    """The file is something else.

    Attributes:
        looks_like: what it seems to be, or None where it was not recognised.
    """

    looks_like: str | None = None


class EmptyFileError(NotRecordIOError):
    """The file has no bytes, so there is nothing to index."""


class KeysError(RecordIOError, ValueError):
    """The records do not have the keys that were asked for, or an old index has none for them."""


class BadIndexError(RecordIOError, ValueError):
    """An index cannot be read, or does not fit its file.

    Attributes:
        line: number of the line, counted from 1, or None where it is no single line.
    """

    line: int | None = None


class MissingIndexError(RecordIOError, FileNotFoundError):
    """There is no index at the path that was given."""


class BadListError(RecordIOError, ValueError):
    """A list of images, as im2rec makes and reads them, has a line that says nothing.

    Attributes:
        line: number of the line, counted from 1.
    """

    line: int = 0


class PayloadError(RecordIOError, ValueError, struct.error):
    """A payload is not what it should be: an image record, labels, an image, or bytes to write."""


class WrongFlagError(RecordIOError, ValueError, AssertionError):
    """A file that is open for writing was to be read, or the other way round."""


class OtherProcessError(RecordIOError, RuntimeError):
    """A file that one process writes was to be written by another one, too."""


class LabelsError(RecordIOError, ValueError):
    """Labels of several files would name different classes by the same number."""


class NoImageError(RecordIOError, ValueError):
    """Of all records, none has an image; or there is no picture to pack."""


class FileChangedError(RecordIOError, OSError):
    """The file changed while it was read."""


class UnsafeTargetError(RecordIOError, FileExistsError):
    """Writing there would destroy something that is not an index."""


class WorkerError(RecordIOError, OSError):
    """A worker of an executor does not see the file."""


class MissingExtraError(RecordIOError, ImportError):
    """A package is not installed that this kind of URL, of record or of image needs."""


class RemoteError(RecordIOError, OSError):
    """A network or a server failed. It says nothing about whether the file is damaged."""


class CredentialsError(RemoteError):
    """No credentials were found, or those that were found are refused."""


class MissingKeyError(RecordIOError, KeyError):
    """No record has this key."""
