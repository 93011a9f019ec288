"""A data set over InsightFace's files: the images alone, their labels, and several such files."""

import struct

import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from items import plain, split, written
from samples import FACE, SIX, image, labelled, whole_file

import rec2idx
from rec2idx import RecordDataset
from rec2idx.datasets.faces import FileHeader, as_float32

FACE_INDEX = reference.index(FACE)
LINES = FACE_INDEX.splitlines(keepends=True)


def faces(classes: list[int], behind: bool = False, first_key: int = 1) -> list[bytes]:
    """The payloads of an InsightFace file with so many images of each identity.

    As ``face2rec2.py`` writes it, the file header comes behind the images, which have two labels.
    """
    images, people = [], []
    for label, count in enumerate(classes):
        people.append((1 + len(images), 1 + len(images) + count))
        for _ in range(count):
            number = 1 + len(images)
            picture = b"image %d" % number
            images.append(
                labelled([label, 1], number, picture) if behind else image(label, number, picture)
            )
    stop = 1 + len(images)
    header = labelled([stop, stop + len(people)], 0)
    identities = [labelled(list(person), stop + at) for at, person in enumerate(people)]
    return [*images, header, *identities] if behind else [header, *images, *identities]


def by_id(contents: list[bytes]) -> bytes:
    """An index with the ids as keys, as the tools of InsightFace write it."""
    found = reference.read(whole_file(contents))[0]
    ids = [struct.unpack_from("<Q", payload, 8)[0] for _, payload in found]
    return "".join(f"{key}\t{at}\n" for key, (at, _) in zip(ids, found, strict=True)).encode()


def labels_of(dataset) -> list:
    return [header.label for header, _ in dataset]


@pytest.mark.parametrize(
    ("index", "keys"),
    [
        (None, [1, 2, 3, 4, 5]),
        (FACE_INDEX, [1, 2, 3, 4, 5]),
        (b"".join(LINES[::-1]), [1, 2, 3, 4, 5]),
        (b"".join(LINES[1:6]), [1, 2, 3, 4, 5]),  # images only already
        (b"".join(LINES[2:]), [2, 3, 4, 5]),
        (b"".join(LINES[:4] + LINES[5:]), [1, 2, 3, 5]),
        (FACE_INDEX.replace(b"0\t0", b"zero\t0"), ["1", "2", "3", "4", "5"]),
        (b"".join(LINES[:4]), [1, 2, 3]),
        (b"".join(LINES + LINES[2:3]), [1, 2, 2, 3, 4, 5]),
        # As many lines as there are records, but one is there twice, and one is not.
        (b"".join(LINES[:3] + LINES[4:] + LINES[2:3]), [1, 2, 2, 4, 5]),
        (b"".join([LINES[0], b"9" + LINES[6][1:], *LINES[2:6], LINES[1]]), [1, 2, 3, 4, 5]),
    ],
)
def test_the_images_with_one_number_for_a_label(tmp_path, index, keys):
    path = written(tmp_path, FACE, index)
    with RecordDataset(path) as dataset:
        assert list(dataset.keys) == keys
        assert labels_of(dataset) == [[0, 0, 0, 1, 1][int(key) - 1] for key in keys]
        assert [header.id for header, _ in dataset] == list(map(int, keys))
        assert {payload for _, payload in dataset} == {b"8 bytes."}
        assert dataset.get(2)[0].id == 2
        assert dataset.classes == 2
        assert dataset.left_out == (8 if index is None else index.count(b"\n")) - len(keys)
        with pytest.raises(rec2idx.MissingKeyError):
            dataset.get(7)
    with RecordDataset(path, images_only=True) as dataset:
        assert list(dataset.keys) == keys


