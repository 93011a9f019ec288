"""What a check finds in the layout of InsightFace's files."""

import struct

import pytest
from checking import checked, placed, the, told
from damage import cut_tail, flip_byte
from reference import part
from samples import FACE, SIX, image, labelled

import rec2idx
from rec2idx.checks.insightface import _float32

OURS = (
    "concatenated",
    "identity-count",
    "identity-labels",
    "identity-range",
    "label-rounded",
    "not-as-announced",
    "numbers-rounded",
    "records-missing",
)


def face(
    announced: list[float],
    labels: list[float],
    identities: list[list[float]],
    width: int = 1,
    first: int = 1,
) -> bytes:
    """A file header, an image for each label, an identity record for each range."""
    images = [
        image(label, n, b"8 bytes.") if width == 1 else labelled([label, 0], n, b"8 bytes.")
        for n, label in enumerate(labels, first)
    ]
    ranges = [labelled(r, first + len(labels) + n) for n, r in enumerate(identities)]
    return b"".join(part(0, payload) for payload in [labelled(announced, 0), *images, *ranges])


def ours(found: rec2idx.Check) -> list[tuple[str, str, int]]:
    return told(found, *OURS)


def test_what_is_right(tmp_path):
    assert face([6, 8], [0, 0, 0, 1, 1], [[1, 4], [4, 6]]) == FACE
    assert ours(checked(tmp_path, FACE)) == []


def test_images_with_two_labels(tmp_path):
    data = face([6, 8], [0, 0, 0, 1, 1], [[1, 4], [4, 6]], width=2)
    assert ours(checked(tmp_path, data)) == []


