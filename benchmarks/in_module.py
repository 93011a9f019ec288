"""One thing done with MXNet's ``recordio`` or with ours, by whichever Python has it.

``in_module.py MODULE TASK RECORD INDEX``, with ``mxnet`` or ``ours`` and one of `TASKS`. Prints
JSON.
"""

import json
import os
import random
import resource
import sys
import zlib
from time import perf_counter

READS = 200_000  # records that are read at random: more bytes than a processor's cache has
WRITTEN = 100 << 20  # bytes of records that are written, about


def peak():
    """Return the most bytes that this process held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def opening(module, record, index):
    """Open a file with its index."""
    before = peak()
    began = perf_counter()
    reader = module.MXIndexedRecordIO(index, record, "r")
    seconds = perf_counter() - began
    reader.close()
    return {"seconds": seconds, "before": before, "peak": peak()}


def random_reads(module, record, index):
    """Read records by keys at random; then once more, for their checksum."""
    reader = module.MXIndexedRecordIO(index, record, "r")
    chance, count, checksum = random.Random(5), len(reader.keys), 0
    keys = [chance.randrange(count) for _ in range(READS)]
    reader.close()
    reader = module.MXIndexedRecordIO(index, record, "r")  # nobody has asked for its keys
    began = perf_counter()
    for key in keys:
        reader.read_idx(key)
    seconds = perf_counter() - began
    for key in keys:
        checksum = zlib.crc32(reader.read_idx(key), checksum)
    return {"seconds": seconds, "records": READS, "checksum": checksum}


def bare_reads(module, record, index):
    """Read the bytes of the same records with `os.pread`, and do nothing else."""
    reader = module.MXIndexedRecordIO(index, record, "r")
    offsets = [*reader.idx.values(), os.path.getsize(record)]
    chance = random.Random(5)
    places = [chance.randrange(len(offsets) - 1) for _ in range(READS)]
    pieces = [(offsets[place], offsets[place + 1] - offsets[place]) for place in places]
    fd = os.open(record, os.O_RDONLY)
    began = perf_counter()
    for offset, size in pieces:
        os.pread(fd, size, offset)
    return {"seconds": perf_counter() - began, "records": READS}


def reading(module, record, index):
    """Read all records in order."""
    reader = module.MXRecordIO(record, "r")
    count = 0
    began = perf_counter()
    while reader.read() is not None:
        count += 1
    return {"seconds": perf_counter() - began, "records": count}


def writing(module, record, index):
    """Write records, which are in memory, and an index beside the one that was given."""
    reader = module.MXRecordIO(record, "r")
    payloads, size = [], 0
    while size < WRITTEN and (payload := reader.read()) is not None:
        payloads.append(payload)
        size += len(payload)
    new = os.path.join(os.path.dirname(index), sys.argv[1])
    writer = module.MXIndexedRecordIO(f"{new}.idx", f"{new}.rec", "w")
    os.sync()  # the disk has nothing else to do
    began = perf_counter()
    for key, payload in enumerate(payloads):
        writer.write_idx(key, payload)
    writer.close()
    return {"seconds": perf_counter() - began, "records": len(payloads)}


TASKS = {task.__name__: task for task in (opening, random_reads, bare_reads, reading, writing)}


def main(name, task, record, index):
    """Do it and print."""
    if name == "mxnet":
        from mxnet import recordio as module
    else:
        from rec2idx import recordio as module
    print(json.dumps(TASKS[task](module, record, index)))


if __name__ == "__main__":
    main(*sys.argv[1:])