@settings(max_examples=40)
@given(
    classes=st.lists(st.integers(1, 5), min_size=1, max_size=5),
    behind=st.booleans(),
    kind=st.sampled_from(["none", "ids", "numbers", "ids of images", "numbers of images"]),
    labels=st.none() | st.sets(st.integers(0, 5)),
)  # fmt: skip
def test_the_answer_is_the_same_with_any_index_and_none(tmp_path, classes, behind, kind, labels):
    """Also where the file header comes behind the images, and is not key 0."""
    contents = faces(classes, behind)
    file = whole_file(contents)
    index = {"none": None, "ids": by_id(contents)}.get(kind.split(" of ")[0], reference.index(file))
    if "of images" in kind:
        start = 0 if behind else 1
        index = b"".join(index.splitlines(keepends=True)[start : start + sum(classes)])
    with RecordDataset(written(tmp_path, file, index), labels=labels) as dataset:
        expected = [
            ((2 if behind else 0), float(label), number)
            for number, label in enumerate(
                (label for label, count in enumerate(classes) for _ in range(count)), 1
            )
            if labels is None or label in labels
        ]
        assert [(header.flag, header.label, header.id) for header, _ in dataset] == expected
        assert [payload for _, payload in dataset] == [b"image %d" % at for *_, at in expected]
        assert dataset.classes == len(classes)
        listed = len(contents) if index is None else index.count(b"\n")
        assert dataset.left_out == listed - len(expected)


def test_two_labels_an_image(tmp_path):
    """Of which the loader takes the first."""
    contents = [labelled([3, 4], 0), labelled([8, 1], 1, b"i"), image(9, 2, b"i"),
                labelled([1, 3], 3)]  # fmt: skip
    path = written(tmp_path, whole_file(contents))
    with RecordDataset(path) as dataset:
        assert [tuple(header) for header, _ in dataset] == [(2, 8.0, 1, 0), (0, 9.0, 2, 0)]
        assert type(dataset[0][0].label) is float
    with RecordDataset(path, labels=[8]) as dataset:
        assert labels_of(dataset) == [8.0]


@pytest.mark.parametrize("first", [[2.5, 4], [1, 4], [3, 2], [float("nan"), 3], [3, 4, 5]])
def test_a_first_record_that_announces_nothing_is_a_record(tmp_path, first):
    contents = [labelled(first, 0), image(9, 1, b"i"), labelled([1, 2], 2)]
    with RecordDataset(written(tmp_path, whole_file(contents))) as dataset:
        assert [plain(item) for item in dataset] == [split(payload) for payload in contents]
        assert dataset.classes is None


@pytest.mark.parametrize("index", [True, False])
def test_images_of_two_labels_before_a_record_without_an_image_are_records(tmp_path, index):
    """Whose id is not 0: it is no file header."""
    contents = [labelled([3, 1], 1, b"i"), labelled([4, 1], 2, b"i"), labelled([3, 4], 3)]
    file = whole_file(contents)
    path = written(tmp_path, file, reference.index(file) if index else None)
    with RecordDataset(path) as dataset:
        assert [plain(item) for item in dataset] == [split(payload) for payload in contents]


def test_the_key_0_is_the_file_header_wherever_it_is(tmp_path):
    """As the loader of InsightFace finds it."""
    contents = faces([2, 2])
    contents = [*contents[1:3], contents[0], *contents[3:]]
    path = written(tmp_path, whole_file(contents), by_id(contents))
    with RecordDataset(path) as dataset:
        assert list(dataset.keys) == [1, 2, 3, 4]
        assert labels_of(dataset) == [0, 0, 1, 1]
        assert (dataset.classes, dataset.left_out) == (2, 3)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("behind", [True, False])
