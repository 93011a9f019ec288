"""Findings about what MXNet's readers will make of record files and an index."""

from __future__ import annotations

import os

from .. import _pairs, _tally
from ..findings import Findings
from ..lines import IndexFile
from ..paths import is_url
from ..survey import Survey
from .lines import REWRITE, what_else
from .pairing import Pairing, pairing_of
from .places import entry_place, path_of, record_places, records_having

ALIGNED = 4  # bytes; ImageRecordIter takes files of a multiple of that
APART = ";#?"  # characters at which MXNet takes a path apart
STREAMS = ("/dev/", "/proc/")  # under which a process has names for what it has open


def check_mxnet(
    findings: Findings,
    surveys: list[Survey],
    index: IndexFile | None,
    pairing: Pairing | None = None,
) -> None:
    r"""Find what MXNet's readers will fail at, or get wrong, beyond what they make of lines.

    Args:
        findings: where findings go.
        surveys: the files, in the order in which ImageRecordIter gets them.
        index: the index; without one, they are read from start to end.
        pairing: `pairing_of` both, if it is there already.

    >>> from array import array
    >>> survey = Survey("a.rec", 46, array("q", [0]), array("Q", [0]), array("B", [0]))
    >>> findings = Findings()
    >>> check_mxnet(findings, [survey], None)
    >>> [(found.code, found.severity) for found in findings.all()]
    [('size-not-aligned', 'error')]
    """
    _check_files(findings, surveys)
    if not surveys or (index is not None and what_else(index) is not None):
        return
    pairing = pairing or pairing_of(surveys, index)
    if index is not None:
        _check_entries(findings, index, pairing)
        _check_unnamed(findings, index, pairing)
        _check_gluon(findings, index, surveys)
    _check_records(findings, index, pairing)


def _check_files(findings: Findings, surveys: list[Survey]) -> None:
    for survey in surveys:
        if survey.size % ALIGNED and not _ends_damaged(survey):
            findings.add(
                "size-not-aligned",
                "error",
                survey.path,
                f"ImageRecordIter refuses a file of {survey.size} bytes, which is no multiple of "
                f"{ALIGNED}",
                "write its whole records to a new file: recordio salvage"
                if survey.damaged
                else "add what is missing of the last record, or cut off what is behind it",
                reader="mxnet",
            )
        character = next((one for one in survey.path if one in APART), None)
        if character is not None:
            findings.add(
                "path-taken-apart",
                "warning",
                survey.path,
                f"in a path, the character {character} means something else to ImageRecordIter",
                "rename the file",
                reader="mxnet",
            )
    if len(surveys) > 1:
        findings.add(
            "several-files",
            "note",
            surveys[0].path,
            f"{len(surveys)} files: ImageRecordIter takes them with a semicolon between the paths, "
            "and one index over all; MXIndexedRecordIO and gluon's data sets read one file each",
            reader="mxnet",
        )


def _ends_damaged(survey: Survey) -> bool:
    """Whether damage at the end, which has a finding, is why the size is no multiple of 4."""
    return any(region.stop == survey.size for region in survey.regions[-1:])


def _check_entries(findings: Findings, index: IndexFile, pairing: Pairing) -> None:
    """Find entries at which MXNet reads something else than a record."""
    for kinds, code, what in (
        (
            (_pairs.BETWEEN, _pairs.DAMAGED),
            "aborts",
            "MXIndexedRecordIO raises an error at such a key, or gives no whole record, and "
            "ImageRecordIter ends the whole process: no whole record starts there",
        ),
        (
            (_pairs.IMPOSSIBLE,),
            "fails-at-once",
            "MXIndexedRecordIO raises an error at such a key, and ImageRecordIter fails at once: "
            "no file reaches there",
        ),
        (
            (_pairs.PAST_END,),
            "returns-nothing",
            "MXIndexedRecordIO returns None for such a key, without an error, and ImageRecordIter "
            "fails at once: it is past the end",
        ),
        (
            (_pairs.AT_END,),
            "crashes-at-end",
            "MXIndexedRecordIO returns None for such a key, and ImageRecordIter with shuffle dies "
            "of a segmentation fault: the file ends there",
        ),
    ):
        found = [pairing.of(kind) for kind in kinds]
        count = sum(number for number, _ in found)
        if count:
            entries = sorted(entry for _, first in found for entry in first)[: _pairs.FEW]
            findings.add_places(
                code,
                "error",
                index.path,
                what,
                REWRITE,
                [entry_place(index, entry) for entry in entries],
                count,
                reader="mxnet",
            )


