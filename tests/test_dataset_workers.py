"""A data set that several processes and threads read at once."""

import multiprocessing
import os
import pickle
import random
import zlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import reference
from items import written
from samples import image, whole_file

from rec2idx import RecordDataset

SHARED = Path("/proc/self/smaps_rollup")


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> tuple[str, list[int]]:
    """A file of 3,000 records of many sizes, some in parts; and the checksum of each payload."""
    rng = random.Random(1)
    contents = [
        image(
            i, i, rng.randbytes(rng.randrange(9000)) + rng.choice([b"", bytes(9), reference.MAGIC])
        )
        for i in range(3000)
    ]
    file = whole_file(contents)
    folder = tmp_path_factory.mktemp("many")
    return written(folder, file, reference.index(file)), [zlib.crc32(p[24:]) for p in contents]


def wrong_items(dataset, sums: list[int], seed: int) -> int:
    """Read 2,000 random records, singly and in batches; return how many are wrong."""
    rng = random.Random(seed)
    wrong = 0
    for _ in range(1000):
        at = rng.randrange(len(sums))
        wrong += zlib.crc32(dataset[at][1]) != sums[at]
    for _ in range(40):
        batch = rng.sample(range(len(sums)), 25)
        for at, (header, payload) in zip(batch, dataset.read_many(batch), strict=True):
            wrong += header.id != at or zlib.crc32(payload) != sums[at]
    return wrong


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("method", "mapped"), [("fork", False), ("fork", True), ("spawn", False)])
def test_processes(many, method, mapped):
    path, sums = many
    with RecordDataset(path, mmap=mapped) as dataset:
        assert wrong_items(dataset, sums, 99) == 0  # the file is open before the fork
        with multiprocessing.get_context(method).Pool(4) as pool:
            task = partial(wrong_items, dataset, sums)
            assert pool.map(task, range(4), chunksize=1) == [0] * 4


def read_in_child(dataset, sums, results) -> None:
    results.put(wrong_items(dataset, sums, os.getpid()))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_processes_that_inherit_it_while_threads_read(many):
    path, sums = many
    context = multiprocessing.get_context("fork")
    with RecordDataset(path) as dataset, ThreadPoolExecutor(3) as pool:
        reading = [pool.submit(wrong_items, dataset, sums, seed) for seed in range(3)]
        results = context.Queue()
        children = [
            context.Process(target=read_in_child, args=(dataset, sums, results)) for _ in range(4)
        ]
        for child in children:
            child.start()
        assert [results.get(timeout=60) for _ in children] == [0] * 4
        for child in children:
            child.join()
        assert [future.result() for future in reading] == [0] * 3


def test_threads(many):
    path, sums = many
    with RecordDataset(path) as dataset, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(partial(wrong_items, dataset, sums), range(8))) == [0] * 8


def test_a_child_opens_the_file_for_itself(many):
    path, _ = many
    with RecordDataset(path) as dataset:
        before = dataset._files.get(0)
        child = os.fork()
        if child == 0:
            os._exit(0 if dataset._files.get(0) is not before else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not SHARED.exists(), reason="Linux tells what is shared")
@pytest.mark.parametrize(("keys", "size"), [(range(1_000_000), 8), (range(1_000_000, 0, -2), 16)])
def test_forked_workers_share_the_entries(tmp_path, keys, size):
    """Of 8 bytes where keys are running numbers, else of 16; a copy for others takes as many."""
    count = len(keys)
    lines = "".join(f"{key}\t{44 * at}\n" for at, key in enumerate(keys))
    path = written(tmp_path, whole_file([image(1, 1, bytes(12))]) * count, lines.encode())
    with RecordDataset(path) as dataset:
        assert len(dataset) == count
        assert size * count <= len(pickle.dumps(dataset)) <= size * count + 2000
        assert list(dataset.keys) == list(keys)
        child = os.fork()
        if child == 0:
            before = written_to()
            rng = random.Random(1)
            for _ in range(50_000):
                dataset[rng.randrange(count)]
            # Where objects are looked at, pages are written to: those of the entries are not.
            os._exit(0 if written_to() - before < size * count // 2 else 1)
        assert os.waitpid(child, 0)[1] == 0


def written_to() -> int:
    """Bytes of memory that this process does not share any more."""
    for line in SHARED.read_text().splitlines():
        if line.startswith("Private_Dirty:"):
            return int(line.split()[1]) * 1024
    raise AssertionError
