"""A data set over record files, held against the format in plain Python."""

import os

import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from items import plain, split, written
from samples import (
    SIX,
    THREE_INDEX,
    A,
    B,
    image,
    labelled,
    payload_lists,
    payloads,
    whole_file,
)

import rec2idx
from rec2idx import RecordDataset


def labels_of(dataset) -> list:
    return [header.label for header, _ in dataset]


@settings(max_examples=60)
@given(contents=st.one_of(payload_lists, st.lists(st.builds(
    labelled, st.lists(st.floats(width=32), max_size=3), st.integers(0, 9), payloads
), min_size=1)), indexed=st.booleans(), mapped=st.booleans(), data=st.data())  # fmt: skip
def test_items_are_those_of_the_file(tmp_path, contents, indexed, mapped, data):
    file = whole_file(contents)
    path = written(tmp_path, file, reference.index(file) if indexed else None)
    items = [split(payload) for payload in contents]
    count = len(items)
    with RecordDataset(path, images_only=False, mmap=mapped) as dataset:
        if count > 0 and items[0][0] is not None and items[0][0][0] == 2 and not items[0][1]:
            return  # maybe of InsightFace
        assert len(dataset) == count
        assert list(dataset.keys) == list(range(count))
        assert [plain(item) for item in dataset] == items
        indices = data.draw(st.lists(st.integers(-count, count - 1)))
        assert [plain(dataset[at]) for at in indices] == [items[at] for at in indices]
        assert [plain(item) for item in dataset.read_many(indices)] == [items[i] for i in indices]
        assert [plain(item) for item in dataset.__getitems__(indices)] == [
            items[at] for at in indices
        ]
        part = data.draw(st.slices(count))
        again = data.draw(st.slices(len(items[part])))
        view = dataset[part][again]
        assert [plain(item) for item in view] == items[part][again]
        assert [plain(view[at]) for at in range(len(view))] == items[part][again]
        assert list(view.keys) == list(range(count))[part][again]


@settings(max_examples=60)
@given(data=st.data(), contents=payload_lists)
def test_items_are_in_file_order(tmp_path, data, contents):
    """Any lines, in any order, some twice; keys are numbers in any order, or texts."""
    contents = [image(i, i, payload) for i, payload in enumerate(contents)]
    file = whole_file(contents)
    offsets = [offset for offset, _ in reference.read(file)[0]]
    lines = data.draw(st.lists(st.integers(0, len(contents) - 1), min_size=1))
    keys = data.draw(
        st.lists(st.integers(0, 30), min_size=len(lines), max_size=len(lines))
        | st.lists(st.sampled_from(["a", "b", "7", "-7", "007", "€"]), min_size=len(lines),
                   max_size=len(lines))
    )  # fmt: skip
    pairs = list(zip(keys, lines, strict=True))
    index = "".join(f"{key}\t{offsets[at]}\n" for key, at in pairs)
    path = written(tmp_path, file, index.encode())
    ordered = sorted(pairs, key=lambda pair: pair[1])  # which keeps the order of equal ones
    items = [split(contents[at]) for _, at in ordered]
    with RecordDataset(path) as dataset:
        assert [str(key) for key in dataset.keys] == [str(key) for key, _ in ordered]
        assert [plain(item) for item in dataset] == items
        assert [plain(dataset[at]) for at in range(len(dataset))] == items
        assert [plain(item) for item in dataset.read_many(range(len(lines)))] == items
        assert [plain(item) for item in dataset[::-1]] == items[::-1]
        assert [plain(item) for item in dataset[1::3]] == items[1::3]
        for key in set(keys):
            records = {at for other, at in pairs if other == key}
            for name in (key, str(key)):
                if len(records) == 1:
                    assert plain(dataset.get(name)) == split(contents[min(records)])
                else:
                    with pytest.raises(rec2idx.KeysError, match="several records have the key"):
                        dataset.get(name)
        for key in {*range(32), "c"} - {*keys, *map(as_number, keys)}:
            with pytest.raises(rec2idx.MissingKeyError, match="has the key"):
                dataset.get(key)


def as_number(key):
    return int(key) if str(key) == "7" else key


