"""The class of DALI's ``rec2idx`` module."""

from __future__ import annotations

import os
import sys

from .index import IndexSummary, KeyType, create_index
from .paths import as_path
from .progress import OriginalLines
from .sequential import MXRecordIO


class IndexCreator(MXRecordIO):
    """Reads a RecordIO file and creates its index, as the class of this name in DALI and MXNet.

    It differs from the original in two ways: the index appears only when it is whole, and the
    constructor opens no file for writing, so nothing that exists is truncated by it.

    Args:
        uri: path of the record file.
        idx_path: path of the index.
        key_type: makes a key from a record's number, which counts from 0. Its `str` is written.

    Raises:
        OSError: the record file cannot be opened.

    >>> creator = IndexCreator("examples/sample.rec", "sample.idx")
    >>> summary = creator.create_index()  # doctest: +ELLIPSIS
    time: ...  count: 0
    >>> creator.close()
    >>> summary.records
    24
    """

    def __init__(
        self, uri: str | os.PathLike[str], idx_path: str | os.PathLike[str], key_type: KeyType = int
    ) -> None:
        self.idx_path = as_path(idx_path)
        self.key_type = key_type
        super().__init__(uri, "r")

    def create_index(self) -> IndexSummary:
        """Write the index, and print a line for record 0, 1000, 2000, ... on standard output.

        Raises what `rec2idx.create_index` raises.
        """
        self.reset()
        lines = None if sys.stdout is None else OriginalLines(sys.stdout)
        return create_index(self.uri, self.idx_path, key_type=self.key_type, progress=lines)

    def __enter__(self) -> IndexCreator:
        return self
