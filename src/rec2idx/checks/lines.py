"""Findings about the lines of an index: what is odd, and what each reader makes of it."""

from __future__ import annotations

import re
from collections.abc import Container

from .. import _heads, _pairs
from .._lines import sort_distinct
from ..findings import READERS, Findings, Place, Reader, Severity
from ..framing import MAGIC_BYTES
from ..lines import DaliEntries, IndexFile, dali_entries, mxnet_entries
from ..lookalikes import INDEX, Lookalike, looks_like
from ..problems import MEANINGS, Problem
from .places import entry_places

REWRITE = "write the index again: rec2idx with the .rec file"

# How bad an oddity is by itself. Where a reader fails because of it, that is a finding of its own.
_NO_ENTRY = (
    "comment",
    "long-line",
    "negative-offset",
    "no-offset",
    "not-a-number",
    "nul-bytes",
    "offset-too-large",
)
_DOUBTFUL = ("bom", "float-key", "key-too-large", "not-utf-8", "text-key", "third-column")
_HARMLESS = ("cr", "crlf", "no-final-newline")

_RECORDS = Lookalike("a record file", "give the .rec file first, then the index", False)
_LIST = Lookalike("a list of images for im2rec (.lst)", REWRITE, False)
_TFRECORD_INDEX = Lookalike("an index of a TFRecord file", REWRITE, False)
_LIST_LINE = re.compile(rb"\d+(\t-?\d[\d.eE+-]*)+\t[^\t\r\n]*[^\t\r\n\d.][^\t\r\n]*\r?(\n|\Z)")

_READERS: dict[Reader, str] = {"dali": "DALI", "mxnet": "ImageRecordIter", "rocal": "rocAL"}


def check_lines(findings: Findings, index: IndexFile, readers: Container[Reader] = READERS) -> None:
    r"""Find what is wrong with the lines of an index, whatever its records are.

    Args:
        findings: where findings go.
        index: the index.
        readers: who is to read it; what rocAL makes of the lines, `check_rocal` finds.

    >>> import io
    >>> from ..lines import read_index
    >>> findings = Findings()
    >>> check_lines(findings, read_index(io.BytesIO(b"0\t0\nx\t44\n")))
    >>> [(found.code, found.reader) for found in findings.all()]
    [('text-key', None), ('stops-early', 'dali'), ('refuses-index', 'mxnet')]
    """
    thing = what_else(index)
    if thing is not None:
        findings.add(
            "not-an-index", "error", index.path, f"this is no index but {thing.name}", thing.advice
        )
        return
    for problem in index.problems:
        _tell(findings, index, problem)
    _check_impossible(findings, index)
    if "dali" in readers:
        check_numbers(findings, index, "dali")
    if "mxnet" in readers:
        _check_mxnet(findings, index)
        _check_keys(findings, index)
    _check_offsets(findings, index, readers)


def what_else(index: IndexFile) -> Lookalike | None:
    """Return what a file is that was given as an index and is none, if that can be told."""
    if not index.problems:
        return None
    if index.head.startswith(MAGIC_BYTES):
        return _RECORDS
    # A list with numbers for labels looks like an index with a third column, but for their order.
    has_starts = len(index.offsets) > 1 and _heads.rises(index.offsets)
    if _LIST_LINE.match(index.head) and not has_starts:
        return _LIST
    if _is_of_tfrecord(index):
        return _TFRECORD_INDEX
    thing = looks_like(index.head, index.size)
    return None if thing is INDEX else thing


def _is_of_tfrecord(index: IndexFile) -> bool:
    """Whether lines are offset and size, as those of DALI's tfrecord2idx."""
    keys, sizes = index.keys, index.offsets
    if isinstance(keys, list) or len(keys) < 3 or keys[0] != 0 or keys[1] == 0:
        return False
    return all(keys[at] + sizes[at] == keys[at + 1] for at in range(min(len(keys) - 1, 10)))


def _tell(findings: Findings, index: IndexFile, problem: Problem) -> None:
    code = problem.code
    what = MEANINGS[code]
    if code == "empty":
        findings.add(code, "error", index.path, f"{what}, and no reader takes it", REWRITE)
        return
    severity: Severity = "note"
    advice: str | None = REWRITE
    if code in _NO_ENTRY:
        severity = "error"
        what += ": such a line names no record"
    elif code in _DOUBTFUL:
        severity = "warning"
    elif code in _HARMLESS:
        advice = None
    places = [Place(line=odd.line, detail=odd.text) for odd in problem.first]
    findings.add_places(code, severity, index.path, what, advice, places, problem.count)


def _check_impossible(findings: Findings, index: IndexFile) -> None:
    count, first, alike = _pairs.impossible(index.offsets)
    if count == 0:
        return
    offset = index.offsets[first[0]]
    what = "an offset that no file reaches"
    if alike and count > 1:
        what = (
            f"the same impossible offset on {count} lines ({offset - (1 << 64)} as a signed number)"
        )
    elif alike:
        what += f" ({offset - (1 << 64)} as a signed number)"
    findings.add_places(
        "impossible-offset",
        "error",
        index.path,
        what,
        f"the program that wrote the index failed there; {REWRITE}",
        entry_places(index, first),
        count,
    )


