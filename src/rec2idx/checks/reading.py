"""What an index says, whether it fits the records, and what each reader makes of both."""

from __future__ import annotations

from collections.abc import Callable

from ..findings import Findings, Reader
from ..lines import IndexFile
from ..survey import Survey
from .lines import check_lines

_Check = Callable[[Findings, list[Survey], IndexFile | None], None]
_CHECKS: dict[Reader, _Check] = {}


def check_reading(
    findings: Findings,
    surveys: list[Survey],
    index: IndexFile | None,
    readers: tuple[Reader, ...],
) -> None:
    """Add what is wrong with an index, with the pair, and with both for each reader.

    Args:
        findings: gets it.
        surveys: all record files, in order; none if one of them is no record file, so that
            nothing can be said of the pair.
        index: the index, or None.
        readers: who is to read them.
    """
    if index is not None:
        check_lines(findings, index)
    if not any(map(len, surveys)):
        return
    for reader in readers:
        if reader in _CHECKS:
            _CHECKS[reader](findings, surveys, index)
