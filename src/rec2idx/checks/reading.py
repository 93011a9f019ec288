"""What an index says, whether it fits the records, and what each reader makes of both."""

from __future__ import annotations

from ..findings import Findings, Reader
from ..lines import IndexFile
from ..survey import Survey
from .dali import check_dali
from .lines import check_lines
from .mxnet import check_mxnet
from .pair import check_pair
from .pairing import pairing_of
from .rocal import check_rocal

_CHECKS = {"dali": check_dali, "mxnet": check_mxnet, "rocal": check_rocal}


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
        check_lines(findings, index, readers)
    if not any(map(len, surveys)):
        return
    pairing = pairing_of(surveys, index)
    check_pair(findings, surveys, index, pairing)
    for reader in readers:
        _CHECKS[reader](findings, surveys, index, pairing)
