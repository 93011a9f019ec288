"""Runs in the MXNet environment, and in ours: the same steps with the module of each.

A JSON list of steps on each line of stdin, a list of results on a line of stdout. ``mx`` is MXNet,
or what stands in for it where the first argument says so.
"""

import base64
import hashlib
import json
import numbers
import sys

if sys.argv[1:] == ["ours"]:
    import rec2idx.mx as mx
else:
    import mxnet as mx

import numpy as np


def write(record: str, index: str | None, payloads: list[str], keys: list, key_type: str) -> list:
    """Write payloads, with keys where there is an index; return what `tell`, idx and keys say."""
    contents = [base64.b64decode(payload) for payload in payloads]
    if index is None:
        writer = mx.recordio.MXRecordIO(record, "w")
        for content in contents:
            writer.write(content)
        writer.close()
        return []
    kinds = {"int": int, "str": str, "float": float}
    writer = mx.recordio.MXIndexedRecordIO(index, record, "w", key_type=kinds[key_type])
    positions = []
    for key, content in zip(keys, contents, strict=True):
        writer.write_idx(key, content)
        positions.append(writer.tell())
    writer.close()
    return [positions, sorted(writer.idx.items()), writer.keys]


def read(record: str, index: str, key_type: str) -> list:
    """Read in order, then each key from the last on, and the record behind it."""
    kinds = {"int": int, "str": str, "float": float}
    reader = mx.recordio.MXIndexedRecordIO(index, record, "r", kinds[key_type])
    found = []
    while (payload := reader.read()) is not None:
        found.append(_sha256(payload))
    reader.reset()  # once MXNet's reader has met the end, it finds no record by its key either
    last = max(reader.idx.values(), default=0)
    for key in reversed(reader.keys):
        found.append(_sha256(reader.read_idx(key)))
        if reader.idx[key] != last:
            found.append(_sha256(reader.read()))
    return [found, sorted(reader.idx.items()), reader.keys]


def pack(headers: list, payload: str) -> list:
    """Pack each header; return the payload, what unpacks from it, or the kind of error."""
    found = []
    for text in headers:
        header = eval(text, {"np": np, "inf": float("inf"), "nan": float("nan")})
        try:
            with np.errstate(over="ignore"):
                packed = mx.recordio.pack(header, eval(payload, {"np": np}))
        except Exception as error:
            found.append(_kind(error))
            continue
        again, rest = mx.recordio.unpack(packed)
        label = again.label
        shown = (
            repr(label) if isinstance(label, float) else [str(label.dtype), repr(label.tolist())]
        )
        found.append([packed.hex(), again.flag, shown, again.id, again.id2, rest.hex()])
    return found


def images(record: str) -> list:
    """Decode and encode again each image of a file, in all the ways that there are."""
    reader = mx.recordio.MXRecordIO(record, "r")
    found = []
    while (payload := reader.read()) is not None:
        header, content = mx.recordio.unpack(payload)
        for flag in (-1, 0, 1):
            _, image = mx.recordio.unpack_img(payload, flag)
            found.append([image.shape, _sha256(image.tobytes())])
            for suffix, quality in (
                (".jpg", 95),
                (".jpg", 30),
                (".png", 3),
                (".PNG", 9),
                (".bmp", 1),
            ):
                found.append(_sha256(mx.recordio.pack_img(header, image, quality, suffix)))
        for options in ({}, {"flag": 0}, {"to_rgb": 0}):
            image = mx.image.imdecode(content, **options).asnumpy()
            found.append([image.shape, str(image.dtype), _sha256(image.tobytes())])
    return found


def load_faces(record: str, index: str) -> list:
    """Load an InsightFace file as a training script does: file header, ranges, images."""
    reader = mx.recordio.MXIndexedRecordIO(index, record, "r")
    header, _ = mx.recordio.unpack(reader.read_idx(0))
    ranges = []
    if header.flag > 0:
        keys = np.array(range(1, int(header.label[0])))
        for key in range(int(header.label[0]), int(header.label[1])):
            person, _ = mx.recordio.unpack(reader.read_idx(key))
            ranges.append([int(person.label[0]), int(person.label[1])])
    else:
        keys = np.array(list(reader.keys))
    samples = []
    for key in keys:
        header, content = mx.recordio.unpack(reader.read_idx(key))
        label = header.label
        if not isinstance(label, numbers.Number):
            label = label[0]
        image = mx.image.imdecode(content).asnumpy()
        samples.append([int(label), image.shape, _sha256(image.tobytes())])
    return [ranges, samples]


def _kind(error: Exception) -> str:
    """Name the kind of an error by what callers catch."""
    import struct

    kinds = (struct.error, TypeError, OverflowError, ValueError)
    return next((kind.__name__ for kind in kinds if isinstance(error, kind)), "another")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


STEPS = {function.__name__: function for function in (write, read, pack, images, load_faces)}

if __name__ == "__main__":
    for line in sys.stdin:
        results = [STEPS[step.pop("do")](**step) for step in json.loads(line)]
        print(json.dumps(results), flush=True)
