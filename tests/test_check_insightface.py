"""What a check finds in the layout of InsightFace's files."""

import math
import random
import struct
from array import array

import pytest
from checking import checked, placed, the, told
from damage import cut_tail, flip_byte
from reference import part
from samples import FACE, SIX, image, labelled

import rec2idx
from rec2idx import _tally
from rec2idx.checks.insightface import Layout, _float32
from rec2idx.findings import Findings
from rec2idx.survey import Survey

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


def test_several_files_that_are_each_wrong(tmp_path):
    """What each announces, and what it has, stands in the places of one finding."""
    wrong = face([6, 9], [0, 0, 0, 1, 1], [[1, 4], [4, 6], [2, 3]])
    found = checked(tmp_path, 5 * (face([9, 20], [0], [[1, 2]]) + wrong + face([2, 3], [0], [])))
    missing = the(found, "records-missing")
    assert (missing.count, missing.what) == (
        10,
        "a file header announces more records than are whole",
    )
    assert missing.places[0].detail == (
        "it announces 20, and 3 are whole: 1 images and 1 identity records"
    )
    assert placed(missing)[:2] == [(0, 0), (12, 480)]
    count = the(found, "identity-count")
    assert (count.count, count.what) == (
        5,
        "there are more or fewer identity records than classes",
    )
    assert count.places[0].detail == "3 identity records for 2 classes"
    found = checked(tmp_path, face([3, 4], [0], [[1, 2], [1, 2]]) + face([3, 3], [0, 1], [[1, 2]]))
    [error, warning] = [one for one in found.findings if one.code == "not-as-announced"]
    assert (
        error.what
        == warning.what
        == ("a file header announces other numbers of images or identity records than there are")
    )
    assert [one.places[0].detail for one in (error, warning)] == [
        "it announces 2 images and 1 identity records, and there are 1 images and 2 identity "
        "records",
        "it announces 2 images and 0 identity records, and there are 2 images and 1 identity "
        "records",
    ]


def test_the_first_1000_of_many_files(tmp_path):
    found = checked(tmp_path, 1500 * face([3, 3], [0], []))
    assert ours(found) == [("error", "concatenated", 1500), ("error", "records-missing", 1000)]
    assert the(found, "concatenated").what.endswith("; the first 1000 are looked at")
    found = checked(tmp_path, 1000 * face([3, 3], [0], []))
    assert ours(found) == [("error", "concatenated", 1000), ("error", "records-missing", 1000)]
    assert the(found, "concatenated").what.endswith("laid end to end")


def laid_out(labels: list[float], ids: list[int], images: int) -> tuple:
    """The findings for a file of these pairs of labels: a header, images, identity records."""
    traits = bytes([_tally.NO_IMAGE]) + bytes(images)
    traits += bytes([_tally.NO_IMAGE]) * (len(ids) - len(traits))
    offsets = array("q", range(0, 40 * len(ids), 40))
    survey = Survey("a.rec", 40 * len(ids), offsets, array("Q", ids), array("B", traits))
    findings = Findings()
    Layout(array("f", labels)).add_to(findings, survey)
    return findings.all()


def test_many_identity_records_of_all_images():
    """Ranges overlap: to look at the images of each would be to look at 3.6 * 10^9."""
    images = identities = 60_000
    behind = images + 1
    for last, several in ((0, 0), (1, identities)):
        labels = [behind, behind + identities]
        labels += [0, math.nan] * (images - 1) + [last, math.nan]
        labels += [1, behind] * identities
        found = laid_out(labels, range(behind + identities), images)
        told = {finding.code: finding for finding in found}
        assert told["identity-count"].count == 1
        assert ("identity-labels" in told) == bool(several)
        if several:
            finding = told["identity-labels"]
            assert finding.count == several
            assert placed(finding) == [(behind + n, 40 * (behind + n)) for n in range(3)]
            assert finding.places[0].detail == "images 1 to 60000 have the labels 0, 1"


def test_many_records_whose_id_is_0():
    """To look for an id that is none for each of them would be to look at 2 * 10^10."""
    records = 150_000
    labels = [1, records] + [1, 1] * (records - 1)
    found = laid_out(labels, [0] * records, 0)
    assert found == ()
    found = laid_out(labels, [0] * (records - 1) + [7], 0)
    assert [(finding.code, finding.count) for finding in found] == [
        ("concatenated", records - 1),
        ("records-missing", 1),
    ]


@pytest.mark.parametrize("seed", range(30))
def test_ranges_as_by_looking_at_each_image(tmp_path, seed):
    rng = random.Random(seed)
    labels = [rng.choice([0, 0, 0, 1, 2]) for _ in range(rng.randrange(12))]
    ranges = [[rng.randrange(14), rng.randrange(14)] for _ in range(12)]
    found = checked(tmp_path, face([len(labels) + 1, len(labels) + 13], labels, ranges))
    there = set(range(1, len(labels) + 1))
    outside = [a > b or not there.issuperset(range(a, b)) for a, b in ranges]
    several = [
        len(set(labels[a - 1 : b - 1])) > 1
        for (a, b), away in zip(ranges, outside, strict=True)
        if not away and a < b
    ]
    counts = {finding.code: finding.count for finding in found.findings}
    assert counts.get("identity-range", 0) == sum(outside)
    assert counts.get("identity-labels", 0) == sum(several)


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
