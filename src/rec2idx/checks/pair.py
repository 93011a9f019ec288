"""Findings about an index and its files: what entries name, which records no entry names, keys."""

from __future__ import annotations

from array import array

from .. import _pairs, _tally
from ..findings import Findings, Place
from ..lines import IndexFile
from ..survey import Survey
from .lines import REWRITE, what_else
from .pairing import Pairing, pairing_of
from .places import entry_place, record_places

MOST_STEP = 2  # bytes that somebody counts wrong on each line
IMAGELESS = _tally.NO_IMAGE | _tally.CUT_LABELS | _tally.NO_HEADER


def check_pair(
    findings: Findings,
    surveys: list[Survey],
    index: IndexFile | None,
    pairing: Pairing | None = None,
) -> None:
    r"""Find what is wrong between an index and its files, laid end to end in this order.

    Args:
        findings: where findings go.
        surveys: the files.
        index: the index over all of them; without one, nothing is found.
        pairing: `pairing_of` both, if it is there already.

    >>> import io
    >>> from array import array
    >>> from ..lines import read_index
    >>> offsets, ids, traits = array("q", [0, 44, 88]), array("Q", range(3)), array("B", bytes(3))
    >>> survey = Survey("a.rec", 132, offsets, ids, traits)
    >>> findings = Findings()
    >>> check_pair(findings, [survey], read_index(io.BytesIO(b"0\t0\n1\t44\n")))
    >>> [(found.code, found.count, found.places[0].record) for found in findings.all()]
    [('file-grew', 1, 2)]
    """
    if index is None or not surveys or what_else(index) is not None:
        return
    pair = _Pair(findings, index, pairing or pairing_of(surveys, index))
    if pair.check_entries():
        pair.check_files()
        pair.check_records()
        pair.check_keys()


