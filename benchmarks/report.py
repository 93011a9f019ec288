"""Turns the figures of a run into text for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

from .report_format import NAMES, spread, target
from .report_looks import looks
from .report_records import extractions, records
from .report_storage import cold, s3, slow

# What is to be reached, at scale 1 and with a warm page cache.
FASTER = {  # than the original, whole processes
    "one": {"tiny": 40, "face": 25, "imnet": 25},
    "ours": {"tiny": 60, "face": 35, "imnet": 30},
}
KERNEL = 1.25  # times the better way of the C loop
TWO_THREADS = {"tiny": 0.6}  # of the time that one thread takes
SALVAGE = 3  # times the scan of a whole file
PEAK = 40  # MB
START_UP = 60  # ms more than `python -c pass`

WAYS = ("blocks", "headers", "walk", "lines")
BARE = "python -c pass"

Figures = dict[str, Any]


def text_of(figures: Figures) -> str:
    """Return the report, made of lines."""
    parts = (
        *(_heading, _processes, _kernels, _threads, _salvage, _copies, looks, records, extractions),
        *(_start_up, slow, s3, cold),
    )
    return "\n".join(chain.from_iterable(part(figures) for part in parts)) + "\n"


def _heading(figures: Figures) -> Iterator[str]:
    machine, versions = figures["machine"], figures["versions"]
    yield (
        f"{figures['date']}, scale {figures['scale']:g}: medians of {figures['rounds']} rounds "
        "(smallest to largest), warm page cache"
    )
    yield (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory']}, "
        f"{machine['system']}"
    )
    yield f"rec2idx:     {versions['ours']}"
    yield f"DALI's tool: {versions['original']}"
    yield f"C loop:      {versions['floor']}"
    if "remote" in versions:
        yield f"servers:     {versions['remote']}"
    if figures["scale"] != 1:
        yield "Speeds have targets at scale 1 only: smaller files measure start-up."


def _processes(figures: Figures) -> Iterator[str]:
    for name, file in figures["files"].items():
        records = file["kernel"]["records"]
        yield ""
        yield f"{name}: {records:,} records, {file['bytes']:,} bytes"
        yield f"  {'whole process':24}{'s':>24}{'records/s':>14}{'peak MB':>9}{'faster':>9}"
        original = median(file["processes"]["original"]["seconds"])
        for contender, runs in file["processes"].items():
            seconds = median(runs["seconds"])
            peak = max(runs["peak"]) / 1e6
            ratio = original / seconds
            line = (
                f"  {NAMES[contender]:24}{spread(runs['seconds'], 3):>24}"
                f"{records / seconds:14,.0f}{peak:9.1f}{ratio:8.1f}x"
            )
            if contender in FASTER:
                if figures["scale"] == 1:
                    line += f"  {target(ratio, FASTER[contender][name], 'x', at_least=True)}"
                line += f"  {target(peak, PEAK, ' MB')}"
            yield line


def _kernels(figures: Figures) -> Iterator[str]:
    yield ""
    yield "The walk alone, ns a record; and the formatting of lines"
    yield (
        f"  {'':6}{'C loop, blocks':>26}{'C loop, headers':>24}{'kernel':>24}{'ratio':>18}"
        f"{'ns a line':>20}"
    )
    for name, file in figures["files"].items():
        kernel = file["kernel"]
        flat = {way: list(chain.from_iterable(kernel[way])) for way in WAYS}
        ratio = median(flat["walk"]) / min(median(flat["blocks"]), median(flat["headers"]))
        rounds = zip(kernel["blocks"], kernel["headers"], kernel["walk"], strict=True)
        ratios = [median(walk) / min(median(b), median(h)) for b, h, walk in rounds]
        line = (
            f"  {name:6}{spread(flat['blocks'], 1):>26}{spread(flat['headers'], 1):>24}"
            f"{spread(flat['walk'], 1):>24}"
            f"{f'{ratio:.2f} ({min(ratios):.2f}-{max(ratios):.2f})':>18}"
            f"{spread(flat['lines'], 1):>20}"
        )
        yield line + (f"  {target(ratio, KERNEL, '')}" if figures["scale"] == 1 else "")


def _start_up(figures: Figures) -> Iterator[str]:
    yield ""
    yield "Start-up, ms"
    times = {name: [1000 * t for t in runs] for name, runs in figures["start-up"].items()}
    bare = median(times[BARE])
    for name, values in times.items():
        line = f"  {name:24}{spread(values, 1):>24}"
        if name != BARE:
            line += f"{median(values) - bare:+9.1f}"
        if name.startswith("rec2idx"):
            line += f"  {target(median(values) - bare, START_UP, ' ms')}"
        yield line


def _threads(figures: Figures) -> Iterator[str]:
    files = {name: file["threads"] for name, file in figures["files"].items() if "threads" in file}
    if not files:
        return
    yield ""
    yield "The scan with one thread and with two, ms a file"
    yield f"  {'':6}{'one':>26}{'two':>24}{'ratio':>10}"
    for name, threads in files.items():
        one, two = ([1000 * t for t in threads[jobs]] for jobs in ("one", "two"))
        ratio = median(two) / median(one)
        line = f"  {name:6}{spread(one, 1):>26}{spread(two, 1):>24}{ratio:10.2f}"
        if name in TWO_THREADS and figures["scale"] == 1:
            line += f"  {target(ratio, TWO_THREADS[name], '')}"
        yield line


def _salvage(figures: Figures) -> Iterator[str]:
    files = {name: file["salvage"] for name, file in figures["files"].items() if "salvage" in file}
    if not files:
        return
    yield ""
    yield "The scan of a file, and of a copy with damaged places that are passed over, ms a file"
    yield f"  {'':6}{'whole':>26}{'damaged':>24}{'places':>10}{'ratio':>10}"
    for name, found in files.items():
        whole, damaged = ([1000 * t for t in found[kind]] for kind in ("clean", "damaged"))
        ratio = median(damaged) / median(whole)
        line = f"  {name:6}{spread(whole, 1):>26}{spread(damaged, 1):>24}{found['regions']:10}"
        line += f"{ratio:10.2f}"
        yield line + (f"  {target(ratio, SALVAGE, '')}" if figures["scale"] == 1 else "")


def _copies(figures: Figures) -> Iterator[str]:
    files = {name: file for name, file in figures["files"].items() if "copies" in file}
    if not files:
        return
    yield ""
    yield "A copy of a file, on the disk: by cp, and by recordio salvage with an index, MB/s"
    yield f"  {'':6}{'cp':>26}{'salvage':>24}{'times as long':>16}"
    for name, file in files.items():
        cp, ours = file["copies"]["cp"], file["copies"]["salvage"]
        speeds = ([file["bytes"] / 1e6 / seconds for seconds in times] for times in (cp, ours))
        columns = "".join(
            f"{spread(speed, 0):>{width}}" for speed, width in zip(speeds, (26, 24), strict=True)
        )
        yield f"  {name:6}{columns}{median(ours) / median(cp):16.2f}"


if __name__ == "__main__":  # print the report of a run that was kept as JSON
    print(text_of(json.loads(Path(sys.argv[1]).read_text())), end="")
