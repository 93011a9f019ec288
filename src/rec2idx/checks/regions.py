"""Damage of a record file, and what is no record file at all, as findings."""

from __future__ import annotations

from ..damage import DamagedRegion
from ..errors import NotRecordIOError
from ..findings import Findings, Place, Reader, Severity
from ..survey import Survey

AGAIN = (
    "copy or download the file again; of what is whole, recordio salvage writes a new file, and "
    "rec2idx --salvage an index"
)

# By the reason of a region. What is specific stands in the detail of each place.
_MEANING = {
    "wrong-magic": "no record starts where one should",
    "wrong-cflag": "a part has a cflag that does not exist",
    "no-first-part": "the first part of a record is missing",
    "record-not-ended": "the last part of a record is missing",
    "wrong-length": "the length of a record leads to where no record starts",
    "cut-header": "the end of the file cuts off the last record",
    "cut-part": "the end of the file cuts off the last record",
    "ends-inside-record": "the end of the file cuts off the last record",
    "cut-padding": "the last record is whole, but its padding is missing",
    "stray-bytes": "bytes follow the last record that are none",
}
# DALI reads all records of these files; MXNet refuses them, at once or at their end.
_ALL_WHOLE = ("cut-padding", "stray-bytes")


def check_regions(findings: Findings, survey: Survey, readers: tuple[Reader, ...]) -> None:
    """Add what a survey found damaged, or that it found no record.

    Args:
        findings: gets them.
        survey: of a record file.
        readers: who is to read the file.
    """
    for region in survey.regions:
        findings.add(
            region.reason,
            _severity(region, readers),
            survey.path,
            _MEANING[region.reason],
            _advice(region, survey),
            place=Place(
                record=region.record - (region.reason == "cut-padding"),  # which is whole
                offset=region.start,
                detail=_detail(region),
            ),
        )
    untold = survey.damaged - len(survey.regions)
    if untold:
        what = "more damage, which is not told apart"
        findings.add("more-damage", "error", survey.path, what, AGAIN, count=untold)
    if not survey.damaged and survey.size == 0:
        findings.add(
            "empty-file",
            "error",
            survey.path,
            "the file is empty",
            "check whether it was written or copied to the end",
        )


def add_not_recordio(findings: Findings, error: NotRecordIOError) -> None:
    """Add that a file is something else."""
    findings.add(
        "not-recordio",
        "error",
        error.path or "",
        error.what,
        error.advice,
        place=Place(offset=0, detail=f"it begins {error.found}, expected {error.expected}"),
    )


def _severity(region: DamagedRegion, readers: tuple[Reader, ...]) -> Severity:
    harmless = region.reason in _ALL_WHOLE and "mxnet" not in readers
    return "warning" if harmless else "error"


def _detail(region: DamagedRegion) -> str:
    if region.bytes == 0:
        return region.what
    lost = f"{region.bytes} byte{'s' * (region.bytes != 1)}"
    return f"{lost} to byte {region.stop}: {region.story}"


def _advice(region: DamagedRegion, survey: Survey) -> str:
    if region.reason == "cut-padding":
        # Parts are padded from where their record starts, wherever that is.
        start = survey.offsets[-1] if len(survey) else 0
        size = survey.size + (start - survey.size) % 4
        return f"add it, which MXNet needs and DALI does not: truncate -s {size}"
    if region.reason == "stray-bytes":
        return f"cut them off, which MXNet refuses and DALI does not: truncate -s {region.start}"
    return AGAIN
