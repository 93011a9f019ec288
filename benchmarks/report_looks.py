"""The part of the report on `recordio info` and `recordio check`."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from .report_format import NAMES, spread, target

AS_LONG = 1.5  # times what `rec2idx` takes
FASTER = 10  # than MXNet loads an index


def looks(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the lines on commands that look at files and change nothing."""
    files = {name: file["looks"] for name, file in figures["files"].items() if "looks" in file}
    if not files:
        return
    yield ""
    yield "What is in a file, and what is wrong with it and its index; whole process, s"
    for name, runs in files.items():
        ours = median(runs["ours"]["seconds"])
        for command, found in runs.items():
            seconds = found["seconds"]
            line = f"  {name:6}{NAMES[command]:18}{spread(seconds, 3):>24}"
            line += f"{max(found['peak']) / 1e6:9.1f} MB"
            if command != "ours":
                ratio = median(seconds) / ours
                line += f"{ratio:8.2f}x"
                if figures["scale"] == 1:
                    line += f"  {target(ratio, AS_LONG, 'x')}"
            yield line
    index = figures["index"]
    yield ""
    yield "An index alone, s"
    yield f"  {'loaded by MXNet':24}{spread(index['mxnet'], 3):>24}"
    ratio = median(index["mxnet"]) / median(index["ours"])
    line = f"  {'read and checked':24}{spread(index['ours'], 3):>24}{ratio:8.1f}x"
    if figures["scale"] == 1:
        line += f"  {target(ratio, FASTER, 'x', at_least=True)}"
    yield line
