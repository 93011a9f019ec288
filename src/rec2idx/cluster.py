"""A Dask cluster, whose workers walk the segments."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

from .concurrency import Linked
from .errors import MissingExtraError, RemoteError

CONNECT = 10  # seconds for a scheduler to answer, and again for a worker to be there
LOOK = 2  # seconds from one look at the cluster to the next
PATIENCE = 10  # looks without a worker, after which none is waited for any more


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Give an executor for the workers of the Dask cluster whose scheduler is at `address`.

    Dask itself gives the work of a worker that dies to another one. Once all are gone for some
    time, the executor takes no more work, and what it was given is cancelled.

    Args:
        address: as `distributed.Client` takes it, such as ``tcp://10.0.0.1:8786``.

    Raises:
        MissingExtraError: the package distributed is missing.
        RemoteError: no scheduler answers there, or it has no worker.
    """
    try:
        import distributed
    except ImportError as error:
        raise MissingExtraError(
            "the package distributed is not installed",
            advice="pip install 'rec2idx[dask]'",
        ) from error
    # What it logs about workers that come and go is none of our users' business.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    client = _connect(distributed, address)
    try:
        _require_workers(client, address)
        executor = _DaskExecutor(client)
        try:
            yield executor
        finally:
            executor.close()
    finally:
        client.close(timeout=1)


def _connect(distributed: Any, address: str) -> Any:
    error: Exception | None = None
    if re.search(r":\d+/?$", address):  # without a port, Dask tries for half a minute
        try:
            return distributed.Client(address, timeout=CONNECT, set_as_default=False)
        except (OSError, ValueError) as caught:
            error = caught
    raise RemoteError(
        "no Dask scheduler answers there",
        path=address,
        advice="give the address that the scheduler prints, such as tcp://10.0.0.1:8786",
    ) from error


def _require_workers(client: Any, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECT)
    except (TimeoutError, asyncio.TimeoutError) as error:  # one and the same from Python 3.11 on
        raise RemoteError(
            "the Dask cluster has no worker",
            path=address,
            advice=f"start some: dask worker {address}",
        ) from error


class _DaskExecutor(Linked):
    """Dask's own executor, but that nobody waits for workers that are not there."""

    def __init__(self, client: Any) -> None:
        super().__init__(client.get_executor(pure=False))
        self._client = client
        self._closed = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def close(self) -> None:
        """Take no more work, and let what is not done fail."""
        self._closed.set()
        self.stop(RuntimeError("the cluster takes no more work"))

    def _watch(self) -> None:
        """Give up once there is nobody who could do the work."""
        without = 0
        while without < PATIENCE:
            if self._closed.wait(LOOK):
                return
            without = 0 if _has_workers(self._client) else without + 1
        self.close()


def _has_workers(client: Any) -> bool:
    try:
        return bool(client.scheduler_info().get("workers"))
    except Exception:  # the scheduler is gone
        return False