def test_an_index_is_given_or_beside_the_file_or_there_is_none(tmp_path):
    path = written(tmp_path, SIX)
    other = tmp_path / "other.idx"
    other.write_bytes(b"12\t88\n10\t0\n")
    with RecordDataset(path, other) as dataset:
        assert list(dataset.keys) == [10, 12]
        assert labels_of(dataset) == [0, 2]
        assert labels_of(map(dataset.get, (12, 10))) == [2, 0]  # the order of the index
    with RecordDataset(path) as dataset:
        assert dataset.keys == range(6)
    other.rename(tmp_path / "a.idx")
    with RecordDataset(os.fsencode(path)) as dataset:
        assert labels_of(dataset) == [0, 2]


def test_several_files(tmp_path):
    """Each with an index or none; keys run on where there is none."""
    one, two = written(tmp_path, A, name="one"), written(tmp_path, B, name="two")
    empty = written(tmp_path, b"", name="empty")
    with RecordDataset([one, empty, two]) as dataset:
        assert labels_of(dataset) == [0, 1, 2, 3, 4, 5]
        assert dataset.keys == range(6)
        assert dataset.get(4)[0].label == 4
        assert [plain(item) for item in dataset.read_many([5, 0, 4, 1])] == [
            split(image(i, i, bytes([i]) * 12)) for i in (5, 0, 4, 1)
        ]
    written(tmp_path, A, b"9\t44\n", name="one")
    with RecordDataset([one, two]) as dataset:
        assert labels_of(dataset) == [1, 3, 4, 5]
        assert list(dataset.keys) == [9, 1, 2, 3]
    written(tmp_path, B, b"x\t88\n", name="two")
    with RecordDataset([one, two]) as dataset:
        assert list(dataset.keys) == ["9", "x"]
        assert labels_of([dataset.get(9), dataset.get("9"), dataset.get("x")]) == [1, 1, 5]


def test_one_index_over_several_files(tmp_path):
    one, two = written(tmp_path, A, b"not read", name="one"), written(tmp_path, B, name="two")
    rec2idx.combine_index([one, two], tmp_path / "all.idx")
    with RecordDataset([one, two], tmp_path / "all.idx") as dataset:
        assert labels_of(dataset) == [0, 1, 2, 3, 4, 5]
        assert dataset.get(5)[0].label == 5
    (tmp_path / "all.idx").write_bytes(b"1\t220\n2\t132\n3\t88\n")
    with RecordDataset([one, two], tmp_path / "all.idx", labels=[5.0, 2.0]) as dataset:
        assert labels_of(dataset) == [2, 5]
        assert list(dataset.keys) == [3, 1]
        assert dataset.left_out == 1


@pytest.mark.parametrize("indexes", [(THREE_INDEX, THREE_INDEX), (b"x\t0\n0\t44\n", b"0\t0\n")])
def test_a_key_in_the_indexes_of_two_files_is_refused(tmp_path, indexes):
    paths = [
        written(tmp_path, data, index, name)
        for data, index, name in zip((A, B), indexes, "ab", strict=True)
    ]
    with (
        RecordDataset(paths) as dataset,
        pytest.raises(rec2idx.KeysError, match="over all of them"),
    ):
        dataset.get(0)


MIXED = [
    image(1, 0, b"image"),
    labelled([2, 7], 1, b"image"),
    labelled([1, 3], 2),
    image(3, 3, b""),
    b"short",
    labelled([9, 9], 4)[:-1],
    image(1, 5, b"i"),
]


@pytest.mark.parametrize("index", [None, reference.index(whole_file(MIXED))])
def test_images_only_and_labels(tmp_path, index):
    path = written(tmp_path, whole_file(MIXED), index)

    def keys(**options):
        with RecordDataset(path, **options) as dataset:
            assert [plain(item) for item in dataset] == [split(MIXED[at]) for at in dataset.keys]
            assert all(plain(dataset.get(key)) == split(MIXED[key]) for key in dataset.keys)
            assert dataset.left_out == len(MIXED) - len(dataset)
            return list(dataset.keys)

    assert keys() == [0, 1, 2, 3, 4, 5, 6]
    assert keys(images_only=True) == [0, 1, 6]
    assert keys(labels=[1]) == [0, 2, 6]
    assert keys(labels=range(2, 9)) == [1, 3]
    assert keys(labels={1.5}) == []
    assert keys(labels=[1], images_only=True) == [0, 6]


def test_a_long_range_of_labels(tmp_path):
    """It is not looked through: that would take days."""
    contents = [image(label, 0, b"image") for label in (0.5, 3, -1, float("nan"), 1e30)]
    with RecordDataset(written(tmp_path, whole_file(contents)), labels=range(10**15)) as dataset:
        assert [header.label for header, _ in dataset] == [3.0]


