"""A real Dask cluster of worker processes walks the segments."""

import random
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import distributed
import fsspec
import pytest
from conftest import started
from damage import flip_byte
from damaged_files import damaged_file
from folders import all_but_records
from reference import MAGIC, index, part, read, record
from samples import SIX, SIX_INDEX
from servers import Manners, OwnServer, own_server

import rec2idx
from rec2idx import cluster as cluster_module
from rec2idx.cluster import dask_executor
from rec2idx.remote import RemoteFile
from rec2idx.segments import Manner, walk_segment_at

REC2IDX = Path(sys.executable).with_name("rec2idx")
RECORDIO = Path(sys.executable).with_name("recordio")


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120)


@pytest.fixture
def own() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


def some_records(count: int) -> bytes:
    """Records of all kinds, with magics in them that no writer escaped."""
    chance = random.Random(count)
    pieces = [MAGIC, b"abcd", b"x", part(0, b"1234"), bytes(900)]
    payloads = (b"".join(chance.choices(pieces, k=chance.randrange(9))) for _ in range(count))
    return b"".join(
        chance.choice([record, lambda payload: part(0, payload)])(payload) for payload in payloads
    )


def test_the_segments_of_a_file_go_to_the_workers(cluster, tmp_path):
    data = some_records(2000)
    (tmp_path / "a.rec").write_bytes(data)
    with dask_executor(cluster.address) as executor:
        batches = rec2idx.scan(tmp_path / "a.rec", executor=executor, segment_size=50_000)
        found = [offset for batch in batches for offset in batch.offsets]
    assert found == [start for start, _ in read(data)[0]]
    assert cluster.tasks() >= len(data) // 50_000


def test_the_command(cluster, tmp_path):
    data = some_records(3000)
    (tmp_path / "a.rec").write_bytes(data)
    done = run(REC2IDX, "--progress", "none", tmp_path / "a.rec", "--dask", cluster.address)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"rec2idx: {tmp_path}/a.rec: 3000 records, {len(data)} bytes, ")
    assert done.stderr.count("\n") == 1
    assert (tmp_path / "a.idx").read_bytes() == index(data)
    assert cluster.tasks() >= 1


def test_damage_is_told_as_without_a_cluster(cluster, tmp_path):
    data = some_records(3000)
    at = read(data)[0][2500][0]
    (tmp_path / "a.rec").write_bytes(flip_byte(data, at))
    alone = run(REC2IDX, "-q", tmp_path / "a.rec")
    together = run(REC2IDX, "-q", tmp_path / "a.rec", "--dask", cluster.address)
    assert f"record 2500 at byte {at}: wrong magic" in alone.stderr
    assert (together.returncode, together.stderr) == (1, alone.stderr)


def test_salvage(cluster, tmp_path):
    """The workers walk; what is whole is copied here."""
    old, new = tmp_path / "a.rec", tmp_path / "b.rec"
    data = some_records(3000)
    old.write_bytes(data + b"\n\n")
    done = run(RECORDIO, "salvage", old, new, "--dask", cluster.address)
    assert done.returncode == 3, done.stderr
    assert new.read_bytes() == b"".join(record(payload) for _, payload in read(data)[0])
    assert cluster.tasks() >= 1


def test_what_is_untouched_is_kept_on_a_cluster_as_here(cluster, tmp_path):
    """Where the chain goes on after damage is decided by who joins the segments."""

    def found(**how):
        offsets, regions = [], []
        for batch in rec2idx.scan(tmp_path / "a.rec", salvage=regions.append, **how):
            offsets += batch.offsets
        return offsets, regions

    with dask_executor(cluster.address) as executor:
        for seed in range(10):
            (tmp_path / "a.rec").write_bytes(damaged_file(seed).data)
            assert found(executor=executor, segment_size=800) == found(jobs=1)
    assert cluster.tasks() >= 10


