"""What an index must never replace."""

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


def _require_other(source: Source | Stream, status: os.stat_result, name: str) -> None:
    if isinstance(source, (LocalFile, Stream)) and source.is_same_file(status):
        raise _itself(source, name)


def _itself(source: Source | Stream, name: str) -> UnsafeTargetError:
    return UnsafeTargetError(
        f"the index would replace the record file {source.path} itself",
        path=name,
        advice="give the index another name",
    )