def test_images_only_of_no_images_is_refused(tmp_path):
    path = written(tmp_path, whole_file([b"text", labelled([1], 0)]))
    with pytest.raises(rec2idx.NoImageError):
        RecordDataset(path, images_only=True)


@settings(max_examples=60)
@given(
    chosen=st.lists(st.integers(0, 6), min_size=1), labels=st.sets(st.integers(1, 3)),
    images_only=st.booleans(),
)  # fmt: skip
def test_labels_of_any_index(tmp_path, chosen, labels, images_only):
    file = whole_file(MIXED)
    offsets = [offset for offset, _ in reference.read(file)[0]]
    index = "".join(f"{at}\t{offsets[at]}\n" for at in chosen).encode()
    first = {0: 1, 1: 2, 2: 1, 3: 3, 6: 1}
    kept = [
        at
        for at in sorted(chosen)
        if first.get(at) in labels and not (images_only and at in (2, 3))
    ]
    path = written(tmp_path, file, index)
    if images_only and not kept:
        return
    with RecordDataset(path, labels=labels, images_only=images_only) as dataset:
        assert list(dataset.keys) == kept
        assert dataset.left_out == len(chosen) - len(kept)
        assert [plain(item) for item in dataset] == [split(MIXED[at]) for at in kept]


@pytest.mark.parametrize("mapped", [False, True])
def test_zeros_that_are_too_short_for_a_header_are_a_payload(tmp_path, mapped):
    contents = [bytes(size) for size in range(26)] + [image(1, 1, b"i")] * 3
    with RecordDataset(written(tmp_path, whole_file(contents)), mmap=mapped) as dataset:
        items = [split(payload) for payload in contents]
        assert [plain(item) for item in dataset] == items
        assert [plain(item) for item in dataset.read_many(range(len(items)))] == items
        assert [plain(dataset[at]) for at in range(len(items))] == items


def test_decode_and_transform(tmp_path):
    path = written(tmp_path, SIX)
    with RecordDataset(path, decode=len) as dataset:
        assert [dataset[1][1], dataset.get(1)[1], dataset.read_many([1])[0][1]] == [12, 12, 12]
        assert [item[1] for item in dataset] == [12] * 6
    with RecordDataset(path, transform=lambda header, payload: (header.id, payload)) as dataset:
        assert dataset[-1] == dataset[4:][1] == (5, b"\5" * 12)
    with RecordDataset(path, decode=len, transform=lambda header, size: (header.id, size)) as it:
        assert list(it[:2]) == [(0, 12), (1, 12)]


def test_mapped_payloads_are_views_that_outlive_the_data_set(tmp_path):
    path = written(tmp_path, SIX + whole_file([reference.MAGIC]))
    with RecordDataset(path, mmap=True) as dataset:
        payloads = [payload for _, payload in dataset] + [
            dataset[1][1],
            dataset.read_many([2])[0][1],
        ]
    assert [type(payload) for payload in payloads[5:]] == [
        memoryview,
        bytes,
        memoryview,
        memoryview,
    ]
    assert all(view.readonly for view in payloads if isinstance(view, memoryview))
    assert bytes(payloads[5]) == b"\5" * 12


@pytest.mark.parametrize("index", [6, -7, 1 << 70])
def test_an_item_that_is_not_there(tmp_path, index):
    with RecordDataset(written(tmp_path, SIX)) as dataset:
        for call in (dataset.__getitem__, lambda at: dataset.read_many([0, at])):
            with pytest.raises(IndexError):
                call(index)
        with pytest.raises(TypeError):
            dataset["0"]
        with pytest.raises(rec2idx.MissingKeyError, match="99") as caught:
            dataset.get(99)
        assert isinstance(caught.value, KeyError)
        with pytest.raises(rec2idx.MissingKeyError):
            dataset[:3].get(3)


def test_arguments_that_make_no_sense(tmp_path):
    with pytest.raises(ValueError, match="no record files"):
        RecordDataset([])
    with pytest.raises(FileNotFoundError):
        RecordDataset(tmp_path / "missing.rec")
    with pytest.raises(FileNotFoundError):
        RecordDataset(written(tmp_path, SIX), tmp_path / "missing.idx")
    with pytest.raises(OSError, match="at any place"):
        RecordDataset("/dev/zero")
    assert len(RecordDataset(written(tmp_path, b""))) == 0
