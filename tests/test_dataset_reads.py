"""How often a data set reads, and how much: as Linux counts it for the thread."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from items import written
from reference import index
from samples import image, whole_file

from rec2idx import RecordDataset

IO = Path("/proc/thread-self/io")
if not IO.exists():
    pytest.skip("Linux counts reads of a thread", allow_module_level=True)

SIZE = 8 + 24 + 5000  # bytes of a record
COUNT = 1000


def counted() -> tuple[int, int]:
    found = dict(line.split(": ") for line in IO.read_text().splitlines())
    return int(found["syscr"]), int(found["rchar"])


def reads(action) -> tuple[int, int]:
    """How many reads an action takes, and of how many bytes in all."""
    before, twice = counted(), counted()
    own = [b - a for a, b in zip(before, twice, strict=True)]  # to look costs reads, too
    start = counted()
    action()
    stop = counted()
    calls, size = (b - a - c for a, b, c in zip(start, stop, own, strict=True))
    return calls, size


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = whole_file([image(i, i, bytes([i % 256]) * 5000) for i in range(COUNT)])
    assert len(file) == COUNT * SIZE
    return written(tmp_path_factory.mktemp("reads"), file, index(file))


@pytest.fixture
def dataset(path):
    with RecordDataset(path) as dataset:
        dataset[0]  # from here on the file is open
        counted()
        yield dataset


def test_an_item_takes_one_read_of_its_very_bytes(dataset):
    assert reads(lambda: dataset[500]) == (1, SIZE)
    assert reads(lambda: dataset[-1]) == (1, SIZE)
    assert reads(lambda: dataset.get(7)) == (1, SIZE)
    assert reads(lambda: len(dataset[10:])) == (0, 0)


@pytest.mark.parametrize(
    ("indices", "calls", "records"),
    [
        ([], 0, 0),
        ([500], 1, 1),
        ([502, 500, 501, 500], 1, 3),
        ([0, 2, 4, 7], 1, 8),  # less than 16 KiB lies between two of them
        ([0, 5, 10], 3, 3),  # more does
        (random.Random(1).sample(range(52), 52), 1, 52),  # no more than 256 KiB
        (range(100), 2, 100),
    ],
)
def test_neighbours_are_read_at_once(dataset, indices, calls, records):
    assert reads(lambda: dataset.read_many(indices)) == (calls, records * SIZE)


@pytest.mark.parametrize(("part", "calls", "records"), [
    (slice(None), 20, COUNT),  # 52 at once
    (slice(None, None, 2), 20, COUNT - 20),  # each second one: 26 at once, with those between them
    (slice(None, None, 100), 10, 10),
    (slice(None, None, -1), COUNT, COUNT),
])  # fmt: skip
def test_iteration_reads_many_at_once(dataset, part, calls, records):
    assert reads(lambda: [None for _ in dataset[part]]) == (calls, records * SIZE)


def test_a_mapped_file_is_not_read(path):
    with RecordDataset(path, mmap=True) as dataset:
        dataset[0]
        counted()
        assert reads(lambda: dataset.read_many(range(COUNT))) == (0, 0)
        assert reads(lambda: list(dataset)) == (0, 0)


def test_the_files_used_last_stay_open(tmp_path):
    """The first one, too, while it is used between the others."""
    paths = [written(tmp_path, whole_file([image(0, at, b"")]), name=str(at)) for at in range(300)]
    with RecordDataset(paths) as dataset:
        before = len(os.listdir("/dev/fd"))

        def use() -> None:
            for at in range(300):
                assert [dataset[number][0].id for number in (0, at)] == [0, at]

        assert opens(use) == 300
        assert len(os.listdir("/dev/fd")) == before + 128
        for stays in (0, 299, 173):
            assert opens(lambda at=stays: dataset[at]) == 0
        assert opens(lambda: dataset[172]) == 1
    assert len(os.listdir("/dev/fd")) == before


def opens(action) -> int:
    """How many files an action opens."""
    opened = []
    looking = [True]
    sys.addaudithook(lambda event, _: opened.append(event) if looking and event == "open" else None)
    action()
    looking.clear()
    return len(opened)


MANY = """
import resource, sys, threading
from concurrent.futures import ThreadPoolExecutor
from random import Random
from rec2idx import RecordDataset

paths, mapped = sys.argv[2:], sys.argv[1] == "mapped"
resource.setrlimit(resource.RLIMIT_NOFILE, (MOST, MOST))
with RecordDataset(paths, mmap=mapped) as dataset:
    assert len(dataset) == 2 * len(paths)

    def read(seed):
        numbers = Random(seed).choices(range(len(dataset)), k=2000)
        for number in numbers[:1000]:
            header, payload = dataset[number]
            assert (header.id, bytes(payload)) == (number, b"%d" % number), number
        for at in range(1000, 2000, 50):
            for number, (header, payload) in zip(
                numbers[at : at + 50], dataset.read_many(numbers[at : at + 50])
            ):
                assert (header.id, bytes(payload)) == (number, b"%d" % number), number

    read(0)
    assert [header.id for header, _ in dataset] == list(range(len(dataset)))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))
"""


@pytest.mark.parametrize("way", ["read", "mapped"])
def test_thousands_of_files_with_few_open_at_once(tmp_path, way):
    """In a process that may open 200. Before Python 3.13, payloads of a mapped file hold it."""
    most = 200 if way == "read" or sys.version_info >= (3, 13) else 2 * 128 + 8 * 50 + 40
    paths = [
        written(
            tmp_path,
            whole_file([image(0, number, b"%d" % number) for number in (2 * at, 2 * at + 1)]),
            name=str(at),
        )
        for at in range(2000)
    ]
    script = MANY.replace("MOST", str(most))
    done = subprocess.run(
        [sys.executable, "-c", script, way, *paths], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
