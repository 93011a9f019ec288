"""What an index must never replace."""

from __future__ import annotations

import os

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
        UnsafeTargetError: the record file itself stands there, under whatever name or link; or
            another RecordIO file; or something that neither is an index nor is named like one; or
            an archive, an image or the like, even where it is named like an index.
    """
    if is_url(path):
        from .remote import head as head_of

        if (head_of(path) or b"").startswith(MAGIC_BYTES):
            raise _swapped(path)
        return
    if not os.path.isfile(path):
        return
    if source.size == 0:  # it does not begin like RecordIO, and is to stay all the same
        _require_other(source, os.stat(path), path)
    with LocalFile(path) as existing:
        head = existing.read(0, HEAD_SIZE)
        size = existing.size
    if head.startswith(MAGIC_BYTES):
        _require_other(source, os.stat(path), path)
        raise _swapped(path)
    thing = looks_like(head, size)
    named = os.path.realpath(path).endswith(".idx")
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
        raise UnsafeTargetError(
            f"the index would replace the record file {source.path} itself",
            path=name,
            advice="give the index another name",
        )
