"""The keys under which an index has the records that findings name."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from ..findings import Finding, Place
from ..lines import IndexFile
from ..survey import Survey


def with_keys(
    findings: Sequence[Finding], index: IndexFile, surveys: Sequence[Survey]
) -> tuple[Finding, ...]:
    """Return findings with the key of each record that they name, if the index has it.

    Args:
        findings: as they came up.
        index: the index.
        surveys: all record files that it is over, in order.
    """
    behind: dict[str, int] = {}  # bytes in the files before each
    size = 0
    for survey in surveys:
        behind.setdefault(survey.path, size)
        size += survey.size
    offsets = {survey.path: survey.offsets for survey in surveys}
    return tuple(
        replace(
            finding,
            places=tuple(
                _with_key(place, index, offsets[finding.path], behind[finding.path])
                for place in finding.places
            ),
        )
        if finding.path in behind
        else finding
        for finding in findings
    )


def _with_key(place: Place, index: IndexFile, offsets: array[int], behind: int) -> Place:
    # A region names the record that would be there.
    if place.key is not None or place.record is None or place.record >= len(offsets):
        return place
    entry = _entry_of(index.offsets, behind + offsets[place.record])
    return place if entry is None else replace(place, key=str(index.keys[entry]))


def _entry_of(offsets: array[int], offset: int) -> int | None:
    """Return the number of the entry with an offset. Mostly they are in order."""
    at = bisect_left(offsets, offset)
    if at < len(offsets) and offsets[at] == offset:
        return at
    try:
        return offsets.index(offset)
    except ValueError:
        return None
