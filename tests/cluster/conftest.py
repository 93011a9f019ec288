"""A Dask cluster of worker processes on this machine."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Cluster:
    """A running cluster.

    Attributes:
        address: of the scheduler.
        workers: its worker processes. None of them is started again if it dies.
        scheduler: the process of the scheduler.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.workers: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{port}"
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(port))

    def add_worker(self, **variables: str) -> None:
        """Start a worker, with environment variables of its own; it is not waited for."""
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard")
        self.workers.append(self._start("worker", self.address, *options, **variables))

    def wait(self) -> None:
        """Wait until all workers are there."""
        import distributed

        with distributed.Client(self.address, timeout=60, set_as_default=False) as client:
            if self.workers:
                client.wait_for_workers(len(self.workers), timeout=60)

    def tasks(self) -> int:
        """Return how many tasks the workers have done."""
        import distributed

        with distributed.Client(self.address, timeout=60, set_as_default=False) as client:
            return sum(client.run(lambda dask_worker: dask_worker.state.executed_count).values())

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()

    def _start(self, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{command[0]}-{time.monotonic_ns()}.log"
        with log.open("wb") as file:
            return subprocess.Popen(
                [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]],
                cwd=self._folder,
                env={**os.environ, **variables},
                stdout=file,
                stderr=file,
            )


@contextmanager
def started(folder: Path) -> Iterator[Cluster]:
    """A scheduler without workers, until the block ends."""
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers."""
    with started(tmp_path_factory.mktemp("cluster")) as cluster:
        for _ in range(2):
            cluster.add_worker()
        cluster.wait()
        yield cluster
