"""Where something was found in an index or its files: from numbers to `Place`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .._pairs import having, place_of
from ..findings import Place
from ..lines import IndexFile
from .pairing import Pairing, Records


def entry_place(
    index: IndexFile, entry: int, record: int | None = None, detail: str | None = None
) -> Place:
    r"""Return the place of an entry.

    >>> import io
    >>> from ..lines import read_index
    >>> entry_place(read_index(io.BytesIO(b"7\t0\n9\t44\n")), 1)
    Place(record=None, key='9', line=2, offset=44, detail=None)
    """
    return Place(
        record=record,
        key=str(index.keys[entry]),
        line=index.line_of(entry),
        offset=index.offsets[entry],
        detail=detail,
    )


def entry_places(
    index: IndexFile, entries: Iterable[int], detail: str | None = None
) -> list[Place]:
    """Return the places of entries."""
    return [entry_place(index, entry, detail=detail) for entry in entries]


def record_places(pairing: Pairing, records: Iterable[int], index: IndexFile | None) -> list[Place]:
    """Return the places of records, with the entry that names them if one does."""
    return [_record_place(pairing, record, index) for record in records]


def _record_place(pairing: Pairing, record: int, index: IndexFile | None) -> Place:
    number, detail = _in_its_file(pairing.records, record)
    entry = -1
    if index is not None:
        entry = place_of(index.offsets, pairing.records.starts[record])
    if index is None or entry < 0:
        file, _ = pairing.records.file_of(record)
        offset = pairing.records.surveys[file].offsets[number]
        return Place(record=number, offset=offset, detail=detail)
    return entry_place(index, entry, number, detail)


def _in_its_file(records: Records, record: int) -> tuple[int, str | None]:
    """Return a record's number in its file, and which one that is, if there are several."""
    file, number = records.file_of(record)
    return number, None if len(records.surveys) == 1 else f"in {records.surveys[file].path}"


def records_having(
    pairing: Pairing, index: IndexFile | None, wanted: int, unwanted: int = 0
) -> Iterator[tuple[str, int, list[Place]]]:
    """Yield a path, how many records are such, and the places of the first ones.

    Args:
        pairing: the records, and the entries that name them.
        index: its path is yielded; without one, that of each file with such records.
        wanted: only records of which one of these traits is true.
        unwanted: only those of which none of these is.
    """
    if index is not None:
        count, first = pairing.having(wanted, unwanted)
        if count:
            yield index.path, count, record_places(pairing, first, index)
        return
    for survey in pairing.records.surveys:
        count, first = having(survey.traits, wanted, unwanted)
        if count:
            places = [Place(record=at, offset=survey.offsets[at]) for at in first]
            yield survey.path, count, places


def path_of(pairing: Pairing, index: IndexFile | None, records: list[int]) -> str:
    """Return the path for a finding about records; without an index, that of the first one."""
    if index is not None:
        return index.path
    file = pairing.records.file_of(records[0])[0] if records else 0
    return pairing.records.surveys[file].path


def offset_places(index: IndexFile, offsets: Iterable[int], what: str) -> list[Place]:
    """Return the places of offsets that a reader takes from an index, `what` they are to it."""
    found = []
    for offset in offsets:
        entry = place_of(index.offsets, offset)
        if entry < 0:  # it is none of the offsets that the lines are meant to give
            found.append(Place(offset=offset, detail=what))
        else:
            found.append(entry_place(index, entry, detail=what))
    return found
