"""Runs in the MXNet environment: JSON of [record, index] pairs on stdin, of results on stdout.

A result is, for keys of type int and of type str, [keys, pairs of key and offset] or the exception.
"""

import json
import sys

import mxnet as mx


def read(record: str, index: str, key_type: type) -> list | str:
    """Return what MXNet makes of one index."""
    try:
        reader = mx.recordio.MXIndexedRecordIO(index, record, "r", key_type)
    except (ValueError, IndexError) as error:
        return f"{type(error).__name__}: {error}"
    return [reader.keys, [[key, offset % (1 << 64)] for key, offset in reader.idx.items()]]


if __name__ == "__main__":
    tasks = json.load(sys.stdin)
    json.dump([[read(*task, kind) for kind in (int, str)] for task in tasks], sys.stdout)
