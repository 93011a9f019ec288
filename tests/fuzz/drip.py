"""A stream that comes in small pieces."""

from __future__ import annotations

import io

from rec2idx.sources import Stream


class Drip(Stream):
    """A stream that gives a few bytes at a time, at its beginning, too."""

    HEAD = 8

    def __init__(self, data: bytes, most: int) -> None:
        super().__init__(io.BytesIO(data), "drip")
        self.CHUNK = most
