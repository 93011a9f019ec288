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
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, groupby, islice, pairwise
from operator import ne

from .. import _heads, _tally
from ..findings import KEPT, Findings, Place
from ..segments import Batch
from ..select import is_file_header
from ..survey import Survey
from .labels import STRIDE

EXACT = 1 << 24  # from here on, float32 does not hold every whole number
LOOK = 1 << 16  # images that are looked at together
SECTIONS = 1000  # of a file with several file headers, the first ones are looked at
_is_inexact = float(EXACT).__le__

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
# Of several sections, each of which may be wrong: what is specific stands in the details.
MISSING = "a file header announces more records than are whole"
OTHERWISE = "a file header announces other numbers of images or identity records than there are"
MISCOUNTED = "there are more or fewer identity records than classes"


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
        headers = self._headers(survey)
        alone = len(headers) == 1
        if not alone:
            what = CONCATENATED
            if len(headers) > SECTIONS:
                what += f"; the first {SECTIONS} are looked at"
            places = [_place(survey, at) for at in headers[:KEPT]]
            findings.add_places(
                "concatenated", "error", survey.path, what, APART, places, len(headers)
            )
        headers.append(len(survey))
        for start, stop in pairwise(headers[: SECTIONS + 1]):
            section = _Section(survey, self.labels, start, stop, alone=alone)
            section.add_to(findings)

    def _headers(self, survey: Survey) -> array[int]:
        """Return the numbers of the file headers; the first record is one, whatever its id."""
        headers = array("q", [0])
        # Only a file header has the id 0; where all have it, nothing is told by it.
        if any(survey.ids):
            headers.extend(
                at
                for at in _without_image(survey)
                if at and survey.ids[at] == 0 and not math.isnan(self.labels[2 * at + 1])
            )
        return headers


