"""Records that an index names and that overlap: how much of a file they may have anybody read."""

from __future__ import annotations

from .errors import BadIndexError


class Room:
    """Bytes of files that may still be read for the records that an index names.

    Records that do not overlap cannot be larger, all together, than the files. But the entries of
    an index may each open a record and then share everything that follows. Code that reads one
    record after another counts what it reads, and stops when the count proves an overlap.

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
        """Say where the next record starts; reading the same one again takes no room."""
        self._is_free = start == self._start
        self._start = start

    def take(self, length: int) -> None:
        """Count some bytes that are read.

        Raises:
            BadIndexError: records overlap. The caller adds which file and entry this is about.
        """
        if self._is_free:
            return
        self._left -= length
        if self._left < 0:
            raise BadIndexError(
                "the records that the index names up to here overlap",
                expected=f"at most {self._size} bytes in all of them",
                found="more",
                advice="make a new index with rec2idx; recordio check says which entries are wrong",
            )
