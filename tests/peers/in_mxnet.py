"""Runs in the MXNet environment: a JSON list of steps on stdin, a list of results on stdout.

Each step is an object: ``do`` names a function below, the rest are its arguments.
"""

import base64
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import runpy
import sys
from pathlib import Path

import cv2
import mxnet as mx
import numpy as np

DALI_REC2IDX = Path(__file__).parents[2] / ".envs" / "dali_rec2idx.py"

spec = importlib.util.spec_from_file_location("dali_rec2idx", DALI_REC2IDX)
dali_rec2idx = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dali_rec2idx)


def write(record: str, payloads: list[str], index: str | None = None) -> int:
    """Write payloads; with an index, through MXNet's class for indexed files. Returns the size."""
    if index is None:
        writer = mx.recordio.MXRecordIO(record, "w")
        for payload in payloads:
            writer.write(base64.b64decode(payload))
    else:
        writer = mx.recordio.MXIndexedRecordIO(index, record, "w")
        for key, payload in enumerate(payloads):
            writer.write_idx(key, base64.b64decode(payload))
    writer.close()
    return os.path.getsize(record)


def rec2idx(record: str, index: str) -> str:
    """Run the main function of DALI's tool; return what it printed."""
    sys.argv = ["rec2idx", record, index]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        dali_rec2idx.main()
    return printed.getvalue()


def create_index(record: str, index: str, key_type: str) -> str:
    """Use the class of DALI's tool; return what it printed."""
    types = {"int": int, "str": str, "float": float}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        creator = dali_rec2idx.IndexCreator(record, index, key_type=types[key_type])
        creator.create_index()
        creator.close()
    return printed.getvalue()


def read(record: str) -> list:
    """Return [position before reading, SHA-256 of the payload or None at the end] of each read."""
    # Only DALI's subclass can tell the position while it reads. It wants to write an index, too.
    reader = dali_rec2idx.IndexCreator(record, os.devnull)
    results = []
    while not results or results[-1][1] is not None:
        position, payload = reader.tell(), reader.read()
        results.append([position, None if payload is None else _sha256(payload)])
    results.append([reader.tell(), None])
    reader.close()
    return results


def read_indexed(record: str, index: str) -> list:
    """Return [key, SHA-256 of the payload] for every key of an index, the last key first."""
    reader = mx.recordio.MXIndexedRecordIO(index, record, "r")
    return [[key, _sha256(reader.read_idx(key))] for key in reversed(reader.keys)]


def unpack(record: str, index: str, keys: list[int]) -> list:
    """Return [label or labels, id, SHA-256 of the image] of the record with each of the keys."""
    reader = mx.recordio.MXIndexedRecordIO(index, record, "r")
    results = []
    for key in keys:
        header, image = mx.recordio.unpack(reader.read_idx(key))
        label = header.label if header.flag == 0 else header.label.tolist()
        results.append([label, header.id, _sha256(image)])
    return results


def decode(record: str) -> list:
    """Return the shape of each image in a file, as MXNet unpacks and OpenCV decodes it."""
    reader = mx.recordio.MXRecordIO(record, "r")
    shapes = []
    while (payload := reader.read()) is not None:
        _, image = mx.recordio.unpack_img(payload, cv2.IMREAD_COLOR)
        shapes.append(image.shape)
    return shapes


def iterate(call: str) -> list:
    """Return [SHA-256 of the decoded image, label] of each sample of an iterator.

    Args:
        call: the iterator, as Python text with ``...`` for data_shape and for batch_size.
    """
    call = call.replace("data_shape=...", "data_shape=(3, 16, 16)")
    call = call.replace("batch_size=...", "batch_size=1")
    batches = eval(call, {"mx": mx})
    return [
        [_sha256(batch.data[0].asnumpy().tobytes()), float(batch.label[0].asscalar())]
        for batch in batches
    ]


def detect(call: str) -> list:
    """Return the shape of the labels of each sample of a detection iterator, as `iterate`."""
    call = call.replace("data_shape=...", "data_shape=(3, 16, 16)")
    call = call.replace("batch_size=...", "batch_size=1")
    return [batch.label[0].shape for batch in eval(call, {"mx": mx})]


def run(script: str, arguments: list[str]) -> None:
    """Run a Python script that needs MXNet."""
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


def versions() -> dict:
    """Return the versions of what runs here."""
    return {
        "MXNet": mx.__version__,
        "NumPy": np.__version__,
        "OpenCV": cv2.__version__,
        "Python": sys.version.split()[0],
    }


def _sha256(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


STEPS = {
    function.__name__: function
    for function in (
        write,
        rec2idx,
        create_index,
        read,
        read_indexed,
        unpack,
        decode,
        iterate,
        detect,
        run,
        versions,
    )
}

if __name__ == "__main__":
    results = [STEPS[step.pop("do")](**step) for step in json.load(sys.stdin)]
    json.dump(results, sys.stdout)