class _Section:
    """The records from a file header to the end, or to the next file header."""

    def __init__(
        self, survey: Survey, labels: array[float], start: int, stop: int, *, alone: bool
    ) -> None:
        self._survey = survey
        self._labels = labels
        self._start = start
        self._stop = stop
        self._alone = alone
        # Behind an image without bytes, if there is one, more images may follow.
        first = _first_of_tail(survey.traits, start + 1, stop)
        self._identities = array(
            "q", (at for at in range(first, stop) if not math.isnan(labels[2 * at + 1]))
        )
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
            counts = f"{identities} identity records for {classes} classes"
            findings.add(
                "identity-count",
                "warning",
                self._survey.path,
                counts if self._alone else MISCOUNTED,
                "some class has several of them, or none, or they belong to another file",
                place=self._place(self._identities[0], counts),
            )

    def _place(self, at: int, numbers: str) -> Place:
        """Return the place of a record, with the numbers if `what` is without them."""
        return _place(self._survey, at, None if self._alone else numbers)

    def _announced(self, findings: Findings) -> None:
        """Compare what the file header announces with what there is."""
        behind_images, behind_all = self._range(self._start)
        records = self._stop - self._start
        images = len(self._images)
        if behind_all > _float32(records):
            self._tell_missing(findings, behind_all)
        elif (behind_images, behind_all) != (_float32(images + 1), _float32(records)):
            self._tell_otherwise(findings, behind_images, behind_all)
        if max(behind_all, behind_images) >= EXACT:
            findings.add(
                "numbers-rounded",
                "warning",
                self._survey.path,
                "numbers of records are 2^24 or more, which float32 holds only if they are even",
                "loaders may take one record too many or too few where a range begins or ends",
                place=_place(self._survey, self._start),
            )

    def _tell_missing(self, findings: Findings, behind_all: int) -> None:
        records = self._stop - self._start
        findings.add(
            "records-missing",
            "error",
            self._survey.path,
            f"record {self._start} announces {behind_all} records and only {records} are whole"
            if self._alone
            else MISSING,
            f"{TOO_MANY}; there are {self._there}" if self._alone else TOO_MANY,
            place=self._place(
                self._start, f"it announces {behind_all}, and {records} are whole: {self._there}"
            ),
        )

    def _tell_otherwise(self, findings: Findings, behind_images: int, behind_all: int) -> None:
        behind = len(self._images) + 1
        announced = (
            f"announces {behind_images - 1} images and {behind_all - behind_images} identity "
            f"records, and there are {self._there}"
        )
        findings.add(
            "not-as-announced",
            "error" if behind_images > _float32(behind) else "warning",
            self._survey.path,
            f"record {self._start} {announced}" if self._alone else OTHERWISE,
            TOO_MANY if behind_images > behind else "loaders leave out the rest",
            place=self._place(self._start, f"it {announced}"),
        )

    @property
    def _there(self) -> str:
        return f"{len(self._images)} images and {len(self._identities)} identity records"

    def _classes(self, findings: Findings) -> int:
        """Return how many classes the images have; add labels that are too large."""
        classes = _tally.Distinct()
        for start in range(self._images.start, self._images.stop, LOOK):
            labels = self._labels[2 * start : 2 * min(start + LOOK, self._images.stop) : 2]
            classes.add_numbers(labels)
            if any(map(_is_inexact, map(abs, labels))):
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
        return len(classes)

    def _ranges(self, findings: Findings) -> None:
        """Compare the range of each identity record with the images."""
        outside = several = 0
        outside_places: list[Place] = []
        several_places: list[Place] = []
        for at in self._identities:
            first, behind = self._range(at)
            images = self._between(first, behind)
            if images is None:
                outside += 1
                if outside <= KEPT:
                    place = _place(self._survey, at, f"images {first} to {behind - 1}")
                    outside_places.append(place)
            elif not self._have_one_label(images):
                several += 1
                if several <= KEPT:
                    some = f"images {first} to {behind - 1} have the labels {self._some(images)}"
                    several_places.append(_place(self._survey, at, some))
        path = self._survey.path
        findings.add_places(
            "identity-range", "error", path, OUTSIDE, TOO_MANY, outside_places, outside
        )
        findings.add_places(
            "identity-labels", "warning", path, SEVERAL, None, several_places, several
        )

    def _between(self, first: int, behind: int) -> range | None:
        """Return the records of images by their numbers; None if some are not there."""
        if self._ids is not None:
            start = self._images.start + bisect_left(self._ids, max(first, 0))
            stop = self._images.start + bisect_left(self._ids, max(behind, 0))
        else:
            start, stop = self._start + first, self._start + behind
        inside = self._images.start <= start <= stop <= self._images.stop
        return range(start, stop) if inside and stop - start == behind - first else None

    def _have_one_label(self, images: range) -> bool:
        """Whether a run of equal labels holds all these images.

        Ranges may overlap, so that to look at all their images could take very long.
        """
        if len(images) < 2:
            return True
        return images.stop <= self._ends[bisect_right(self._ends, images.start)]

    @cached_property
    def _ends(self) -> array[int]:
        """Behind which images another first label follows; the end of all images is the last."""
        first, behind = self._images.start, self._images.stop
        labels = memoryview(self._labels)[2 * first : 2 * behind : 2]
        changes = compress(range(first + 1, behind), map(ne, labels, labels[1:]))
        return array("q", chain(changes, [behind]))

    def _some(self, images: range) -> str:
        labels = sorted(self._labels[2 * images.start : 2 * images.stop : 2])
        return ", ".join(f"{label:g}" for label, _ in islice(groupby(labels), 3))

    def _range(self, at: int) -> tuple[int, int]:
        """Return the two labels of a record as whole numbers; -1 for what is no number."""
        first, behind = self._labels[2 * at], self._labels[2 * at + 1]
        return (
            int(first) if math.isfinite(first) else -1,
            int(behind) if math.isfinite(behind) else -1,
        )


def _without_image(survey: Survey) -> Iterator[int]:
    """Yield the numbers of records whose labels end where they end."""
    for at, trait in enumerate(survey.traits):
        if trait & _tally.NO_IMAGE:
            yield at


def _first_of_tail(traits: array[int], start: int, stop: int) -> int:
    """Return from which record on, of those from `start` to `stop`, none has an image.

    >>> traits = array("B", [_tally.NO_IMAGE, 0, _tally.NO_IMAGE, _tally.NO_IMAGE])
    >>> _first_of_tail(traits, 0, 4), _first_of_tail(traits, 0, 2), _first_of_tail(traits, 3, 4)
    (2, 2, 3)
    """
    while stop > start and traits[stop - 1] & _tally.NO_IMAGE:
        stop -= 1
    return stop


def _float32(number: int) -> int:
    """Return the number as float32 holds it."""
    return int(struct.unpack("<f", struct.pack("<f", number))[0])


def _place(survey: Survey, at: int, detail: str | None = None) -> Place:
    return Place(record=at, offset=survey.offsets[at], detail=detail)
