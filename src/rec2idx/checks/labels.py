"""How many labels records have, as findings: those of detection, above all."""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import _heads, _tally
from ..findings import KEPT as KEPT_PLACES
from ..findings import Findings, Place, Reader
from ..segments import Batch
from ..survey import KEPT

STRIDE = 8 + KEPT
# Parts, flag, label, id, id2 and the first two labels of a head.
_HEAD = struct.Struct("<4xIIfQQ2f")
# Traits of an image with a single label, in its header.
PLAIN = bytes(
    trait for trait in range(256) if not trait & ~(_tally.MULTI_PART | _tally.SHORT_FIRST)
)
MOST_NUMBERS = 100  # of a header, and of a box; real ones have 2 to 4, and 5 or 6

SINGLE = "a single label, where most records have the boxes of a detection"
MISFIT = "the labels do not fit the header and the boxes that they announce"
PACK = (
    "MXNet's detection iterators refuse it: pack it again, with the labels of im2rec --pack-label"
)


@dataclass
class _Found:
    """Images of which the same is found: how many, and the places of the first ones."""

    count: int = 0
    places: list[Place] = field(default_factory=list)

    def add(self, batch: Batch, at: int, detail: str) -> None:
        self.count += 1
        if len(self.places) < KEPT_PLACES:
            place = Place(record=batch.first + at, offset=batch.offsets[at], detail=detail)
            self.places.append(place)


class Labels:
    """Counts labels while the records of a file are walked; the batches come in order.

    Args:
        readers: who is to read the file; of a detection, only MXNet wants all labels to fit.
    """

    def __init__(self, readers: tuple[Reader, ...]) -> None:
        self._readers = readers
        self._widths: Counter[int] = Counter()
        self._detection: bool | None = None
        self._single = _Found()
        self._misfit = _Found()

    def add(self, batch: Batch, traits: array[int]) -> None:
        """Count the labels of a batch with heads of `survey.KEPT` bytes."""
        assert batch.heads is not None
        if not self._detection and not traits.tobytes().translate(None, PLAIN):
            self._widths[1] += len(batch)
            if self._detection is None:
                self._detection = False
            return
        kinds = _heads.kinds(batch.sizes, batch.heads)
        for flag, count in _tally.flag_runs(batch.heads, kinds, STRIDE, _heads.IMAGE):
            self._widths[flag or 1] += count
        if self._detection is None and _heads.IMAGE in kinds:
            self._detection = _of_detection(batch, kinds)
        if self._detection and "mxnet" in self._readers:
            self._look(batch, kinds)

    def add_to(self, findings: Findings, path: str) -> None:
        """Add what there is to say about the file to those who are to read it."""
        for code, what, found in (
            ("single-label", SINGLE, self._single),
            ("label-misfit", MISFIT, self._misfit),
        ):
            findings.add_places(
                code, "warning", path, what, PACK, found.places, found.count, reader="mxnet"
            )
        if len(self._widths) > 1:
            self._add_widths(findings, path)

    def _add_widths(self, findings: Findings, path: str) -> None:
        what = f"the images have different numbers of labels: {_listed(self._widths)}"
        if self._detection:
            advice = f"if MXNet is told a label_pad_width, it wants {max(self._widths)} or more"
            findings.add("label-widths", "note", path, what, advice)
        elif "mxnet" in self._readers:
            advice = "ImageRecordIter fails at an image that has not label_width of them"
            findings.add("label-widths", "warning", path, what, advice, reader="mxnet")
        else:
            findings.add("label-widths", "note", path, what)

    def _look(self, batch: Batch, kinds: array[int]) -> None:
        for at, flag, first, second in _arrays(batch, kinds):
            if flag < 2:
                self._single.add(batch, at, f"{flag or 1} label")
            elif not _fits(flag, first, second):
                detail = f"{flag} labels, a header of {first:g} and boxes of {second:g}"
                self._misfit.add(batch, at, detail)


def _arrays(batch: Batch, kinds: array[int]) -> Iterator[tuple[int, int, float, float]]:
    """Yield number in the batch, flag and the first two labels of each image."""
    assert batch.heads is not None
    for at, (_, flag, _, _, _, first, second) in enumerate(_HEAD.iter_unpack(batch.heads)):
        if kinds[at] == _heads.IMAGE:
            yield at, flag, first, second


def _of_detection(batch: Batch, kinds: array[int]) -> bool:
    """Return whether most images have labels that begin as those of a detection.

    These are the numbers of a header and of a box, then the rest of the header, then the boxes.
    Source: MXNet ``python/mxnet/image/detection.py``.
    """
    images = list(_arrays(batch, kinds))
    like = sum(
        flag >= 7 and _is_count(first, 2) and _is_count(second, 5)
        for _, flag, first, second in images
    )
    return 2 * like > len(images)


def _is_count(number: float, least: int) -> bool:
    return least <= number <= MOST_NUMBERS and number == int(number)


def _fits(flag: int, header: float, box: float) -> bool:
    numbers = _is_count(header, 2) and _is_count(box, 5)
    return numbers and flag >= header + box and (flag - header) % box == 0


def _listed(widths: Counter[int]) -> str:
    """Return numbers of labels with the number of images that have each.

    >>> _listed(Counter({7: 2, 1: 1}))
    '1 (1 image), 7 (2 images)'
    """
    texts = [
        f"{width} ({count} image{'s' * (count != 1)})" for width, count in sorted(widths.items())
    ]
    return ", ".join(texts[:6]) + (f" and {len(texts) - 6} more" if len(texts) > 6 else "")