def test_classes_of_several_files_are_told_apart(tmp_path, indexed, behind):
    """Case C19: each file numbers its classes from 0."""
    paths = []
    for name, classes in (("a", [3, 2]), ("b", [1, 1, 2]), ("c", [1])):
        contents = faces(classes, behind)
        index = by_id(contents) if indexed else None
        paths.append(written(tmp_path, whole_file(contents), index, name))
    empty = written(tmp_path, b"", name="empty")
    with RecordDataset([paths[0], empty, *paths[1:]]) as dataset:
        assert labels_of(dataset) == [0, 0, 0, 1, 1, 2, 3, 4, 4, 5]
        assert [header.label for header, _ in dataset.read_many(range(10))] == labels_of(dataset)
        assert [dataset[at][0].label for at in range(10)] == labels_of(dataset)
        assert (dataset.classes, dataset.left_out) == (6, 9)
    with RecordDataset(paths, labels=[1, 3, 4, 5]) as dataset:
        assert labels_of(dataset) == [1, 1, 3, 4, 4, 5]
        assert dataset.classes == 6
    rec2idx.combine_index(paths, tmp_path / "all.idx")
    with RecordDataset(paths, tmp_path / "all.idx") as dataset:
        assert labels_of(dataset) == [0, 0, 0, 1, 1, 2, 3, 4, 4, 5]
        assert dataset.classes == 6


def test_classes_stay_apart_where_a_file_header_is_rounded(tmp_path):
    """It may announce two identities where there are four: so many numbers are kept free."""
    contents = faces([2, 2])
    contents[0] = labelled([1 << 24, (1 << 24) + 2], 0)
    contents[4] = image(3, 4, b"i")
    file = whole_file(contents)
    lines = reference.index(file).splitlines(keepends=True)
    paths = [written(tmp_path, file, b"".join(lines[1:5]), name) for name in "ab"]
    with RecordDataset(paths[0]) as dataset:
        assert (labels_of(dataset), dataset.classes) == ([0, 0, 1, 3], 2)
    with RecordDataset(paths) as dataset:
        assert (labels_of(dataset), dataset.classes) == ([0, 0, 1, 3, 4, 4, 5, 7], 8)


def test_two_plain_files_keep_their_labels(tmp_path):
    one, two = written(tmp_path, SIX, name="one"), written(tmp_path, SIX, name="two")
    with RecordDataset([one, two]) as dataset:
        assert labels_of(dataset) == [0, 1, 2, 3, 4, 5] * 2
        assert dataset.keys == range(12)
        assert (dataset.classes, dataset.left_out) == (None, 0)
    both = written(tmp_path, SIX + SIX, name="both")
    with RecordDataset(both) as dataset:
        assert labels_of(dataset) == [0, 1, 2, 3, 4, 5] * 2


def test_a_file_of_insightface_and_another_are_refused(tmp_path):
    face, plain_file = written(tmp_path, FACE, name="face"), written(tmp_path, SIX, name="plain")
    for paths in ([face, plain_file], [plain_file, face, face]):
        with pytest.raises(rec2idx.LabelsError, match="make a data set of each") as caught:
            RecordDataset(paths)
        assert caught.value.path == plain_file


def test_a_label_that_is_no_class_is_refused_among_several_files(tmp_path):
    """In a file by itself, it does no harm."""
    contents = faces([1, 1])
    contents[2] = image(2, 2, b"i")
    one = written(tmp_path, whole_file(contents), name="one")
    two = written(tmp_path, FACE, name="two")
    with RecordDataset(one) as dataset:
        assert labels_of(dataset) == [0, 2]
    with RecordDataset([one, two]) as dataset:
        assert dataset[0][0].label == 0
        for call in (lambda: dataset[1], lambda: dataset.read_many([1]), lambda: list(dataset)):
            with pytest.raises(rec2idx.LabelsError, match="class in another file") as caught:
                call()
            error = caught.value
            assert (error.path, error.key, error.offset) == (one, 2, 80)
            assert (error.expected[:8], error.found) == ("one of t", "2.0")


def test_a_file_header_without_identities_is_refused_among_several_files(tmp_path):
    contents = [labelled([3, 3], 0), image(0, 1, b"i"), image(1, 2, b"i")]
    one = written(tmp_path, whole_file(contents), name="one")
    with RecordDataset(one) as dataset:
        assert (labels_of(dataset), dataset.classes) == ([0, 1], None)
    with pytest.raises(rec2idx.LabelsError, match="no identity records"):
        RecordDataset([one, one])