def check_numbers(findings: Findings, index: IndexFile, reader: Reader) -> None:
    """Find what a reader makes of the lines that takes them for pairs of numbers, as DALI does."""
    if not index.problems:
        return
    found = dali_entries(index)
    name = _READERS[reader]
    if found.failure is not None:
        findings.add(
            "refuses-index",
            "error",
            index.path,
            f"{name} refuses the index, since it does not begin with a pair of numbers",
            REWRITE,
            reader=reader,
            place=_stop_place(found),
        )
        return
    if found.stop is not None:
        kept, all_entries = found.pairs, len(index.offsets)
        findings.add(
            "stops-early",
            "error" if kept < all_entries else "note",
            index.path,
            f"{name} stops here without a word, and keeps {kept} of {all_entries} entries",
            REWRITE,
            reader=reader,
            place=_stop_place(found),
        )
    if reads_others(index, found):
        _tell_others(findings, index, reader)


def _stop_place(found: DaliEntries) -> Place | None:
    return None if found.stop is None else Place(line=found.stop.line, detail=found.stop.reason)


def reads_others(index: IndexFile, found: DaliEntries) -> bool:
    """Return whether what DALI takes for offsets is something else than the lines mean."""
    meant = index.offsets[: found.pairs]
    if len(meant) < found.pairs:
        return True
    sort_distinct(meant)
    return meant != found.offsets


def _tell_others(findings: Findings, index: IndexFile, reader: Reader) -> None:
    findings.add(
        "other-offsets",
        "error",
        index.path,
        f"{_READERS[reader]} pays no heed to where lines end, and takes other numbers for offsets "
        "than the second one of each line",
        REWRITE,
        reader=reader,
    )


def _check_mxnet(findings: Findings, index: IndexFile) -> None:
    if not index.problems:
        return
    failure = mxnet_entries(index).failure
    if failure is not None:
        named = mxnet_entries(index, str).failure is None
        findings.add(
            "refuses-index",
            "error",
            index.path,
            f"MXIndexedRecordIO refuses the index with {failure.reason}",
            f"give it key_type=str, or {REWRITE}" if named else REWRITE,
            reader="mxnet",
            place=Place(line=failure.line),
        )
    found = dali_entries(index)
    if found.failure is not None:
        findings.add(
            "iter-crashes",
            "error",
            index.path,
            "ImageRecordIter dies of a segmentation fault, since the index does not begin with a "
            "pair of numbers",
            REWRITE,
            reader="mxnet",
            place=_stop_place(found),
        )
    elif reads_others(index, found):
        _tell_others(findings, index, "mxnet")


def _check_keys(findings: Findings, index: IndexFile) -> None:
    count, again = _repeated_keys(index)
    if count == 0:
        return
    entries = len(index.keys)
    distinct = entries - count
    findings.add_places(
        "same-key",
        "error",
        index.path,
        f"{entries} entries, {distinct} distinct key{'s' if distinct > 1 else ''}; of entries with "
        "the same key, MXNet returns the record of the last one; DALI is not affected",
        REWRITE,
        entry_places(index, again),
        count,
        reader="mxnet",
    )


def _repeated_keys(index: IndexFile) -> tuple[int, list[int]]:
    """Return how many entries have a key that one before them has, and some of these entries."""
    if not isinstance(index.keys, list):
        return _pairs.repeated(index.keys)
    found = mxnet_entries(index)  # to it, 7 and 007 are the same key
    keys = index.keys
    if found.failure is None and len(found.keys) == len(index.keys):
        keys = list(map(str, found.keys))
    count = len(keys) - len(set(keys))
    if count == 0:
        return 0, []
    seen: set[str] = set()
    again: list[int] = []
    for entry, key in enumerate(keys):
        if key in seen:
            again.append(entry)
            if len(again) == _pairs.FEW:
                break
        seen.add(key)
    return count, again


def _check_offsets(findings: Findings, index: IndexFile, readers: Container[Reader]) -> None:
    # Those that no file reaches are told by themselves.
    count, again = _pairs.repeated(index.offsets, _pairs.LIMIT)
    if count == 0:
        if not _heads.rises(index.offsets) and _pairs.impossible(index.offsets)[0] == 0:
            findings.add(
                "unsorted",
                "note",
                index.path,
                "the lines are not in the order of the offsets; DALI and ImageRecordIter sort "
                "them, MXIndexedRecordIO does not",
            )
        return
    places = entry_places(index, again)
    told: tuple[tuple[Reader, Severity, str], ...] = (
        ("dali", "note", "an offset that comes again; DALI makes one sample of such entries"),
        ("mxnet", "error", "an offset that comes again; ImageRecordIter ends its epoch there"),
    )
    for reader, severity, what in told:
        if reader in readers:
            findings.add_places(
                "same-offset", severity, index.path, what, REWRITE, places, count, reader=reader
            )
