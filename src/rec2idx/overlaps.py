"""Records that an index names and that overlap: how much of a file they may have anybody read."""

from __future__ import annotations

from .errors import BadIndexError


class Room:
    """Bytes of files that may still be read for the records that an index names.

    Records that do not overlap have together no more bytes than the files. But an index may name
    places that each open a record by itself and then share all that follows. So whoever reads one
    record after the other counts what it reads, and stops where that proves that they overlap.

    Args:
        size: bytes in the files.
        times: how often the bytes of a record are read, at most.
    """

    def __init__(self, size: int, times: int) -> None:
        self._size = size
        self._left = size * times
        self._start = -1
        self._is_free = False

    def begin(self, start: int) -> None:
        """Say where the record starts that is read next; the same one again takes no room."""
        self._is_free = start == self._start
        self._start = start

    def take(self, length: int) -> None:
        """Count some bytes that are read.

        Raises:
            BadIndexError: records overlap. Which file and entry this is about, the caller adds.
        """
        if self._is_free:
            return
        self._left -= length
        if self._left < 0:
            raise BadIndexError(
                "the records that the index names up to here overlap",
                expected=f"records of {self._size} bytes at most, all together",
                found="more",
                advice="make the index anew with rec2idx; recordio check says which entries are "
                "wrong",
            )
