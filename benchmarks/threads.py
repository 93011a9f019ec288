"""The scan with one thread and with two, in this process: ``python -m benchmarks.threads FILE N``.

Prints JSON: seconds of each of N scans, with one thread and with two in turn.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  # the scan imports it, which is not to be measured
import json
import sys
from collections import deque
from time import perf_counter

from rec2idx import scan

JOBS = {"one": 1, "two": 2}


def seconds(path: str, jobs: int) -> float:
    """Return how long it takes to find all records of a file."""
    began = perf_counter()
    deque(scan(path, jobs=jobs), maxlen=0)
    return perf_counter() - began


def main(path: str, repeats: int) -> None:
    """Measure and print."""
    found: dict[str, list[float]] = {name: [] for name in JOBS}
    for number in range(repeats + 1):
        for name, jobs in JOBS.items():
            spent = seconds(path, jobs)
            if number > 0:  # the first round warms the page cache
                found[name].append(spent)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
