"""Runs in the DALI environment: a JSON list of [files, index, dont_use_mmap, decode] on stdin.

On stdout, for each: [number of samples, labels up to the first that fails, what DALI says then].
"""

import json
import sys

from nvidia.dali import fn, pipeline_def


@pipeline_def(batch_size=1, num_threads=1, device_id=None, prefetch_queue_depth=1)
def samples(files: list[str], index: str, dont_use_mmap: bool, decode: bool) -> tuple:
    """Read, and decode where that is wanted."""
    image, label = fn.readers.mxnet(
        path=files, index_path=[index], dont_use_mmap=dont_use_mmap, name="reader"
    )
    return (label, fn.decoders.image(image, device="cpu")) if decode else (label, image)


def read(*arguments: object) -> list:
    """Return what DALI does."""
    count, labels = 0, []
    try:
        pipeline = samples(*arguments)
        pipeline.build()
        count = pipeline.epoch_size("reader")
        for _ in range(count):
            labels.append(float(pipeline.run()[0].at(0)[0]))
    except RuntimeError as error:
        return [count, labels, str(error)]
    return [count, labels, None]


if __name__ == "__main__":
    json.dump([read(*task) for task in json.load(sys.stdin)], sys.stdout)
