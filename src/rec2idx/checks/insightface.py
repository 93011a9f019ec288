"""The layout of InsightFace's files, as findings: what is announced, and what there is.

Record 0 is the file header, of two labels and no image: the number of the first record behind the
images, and the number of the first behind all. Then come the images, then a record without an
image for each identity, whose two labels are the numbers of its first image and of the first one
behind its last. The numbers are the ids of the records. Source: insightface, ``face2rec2.py``.
"""

from __future__ import annotations

import math
import struct
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import _heads, _tally
from ..findings import Findings, Place
from ..segments import Batch
from ..select import is_file_header
from ..survey import Survey
from .labels import STRIDE

EXACT = 1 << 24  # from here on, float32 does not hold every whole number
LOOK = 1 << 16  # images that are looked at together

CONCATENATED = "several file headers: these are several files laid end to end"
APART = (
    "loaders go by the first header: keep the files apart; recordio index --combine makes one "
    "index over them"
)
TOO_MANY = "loaders of InsightFace look for records that are not there"
OUTSIDE = "an identity record announces images that are not there"
SEVERAL = "the images of an identity record have several labels"
LARGE = "a label of 2^24 or more, which float32 holds only if it is even: it may have been rounded"
LARGE_ADVICE = "number the classes below 2^24"


@dataclass
class Layout:
    """What the records of an InsightFace file say, 8 bytes a record.

    Attributes:
        labels: the first two labels of each record, NaN where it has fewer, an array of float32.
    """

    labels: array[float] = field(default_factory=lambda: array("f"))

    @staticmethod
    def is_of(batch: Batch) -> bool:
        """Return whether the first batch of a file is that of an InsightFace file."""
        return is_file_header(batch)

    def add(self, batch: Batch) -> None:
        """Add a batch with heads of `survey.KEPT` bytes; the batches come in order."""
        assert batch.heads is not None
        self.labels.extend(_tally.two_labels(batch.sizes, batch.heads, STRIDE))

    def add_to(self, findings: Findings, survey: Survey) -> None:
        """Add what does not agree."""
        plain = [at for at in _without_image(survey) if not math.isnan(self.labels[2 * at + 1])]
        # Only the file header has the id 0; where all have it, nothing is told by it.
        headers = [at for at in plain if survey.ids[at] == 0 and any(survey.ids)] or [0]
        if headers[0] != 0:
            headers.insert(0, 0)
        if len(headers) > 1:
            places = [_place(survey, at) for at in headers]
            findings.add_places(
                "concatenated", "error", survey.path, CONCATENATED, APART, places, len(places)
            )
        ends = [*headers[1:], len(survey)]
        for start, stop in zip(headers, ends, strict=True):
            section = _Section(survey, self.labels, start, stop)
            section.add_to(findings)


