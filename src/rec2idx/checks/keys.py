"""The keys under which an index has the records that findings name."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from .. import _heads
from .._lines import sort_entries
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
    entries = _Entries(index)
    return tuple(
        replace(
            finding,
            places=tuple(
                _with_key(place, entries, offsets[finding.path], behind[finding.path])
                for place in finding.places
            ),
        )
        if finding.path in behind
        else finding
        for finding in findings
    )


class _Entries:
    """The keys of an index by offset."""

    def __init__(self, index: IndexFile) -> None:
        self._keys = index.keys
        self._offsets = index.offsets

    @cached_property
    def _in_order(self) -> tuple[array[int], Sequence[int]]:
        """The offsets in order, and which entry has each. Mostly the lines are in that order."""
        entries = range(len(self._offsets))
        if _heads.rises(self._offsets):
            return self._offsets, entries
        offsets, numbers = self._offsets[:], array("Q", entries)
        sort_entries(offsets, numbers)
        return offsets, numbers

    def key_at(self, offset: int) -> str | None:
        """Return the key of the first entry with an offset; None if there is none."""
        offsets, entries = self._in_order
        at = bisect_left(offsets, offset)
        if at == len(offsets) or offsets[at] != offset:
            return None
        return str(self._keys[entries[at]])


def _with_key(place: Place, entries: _Entries, offsets: array[int], behind: int) -> Place:
    # A region names the record that would be there.
    if place.key is not None or place.record is None or place.record >= len(offsets):
        return place
    key = entries.key_at(behind + offsets[place.record])
    return place if key is None else replace(place, key=key)
