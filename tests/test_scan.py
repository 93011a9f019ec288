"""The scan is parallel and exact: the same for all jobs, segments, blocks and kinds of source."""

import io
import os
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import SIX, SIX_INDEX, damaged_files, files, whole_file

import rec2idx
from rec2idx import scan


class Drip:
    """A stream that cannot seek, and gives a few bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self._stream = io.BytesIO(data)
        self._most = most

    def read(self, size: int) -> bytes:
        return self._stream.read(min(size, self._most))


def outcome(batches) -> tuple[list[tuple[int, int]], tuple | None]:
    """The records that were yielded as (offset, size), and the error as (reason, record, byte)."""
    found: list[tuple[int, int]] = []
    stop = 0
    try:
        for batch in batches:
            assert batch.first == len(found)
            assert batch.offsets[0] >= stop
            found += zip(batch.offsets, batch.sizes, strict=True)
            stop = batch.stop
    except rec2idx.DamagedRecordError as error:
        return found, (error.reason, error.record, error.offset)
    except rec2idx.NotRecordIOError:
        return found, ("not RecordIO",)
    return found, None


def expected(data: bytes) -> tuple[list[tuple[int, int]], tuple | None]:
    records, broken = read(data)
    failure = broken.args if broken else None
    if broken and broken.args[2] == 0 and (len(data) < 2 or data[:4] != MAGIC[: len(data)]):
        failure = ("not RecordIO",)
    return [(at, len(payload)) for at, payload in records], failure


@given(
    st.one_of(files, damaged_files()),
    st.sampled_from([None, 1, 2, 5]),
    st.sampled_from([None, 4, 8, 20, 64, 500]),
    st.sampled_from([None, 8, 13, 100]),
)
def test_a_file_is_scanned_as_by_one_walk(tmp_path, data, jobs, segment_size, block_size):
    """On well-formed and damaged files, also where every guess is wrong."""
    path = tmp_path / "a.rec"
    path.write_bytes(data)
    batches = scan(path, jobs=jobs, segment_size=segment_size, block_size=block_size)
    assert outcome(batches) == expected(data)


@given(st.one_of(files, damaged_files()), st.sampled_from([1, 3, 7, 8, 9, 50, 1 << 20]))
def test_a_stream_is_scanned_as_a_file(data, most):
    """Without seeking, and however few bytes come at a time (case C26)."""
    assert outcome(scan(Drip(data, most))) == expected(data)


def test_one_record_across_all_segments(tmp_path):
    """With what looks like records inside, in a file cut into a hundred segments."""
    (tmp_path / "a.rec").write_bytes(part(0, part(0, b"12345678") * 100) + part(0, b"last"))
    found, error = outcome(scan(tmp_path / "a.rec", jobs=3, segment_size=16))
    assert (found, error) == ([(0, 1600), (1608, 4)], None)


def test_a_record_of_many_parts_across_all_segments(tmp_path):
    (tmp_path / "a.rec").write_bytes(record((b"abcd" + MAGIC) * 200) + SIX)
    found, error = outcome(scan(tmp_path / "a.rec", jobs=3, segment_size=40))
    start = 200 * 12 + 8
    assert found == [(0, 1600), *((start + 44 * i, 36) for i in range(6))]
    assert error is None


def test_a_guess_that_goes_on_inside_the_next_record(tmp_path):
    """What looks like records lies before and behind a place where a record starts."""
    lie = part(0, bytes(20))[:8]  # at byte 132, in the second segment; it reaches to byte 160
    spans = part(0, bytes(60) + lie + bytes(8))
    data = part(0, b"") * 8 + spans + part(0, b"abcd" + part(0, b"") * 4) + SIX
    (tmp_path / "a.rec").write_bytes(data)
    found, error = outcome(scan(tmp_path / "a.rec", jobs=2, segment_size=64))
    assert found[7:11] == [(56, 0), (64, 76), (148, 36), (192, 36)]
    assert (found, error) == expected(data)


def test_a_large_file_is_cut_by_itself(tmp_path):
    """Without a segment size given, with a false start in each of two million records."""
    payload = part(0, b"abcd") + b"1234567"
    count = 2_000_000
    (tmp_path / "a.rec").write_bytes(part(0, payload) * count)
    batches = list(scan(tmp_path / "a.rec", jobs=3))
    assert [at for batch in batches for at in batch.offsets] == list(range(0, count * 28, 28))
    assert {size for batch in batches for size in batch.sizes} == {len(payload)}


def test_jobs_and_sizes_have_to_be_possible(tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    for wrong in ({"jobs": 0}, {"segment_size": 3}, {"block_size": 7}):
        with pytest.raises(ValueError, match="expected at least"):
            list(scan(tmp_path / "a.rec", **wrong))


def test_leaving_early_ends_the_workers(tmp_path):
    """The threads are gone when the iterator is closed."""
    (tmp_path / "a.rec").write_bytes(part(0, b"") * 100_000)
    before = threading.active_count()
    batches = scan(tmp_path / "a.rec", jobs=4, segment_size=1000)
    next(batches)
    next(batches)
    batches.close()
    assert threading.active_count() == before


def test_arrays_are_int64_for_numpy_and_others():
    """Through the buffer protocol, without a copy."""
    (batch,) = scan(io.BytesIO(SIX))
    view = memoryview(batch.offsets)
    assert (view.format, view.itemsize, list(view)) == ("q", 8, [0, 44, 88, 132, 176, 220])


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor(tmp_path, pool):
    data = whole_file([b"x" * (i % 50) for i in range(3000)])
    (tmp_path / "a.rec").write_bytes(data)
    with pool(2) as executor:
        batches = scan(tmp_path / "a.rec", executor=executor, segment_size=5000)
        assert outcome(batches) == expected(data)


def die(*args: object) -> None:
    os._exit(1)


class Dying(ProcessPoolExecutor):
    """An executor whose second worker process dies at its task."""

    tasks = 0

    def submit(self, function, /, *args, **options):
        self.tasks += 1
        return super().submit(die if self.tasks == 2 else function, *args, **options)


def test_a_worker_that_dies_costs_time_only(tmp_path):
    """With it dies the pool; what is missing is walked here."""
    data = whole_file([b"x" * (i % 50) for i in range(3000)])
    (tmp_path / "a.rec").write_bytes(data)
    with Dying(1) as executor:
        batches = scan(tmp_path / "a.rec", executor=executor, segment_size=5000)
        assert outcome(batches) == expected(data)
    assert executor.tasks > 2


class Elsewhere(Executor):
    """An executor on a machine where the file is not."""

    def submit(self, function, /, location, *args, **options):
        future: Future = Future()
        moved = type(location)("/nowhere/a.rec", location.size, location.modified)
        try:
            future.set_result(function(moved, *args, **options))
        except Exception as error:
            future.set_exception(error)
        return future


def test_workers_that_do_not_see_the_file_are_named(tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    with pytest.raises(rec2idx.WorkerError, match=r"cannot open it: .*; give a path or URL"):
        list(scan(tmp_path / "a.rec", executor=Elsewhere(), segment_size=50))


def test_a_file_object_makes_an_index_in_a_file_object():
    out = io.BytesIO()
    summary = rec2idx.create_index(io.BytesIO(SIX), out)
    assert out.getvalue() == SIX_INDEX
    assert (summary.records, summary.bytes) == (6, 264)
    with pytest.raises(TypeError, match="give index"):
        rec2idx.create_index(io.BytesIO(SIX))
