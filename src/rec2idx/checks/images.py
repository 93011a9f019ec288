"""The images in records, as findings: what decoders will not decode."""

from __future__ import annotations

import struct

from ..findings import Findings, Place, Severity
from ..framing import IR_HEADER_SIZE
from ..pictures import IN_PLACE, complaint, kind_of, remark
from ..spans import Records

LEAVE_OUT = "leave the record out of the index, or pack the image again"
REMARK = "bytes after the end of an image, which decoders do not look at"


def judge(findings: Findings, records: Records, *, with_empty: bool) -> None:
    """Add what is wrong with the images of records that have an IRHeader and all their labels.

    Args:
        findings: gets it.
        records: the records.
        with_empty: whether one without an image is worth a finding.
    """
    for at in range(len(records)):
        payload = records.payload(at)
        image = image_of(payload)
        if image is None or not (image or with_empty):
            continue
        judged = _judgement(image)
        if judged is not None:
            code, severity, what, advice, detail = judged
            place = Place(
                record=records.first + at,
                offset=records.offsets[at],
                detail=_described(payload, image, detail),
            )
            findings.add(code, severity, records.path, what, advice, place=place)


def image_of(payload: bytes) -> bytes | None:
    """Return the image in a payload, or None where an IRHeader or some labels are missing."""
    if len(payload) < IR_HEADER_SIZE:
        return None
    flag: int = struct.unpack_from("<I", payload)[0]
    start = IR_HEADER_SIZE + 4 * flag
    return payload[start:] if start <= len(payload) else None


_Judgement = tuple[str, Severity, str, str | None, str]


def _judgement(image: bytes) -> _Judgement | None:
    """Return code, severity, what, advice and a detail; None where nothing is to be said."""
    wrong = complaint(image)
    kind = kind_of(image)
    if not image:
        return "empty-image", "error", "no image behind the labels", LEAVE_OUT, ""
    if wrong is not None:
        what, _, detail = wrong.partition(": ")
        zeros = what == "zeros only"
        in_place = zeros or kind in IN_PLACE
        code = "not-an-image" if in_place else "broken-image"
        return code, "error", what, LEAVE_OUT, "" if zeros else detail
    if kind is None:
        return "unknown-image", "warning", "an image of no known kind", LEAVE_OUT, ""
    rest = remark(image)
    if rest is not None:
        return "bytes-after-image", "note", REMARK, None, rest
    return None


def _described(payload: bytes, image: bytes, detail: str) -> str:
    """Return id, labels, size and kind of an image, and what else there is to say."""
    flag, label, number = struct.unpack_from("<IfQ", payload)
    labels = (label,)
    if flag:
        labels = struct.unpack_from(f"<{min(flag, 4)}f", payload, IR_HEADER_SIZE)
    texts = [f"{value:.9g}" for value in labels[:3]] + ["..."] * (flag > 3)
    words = [
        f"id {number}",
        f"{'label' if flag < 2 else 'labels'} {' '.join(texts)}",
        f"{len(image)} bytes of {kind_of(image) or 'unknown kind'}" if image else "0 bytes",
    ]
    return ", ".join(words) + (f": {detail}" if detail else "")
