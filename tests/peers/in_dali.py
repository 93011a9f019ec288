"""Runs in the DALI environment: a JSON list of steps on stdin, a list of results on stdout.

Each step is an object: ``do`` names a function below, the rest are its arguments. There is no GPU.
"""

import hashlib
import json
import sys

from nvidia.dali import fn, pipeline_def


def read(record: str | list[str], index: str, dont_use_mmap: bool = False) -> list:
    """Return [SHA-256 of the encoded image, labels] of each sample that DALI's reader gives."""
    paths = [record] if isinstance(record, str) else record

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def samples() -> tuple:
        return tuple(
            fn.readers.mxnet(
                path=paths, index_path=[index], dont_use_mmap=dont_use_mmap, name="reader"
            )
        )

    results = []
    for image, label in _run(samples()):
        digest = hashlib.sha256(image.tobytes()).hexdigest()
        results.append([digest, label.tolist()])
    return results


def decode(record: str, index: str) -> list:
    """Return the shape of each sample's image once DALI has decoded it."""

    @pipeline_def(batch_size=1, num_threads=1, device_id=None)
    def images() -> tuple:
        encoded, label = fn.readers.mxnet(path=[record], index_path=[index], name="reader")
        return fn.decoders.image(encoded, device="cpu"), label

    return [image.shape for image, _ in _run(images())]


def _run(pipeline: object) -> list:
    pipeline.build()
    results = []
    for _ in range(pipeline.epoch_size("reader")):
        # The next run may take the memory of what this one gave.
        results.append([output.at(0).copy() for output in pipeline.run()])
    return results


STEPS = {function.__name__: function for function in (read, decode)}

if __name__ == "__main__":
    results = [STEPS[step.pop("do")](**step) for step in json.load(sys.stdin)]
    json.dump(results, sys.stdout)
