"""What an index must never replace."""

from __future__ import annotations

import os
from contextlib import suppress

from .errors import UnsafeTargetError
from .framing import MAGIC_BYTES
from .lookalikes import HEAD_SIZE, INDEX, looks_like
from .sources import LocalFile, Source, Stream


def require_safe_target(source: Source | Stream, path: str) -> None:
    """Refuse an index path where something stands that is not an index.

    Args:
        source: the record file that is about to be indexed.
        path: where the index is to go.

    Raises:
        UnsafeTargetError: the record file itself stands there, under whatever name or link; or
            another RecordIO file; or something that neither is an index nor is named like one.
    """
    with suppress(FileNotFoundError):
        if isinstance(source, LocalFile) and source.is_same_file(os.stat(path)):
            raise UnsafeTargetError(
                f"the index would replace the record file {source.path} itself",
                path=path,
                advice="give the index another name",
            )
    if not os.path.isfile(path):
        return
    with LocalFile(path) as existing:
        head = existing.read(0, HEAD_SIZE)
    if head.startswith(MAGIC_BYTES):
        raise UnsafeTargetError(
            "the index would replace a RecordIO file",
            path=path,
            advice="are the two paths swapped? The record file comes first, then the index",
        )
    if head and not path.endswith(".idx") and looks_like(head, existing.size) is not INDEX:
        raise UnsafeTargetError(
            "the index would replace a file that is not an index",
            path=path,
            advice="give the index another name, or remove that file",
        )