class _Pair:
    """An index and its records, and where findings go."""

    def __init__(self, findings: Findings, index: IndexFile, pairing: Pairing) -> None:
        self.findings = findings
        self.index = index
        self.pairing = pairing
        self.records = pairing.records

    def check_entries(self) -> bool:
        """Find what is wrong with entries; return whether they belong to these files at all."""
        if self.pairing.exact:
            return True
        if self._tell_drift():
            return False
        between, _ = self.pairing.of(_pairs.BETWEEN)
        self._tell(_pairs.BETWEEN, "no-record-there", "there is no start of a record")
        self._tell(_pairs.DAMAGED, "in-damage", "the bytes there are damaged")
        self._tell_past_end(cut=between == 0)
        self._tell_at_end()
        if between <= self.pairing.fits:
            return True
        self.findings.add(
            "other-file",
            "error",
            self.index.path,
            f"{between} of {_count(len(self.pairing), 'entry')} where no record starts: this is "
            f"probably the index of {'another file' if self._alone else 'other files'}",
            f"find the index that belongs to {'the file' if self._alone else 'the files'}, or "
            f"{REWRITE}",
        )
        return False

    def _tell_drift(self) -> bool:
        """Find offsets that are off by as much from line to line."""
        drift = _pairs.drift(self.pairing.entries, self.records.starts)
        if drift is None or self.pairing.fits > 1:
            return False
        first, step = drift
        if abs(step) > MOST_STEP:
            return False  # so do two files with records of other, but even, lengths
        if step == 0:
            off = f"each entry is {_far(first)}"
        elif first == 0:
            off = f"entry n, counted from 0, is n times {_far(step)}"
        else:
            off = f"entry n, counted from 0, is {first} + n times {step} bytes off"
        if drift == (0, 1):
            off = "entry n, counted from 0, is n bytes too far, as if line ends were counted twice"
        entries = range(first == 0, len(self.pairing))
        places = [self._missed(entry) for entry in entries[: _pairs.FEW]]
        self.findings.add_places(
            "shifted-offsets", "error", self.index.path, off, REWRITE, places, len(entries)
        )
        return True

    def _tell(self, kind: int, code: str, what: str) -> None:
        count, first = self.pairing.of(kind)
        if count:
            self.findings.add_places(
                code,
                "error",
                self.index.path,
                f"{count} of {_count(len(self.pairing), 'entry')} wrong: {what}",
                REWRITE,
                [self._missed(entry) for entry in first],
                count,
            )

    def _missed(self, entry: int) -> Place:
        """Return the place of an entry, with the record that starts nearest to it."""
        record = self.records.nearest(self.pairing.entries[entry])
        if record is None:
            return entry_place(self.index, entry)
        start = self.records.starts[record]
        detail = f"nearest start {start}, record {self.records.file_of(record)[1]}"
        if not self._alone:
            detail += f" of {self.records.surveys[self.records.file_of(record)[0]].path}"
        return entry_place(self.index, entry, detail=detail)

    def _tell_past_end(self, *, cut: bool) -> None:
        count, first = self.pairing.of(_pairs.PAST_END)
        if not count:
            return
        size = self.records.size
        what = f"{count} of {_count(len(self.pairing), 'entry')} past the end at byte {size}"
        advice = REWRITE
        if cut and self.pairing.fits:
            what += f": the {self._file} was cut off, or the index is that of a longer one"
            advice = f"copy or download the {self._file} again, or {REWRITE}"
        places = [entry_place(self.index, entry) for entry in first]
        self.findings.add_places("past-end", "error", self.index.path, what, advice, places, count)

    def _tell_at_end(self) -> None:
        count, first = self.pairing.of(_pairs.AT_END)
        if count:
            self.findings.add_places(
                "at-end",
                "warning",
                self.index.path,
                f"an entry for where the {self._file} ends, and no record starts",
                f"remove the line, or {REWRITE}",
                [entry_place(self.index, entry) for entry in first],
                count,
            )

    def check_files(self) -> None:
        """Find files of which no record is named."""
        named = self.pairing.named
        if named is None or self._alone:
            return
        firsts = self.records.firsts
        for file, survey in enumerate(self.records.surveys):
            if len(survey) and 1 not in bytes(named[firsts[file] : firsts[file + 1]]):
                self.findings.add(
                    "unnamed-file",
                    "warning",
                    survey.path,
                    f"none of the {_count(len(survey), 'record')} of the file is in the index",
                    "leave it out of the files, and make the index without it",
                )

    def check_records(self) -> None:
        """Find records that no entry names."""
        count, first = self.pairing.having(0, named=False)
        if count == 0:
            return
        total = len(self.records)
        code = "unnamed-records"
        what = f"{count} of {_count(total, 'record')} are not in the index"
        if self._are_imageless(count):
            self._tell_imageless(count, first)
            return
        # Where the first ones are all that is named, and nothing else is wrong.
        if count == total - first[0] and self.pairing.fits == len(self.pairing) > 0:
            code = "file-grew"
            what = f"the index ends with the first {first[0]} of {total} records: "
            what += self._why_it_ends(first[0])
        places = record_places(self.pairing, first, None)
        self.findings.add_places(code, "warning", self.index.path, what, REWRITE, places, count)

    def _why_it_ends(self, record: int) -> str:
        """Say why an index may name all records before this one, and none from there on."""
        file, number = self.records.file_of(record)
        files = len(self.records.surveys)
        if file and number == 0:  # no file grew: others were laid behind those
            return f"it is that of the first {f'{file} ' if file > 1 else ''}of {files} files"
        if file < files - 1:
            return "it was cut off, or is older than the files"
        return f"the {self._file} grew, or the index was cut off"

    def _are_imageless(self, count: int) -> bool:
        """Whether the records that are not named are without images, and others have some."""
        imageless, _ = self.pairing.having(IMAGELESS, named=False)
        return imageless == count and self.pairing.having(0, IMAGELESS)[0] > 0

    def _tell_imageless(self, count: int, first: list[int]) -> None:
        others, _ = self.pairing.having(IMAGELESS)
        what = f"the index leaves out {_count(count, 'record')} without an image"
        what += f", and has {others} others without one" if others else ", and has all others"
        places = record_places(self.pairing, first, None)
        self.findings.add_places("images-only", "note", self.index.path, what, None, places, count)

    def check_keys(self) -> None:
        """Find keys that are not what people look records up by."""
        keys = self.index.keys
        if isinstance(keys, list) or not self.pairing.fits or self._ids_are(keys):
            return
        if self.pairing.having(_tally.NO_HEADER)[0] or self.records.repeated_ids[0]:
            return  # no record could be looked up by its id
        running = _pairs.runs_on(keys)
        self.findings.add(
            "keys-are-numbers" if running else "keys-unknown",
            "note",
            self.index.path,
            "the keys are running numbers, and the records have other ids"
            if running
            else "the keys are neither running numbers nor the ids of the records",
            "where records are looked up by the numbers of a .lst file, write the index again "
            "with --keys id",
        )

    def _ids_are(self, keys: array[int]) -> bool:
        if self.pairing.exact:
            return _pairs.same(keys, self.records.ids)
        return _pairs.are_ids(keys, self.pairing.matched, self.records.ids)

    @property
    def _alone(self) -> bool:
        return len(self.records.surveys) == 1

    @property
    def _file(self) -> str:
        return "file" if self._alone else "last file"


def _far(by: int) -> str:
    return f"{_count(abs(by), 'byte')} too {'far' if by > 0 else 'near'}"


def _count(number: int, unit: str) -> str:
    if number == 1:
        return f"{number} {unit}"
    return f"{number} {unit[:-1]}ies" if unit.endswith("y") else f"{number} {unit}s"