def test_the_files_of_a_run_go_to_the_workers(cluster, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = [f"{number:02}" for number in range(30)]
    for name in names:
        Path(f"{name}.rec").write_bytes(SIX)
    done = run(RECORDIO, "index", "-r", ".", "--dask", cluster.address)
    assert done.returncode == 0
    assert all_but_records() == {f"{name}.idx": SIX_INDEX for name in names}
    assert cluster.tasks() == 30


def test_one_index_over_files(cluster, tmp_path):
    contents = [some_records(number) for number in range(50, 60)]
    paths = [tmp_path / f"{number}.rec" for number in range(10)]
    for path, data in zip(paths, contents, strict=True):
        path.write_bytes(data)
    target = tmp_path / "all.idx"
    done = run(RECORDIO, "index", *paths, "--combine", target, "--dask", cluster.address)
    assert done.returncode == 0
    assert target.read_bytes() == index(b"".join(contents))
    assert cluster.tasks() == 10


def once(condition: Callable[[], bool], then: Callable[[], object]) -> threading.Thread:
    """Do something in a thread as soon as a condition is met."""

    def wait() -> None:
        while not condition():
            time.sleep(0.005)
        then()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def slow_object(own: OwnServer) -> tuple[str, bytes]:
    """Serve a file that is read in some hundred requests, each of which takes a while."""
    data = part(0, bytes(60_000)) * 400
    return own.put("a.rec", data, Manners(delay=0.02)), data


def offsets_of(url: str, address: str) -> list[int]:
    with dask_executor(address) as executor:
        batches = rec2idx.scan(url, executor=executor, segment_size=300_000, block_size=60_000)
        return [offset for batch in batches for offset in batch.offsets]


def test_a_worker_that_is_killed_costs_a_retry(cluster, own):
    url, data = slow_object(own)
    killer = once(lambda: len(own.traffic.requests) > 100, cluster.workers[0].kill)
    assert offsets_of(url, cluster.address) == list(range(0, len(data), 60_008))
    killer.join()
    assert cluster.workers[0].wait() == -9
    assert cluster.workers[1].poll() is None


def test_without_any_worker_left_it_is_walked_here(cluster, own, monkeypatch):
    monkeypatch.setattr(cluster_module, "LOOK", 0.1)
    url, data = slow_object(own)

    def kill_all() -> None:
        for worker in cluster.workers:
            worker.kill()

    killer = once(lambda: len(own.traffic.requests) > 100, kill_all)
    assert offsets_of(url, cluster.address) == list(range(0, len(data), 60_008))
    killer.join()


def test_without_a_scheduler_it_is_walked_here(cluster, own, monkeypatch):
    monkeypatch.setattr(cluster_module, "LOOK", 0.1)
    url, data = slow_object(own)
    killer = once(lambda: len(own.traffic.requests) > 100, cluster.scheduler.kill)
    assert offsets_of(url, cluster.address) == list(range(0, len(data), 60_008))
    killer.join()


def test_workers_that_do_not_see_the_file(cluster):
    """What is in the memory of one process, no other sees."""
    fsspec.filesystem("memory").pipe_file("/a.rec", SIX)
    with (
        dask_executor(cluster.address) as executor,
        pytest.raises(rec2idx.WorkerError, match=r"memory://a.rec: a worker on \S+ cannot open it"),
    ):
        list(rec2idx.scan("memory://a.rec", executor=executor))


def test_dasks_own_executor(cluster, tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        summary = rec2idx.create_index(tmp_path / "a.rec", executor=client.get_executor())
    assert summary.records == 6
    assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX


def test_a_worker_without_the_package(tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    (tmp_path / "rec2idx.py").write_text("raise ImportError('what is that?')")
    with started(tmp_path) as cluster:
        cluster.add_worker(PYTHONPATH=str(tmp_path))
        cluster.wait()
        done = run(REC2IDX, "-q", tmp_path / "a.rec", "--dask", cluster.address)
    assert done.returncode == 1
    assert done.stderr == (
        f"rec2idx: {tmp_path}/a.rec: where the workers run, this version of rec2idx cannot: "
        "what is that?; install the same version there, and where their scheduler runs\n"
    )


def test_a_cluster_without_workers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT", 2)
    with started(tmp_path) as cluster:
        cluster.wait()
        with (
            pytest.raises(OSError, match="the Dask cluster has no worker; start some"),
            dask_executor(cluster.address),
        ):
            pass


@pytest.mark.parametrize("address", ["127.0.0.1:1", "scheduler", "tcp://127.0.0.1:1"])
def test_an_address_where_nobody_answers(address, monkeypatch):
    monkeypatch.setattr(cluster_module, "CONNECT", 1)
    with (
        pytest.raises(OSError, match=f"^{address}: no Dask scheduler answers there"),
        dask_executor(address),
    ):
        pass


def test_secrets_of_urls_stay_hidden(own, tmp_path):
    """Where a worker fails, neither its error nor what Dask logs about it shows them."""
    data = SIX * 1000
    name = "a.rec?X-Amz-Signature=s3cr3t"
    own.put(name, data, Manners(delay=0.02))
    url = own.url + name
    with started(tmp_path) as cluster:
        cluster.add_worker()
        cluster.wait()
        with dask_executor(cluster.address) as executor:
            offsets = [at for batch in rec2idx.scan(url, executor=executor) for at in batch.offsets]
            assert len(offsets) == 6000
            place = RemoteFile(url).location()
            own.put(name, data[:-44], Manners())
            future = executor.submit(walk_segment_at, place, 0, len(data), Manner(1000, 1000))
            error = future.exception(timeout=60)
    assert error is not None
    assert "s3cr3t" not in "".join(traceback.format_exception(error))
    assert "s3cr3t" not in repr(error) + str(vars(error))
    logs = [path.read_text() for path in tmp_path.glob("*.log")]
    assert any("walk_segment_at" in log for log in logs)
    assert "s3cr3t" not in "".join(logs)
