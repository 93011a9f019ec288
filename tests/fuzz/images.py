"""Bytes that stand where an image should."""

from __future__ import annotations

from rec2idx.lookalikes import HEAD_SIZE, looks_like
from rec2idx.pictures import complaint, dimensions, kind_of, remark

from .choices import Choices


def images(data: bytes) -> None:
    """Every question has an answer, whatever the bytes."""
    content = Choices(data).rest
    assert isinstance(kind_of(content[:20]), (str, type(None)))
    assert isinstance(complaint(content), (str, type(None)))
    assert isinstance(remark(content), (str, type(None)))
    size = dimensions(content)
    assert size is None or min(size) > 0
    looks_like(content[:HEAD_SIZE], len(content))
