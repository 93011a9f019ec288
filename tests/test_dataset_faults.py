"""A data set over damaged files, and with indexes that are wrong."""

import os
import pickle
import random
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
import reference
from items import plain, split, written
from samples import SIX, SIX_INDEX, image, whole_file

import rec2idx
from rec2idx import RecordDataset
from rec2idx.recordio import MXIndexedRecordIO


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (b"", "it is empty"),
        (b"\n", "it is empty"),
        (b"0\t0\n# x\n1\t44\n", "line 2 is '# x'"),
        (b"0\t0\n\n1\n", "line 3 is '1'"),
        (b"0\t0\n1\t-44\n", "line 2 is"),
        (SIX, "not an index, but a RecordIO file"),
        (SIX_INDEX + b"9\t264\n", "line 7 has key 9 and offset 264"),
        (b"x\t18446744073709551615\n", "line 1 has key 'x' and offset 18446744073709551615"),
    ],
)
def test_an_index_that_is_none_is_refused_at_once(tmp_path, index, message):
    path = written(tmp_path, SIX, index)
    with pytest.raises(rec2idx.BadIndexError, match=message) as caught:
        RecordDataset(path)
    assert caught.value.path == str(tmp_path / "a.idx")


@pytest.mark.parametrize("options", [{"images_only": True}, {"labels": range(9)}])
def test_a_selection_from_a_wrong_index_is_refused(tmp_path, options):
    path = written(tmp_path, SIX, b"\n0\t0\n1\t48\n")
    with pytest.raises(rec2idx.BadIndexError, match="line 3 has key 1 and offset 48") as caught:
        RecordDataset(path, **options)
    assert caught.value.offset == 48


MAGIC_AND_MORE = reference.MAGIC + b"\xff\xff\xff\x1f"  # a part of 2^29 - 1 bytes


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize(
    ("data", "offset", "expected"),
    [
        (SIX, 48, "0xced7230a"),
        (SIX, 262, "the end of the file"),
        (SIX[:220] + reference.part(0, b"12345")[:-1], 220, None),
        (SIX[:-8], 220, "a part of 44 bytes"),
        (SIX + reference.part(1, b"x"), 264, None),
        (SIX + reference.part(3, b"x"), 264, "a part with cflag 0 or 1"),
        (SIX + reference.part(5, b"x"), 264, "0 to 3"),
        (SIX + reference.part(1, b"x") + SIX, 264, "a part with cflag 2 or 3"),
        (MAGIC_AND_MORE + SIX, 0, "a part of 536870919 bytes"),
        (b"\0" * 44 + SIX, 0, "the magic 0a 23 d7 ce"),
    ],
)
def test_no_whole_record_at_an_offset(tmp_path, data, offset, expected, mapped):
    path = written(tmp_path, data, f"cat\t{offset}\n".encode())
    reason, _, at = reference.read(data[offset:])[1].args
    with RecordDataset(path, mmap=mapped) as dataset:
        for call in (
            lambda: dataset[0],
            lambda: dataset.get("cat"),
            lambda: dataset.read_many([0]),
            lambda: list(dataset),
        ):
            with pytest.raises(rec2idx.DamagedRecordError) as caught:
                call()
            error = caught.value
            assert (error.reason, error.path, error.key) == (reason, path, "cat")
            assert (error.record_offset, error.offset) == (offset, offset + at)
            assert expected is None or error.expected == expected
            assert error.found is not None
            assert f"key 'cat' at byte {error.offset}: {error.what}" in str(error)


def test_damage_without_an_index_is_an_error_at_once(tmp_path):
    with pytest.raises(rec2idx.TruncatedError) as caught:
        RecordDataset(written(tmp_path, SIX[:-8]))
    assert caught.value.offset == 220
    with pytest.raises(rec2idx.NotRecordIOError):
        RecordDataset(written(tmp_path, b"text, no records"))


def test_an_entry_inside_a_record_does_not_shorten_it(tmp_path):
    path = written(tmp_path, SIX, b"0\t0\n1\t20\n2\t44\n")
    with RecordDataset(path) as dataset:
        assert plain(dataset[0]) == split(image(0, 0, bytes(12)))
        assert plain(dataset.read_many([0, 2])[1]) == split(image(1, 1, b"\1" * 12))