@pytest.mark.parametrize("index", ["none", "all", "images"])
@pytest.mark.parametrize("behind", [(False, False), (True, True), (False, True), (True, False)])
@pytest.mark.parametrize("options", [{}, {"labels": range(9)}])
def test_two_files_laid_end_to_end_are_refused(tmp_path, index, behind, options):
    """Their classes have the same numbers; the second file header is told."""
    if index == "images" and behind == (True, False):
        return  # neither file header is looked at: nothing tells it from another file
    one, two = faces([3, 2], behind[0]), faces([2, 2], behind[1])
    file = whole_file(one + two)
    lines = None
    if index != "none":
        lines = reference.index(file)
    if index == "images":
        rec2idx.create_index(written(tmp_path, file), tmp_path / "i", images_only=True)
        lines = (tmp_path / "i").read_bytes()
    path = written(tmp_path, file, lines)
    with pytest.raises(rec2idx.LabelsError, match="not their concatenation") as caught:
        RecordDataset(path, **options)
    assert caught.value.path == path
    if index != "images":
        starts = [at for at, payload in reference.read(file)[0] if split(payload)[0][2] == 0]
        assert len(starts) == 2
        assert f"two file headers of InsightFace, at bytes {starts[0]} and {starts[1]}" in str(
            caught.value
        )
        assert (caught.value.expected, caught.value.found) == ("8 records at most", "15")


@pytest.mark.parametrize("options", [{}, {"labels": [0, 1]}])
def test_an_index_of_what_is_announced_is_taken(tmp_path, options):
    """Though another file was appended."""
    one = faces([3, 2])
    path = written(tmp_path, whole_file(one + faces([4])), by_id(one))
    with RecordDataset(path, **options) as dataset:
        assert labels_of(dataset) == [0, 0, 0, 1, 1]
        assert (dataset.classes, dataset.left_out) == (2, 3)


def test_numbers_that_float32_does_not_hold():
    """Labels of two files stay apart: as many numbers are kept free as may be rounded away."""
    for images, people in ((17_091_657, 360_232), (16_777_215, 1), (40_000_001, 3)):
        header = FileHeader(0, as_float32(1 + images), as_float32(1 + images + people))
        assert people <= header.classes + header.slack <= people + 2 * max(header.slack, 1)
    assert FileHeader(0, 6, 8).slack == FileHeader(0, 6, (1 << 24) - 1).slack == 0
    assert FileHeader(0, 6, 1 << 24).slack == 2  # it may stand for the number behind it
    assert FileHeader(0, 6, (1 << 25) + 4).slack == 4


def boxes(count: int, objects: int = 5, empty: tuple[int, ...] = (0,)) -> list[bytes]:
    """The payloads of a file for object detection, as ``im2rec`` packs it.

    Its labels begin with the number of labels before the objects, and of those of each object. Some
    pictures have no objects, and the first one, a file that was empty, no bytes either.
    """
    return [
        labelled([2, 5, *([] if at in empty else [1, 0.1, 0.1, 0.5, 0.5] * objects)], at, b"jpeg")
        if at
        else labelled([2, 5], 0)
        for at in range(count)
    ]


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("options", [{}, {"labels": [2]}])
@pytest.mark.parametrize(
    "contents",
    [
        boxes(5),
        boxes(5, objects=1),
        boxes(6),
        boxes(9, empty=(0, 1, 2, 3, 4, 5, 6)),
        # The record that looks like a file header has the key 0, and is not the first one.
        [*boxes(5)[1:], boxes(5)[0]],
        [*boxes(5, empty=(0, 1))[1:], boxes(5)[0]],  # and the first one has two labels
    ],
)
def test_pictures_with_boxes_are_no_faces(tmp_path, contents, options, index):
    file = whole_file(contents)
    path = written(tmp_path, file, by_id(contents) if index else None)
    with RecordDataset(path, **options) as dataset:
        assert [plain(item) for item in dataset] == [split(payload) for payload in contents]
        assert (dataset.classes, dataset.left_out) == (None, 0)
