"""Every command takes operations in proportion to its input, whoever made that input.

Each command runs on each input, and on one of twice the size: bytes read, calls and characters
printed must not grow by more than a factor of about two. What goes on inside C without any reading
cannot be counted so: the last tests have inputs of which each would take minutes.
"""

import itertools
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from counting import Cost, cost_of, needs_counters, require_linear, run_command
from reference import MAGIC, part
from samples import image, labelled

from rec2idx import RecordDataset, list_records, read_records, scan
from rec2idx.recordio import MXIndexedRecordIO, MXRecordIO

pytestmark = needs_counters

SOME, FEW = 1000, 4


class Files(NamedTuple):
    """A record file and an index."""

    records: bytes
    offsets: list[int]
    keys: list[object] | None = None

    def write(self) -> None:
        keys = range(len(self.offsets)) if self.keys is None else self.keys
        lines = zip(keys, self.offsets, strict=True)
        Path("a.rec").write_bytes(self.records)
        Path("other.idx").write_text("".join(f"{key}\t{offset}\n" for key, offset in lines))


def opening(cflag: int, length: int) -> bytes:
    """The header of a part."""
    return MAGIC + struct.pack("<I", cflag << 29 | length)


def sharing(count: int, end: bytes) -> Files:
    """Records that each open by themselves, and then share a tail of parts."""
    tail = 8 * count
    heads = b"".join(opening(1, tail - at - 8) for at in range(0, tail, 8))
    return Files(heads + part(2, b"") * count + end, [*range(0, tail, 8)])


def nested(count: int, content: Callable[[int], bytes]) -> Files:
    """Records that each go to the end of the file, past the starts of all that follow."""
    step = 8 + len(content(0))
    size = step * count + 400
    heads = [opening(0, size - at - 8) + content(size - at - 8) for at in range(0, size - 400, step)]
    return Files(b"".join(heads) + bytes(400), [*range(0, size - 400, step)])