def _check_unnamed(findings: Findings, index: IndexFile, pairing: Pairing) -> None:
    """Find records that ImageRecordIter reads though no entry names them."""
    count, first = _unnamed_behind(pairing)
    # Where entries are wrong, or one stands for another, nobody meant to leave anything out.
    left_out, _ = pairing.having(0, named=False)
    if count and pairing.fits == len(pairing) == len(pairing.records) - left_out:
        findings.add_places(
            "does-not-leave-out",
            "warning",
            index.path,
            "ImageRecordIter gives records that the index leaves out all the same, as it reads on "
            "from each entry to the next, and fails at those without an image",
            "for it, write a record file of those that are wanted",
            record_places(pairing, first, None),
            count,
            reader="mxnet",
        )


def _unnamed_behind(pairing: Pairing) -> tuple[int, list[int]]:
    """Return how many records are not named, but one before them is, and the first few of them."""
    named = pairing.named
    if named is None:
        return 0, []
    before = bytes(named).find(1)
    if before < 0:
        return 0, []
    count, first = _pairs.having(pairing.records.traits[before:], 0, 0, named[before:], 0)
    return count, [before + record for record in first]


def _check_records(findings: Findings, index: IndexFile | None, pairing: Pairing) -> None:
    for wanted, code, what, advice in (
        (
            _tally.NO_HEADER,
            "no-header",
            "ImageRecordIter and unpack() refuse a record shorter than an IRHeader of 24 bytes",
            "read it with MXRecordIO, which gives its bytes",
        ),
        (
            _tally.CUT_LABELS,
            "cut-labels",
            "ImageRecordIter and unpack() refuse a record that ends before as many labels as its "
            "flag says",
            "read it with MXRecordIO, which gives its bytes",
        ),
        (
            _tally.NO_IMAGE,
            "no-image",
            "ImageRecordIter, ImageIter and gluon's ImageRecordDataset fail at a record without an "
            "image",
            "MXIndexedRecordIO and unpack() give its labels and an empty image; for the others, "
            "leave it out: --images-only; for ImageRecordIter, out of the record file, too",
        ),
    ):
        for path, count, places in records_having(pairing, index, wanted):
            findings.add_places(
                code,
                "warning",
                path,
                what,
                advice,
                places,
                count,
                reader="mxnet",
            )
    _check_ids(findings, index, pairing)


def _check_ids(findings: Findings, index: IndexFile | None, pairing: Pairing) -> None:
    count, again = pairing.records.repeated_ids
    if count and not pairing.having(_tally.NO_HEADER)[0]:
        findings.add_places(
            "same-ids",
            "note",
            path_of(pairing, index, again),
            "the id in the IRHeader is that of a record before; ImageRecordIter with path_imglist "
            "takes labels by these ids, other readers pay no heed to them",
            None,
            record_places(pairing, again, None),
            count,
            reader="mxnet",
        )


def _check_gluon(findings: Findings, index: IndexFile, surveys: list[Survey]) -> None:
    """Find what gluon's RecordFileDataset and ImageRecordDataset need beyond all that."""
    if len(surveys) > 1:
        return
    path = surveys[0].path
    beside = os.path.splitext(path)[0] + ".idx"
    if _stays(path) and _stays(index.path) and not _same_path(index.path, beside):
        findings.add(
            "gluon-elsewhere",
            "note",
            index.path,
            f"gluon's RecordFileDataset looks for the index at {beside} only",
            reader="mxnet",
        )
    if isinstance(index.keys, list) or not _pairs.runs_on(index.keys):
        findings.add(
            "gluon-keys",
            "note",
            index.path,
            "gluon's data sets count samples by lines and pay no heed to keys, but that in C++ of "
            "MXNet 2 takes 0, 1, 2 and so on for keys",
            reader="mxnet",
        )


def _stays(path: str) -> bool:
    """Whether a file of this machine is there, for gluon to find: no URL, and no stream."""
    return not is_url(path) and not path.startswith(STREAMS) and os.path.isfile(path)


def _same_path(one: str, other: str) -> bool:
    return os.path.abspath(one) == os.path.abspath(other)
