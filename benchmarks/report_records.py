"""The parts of the report on records one by one, and on images that become files."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

from .report_format import spread, target

# What is done, to which file: in which unit, how many times faster than MXNet it is to be.
TASKS = {
    "opening tiny": ("the index of tiny opened, ms", 1e3, 20),
    "random_reads face": ("read_idx at random, face, us", 1e6, 10),
    "reading face": ("read in order, face, us", 1e6, 3),
    "writing face": ("write_idx, face, us", 1e6, 1),
    "writing tiny": ("write_idx, tiny, us", 1e6, 1),
}
MEMORY = 0.1  # of what MXNet takes


def records(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the lines on records that are read and written one by one."""
    if "records" not in figures:
        return
    yield ""
    yield "Records one by one: MXNet's module and rec2idx.recordio, a record"
    yield f"  {'':32}{'MXNet':>24}{'ours':>24}{'faster':>9}"
    for name, (what, unit, faster) in TASKS.items():
        runs = figures["records"][name]
        times = {who: [unit * _seconds(done) for done in runs[who]] for who in runs}
        ratio = median(times["mxnet"]) / median(times["ours"])
        line = f"  {what:32}{spread(times['mxnet'], 2):>24}{spread(times['ours'], 2):>24}"
        line += f"{ratio:8.1f}x"
        if figures["scale"] == 1:
            line += f"  {target(ratio, faster, 'x', at_least=True)}"
        yield line
        if "bare" in times:
            yield f"  {'  and os.pread alone':32}{'':24}{spread(times['bare'], 2):>24}"
        if name == "opening tiny":
            yield _memory(figures, runs)


def _seconds(done: dict[str, Any]) -> float:
    seconds: float = done["seconds"] / done.get("records", 1)
    return seconds


def _memory(figures: dict[str, Any], runs: dict[str, Any]) -> str:
    """Return the line on the memory of an open index."""
    peaks = {who: [done["peak"] / 1e6 for done in runs[who]] for who in runs}
    ratio = median(peaks["ours"]) / median(peaks["mxnet"])
    line = f"  {'  MB at most, whole process':32}{spread(peaks['mxnet'], 1):>24}"
    line += f"{spread(peaks['ours'], 1):>24}{1 / ratio:8.1f}x less"
    return line + (f"  {target(ratio, MEMORY, '')}" if figures["scale"] == 1 else "")


def extractions(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the lines on images that are extracted."""
    if "extract" not in figures:
        return
    found = figures["extract"]
    copied = median(found["seconds"]["cp -r"])
    yield ""
    yield f"Images as files: {found['images']:,} images, {found['bytes']:,} bytes"
    for name, seconds in found["seconds"].items():
        rate = found["bytes"] / median(seconds) / 1e6
        line = f"  {name:24}{spread(seconds, 2):>24}{rate:10.0f} MB/s"
        yield line + ("" if name == "cp -r" else f"{median(seconds) / copied:8.2f} times cp -r")