def labels_to_the_end(size: int) -> bytes:
    return struct.pack("<IfQQ", max(size - 24 - 40, 0) // 4, 0.0, 7, 0)


def jpeg_to_the_end(size: int) -> bytes:
    return image(0, 7, b"\xff\xd8\xff\xe0\xff\xff\0\0")


def image_records(count: int) -> Files:
    payloads = [part(0, image(at, at, b"\xff\xd8\xff" + bytes(9))) for at in range(count)]
    return Files(b"".join(payloads), [*range(0, 44 * count, 44)])


def faces(count: int) -> Files:
    """InsightFace's layout: a file header, images, and identity records that all name all images."""
    images = [image(at % 7, at, b"8 bytes.") for at in range(1, count + 1)]
    identities = [labelled([1, count + 1], count + 1 + at) for at in range(count)]
    payloads = [labelled([count + 1, 2 * count + 1], 0), *images, *identities]
    return Files(b"".join(part(0, one) for one in payloads), [*range(0, 40 * 2 * count + 40, 40)])


def shuffled(count: int) -> Files:
    files = image_records(count)
    return files._replace(offsets=files.offsets[::2] + files.offsets[::-2], keys=[*range(count)])


def one_of_many_parts(count: int) -> bytes:
    return part(1, b"") + part(2, b"") * count + part(3, b"")


BEHIND = part(0, bytes(1 << 14))  # so that the end of the file cuts no read short

INPUTS: dict[str, Callable[[int], Files]] = {
    "shared tail": lambda n: sharing(n, part(3, b"")),
    "shared tail without an end": lambda n: sharing(n, b""),
    "shared tail into damage": lambda n: sharing(n, b"no magic"),
    "labels to the end of the file": lambda n: nested(n, labels_to_the_end),
    "images to the end of the file": lambda n: nested(n, jpeg_to_the_end),
    "images": image_records,
    "entries in no order": shuffled,
    "empty records": lambda n: Files(part(0, b"") * n, [*range(0, 8 * n, 8)]),
    "one record of many parts, named often": lambda n: Files(one_of_many_parts(n), [0] * n),
    "entries inside a record": lambda n: Files(
        one_of_many_parts(n) + BEHIND, [*range(0, 8 * n, 8)]
    ),
    "a payload of magics": lambda n: Files(part(0, MAGIC * n) + BEHIND, [*range(0, 4 * n, 4)]),
    "records in a payload": lambda n: Files(
        part(0, bytes(4) + part(0, b"") * n), [*range(12, 8 * n, 8)]
    ),
    "entries past the end": lambda n: Files(part(0, bytes(8 * n)), [*range(8 * n, 24 * n, 16)]),
    "equal keys": lambda n: image_records(n)._replace(keys=[7] * n),
    "names": lambda n: image_records(n)._replace(keys=[f"name{at % (n // 2)}" for at in range(n)]),
    "damage": lambda n: Files(image_records(n).records[:-1], [*range(0, 44 * n, 44)]),
    "faces": faces,
}

COMMANDS: dict[str, list[str]] = {
    "rec2idx": ["rec2idx", "-q", "a.rec", "new.idx"],
    "rec2idx --keys id": ["rec2idx", "-q", "--keys", "id", "a.rec", "new.idx"],
    "rec2idx --images-only": ["rec2idx", "-q", "--images-only", "a.rec", "new.idx"],
    "rec2idx --keys keep": ["rec2idx", "-q", "--keys", "keep=other.idx", "a.rec", "new.idx"],
    "index --combine": ["recordio", "index", "--combine", "new.idx", "a.rec", "a.rec"],
    "check": ["recordio", "check", "a.rec"],
    "check with an index": ["recordio", "check", "--for=dali,mxnet,rocal", "a.rec", "other.idx"],
    "check --full": ["recordio", "check", "--full", "a.rec", "other.idx"],
    "info": ["recordio", "info", "a.rec"],
    "ls": ["recordio", "ls", "a.rec"],
    "ls with an index": ["recordio", "ls", "a.rec", "other.idx"],
    "ls --json": ["recordio", "ls", "--json", "a.rec", "other.idx"],
    "cat": ["recordio", "cat", "a.rec", "3", "-o", "payload"],
    "cat with an index": ["recordio", "cat", "--index", "other.idx", "a.rec", "3", "-o", "payload"],
    "salvage": ["recordio", "salvage", "a.rec", "new.rec", "--index", "new.idx"],
    "extract": ["recordio", "extract", "--to", "wds", "a.rec", "images"],
    "extract with an index": [
        *("recordio", "extract", "--to", "wds", "--index", "other.idx", "a.rec", "images"),
    ],
}
# Where the chain breaks, these look for the next record, which is counted with the search itself.
SEARCHING = ("check", "check with an index", "check --full", "salvage")


def read_to_the_end() -> None:
    with MXRecordIO("a.rec", "r") as reader:
        while reader.read() is not None:
            pass


def read_by_key() -> None:
    with MXIndexedRecordIO("other.idx", "a.rec", "r") as reader:
        reader.read_idx(3)


def read_many() -> None:
    with RecordDataset("a.rec", "other.idx") as dataset:
        dataset.read_many(range(len(dataset)))


def one_item() -> None:
    with RecordDataset("a.rec", "other.idx") as dataset:
        _ = dataset[3]


CALLS: dict[str, Callable[[], object]] = {
    "list_records": lambda: list(list_records("a.rec", "other.idx")),
    "scan in segments": lambda: list(scan("a.rec", jobs=2, segment_size=256, block_size=64)),
    "RecordDataset": lambda: RecordDataset("a.rec", "other.idx").close(),
    "RecordDataset of images": lambda: RecordDataset("a.rec", "other.idx", images_only=True),
    "RecordDataset, an item": one_item,
    "RecordDataset, all items": lambda: list(RecordDataset("a.rec", "other.idx")),
    "RecordDataset, mapped": lambda: list(RecordDataset("a.rec", "other.idx", mmap=True)),
    "read_many": read_many,
    "read_records": lambda: list(read_records("a.rec")),
    "MXRecordIO": read_to_the_end,
    "MXIndexedRecordIO": read_by_key,
}


def cost_on(make: Callable[[int], Files], count: int, work: Callable[[], object]) -> Cost:
    make(count).write()
    for left in Path().iterdir():
        if left.name not in ("a.rec", "other.idx"):
            remove(left)
    return cost_of(work)


def remove(path: Path) -> None:
    if path.is_dir():
        for below in path.iterdir():
            remove(below)
        path.rmdir()
    else:
        path.unlink()


WORK = CALLS | {
    name: lambda words=words: run_command(*words)  # type: ignore[misc]
    for name, words in COMMANDS.items()
}
CASES = [
    pytest.param(kind, name, id=f"{name} on {kind}")
    for name, kind in itertools.product(WORK, INPUTS)
    if not (name in SEARCHING and kind in ("shared tail without an end", "shared tail into damage"))
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_twice_the_input_takes_twice_the_operations(folder, kind, name):
    make, work = INPUTS[kind], WORK[name]
    cost_on(make, FEW, work)  # modules are loaded
    require_linear(*(cost_on(make, count, work) for count in (FEW, SOME, 2 * SOME)))
