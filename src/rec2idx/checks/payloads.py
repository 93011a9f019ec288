"""The payloads of a record file, read in file order, several stretches at once."""

from __future__ import annotations

import os
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from ..findings import Findings
from ..segments import Batch
from ..sources import LocalFile, Source
from ..stretches import Stretch, stretches
from .images import judge
from .magics import search, search_in_pieces

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

# Without `full`, so many bytes of a local file are searched: whoever wrote it escapes magics or
# does not, and a file of random payloads shows one in 17 GB, so that more would be of little use.
SEARCHED = 16 << 20
STRETCH = 1 << 22  # bytes that are read at once, if records are shorter
LARGEST = 1 << 26  # bytes of a record that is read at once; a larger one is not judged


class Payloads:
    """Looks into the payloads of a file while its records are walked.

    Args:
        source: the file.
        findings: gets what is found, in file order.
        limit: where to stop: records that start there or behind are not looked into.
        magics: whether to search for magics that are not escaped.
        images: whether to judge the images.
        with_empty: whether a record without an image is worth a finding.
        jobs: stretches that are read at once.
    """

    def __init__(
        self,
        source: Source,
        findings: Findings,
        limit: int,
        *,
        magics: bool,
        images: bool,
        with_empty: bool,
        jobs: int | None = None,
    ) -> None:
        self._source = source
        self._findings = findings
        self._limit = limit
        self._magics = magics
        self._images = images
        self._with_empty = with_empty
        # Searching so little takes less time than threads take to start.
        self._jobs = 1 if limit <= SEARCHED and _is_local(source) else jobs or _at_once(source)
        self._pool: ThreadPoolExecutor | None = None
        self._under_way: deque[Future[Findings]] = deque()

    def add(self, batch: Batch) -> None:
        """Look into the records of a batch; the batches come in order."""
        for stretch in stretches(batch, STRETCH, self._limit):
            if self._jobs == 1:
                self._findings.add_all(self._look(stretch))
                continue
            if self._pool is None:
                from concurrent.futures import ThreadPoolExecutor  # 12 ms

                self._pool = ThreadPoolExecutor(self._jobs)
            self._under_way.append(self._pool.submit(self._look, stretch))
            while len(self._under_way) >= 2 * self._jobs:
                self._findings.add_all(self._under_way.popleft().result())

    def __enter__(self) -> Payloads:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            while error is None and self._under_way:
                self._findings.add_all(self._under_way.popleft().result())
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)

    def _look(self, stretch: Stretch) -> Findings:
        found = Findings()
        source, start = self._source, stretch.offsets[0]
        length = stretch.stop - start
        if length > LARGEST:  # a single record
            if self._magics:
                search_in_pieces(found, source, stretch.first, start, STRETCH)
            return found
        records = stretch.read(source)
        if self._magics:
            search(found, records)
        if self._images:
            judge(found, records, with_empty=self._with_empty)
        return found


def _at_once(source: Source) -> int:
    """Return how many stretches to read at once: processors are busy, networks are waited for."""
    return min(os.cpu_count() or 1, 8) if _is_local(source) else 16


def _is_local(source: Source) -> bool:
    return isinstance(source, LocalFile)
