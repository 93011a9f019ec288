"""An index as MXNet loads it, in its environment: ``index_mxnet.py RECORD INDEX REPEATS``.

Prints JSON: seconds of each repeat.
"""

import json
import sys
from time import perf_counter

import mxnet as mx


def seconds(record: str, index: str) -> float:
    """Return how long it takes to open a file with its index."""
    began = perf_counter()
    mx.recordio.MXIndexedRecordIO(index, record, "r").close()
    return perf_counter() - began


if __name__ == "__main__":
    print(json.dumps([seconds(*sys.argv[1:3]) for _ in range(int(sys.argv[3]))]))
