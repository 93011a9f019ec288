"""Indexes whose entries name records that overlap: they are refused where that is proved."""

import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read
from samples import payload_lists, whole_file

import rec2idx
from rec2idx import RecordDataset, list_records

REFUSED = (
    "the records that the index names up to here overlap: expected at most {} bytes in all of "
    "them, found more; make a new index with rec2idx; recordio check says which entries are wrong"
)


@pytest.fixture
def shared(folder: Path) -> None:
    """Twenty first parts, which all lead to the same twenty middle parts and one last part."""
    heads = [part(1, bytes(160 - 8 - at))[:8] for at in range(0, 160, 8)]
    Path("a.rec").write_bytes(b"".join(heads) + part(2, b"") * 20 + part(3, b""))
    Path("a.idx").write_text("".join(f"{at}\t{8 * at}\n" for at in range(20)))


def test_rows_up_to_what_records_apart_could_take(shared):
    """Headers of 22 parts for each row: those of the sixth are more than three times the file."""
    keys = []
    with pytest.raises(rec2idx.BadIndexError) as raised:
        keys.extend(row.key for row in list_records("a.rec"))
    rows = list_records("a.rec")
    assert [next(rows).key for _ in range(5)] == [0, 1, 2, 3, 4]
    assert str(raised.value) == f"a.idx: key 5 at byte 40: {REFUSED.format(328)}"


def test_one_line_and_status_1(shared, folder):
    command = [COMMAND.with_name("recordio"), "ls", "a.rec"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stdout.count("\n") == 1 + 5
    assert done.stderr == f"recordio: a.idx: key 5 at byte 40: {REFUSED.format(328)}\n"


@pytest.mark.parametrize("options", [{}, {"mmap": True}])
def test_items_up_to_that(shared, options):
    """The headers of the first record, and all of it, twice; then those of the second."""
    with RecordDataset("a.rec", **options) as dataset:
        with pytest.raises(rec2idx.BadIndexError) as raised:
            list(dataset)
        assert str(raised.value) == f"a.rec: key 1 at byte 8: {REFUSED.format(328)}"
        with pytest.raises(rec2idx.BadIndexError, match="key 4 at byte 32"):
            dataset.read_many([9, 8, 3, 4])
        # One by one, each costs no more than it gives.
        sizes = [len(payload) for _, payload in map(dataset.__getitem__, range(20))]
    assert sizes == [152 - at + 4 * 21 for at in range(0, 160, 8)]


def test_records_of_one_part_that_go_to_the_end(folder):
    heads = [part(0, bytes(8000 - 8 - at))[:8] for at in range(0, 80, 8)]
    Path("a.rec").write_bytes(b"".join(heads) + bytes(8000 - 80))
    Path("a.idx").write_text("".join(f"{at}\t{8 * at}\n" for at in range(10)))
    assert len(list(list_records("a.rec"))) == 10  # of which next to nothing is read
    with (
        RecordDataset("a.rec") as dataset,
        pytest.raises(rec2idx.BadIndexError, match="key 2 at byte 16"),
    ):
        list(dataset)


@given(payload_lists, st.integers(1, 5), st.randoms(use_true_random=False))
def test_records_apart_never(folder, payloads, times, random):
    """However often each is named, and in whatever order; and however many parts they have."""
    payloads.append(MAGIC * 50)
    data = whole_file(payloads)
    records, _ = read(data)
    entries = [(key, offset) for key, (offset, _) in enumerate(records)] * times
    random.shuffle(entries)
    Path("a.rec").write_bytes(data)
    Path("a.idx").write_text("".join(f"{key}\t{offset}\n" for key, offset in entries))
    expected = sorted(entries, key=lambda entry: entry[1])
    assert [(row.key, row.offset) for row in list_records("a.rec")] == expected
    with RecordDataset("a.rec") as dataset:
        assert list(dataset.keys) == [key for key, _ in expected]
        assert [raw(item) for item in dataset] == [payloads[key] for key, _ in expected]
        assert [raw(item) for item in dataset.read_many(range(len(dataset)))] == [
            payloads[key] for key, _ in expected
        ]


def raw(item: tuple) -> bytes:
    """The payload that an item was made of."""
    header, payload = item
    if header is None:
        return bytes(payload)
    return rec2idx.recordio.pack(header, bytes(payload))
