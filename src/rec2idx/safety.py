"""What an index or another new file must never replace."""

from __future__ import annotations

import os
import sys

from .errors import UnsafeTargetError
from .framing import MAGIC_BYTES
from .lookalikes import HEAD_SIZE, INDEX, looks_like
from .sinks import Sink
from .sources import LocalFile, Source, Stream, is_url


def require_safe_target(source: Source | Stream, path: str) -> None:
    """Refuse an index path where something stands that is not an index.

    Args:
        source: the record file that is about to be indexed.
        path: where the index is to go.

    Raises:
        UnsafeTargetError: as `require_other` and `require_replaceable`.
    """
    require_other(source, path)
    require_replaceable(path)


def require_other(source: Source | Stream, path: str) -> None:
    """Refuse an index path that is the record file, under whatever name or link.

    One that does not begin like RecordIO passes: what it is instead is said where it is read.

    Raises:
        UnsafeTargetError: it is.
    """
    if is_url(path):
        if source.path == path:
            raise _itself(source, path)
    elif os.path.isfile(path):
        with LocalFile(path) as existing:
            head = existing.read(0, len(MAGIC_BYTES))
        if not head or head == MAGIC_BYTES:
            _require_other(source, os.stat(path), path)


def require_replaceable(path: str) -> None:
    """Refuse an index path where something stands that nobody wants to lose.

    Raises:
        UnsafeTargetError: a RecordIO file stands there; or something that neither is an index nor
            is named like one; or an archive, an image or the like, even where it is named like an
            index.
    """
    if is_url(path):
        from .remote import head as head_of

        head, size, real = head_of(path) or b"", sys.maxsize, path
    elif os.path.isfile(path):
        with LocalFile(path) as existing:
            head = existing.read(0, HEAD_SIZE)
            size, real = existing.size, os.path.realpath(path)
    else:
        return
    if head.startswith(MAGIC_BYTES):
        raise _swapped(path)
    thing = looks_like(head, size)
    named = real.endswith(".idx")
    if head and thing is not INDEX and (not named or (thing is not None and thing.is_data)):
        raise UnsafeTargetError(
            f"the index would replace {thing.name if thing else 'a file that is not an index'}",
            path=path,
            advice="give the index another name, or remove that file",
        )


def require_free(source: Source | Stream, path: str, what: str = "record file") -> None:
    """Refuse a path for a new file where anything stands, but for an empty file or a pipe.

    Args:
        source: the record file that it is made from.
        path: where it is to go.
        what: what it is to be.

    Raises:
        UnsafeTargetError: it is the record file, under whatever name or link, or another one.
    """
    if is_url(path):
        if source.path == path:
            raise _itself(source, path, "new file")
    else:
        _require_no_link(source, path, "new file")
    if has_content(path):
        raise taken(path, what)


def has_content(path: str) -> bool:
    """Return whether a file that is not empty stands at a path or URL."""
    if is_url(path):
        from .remote import head as head_of

        return bool(head_of(path))
    return os.path.isfile(path) and os.path.getsize(path) > 0


def taken(path: str, what: str = "record file") -> UnsafeTargetError:
    """Return the error that says that a new file has no room at a path."""
    return UnsafeTargetError(
        f"a file stands there already, and a new {what} replaces none",
        path=path,
        advice="give it another name, or remove that file first",
    )


def require_index_beside(source: Source, path: str, index: str) -> None:
    """Refuse an index path for a new record file at `path` that is made from another one.

    Raises:
        UnsafeTargetError: as `require_safe_target`; or it is the path of the new file.
    """
    require_safe_target(source, index)
    if not is_url(index):
        # Also where the record file begins with damage.
        _require_no_link(source, index, "index")
    require_two_files(path, index)


def require_two_files(path: str, other: str, what: str = "index") -> None:
    """Refuse one path for a new record file and for what goes with it.

    Raises:
        UnsafeTargetError: they are the same.
    """
    if _real(other) == _real(path):
        raise UnsafeTargetError(
            f"the new record file and its {what} would be the same file",
            path=other,
            advice=f"give the {what} another name",
        )


def _real(path: str) -> str:
    return path if is_url(path) else os.path.realpath(path)


def _require_no_link(source: Source | Stream, path: str, what: str) -> None:
    """Refuse a local path that leads to the source."""
    if os.path.isfile(path):
        _require_other(source, os.stat(path), path, what)


def _swapped(path: str) -> UnsafeTargetError:
    return UnsafeTargetError(
        "the index would replace a RecordIO file",
        path=path,
        advice="are the two paths swapped? The record file comes first, then the index",
    )


def require_other_file(source: Source | Stream, sink: Sink) -> None:
    """Refuse an open file as index that is the record file itself."""
    try:
        status = os.fstat(sink.fileno())
    except (AttributeError, OSError):
        return
    _require_other(source, status, sink.name)


def _require_other(
    source: Source | Stream, status: os.stat_result, name: str, what: str = "index"
) -> None:
    if isinstance(source, (LocalFile, Stream)) and source.is_same_file(status):
        raise _itself(source, name, what)


def _itself(source: Source | Stream, name: str, what: str = "index") -> UnsafeTargetError:
    return UnsafeTargetError(
        f"the {what} would replace the record file {source.path} itself",
        path=name,
        advice=f"give the {what} another name",
    )