class _Section:
    """The records from a file header to the end, or to the next file header."""

    def __init__(self, survey: Survey, labels: array[float], start: int, stop: int) -> None:
        self._survey = survey
        self._labels = labels
        self._start = start
        without = list(_without_image(survey, start + 1, stop))
        self._identities = [at for at in without if not math.isnan(labels[2 * at + 1])]
        self._stop = stop
        # Behind an image without bytes, if there is one, more images may follow.
        first = _first_of_tail(without, stop)
        self._identities = [at for at in self._identities if at >= first]
        self._images = range(start + 1, first)
        ids = survey.ids[start + 1 : first]
        self._ids = ids if _heads.rises(ids) else None

    def add_to(self, findings: Findings) -> None:
        """Add what is wrong with the records of this section."""
        self._announced(findings)
        classes = self._classes(findings)
        self._ranges(findings)
        identities = len(self._identities)
        if identities and classes and identities != classes:
            findings.add(
                "identity-count",
                "warning",
                self._survey.path,
                f"{identities} identity records for {classes} classes",
                "some class has several of them, or none, or they belong to another file",
                place=_place(self._survey, self._identities[0]),
            )

    def _announced(self, findings: Findings) -> None:
        """Compare what the file header announces with what there is."""
        behind_images, behind_all = self._range(self._start)
        records = self._stop - self._start
        images, identities = len(self._images), len(self._identities)
        there = f"{images} images and {identities} identity records"
        place = _place(self._survey, self._start)
        path, number = self._survey.path, self._start
        if behind_all > _float32(records):
            findings.add(
                "records-missing",
                "error",
                path,
                f"record {number} announces {behind_all} records and only {records} are whole",
                f"{TOO_MANY}; there are {there}",
                place=place,
            )
        elif (behind_images, behind_all) != (_float32(images + 1), _float32(records)):
            findings.add(
                "not-as-announced",
                "error" if behind_images > _float32(images + 1) else "warning",
                path,
                f"record {number} announces {behind_images - 1} images and "
                f"{behind_all - behind_images} identity records, and there are {there}",
                TOO_MANY if behind_images > images + 1 else "loaders leave out the rest",
                place=place,
            )
        if max(behind_all, behind_images) >= EXACT:
            findings.add(
                "numbers-rounded",
                "warning",
                path,
                "numbers of records are 2^24 or more, which float32 holds only if they are even",
                "loaders may take one record too many or too few where a range begins or ends",
                place=place,
            )

    def _classes(self, findings: Findings) -> int:
        """Return how many classes the images have; add labels that are too large."""
        classes: set[float] = set()
        for start in range(self._images.start, self._images.stop, LOOK):
            labels = self._labels[2 * start : 2 * min(start + LOOK, self._images.stop) : 2]
            found = set(labels)
            classes |= found
            if any(abs(label) >= EXACT for label in found):
                for at, label in enumerate(labels, start):
                    if abs(label) >= EXACT:
                        place = _place(self._survey, at, f"label {label:.0f}")
                        findings.add(
                            "label-rounded",
                            "warning",
                            self._survey.path,
                            LARGE,
                            LARGE_ADVICE,
                            place=place,
                        )
        return len({label for label in classes if not math.isnan(label)})

    def _ranges(self, findings: Findings) -> None:
        """Compare the range of each identity record with the images."""
        for at in self._identities:
            first, behind = self._range(at)
            images = self._labels_between(first, behind)
            place_of = f"images {first} to {behind - 1}"
            if images is None:
                place = _place(self._survey, at, place_of)
                findings.add(
                    "identity-range", "error", self._survey.path, OUTSIDE, TOO_MANY, place=place
                )
                continue
            labels = set(images)
            if len(labels) > 1:
                some = ", ".join(f"{label:g}" for label in sorted(labels)[:3])
                place = _place(self._survey, at, f"{place_of} have the labels {some}")
                findings.add("identity-labels", "warning", self._survey.path, SEVERAL, place=place)

    def _labels_between(self, first: int, behind: int) -> array[float] | None:
        """Return the first label of images by their numbers; None if some are not there."""
        if self._ids is not None:
            start = self._images.start + bisect_left(self._ids, max(first, 0))
            stop = self._images.start + bisect_left(self._ids, max(behind, 0))
        else:
            start, stop = self._start + first, self._start + behind
        inside = self._images.start <= start <= stop <= self._images.stop
        if not inside or stop - start != behind - first:
            return None
        return self._labels[2 * start : 2 * stop : 2]

    def _range(self, at: int) -> tuple[int, int]:
        """Return the two labels of a record as whole numbers; -1 for what is no number."""
        first, behind = self._labels[2 * at], self._labels[2 * at + 1]
        return (
            int(first) if math.isfinite(first) else -1,
            int(behind) if math.isfinite(behind) else -1,
        )


def _without_image(survey: Survey, start: int = 0, stop: int | None = None) -> Iterator[int]:
    """Yield the numbers of records whose labels end where they end."""
    traits = survey.traits[start:stop].tobytes()
    for at, trait in enumerate(traits, start):
        if trait & _tally.NO_IMAGE:
            yield at


def _first_of_tail(numbers: list[int], stop: int) -> int:
    """Return the least of the numbers from which on there is no gap up to `stop`.

    >>> _first_of_tail([2, 6, 7], 8), _first_of_tail([2], 8)
    (6, 8)
    """
    for number in reversed(numbers):
        if number != stop - 1:
            break
        stop = number
    return stop


def _float32(number: int) -> int:
    """Return the number as float32 holds it."""
    return int(struct.unpack("<f", struct.pack("<f", number))[0])


def _place(survey: Survey, at: int, detail: str | None = None) -> Place:
    return Place(record=at, offset=survey.offsets[at], detail=detail)