def test_large_records_and_far_neighbours(tmp_path):
    """Longer than what is read at first, and with much behind them that no line names."""
    sizes = [10, 300_000, 1_500_000, 70_000, 5, 400_000]
    contents = [image(i, i, random.Random(i).randbytes(n)) for i, n in enumerate(sizes)]
    file = whole_file([*contents, reference.MAGIC * 5_000])
    lines = reference.index(file).splitlines(keepends=True)
    for index in (lines, lines[::2], lines[::-1], lines[:1], lines[1::3]):
        path = written(tmp_path, file, b"".join(index))
        with RecordDataset(path) as dataset:
            expected = [split(contents[key]) for key in dataset.keys if key < 6]
            got = [plain(item) for key, item in zip(dataset.keys, dataset, strict=True) if key < 6]
            assert got == expected
            many = dataset.read_many(range(len(dataset)))
            assert many == list(dataset)
            assert list(map(dataset.__getitem__, range(len(dataset)))) == many


def test_hostile_offsets_and_lengths_take_no_memory(tmp_path):
    """A file of a gigabyte of nothing, and a length that is not there."""
    path = written(tmp_path, reference.MAGIC + b"\xff\xff\xff\x1f", b"0\t0\n1\t536870000\n")
    os.truncate(path, 536_870_008)
    with RecordDataset(path) as dataset:
        tracemalloc.start()
        for at in (0, 1):
            with pytest.raises(rec2idx.DamagedRecordError):
                dataset[at]
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 5_000_000


def test_a_file_that_was_replaced_is_not_read(tmp_path):
    path = written(tmp_path, SIX)
    dataset = RecordDataset(path)
    Path(path).write_bytes(SIX + SIX)
    with pytest.raises(rec2idx.FileChangedError):
        dataset[0]


def test_a_file_that_was_touched_is_not_read(tmp_path):
    path = written(tmp_path, SIX)
    dataset = RecordDataset(path)
    os.utime(path, (1, 1))
    with pytest.raises(rec2idx.FileChangedError) as caught:
        dataset[0]
    assert str(caught.value) == (
        f"{path}: the file was changed or replaced after the data set was opened: expected 264 "
        "bytes, found 264, or modified at another time; open the data set again"
    )


@pytest.mark.parametrize(
    ("head", "error"),
    [
        (b"\1\2\3\4", rec2idx.DamagedRecordError),
        (bytes(4), rec2idx.DamagedRecordError),
        (b"\x1f\x8b\x08\0", rec2idx.NotRecordIOError),
    ],
)
def test_a_wrong_magic_at_the_start_is_the_same_for_all_who_read_by_keys(tmp_path, head, error):
    path = written(tmp_path, head + SIX[4:], b"0\t0\n1\t44\n")
    with (
        RecordDataset(path) as dataset,
        MXIndexedRecordIO(f"{path[:-4]}.idx", path, "r") as reader,
    ):
        for call in (lambda: dataset.get(0), lambda: reader.read_idx(0)):
            with pytest.raises(error) as caught:
                call()
            assert type(caught.value) is error
            assert (caught.value.path, caught.value.key, caught.value.offset) == (path, 0, 0)
            assert caught.value.record is None
        assert reader.read_idx(1) == SIX[52:88]
        assert dataset.get(1)[1] == SIX[76:88]


def test_nothing_is_said_when_python_ends(tmp_path):
    """Where a file is still open when the names of its module are gone, as Python does that."""
    path = written(tmp_path, SIX)
    script = (
        "import sys, rec2idx, rec2idx.datasets.open_files as module\n"
        "dataset = rec2idx.RecordDataset(sys.argv[1])\n"
        "print(len(dataset[0][1]))\n"
        "vars(module).update(dict.fromkeys(vars(module)))\n"
        "del dataset\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"12\n", b"")


def test_a_closed_data_set_reads_nothing(tmp_path):
    with RecordDataset(written(tmp_path, SIX)) as dataset:
        view = dataset[1:3]
        before = len(os.listdir("/dev/fd"))
        assert view[0][0].label == 1
        assert len(os.listdir("/dev/fd")) == before + 1
    assert len(os.listdir("/dev/fd")) == before
    for closed in (dataset, view, pickle.loads(pickle.dumps(dataset))):
        with pytest.raises(ValueError, match="closed"):
            closed[0]
    dataset.close()


def test_iteration_may_be_left_early(tmp_path):
    contents = [image(i, i, bytes(40_000)) for i in range(200)]
    with RecordDataset(written(tmp_path, whole_file(contents))) as dataset:
        for number, (header, _) in enumerate(dataset):
            assert header.id == number
            if number == 3:
                break
        assert [header.id for header, _ in dataset] == list(range(200))
