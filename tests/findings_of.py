"""Files and an index, and what each part of a check finds in them."""

from pathlib import Path

from rec2idx.checks.dali import check_dali
from rec2idx.checks.lines import check_lines
from rec2idx.checks.mxnet import check_mxnet
from rec2idx.checks.pair import check_pair
from rec2idx.checks.rocal import check_rocal
from rec2idx.findings import Finding, Findings
from rec2idx.lines import IndexFile, read_index
from rec2idx.sources import opened
from rec2idx.survey import Survey, survey

TOP = 1 << 64


def index_of(offsets: list[int], keys: list[object] | None = None) -> bytes:
    """An index of these offsets, under running keys or those given."""
    pairs = zip(range(len(offsets)) if keys is None else keys, offsets, strict=True)
    return b"".join(f"{key}\t{offset}\n".encode() for key, offset in pairs)


def surveys_of(folder: Path, *contents: bytes) -> list[Survey]:
    """Write files 0.rec, 1.rec and so on, and survey them."""
    found = []
    for number, data in enumerate(contents):
        path = folder / f"{number}.rec"
        path.write_bytes(data)
        if data:
            with opened(path) as source:
                found.append(survey(source))
        else:
            found.append(Survey(str(path)))
    return found


def index_file(folder: Path, data: bytes) -> IndexFile:
    """Write 0.idx, and read it."""
    path = folder / "0.idx"
    path.write_bytes(data)
    return read_index(path)


def in_lines(folder: Path, data: bytes) -> tuple[Finding, ...]:
    findings = Findings()
    check_lines(findings, index_file(folder, data))
    return findings.all()


def in_pair(folder: Path, index: bytes, *contents: bytes) -> tuple[Finding, ...]:
    findings = Findings()
    check_pair(findings, surveys_of(folder, *contents), index_file(folder, index))
    return findings.all()


_READERS = {"dali": check_dali, "mxnet": check_mxnet, "rocal": check_rocal}


def for_reader(
    reader: str, folder: Path, index: bytes | None, *contents: bytes
) -> tuple[Finding, ...]:
    """What concerns one reader: of lines, and of what is its own."""
    findings = Findings()
    surveys = surveys_of(folder, *contents)
    read = None if index is None else index_file(folder, index)
    if read is not None:
        check_lines(findings, read)
    _READERS[reader](findings, surveys, read)
    return tuple(found for found in findings.all() if found.reader == reader)


def told(findings: tuple[Finding, ...]) -> list[tuple]:
    """Code, severity and count of each finding."""
    return [(found.code, found.severity, found.count) for found in findings]


def at(finding: Finding, *fields: str) -> list[tuple]:
    """These fields of each of its places."""
    return [tuple(getattr(place, field) for field in fields) for place in finding.places]
