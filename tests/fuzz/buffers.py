"""Bytes, arrays and a file that end where they should: a read behind them is noticed."""

from __future__ import annotations

import atexit
import ctypes
import os
import tempfile
from array import array
from collections.abc import Iterable

_INLINE = 16  # ctypes keeps so many bytes in the object itself, with room behind


def exact(data: bytes) -> memoryview:
    """The bytes in memory of their own: behind those of `bytes` there is a zero."""
    before = b"" if len(data) > _INLINE else bytes(_INLINE + 1)
    memory = (ctypes.c_ubyte * (len(before) + len(data))).from_buffer_copy(before + data)
    return memoryview(memory).cast("B")[len(before) :]


def column(kind: str, values: Iterable[int]) -> array[int]:
    """An array without the room that one which was appended to has."""
    return array(kind, values)[:]


_FILE = tempfile.NamedTemporaryFile(prefix="fuzz-", suffix=".rec")  # noqa: SIM115 # it stays open as long as the process runs
atexit.register(_FILE.close)
PATH = _FILE.name


def file_of(data: bytes) -> int:
    """Make `data` all there is in the file at `PATH`; return its descriptor."""
    os.truncate(_FILE.fileno(), len(data))
    os.pwrite(_FILE.fileno(), data, 0)
    return _FILE.fileno()
