"""An index read and checked, in this process: ``python -m benchmarks.index_ours INDEX REPEATS``.

Prints JSON: seconds of each repeat.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

from rec2idx.checks.lines import check_lines
from rec2idx.findings import Findings
from rec2idx.lines import read_index


def seconds(index: str) -> float:
    """Return how long it takes to find all that is wrong with the lines of an index."""
    began = perf_counter()
    findings = Findings()
    check_lines(findings, read_index(index))
    if findings.all():
        raise ValueError(f"{index}: {findings.all()[0]}")
    return perf_counter() - began


if __name__ == "__main__":
    print(json.dumps([seconds(sys.argv[1]) for _ in range(int(sys.argv[2]))]))
