"""Magics that a writer should have escaped, as findings."""

from __future__ import annotations

from .._spans import find_magic
from ..findings import Findings, Place
from ..framing import FIRST, HEADER_SIZE, WHOLE, split_lrec
from ..sources import Source
from ..spans import Records, parts_of, untidy

LOOKED_AT = 1000  # magics of a record that are looked at

WHAT = "a payload holds an unescaped magic and what looks like the start of a record"
HARMLESS = "a payload holds an unescaped magic, without what would make it look like a record"
ADVICE = (
    "MXNet may take it for a record, and abort, where it reads a part of the file (num_parts); "
    "recordio salvage writes a new file in which it is escaped"
)


def search(findings: Findings, records: Records) -> None:
    """Add the records with a magic at a multiple of 4 bytes from the start of a part's payload."""
    view = memoryview(records.data)
    for at in untidy(records):
        found = _Found(records.path, records.first + at)
        for start, stop in records.parts(at):
            found.look(view[start:stop], records.base + start)
        found.add_to(findings)


def search_in_pieces(
    findings: Findings, source: Source, record: int, offset: int, step: int
) -> None:
    """Do what `search` does with one record, of which `step` bytes are held at once."""
    found = _Found(source.path, record)
    for start, stop in parts_of(source, offset):
        for at in range(start, stop, step):
            # Four bytes more: those behind a magic tell what it looks like.
            data = source.read(at, min(step, stop - at) + 4)
            found.look(memoryview(data)[: stop - at], at)
    found.add_to(findings)


class _Found:
    """The magic in one record's payload that is worth most: what looks like a record, or any."""

    def __init__(self, path: str, record: int) -> None:
        self._path = path
        self._record = record
        self._offset = -1
        self._like_a_record = False
        self._left = LOOKED_AT

    def look(self, payload: memoryview, base: int) -> None:
        """Look at a part's payload, or a piece of it, whose first byte is at `base`."""
        at = find_magic(payload)
        while at >= 0 and self._left and not self._like_a_record:
            self._left -= 1
            lrec = payload[at + 4 : at + HEADER_SIZE]
            # dmlc-core looks for a magic and a cflag of a first part, and asks for no more.
            cflag, _ = split_lrec(int.from_bytes(lrec, "little"))
            self._like_a_record = len(lrec) == 4 and cflag in (WHOLE, FIRST)
            if self._offset < 0 or self._like_a_record:
                self._offset = base + at
            at = find_magic(payload, at + 4)

    def add_to(self, findings: Findings) -> None:
        """Add the finding, if there is one."""
        if self._offset < 0:
            return
        place = Place(record=self._record, offset=self._offset)
        if self._like_a_record:
            findings.add(
                "unescaped-magic",
                "warning",
                self._path,
                WHAT,
                ADVICE,
                reader="mxnet",
                place=place,
            )
        else:
            code = "unescaped-magic-alone"
            findings.add(code, "note", self._path, HARMLESS, reader="mxnet", place=place)
