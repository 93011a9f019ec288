"""Runs in the MXNet environment: one JSON object with arguments of a reader on stdin.

With ``path_imgrec``, those of ImageRecordIter: the labels it gives go to stdout. It may take the
process with it. Else ``record`` and ``index``, of MXIndexedRecordIO: for each key on stdout, the
label, None where nothing is read, or the name of an exception. With ``gluon``, those of a data set.
"""

import json
import sys

import mxnet as mx
import numpy as np


def iterate(arguments: dict) -> list:
    """Return the label of each sample."""
    batches = mx.io.ImageRecordIter(
        data_shape=(3, 16, 16),
        batch_size=1,
        preprocess_threads=1,
        round_batch=False,
        **arguments,
    )
    return [float(batch.label[0].asscalar()) for batch in batches]


def look_up(record: str, index: str) -> list:
    """Return what is read for each key."""
    reader = mx.recordio.MXIndexedRecordIO(index, record, "r")
    found = []
    for key in reader.keys:
        try:
            payload = reader.read_idx(key)
            labels = [None] if payload is None else np.ravel(mx.recordio.unpack(payload)[0].label)
            found.append(labels[0] if labels[0] is None else float(labels[0]))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def gluon(record: str) -> list:
    """Return the label of each sample of a data set."""
    samples = mx.gluon.data.vision.ImageRecordDataset(record)
    found = []
    for number in range(len(samples)):
        try:
            found.append(float(samples[number][1]))
        except Exception as error:
            found.append(type(error).__name__)
    return found


if __name__ == "__main__":
    arguments = json.load(sys.stdin)
    if "path_imgrec" in arguments:
        result = iterate(arguments)
    elif arguments.pop("gluon", False):
        result = gluon(**arguments)
    else:
        result = look_up(**arguments)
    print(json.dumps(result))
