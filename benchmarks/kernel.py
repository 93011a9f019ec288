"""The compiled kernel alone, in this process: ``python -m benchmarks.kernel FILE REPEATS``.

Prints JSON: nanoseconds a record of the walk and nanoseconds a line of the formatting, for each
repeat.
"""

from __future__ import annotations

import json
import os
import sys
from time import perf_counter_ns

from rec2idx._format import format_lines
from rec2idx._walk import WALKING, Walk

BATCH = 8192  # records, as in `rec2idx.scan`


def walk(fd: int, size: int) -> float:
    """Return nanoseconds a record of a walk through the file."""
    began = perf_counter_ns()
    count = 0
    walk = Walk(0, size)
    while walk.status == WALKING:
        offsets, _, _ = walk.records(fd, BATCH)
        count += len(offsets)
    return (perf_counter_ns() - began) / count


def lines(fd: int, size: int) -> float:
    """Return nanoseconds a line of the formatting, batch after batch as they are walked."""
    spent = count = 0
    walk = Walk(0, size)
    while walk.status == WALKING:
        offsets, _, _ = walk.records(fd, BATCH)
        began = perf_counter_ns()
        format_lines(offsets, count)
        spent += perf_counter_ns() - began
        count += len(offsets)
    return spent / count


def main(path: str, repeats: int) -> None:
    """Measure and print."""
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    found = {
        "walk": [walk(fd, size) for _ in range(repeats)],
        "lines": [lines(fd, size) for _ in range(repeats)],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
