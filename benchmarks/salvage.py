"""The scan of a file and of its damaged copy: ``python -m benchmarks.salvage WHOLE DAMAGED N``.

Prints JSON: seconds of N scans of each in turn, and how many regions were passed over.
"""

from __future__ import annotations

import json
import sys
from collections import deque
from time import perf_counter

from rec2idx import DamagedRegion, scan


def main(clean: str, damaged: str, repeats: int) -> None:
    """Measure and print."""
    seconds: dict[str, list[float]] = {"clean": [], "damaged": []}
    regions: list[DamagedRegion] = []
    for number in range(repeats + 1):
        for name, path in (("clean", clean), ("damaged", damaged)):
            regions.clear()
            began = perf_counter()
            deque(scan(path, salvage=regions.append), maxlen=0)
            if number > 0:  # the first round warms the page cache, and imports what is needed
                seconds[name].append(perf_counter() - began)
    print(json.dumps({**seconds, "regions": len(regions)}))


if __name__ == "__main__":
    main(*sys.argv[1:3], int(sys.argv[3]))
