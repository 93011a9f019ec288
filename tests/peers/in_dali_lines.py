"""Runs in the DALI environment: JSON of [record, index] pairs on stdin, of results on stdout.

A result is [number of samples, labels of those up to the first that fails], or what DALI said as it
refused the index.
"""

import json
import sys

from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=1, num_threads=1, device_id=None)
def labels(record: str, index: str) -> object:
    """Read the labels alone."""
    return fn.readers.mxnet(path=[record], index_path=[index], name="reader")[1]


def read(record: str, index: str) -> list | str:
    """Return what DALI makes of one index."""
    try:
        pipeline = labels(record, index)
        pipeline.build()
        count = pipeline.epoch_size("reader")
    except RuntimeError as error:
        return str(error)
    found = []
    try:
        for _ in range(count):
            found.append(float(pipeline.run()[0].at(0)[0]))
    except RuntimeError:
        pass
    return [count, found]


if __name__ == "__main__":
    json.dump([read(*paths) for paths in json.load(sys.stdin)], sys.stdout)
