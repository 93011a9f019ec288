"""The part of the report that is about storage: a cold page cache, and files behind servers."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from .report_format import NAMES, spread, target

# What is to be reached, at scale 1: how many times faster the command is...
COLD_FASTER = {"imnet": 5, "face": 1}  # ...than reading block after block
SLOW_FASTER = 20  # ...than one request at a time for each header: `SLOW_PLAIN`
SLOW_PLAIN = {"large": "plain", "huge": "one"}

CLIENTS = {**NAMES, "plain": "one header a request"}

Figures = dict[str, Any]


def cold(figures: Figures) -> Iterator[str]:
    """Yield lines about runs from an empty page cache, if there were any."""
    if "cold" not in figures:
        return
    yield ""
    yield "Cold page cache, emptied before each run; the whole process"
    yield f"  {'':32}{'s':>24}{'MB read':>10}{'faster than blocks':>20}"
    for name, contenders in figures["cold"].items():
        blocks = median(contenders["blocks"]["seconds"])
        for contender, runs in contenders.items():
            ratio = blocks / median(runs["seconds"])
            line = (
                f"  {name:8}{NAMES[contender]:24}{spread(runs['seconds'], 2):>24}"
                f"{median(runs['read']) / 1e6:10,.0f}{ratio:19.2f}x"
            )
            if contender == "ours" and name in COLD_FASTER and figures["scale"] == 1:
                line += f"  {target(ratio, COLD_FASTER[name], 'x', at_least=True)}"
            yield line


def slow(figures: Figures) -> Iterator[str]:
    """Yield lines about a server that answers each request after 20 ms."""
    if "slow" not in figures:
        return
    yield ""
    yield "Slow storage: a web server that answers each request after 20 ms; the whole process"
    yield _head("at once", "faster")
    for name, file in figures["slow"].items():
        yield _file(name, file)
        plain = SLOW_PLAIN.get(name, "one")
        slowest = median(run["seconds"] for run in file["runs"][plain])
        for client, runs in file["runs"].items():
            ratio = slowest / median(run["seconds"] for run in runs)
            most = max(run["most"] for run in runs)
            line = f"{_traffic(client, runs, file['bytes'])}{most:9}{ratio:8.1f}x"
            if client == "ours" and name in SLOW_PLAIN and figures["scale"] == 1:
                line += f"  {target(ratio, SLOW_FASTER, 'x', at_least=True)}"
            yield line


def s3(figures: Figures) -> Iterator[str]:
    """Yield lines about objects on an S3 server."""
    if "s3" not in figures:
        return
    yield ""
    yield "S3, a real server (moto): requests and bytes; seconds are mostly the server's"
    yield _head()
    for name, file in figures["s3"].items():
        yield _file(name, file)
        for client, runs in file["runs"].items():
            yield _traffic(client, runs, file["bytes"])


def _head(*more: str) -> str:
    columns = "".join(f"{column:>9}" for column in more)
    return (
        f"  {'':24}{'s':>24}{'s by itself':>13}{'requests':>10}{'bytes':>13}{'of all':>9}{columns}"
    )


def _file(name: str, file: Figures) -> str:
    return f"  {name}: {file['records']:,} records, {file['bytes']:,} bytes"


def _traffic(client: str, runs: list[Figures], size: int) -> str:
    """Return one client's line: its times, by its own account too, its requests and its bytes."""
    scans = [run["scan"] for run in runs if run["scan"] is not None]
    sent = median(run["sent"] for run in runs)
    return (
        f"    {CLIENTS[client]:22}{spread([run['seconds'] for run in runs], 2):>24}"
        f"{f'{median(scans):.2f}' if scans else '':>13}"
        f"{median(run['requests'] for run in runs):10,.0f}{sent:13,.0f}{sent / size:9.2%}"
    )
