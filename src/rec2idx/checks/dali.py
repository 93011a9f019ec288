"""Findings about what DALI will make of record files and an index."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from .. import _pairs, _tally
from ..findings import Findings, Severity
from ..lines import IndexFile, dali_entries
from ..survey import Survey
from .lines import REWRITE, what_else
from .pairing import Pairing, pairing_of
from .places import offset_places, path_of, record_places, records_having

LEAVE_OUT = "leave such records out of the index"
APART = "leave the file out of DALI's path, and make the index without it"

# What DALI looks at first, and refuses: one of these traits, and none of those.
_REFUSED = (
    (
        _tally.NO_HEADER,
        0,
        "a record shorter than an IRHeader of 24 bytes",
    ),
    (
        _tally.SHORT_FIRST,
        _tally.NO_HEADER,
        "a record whose first part ends before its IRHeader does, as it holds a magic",
    ),
    (
        _tally.CUT_LABELS,
        _tally.SHORT_FIRST,
        "a record that ends before as many labels as its flag says",
    ),
    (
        _tally.LABELS_SPLIT,
        _tally.CUT_LABELS | _tally.SHORT_FIRST,
        "a record whose first part ends before its labels do, as they hold a magic",
    ),
)


def check_dali(
    findings: Findings,
    surveys: list[Survey],
    index: IndexFile | None,
    pairing: Pairing | None = None,
) -> None:
    r"""Find what DALI's reader will fail at, or get wrong. What it makes of lines is not repeated.

    Args:
        findings: where findings go.
        surveys: the files, as DALI's ``path`` has them.
        index: the index; without one, it is taken to name all records.
        pairing: `pairing_of` both, if it is there already.

    >>> from array import array
    >>> survey = Survey("a.rec", 72, array("q", [0, 40]), array("Q", [0, 0]), array("B", [0, 1]))
    >>> findings = Findings()
    >>> check_dali(findings, [survey], None)
    >>> [(found.code, found.severity, found.places[0].record) for found in findings.all()]
    [('no-image', 'warning', 1)]
    """
    for survey in surveys:
        if survey.size == 0:
            findings.add(
                "empty-file",
                "error",
                survey.path,
                "DALI cannot open an empty file, not even as one of several (File mapping failed)",
                APART,
                reader="dali",
            )
    if not surveys or (index is not None and what_else(index) is not None):
        return
    pairing = pairing or pairing_of(surveys, index)
    read: Sequence[int] = pairing.entries  # offsets in order, as DALI reads them
    # An index that is as it should be is taken as it is.
    if index is not None and (index.problems or not pairing.exact):
        found = dali_entries(index, pairing.records.size)
        if found.pairs > len(found.offsets):  # some came twice, or were at the end
            read = sorted(index.offsets[: found.pairs])
        else:
            read = found.offsets
        if found.pairs and not found.offsets:
            _tell_no_sample(findings, index)
        pairing = pairing.over(found.offsets)
        _check_samples(findings, index, pairing)
    _check_records(findings, index, pairing)
    if len(surveys) > 1 and len(pairing):
        _check_files(findings, pairing, index, read)


def _tell_no_sample(findings: Findings, index: IndexFile) -> None:
    findings.add(
        "no-sample",
        "error",
        index.path,
        "DALI refuses the index: its only entries are for where the file ends",
        REWRITE,
        reader="dali",
    )


def _check_samples(findings: Findings, index: IndexFile, pairing: Pairing) -> None:
    """Find offsets at which DALI reads something else than a record."""
    for kinds, code, what in (
        ((_pairs.BETWEEN, _pairs.DAMAGED), "fails-at-sample", "no whole record starts there"),
        ((_pairs.PAST_END, _pairs.IMPOSSIBLE), "dies-at-sample", "it is past the end"),
    ):
        found = [pairing.of(kind) for kind in kinds]
        count = sum(number for number, _ in found)
        if count == 0:
            continue
        samples = sorted(sample for _, first in found for sample in first)[: _pairs.FEW]
        fails = "fails" if code == "fails-at-sample" else "fails, or dies of a segmentation fault,"
        findings.add_places(
            code,
            "error",
            index.path,
            f"DALI {fails} only when it comes to such a sample, {count} of {len(pairing)}: {what}",
            REWRITE,
            offset_places(index, [pairing.entries[sample] for sample in samples], "its sample"),
            count,
            reader="dali",
        )


def _check_records(findings: Findings, index: IndexFile | None, pairing: Pairing) -> None:
    """Find records that are samples, and should be none."""
    for wanted, unwanted, what in _REFUSED:
        for path, count, places in records_having(pairing, index, wanted, unwanted):
            findings.add_places(
                "refused-record",
                "error",
                path,
                f"DALI fails when it comes to {what}",
                LEAVE_OUT,
                places,
                count,
                reader="dali",
            )
    elsewhere = _tally.SHORT_FIRST | _tally.LABELS_SPLIT
    for path, count, places in records_having(pairing, index, _tally.NO_IMAGE, elsewhere):
        findings.add_places(
            "no-image",
            "warning",
            path,
            "DALI gives an empty image for a record without one, and its decoders fail at that",
            f"{LEAVE_OUT}: --images-only",
            places,
            count,
            reader="dali",
        )


def _check_files(
    findings: Findings, pairing: Pairing, index: IndexFile | None, read: Sequence[int]
) -> None:
    """Find samples that DALI looks for in another file than theirs."""
    records = pairing.records
    past, at_end = _misplaced(read, records.bases[1:])
    on_s3 = any(survey.path.startswith("s3://") for survey in records.surveys)
    told: tuple[tuple[list[int], str, Severity, str], ...] = (
        (
            past,
            "wrong-file",
            "error",
            "DALI looks for the sample in a file before its own, and fails; with dont_use_mmap it "
            "silently gives another record",
        ),
        (
            at_end,
            "file-before",
            "error" if on_s3 else "note",
            "DALI takes the sample to begin where the file before its own ends, which fails where "
            "the files are on S3, and else gives that file as its source",
        ),
    )
    for offsets, code, severity, what in told:
        if not offsets:
            continue
        found = [_pairs.place_of(records.starts, offset) for offset in offsets[: _pairs.FEW]]
        samples = [record for record in found if record >= 0]
        findings.add_places(
            code,
            severity,
            path_of(pairing, index, samples),
            what,
            "leave files out that have no entry, and put a file with several entries last",
            record_places(pairing, samples, index),
            len(offsets),
            reader="dali",
        )


def _misplaced(offsets: Sequence[int], ends: list[int]) -> tuple[list[int], list[int]]:
    """Return the samples for which DALI goes to a file before theirs: past its end, and to its end.

    It counts the files up by one at most for each entry, and not at all for the last one; also for
    entries that give no sample.

    Args:
        offsets: the entries, in order.
        ends: where each file ends.
    """
    past: list[int] = []
    to_end: list[int] = []
    last = len(offsets) - 1
    file = entry = 0
    while file < len(ends) - 1:
        entry = bisect_left(offsets, ends[file], entry)
        if entry > last:
            break
        if entry < last:
            file += 1
        offset = offsets[entry]
        is_sample = offset < (offsets[entry + 1] if entry < last else ends[-1])
        if is_sample and offset >= ends[file] and file < len(ends) - 1:
            (past if offset > ends[file] else to_end).append(offset)
        if entry == last:
            break
        entry += 1
    return past, to_end
