"""Findings about what rocAL's MXNet reader will make of record files, by its source."""

from __future__ import annotations

import os

from .. import _pairs, _tally
from ..findings import Findings, Place
from ..lines import IndexFile, dali_entries
from ..survey import Survey
from .lines import REWRITE, check_numbers, what_else
from .pairing import Pairing, pairing_of
from .places import entry_places, path_of, record_places, records_having

LARGEST = 1 << 32  # bytes; rocAL keeps the size of a file in 32 bits
LISTED = 10_000  # names in a folder that are looked at


def check_rocal(
    findings: Findings,
    surveys: list[Survey],
    index: IndexFile | None,
    pairing: Pairing | None = None,
) -> None:
    r"""Find what rocAL's reader will fail at, leave out or mix up. It was not run, but read.

    Args:
        findings: where findings go.
        surveys: the files.
        index: the index; without one, it is taken to name all records.
        pairing: `pairing_of` both, if it is there already.

    >>> from array import array
    >>> survey = Survey("a.rec", 88, array("q", [0, 44]), array("Q", [7, 7]), array("B", [0, 0]))
    >>> findings = Findings()
    >>> check_rocal(findings, [survey], None)
    >>> [(found.code, found.places[0].record) for found in findings.all()]
    [('same-ids', 1)]
    """
    _check_files(findings, surveys)
    _check_folders(findings, surveys)
    if not surveys or (index is not None and what_else(index) is not None):
        return
    pairing = pairing or pairing_of(surveys, index)
    if index is not None:
        check_numbers(findings, index, "rocal")
        _check_entries(findings, index, pairing)
        if index.problems or not pairing.exact:
            pairing = pairing.over(dali_entries(index, pairing.records.size).offsets)
    _check_records(findings, index, pairing)


def _check_files(findings: Findings, surveys: list[Survey]) -> None:
    if len(surveys) > 1:
        findings.add(
            "several-files",
            "error",
            surveys[0].path,
            f"rocAL reads one of {len(surveys)} files only",
            "give it each file in a folder of its own, or put all records into one file",
            reader="rocal",
        )
    for survey in surveys:
        if survey.size >= LARGEST:
            findings.add(
                "too-large",
                "error",
                survey.path,
                f"rocAL keeps the size of a file in 32 bits, and this one has {survey.size} bytes",
                "split it into files of less than 4 GiB",
                reader="rocal",
            )


def _check_folders(findings: Findings, surveys: list[Survey]) -> None:
    """Find folders in which rocAL has a choice: it takes the last file of each kind it meets."""
    for folder in dict.fromkeys(_folder(survey.path) for survey in surveys):
        if folder is None:
            continue
        names = _names(folder)
        for ending in (".rec", ".idx"):
            found = sorted(name for name in names if name.endswith(ending))
            if len(found) > 1:
                findings.add_places(
                    "folder",
                    "error",
                    folder,
                    f"rocAL takes a folder, and any one of its {len(found)} {ending} files",
                    "give the record file and its index a folder of their own",
                    [Place(detail=name) for name in found],
                    1,
                    reader="rocal",
                )


def _folder(path: str) -> str | None:
    """Return the folder of a file of this machine."""
    return os.path.dirname(path) or "." if os.path.isfile(path) else None


def _names(folder: str) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) == LISTED:
                    break
    except OSError:
        pass  # a folder may be closed to us though its files are open
    return names


def _check_entries(findings: Findings, index: IndexFile, pairing: Pairing) -> None:
    """Find entries at which rocAL reads something else than a record."""
    wrong = (_pairs.BETWEEN, _pairs.DAMAGED, _pairs.PAST_END, _pairs.IMPOSSIBLE)
    found = [pairing.of(kind) for kind in wrong]
    count = sum(number for number, _ in found)
    if count:
        entries = sorted(entry for _, first in found for entry in first)[: _pairs.FEW]
        findings.add_places(
            "fails-at-entry",
            "error",
            index.path,
            "rocAL fails at an entry where no whole record starts",
            REWRITE,
            entry_places(index, entries),
            count,
            reader="rocal",
        )
    again, first = _pairs.repeated(index.offsets, _pairs.LIMIT)
    at_end, last = pairing.of(_pairs.AT_END)
    if again + at_end:
        findings.add_places(
            "reads-nothing",
            "error",
            index.path,
            "rocAL reads no bytes for an offset that comes again, or is where the file ends, and "
            "what it makes of that is not defined",
            REWRITE,
            entry_places(index, sorted([*first, *last])[: _pairs.FEW]),
            again + at_end,
            reader="rocal",
        )


def _check_records(findings: Findings, index: IndexFile | None, pairing: Pairing) -> None:
    for wanted, unwanted, code, what in (
        (_tally.FLAGGED, 0, "skipped-record", "rocAL leaves out records whose flag is not 0"),
        (_tally.MULTI_PART, 0, "multi-part", "rocAL refuses a record of several parts"),
        (
            _tally.NO_HEADER,
            _tally.MULTI_PART,
            "no-header",
            "rocAL reads an IRHeader of 24 bytes, and the record is shorter",
        ),
        (
            _tally.NO_IMAGE,
            _tally.FLAGGED,
            "no-image",
            "rocAL gives a record without an image to its decoder",
        ),
    ):
        for path, count, places in records_having(pairing, index, wanted, unwanted):
            findings.add_places(
                code,
                "error",
                path,
                what,
                "leave such records out, or write them in another way",
                places,
                count,
                reader="rocal",
            )
    _check_ids(findings, index, pairing)


def _check_ids(findings: Findings, index: IndexFile | None, pairing: Pairing) -> None:
    count, again = pairing.records.repeated_ids
    if count:
        findings.add_places(
            "same-ids",
            "error",
            path_of(pairing, index, again),
            "rocAL takes records by the id in their IRHeader, and this id is that of a record "
            "before: it gives one image for all of them",
            "write the records with ids that differ",
            record_places(pairing, again, index),
            count,
            reader="rocal",
        )
