"""What the tests of checks have in common."""

from pathlib import Path

import rec2idx


def placed(finding: rec2idx.Finding) -> list[tuple[int | None, int | None]]:
    """Record and offset of each place of a finding."""
    return [(place.record, place.offset) for place in finding.places]


def told(found: rec2idx.Check, *codes: str) -> list[tuple[str, str, int]]:
    """Severity, code and count of each finding; with codes, of these alone."""
    return [
        (finding.severity, finding.code, finding.count)
        for finding in found.findings
        if not codes or finding.code in codes
    ]


def the(found: rec2idx.Check, code: str) -> rec2idx.Finding:
    """The one finding with a code."""
    [finding] = [finding for finding in found.findings if finding.code == code]
    return finding


def checked(folder: Path, data: bytes, **options) -> rec2idx.Check:
    """What is found in a file with these bytes."""
    (folder / "a.rec").write_bytes(data)
    return rec2idx.check(folder / "a.rec", **options)