def test_many_more_records_than_images(tmp_path):
    """Case C11: 20,000 pictures of 9,980 people are 29,981 records, and nothing is missing."""
    labels = [min(n // 2, 9979) for n in range(20_000)]
    starts = _starts(labels)
    ranges = [[a, b] for a, b in zip(starts, [*starts[1:], 20_001], strict=True)]
    found = checked(tmp_path, face([20_001, 29_981], labels, ranges))
    assert (found.records, found.images) == (29_981, 20_000)
    assert ours(found) == []


def _starts(labels: list[float]) -> list[int]:
    return [n for n, label in enumerate(labels, 1) if n == 1 or labels[n - 2] != label]


def test_a_download_that_broke_off(tmp_path):
    """Case C4."""
    found = checked(tmp_path, cut_tail(FACE, 170))
    assert ours(found) == [("error", "records-missing", 1)]
    finding = the(found, "records-missing")
    assert finding.what == "record 0 announces 8 records and only 4 are whole"
    assert finding.advice.endswith("there are 3 images and 0 identity records")
    assert placed(finding) == [(0, 0)]


def test_more_identity_records_than_classes(tmp_path):
    """Case C11."""
    found = checked(tmp_path, face([6, 9], [0, 0, 0, 1, 1], [[1, 4], [4, 6], [2, 3]]))
    assert ours(found) == [("warning", "identity-count", 1)]
    assert the(found, "identity-count").what == "3 identity records for 2 classes"


def test_an_identity_record_of_images_that_are_not_there(tmp_path):
    found = checked(tmp_path, face([6, 8], [0, 0, 0, 1, 1], [[1, 4], [4, 9]]))
    assert ours(found) == [("error", "identity-range", 1)]
    assert placed(the(found, "identity-range")) == [(7, 280)]
    assert the(found, "identity-range").places[0].detail == "images 4 to 8"


@pytest.mark.parametrize("bounds", [[0, 3], [4, 2], [float("nan"), 2], [float("inf"), 3], [-5, -1]])
def test_an_identity_record_of_no_range(tmp_path, bounds):
    found = checked(tmp_path, face([6, 8], [0, 0, 0, 1, 1], [[1, 4], bounds]))
    assert told(found, "identity-range") == [("error", "identity-range", 1)]


def test_an_identity_record_of_images_with_several_labels(tmp_path):
    found = checked(tmp_path, face([6, 8], [0, 0, 0, 1, 1], [[1, 3], [3, 6]]))
    assert ours(found) == [("warning", "identity-labels", 1)]
    [place] = the(found, "identity-labels").places
    assert (place.record, place.detail) == (7, "images 3 to 5 have the labels 0, 1")


@pytest.mark.parametrize(
    ("announced", "severity", "advice"),
    [
        ([5, 8], "warning", "loaders leave out the rest"),
        ([6, 7], "warning", "loaders leave out the rest"),
        ([7, 8], "error", "loaders of InsightFace look for records that are not there"),
    ],
)
def test_another_number_of_images_than_announced(tmp_path, announced, severity, advice):
    found = checked(tmp_path, face(announced, [0, 0, 0, 1, 1], [[1, 4], [4, 6]]))
    assert ours(found) == [(severity, "not-as-announced", 1)]
    finding = the(found, "not-as-announced")
    assert finding.what == (
        f"record 0 announces {announced[0] - 1} images and {announced[1] - announced[0]} identity "
        "records, and there are 5 images and 2 identity records"
    )
    assert finding.advice == advice


def test_two_files_laid_end_to_end(tmp_path):
    """Case C19."""
    found = checked(tmp_path, FACE + FACE)
    assert ours(found) == [("error", "concatenated", 2)]
    assert placed(the(found, "concatenated")) == [(0, 0), (8, 320)]
    assert "recordio index --combine" in the(found, "concatenated").advice


def test_the_second_of_two_is_looked_at_by_itself(tmp_path):
    found = checked(tmp_path, FACE + face([6, 8], [0, 0, 0, 1, 1], [[1, 3], [3, 6]]))
    assert told(found, "identity-labels") == [("warning", "identity-labels", 1)]
    assert placed(the(found, "identity-labels")) == [(15, 600)]


def test_an_image_that_is_lost_in_the_middle(tmp_path):
    """Numbers of records are then others than ids; ranges are of ids."""
    found = checked(tmp_path, flip_byte(FACE, 80))
    assert told(found, "identity-range", "identity-labels") == [("error", "identity-range", 1)]
    assert the(found, "identity-range").places[0].detail == "images 1 to 3"
    assert told(found, "records-missing") == [("error", "records-missing", 1)]


def test_an_image_without_bytes_among_the_images(tmp_path):
    payloads = [
        labelled([4, 5], 0),
        image(0, 1, b"8 bytes."),
        labelled([0, 0], 2),
        image(0, 3, b"8 bytes."),
        labelled([1, 4], 4),
    ]
    found = checked(tmp_path, b"".join(part(0, payload) for payload in payloads))
    assert ours(found) == []


def test_ids_that_are_all_0(tmp_path):
    """Then ranges are of the numbers of the records."""
    payloads = [
        labelled([4, 6], 0),
        *(image(label, 0, b"8 bytes.") for label in (0, 0, 1)),
        labelled([1, 3], 0),
        labelled([3, 4], 0),
    ]
    data = b"".join(part(0, payload) for payload in payloads)
    assert ours(checked(tmp_path, data)) == []


def test_labels_that_float32_does_not_hold(tmp_path):
    found = checked(tmp_path, face([4, 6], [3, 2**24, 25130988], [[1, 2], [2, 3]]))
    finding = the(found, "label-rounded")
    assert (finding.severity, finding.count) == ("warning", 2)
    assert [place.detail for place in finding.places] == ["label 16777216", "label 25130988"]
    data = face([3, 5], [3, 2**24 - 1], [[1, 2], [2, 3]])
    assert not told(checked(tmp_path, data), "label-rounded")


def test_numbers_that_float32_does_not_hold():
    """A file header of more than 2^24 records announces them rounded; that is no difference."""
    assert _float32(2**24 + 1) == 2**24
    assert _float32(17_507_701) == struct.unpack("<f", struct.pack("<f", 17_507_701))[0]


def test_that_numbers_may_be_rounded_is_said(tmp_path):
    found = checked(tmp_path, face([6, 2**24 + 2], [0, 0, 0, 1, 1], [[1, 4], [4, 6]]))
    assert told(found, "numbers-rounded") == [("warning", "numbers-rounded", 1)]


def test_other_files_have_no_layout(tmp_path):
    assert ours(checked(tmp_path, SIX)) == []
    assert ours(checked(tmp_path, part(0, labelled([1, 2], 0, b"x")) * 3)) == []


@pytest.mark.parametrize("cut", range(0, 320, 7))
def test_any_cut(tmp_path, cut):
    """Whatever is left, there is no exception, and what is missing is said."""
    found = checked(tmp_path, cut_tail(FACE, cut))
    missing = [("error", "records-missing", 1)] if cut >= 40 else []
    assert told(found, "records-missing") == missing


@pytest.mark.parametrize("at", range(0, 320, 3))
def test_any_damage(tmp_path, at):
    assert checked(tmp_path, flip_byte(FACE, at)).seconds > 0
