"""What a check finds, as values: nothing here finds anything."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from .redaction import redacted_repr, shown

Severity = Literal["error", "warning", "note"]
Reader = Literal["dali", "mxnet", "rocal"]

READERS: tuple[Reader, ...] = ("dali", "mxnet", "rocal")
# Those that a check is for if nobody says. rocAL's narrow needs would be false alarms to most.
USUAL_READERS: tuple[Reader, ...] = ("dali", "mxnet")
KEPT = 3  # places of each finding that are kept, the first ones


@dataclass(frozen=True)
class Place:
    """Where something was found; None where a value does not apply.

    Attributes:
        record: number of the record in its file, counted from 0.
        key: its key in the index, as it is written there.
        line: line of the index, counted from 1.
        offset: byte offset in the file that the finding names.
        detail: what is there, a phrase.
    """

    record: int | None = None
    key: str | None = None
    line: int | None = None
    offset: int | None = None
    detail: str | None = None


@redacted_repr
@dataclass(frozen=True)
class Finding:
    """Something about a file that its user should know.

    Attributes:
        code: a stable word for what it is; ``docs/check.md`` has them all.
        severity: ``error`` where data is lost or a reader fails or reads something else,
            ``warning`` where that depends on what is done, ``note`` for what is worth knowing.
        path: the file it is about.
        what: what is meant, a sentence without its full stop.
        advice: what to do about it, or None where there is nothing to do.
        reader: the reader that it concerns, or None where it concerns all.
        count: how many places it was found at.
        places: the first of them, none where it is about the whole file.
    """

    code: str
    severity: Severity
    path: str
    what: str
    advice: str | None = None
    reader: Reader | None = None
    count: int = 1
    places: tuple[Place, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as what JSON has, under the same names."""
        return cast("dict[str, Any]", shown(asdict(self)))


@dataclass
class Findings:
    """Findings as they come up: equal ones are folded, with a count and the first places.

    Two are equal that agree in all but the places.

    >>> findings = Findings()
    >>> for line in range(1, 6):
    ...     findings.add("blank-line", "warning", "a.idx", "blank line", place=Place(line=line))
    >>> [found] = findings.all()
    >>> found.count, [place.line for place in found.places]
    (5, [1, 2, 3])
    """

    _counts: dict[Finding, int] = field(default_factory=dict)
    _places: dict[Finding, list[Place]] = field(default_factory=dict)

    def add(
        self,
        code: str,
        severity: Severity,
        path: str,
        what: str,
        advice: str | None = None,
        *,
        reader: Reader | None = None,
        place: Place | None = None,
        count: int = 1,
    ) -> None:
        """Add a finding at one place, or `count` of them of which the first one is at `place`."""
        self.add_places(
            code, severity, path, what, advice, [place] if place else [], count, reader=reader
        )

    def add_places(
        self,
        code: str,
        severity: Severity,
        path: str,
        what: str,
        advice: str | None,
        places: Iterable[Place],
        count: int,
        *,
        reader: Reader | None = None,
    ) -> None:
        """Add `count` equal findings, the first of them at `places`; none where that is 0."""
        if count == 0:
            return
        same = Finding(code, severity, path, what, advice, reader)
        self._counts[same] = self._counts.get(same, 0) + count
        kept = self._places.setdefault(same, [])
        for place in places:
            if len(kept) == KEPT:
                break
            kept.append(place)

    def add_all(self, others: Findings) -> None:
        """Add what was found elsewhere, behind what is here."""
        for same, count in others._counts.items():
            self._counts[same] = self._counts.get(same, 0) + count
            kept = self._places.setdefault(same, [])
            kept.extend(others._places[same][: KEPT - len(kept)])

    def all(self) -> tuple[Finding, ...]:
        """Return them in the order in which they came up."""
        return tuple(
            Finding(
                same.code,
                same.severity,
                same.path,
                same.what,
                same.advice,
                same.reader,
                count,
                tuple(self._places[same]),
            )
            for same, count in self._counts.items()
        )
