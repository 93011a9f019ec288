"""Every command takes operations in proportion to its input, whoever made that input.

Each command runs on each input, and on one of twice the size: bytes read, calls and characters
printed must not grow by more than a factor of about two. What goes on inside C without any reading
cannot be counted so: the last tests have inputs of which each would take minutes.
"""

import io
import itertools
import struct
from array import array
from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest
from _pytest.mark import ParameterSet
from counting import Cost, cost_of, needs_counters, require_linear, run_command
from reference import MAGIC, part
from samples import SIX, image, labelled

import rec2idx
from rec2idx import RecordDataset, _tally, list_records, read_records, scan
from rec2idx.lines import read_index
from rec2idx.one_record import copy_record
from rec2idx.recordio import MXIndexedRecordIO, MXRecordIO

pytestmark = needs_counters

SOME, FEW = 500, 4


class Files(NamedTuple):
    """A record file and an index; its lines are made of offsets and keys, if not given."""

    records: bytes
    offsets: list[int]
    keys: list[object] | None = None
    lines: bytes | None = None

    def write(self) -> None:
        keys = range(len(self.offsets)) if self.keys is None else self.keys
        lines = zip(keys, self.offsets, strict=True)
        text = "".join(f"{key}\t{offset}\n" for key, offset in lines)
        Path("a.rec").write_bytes(self.records)
        Path("other.idx").write_bytes(text.encode() if self.lines is None else self.lines)


def opening(cflag: int, length: int) -> bytes:
    """The header of a part."""
    return MAGIC + struct.pack("<I", cflag << 29 | length)


def sharing(count: int, end: bytes) -> Files:
    """Records that each open by themselves, and then share a tail of parts."""
    tail = 8 * count
    heads = b"".join(opening(1, tail - at - 8) for at in range(0, tail, 8))
    return Files(heads + part(2, b"") * count + end, [*range(0, tail, 8)])


def false_starts(count: int) -> Files:
    """Payloads of what may be first parts of records, which share a tail in the last payload."""
    length = 264 * (count // 33)
    offsets = [at for at in range(0, length, 8) if at % 264]
    fakes = b"".join(opening(1, length - at) for at in offsets)
    records = [part(0, fakes[at : at + 256]) for at in range(0, len(fakes), 256)]
    tail = part(0, part(2, b"") * count + part(3, b""))
    return Files(b"".join(records) + tail, offsets)


def nested(count: int, content: Callable[[int], bytes]) -> Files:
    """Records that each go to the end of the file, past the starts of all that follow."""
    step = 8 + len(content(0))
    size = step * count + 400
    heads = [
        opening(0, size - at - 8) + content(size - at - 8) for at in range(0, size - 400, step)
    ]
    return Files(b"".join(heads) + bytes(400), [*range(0, size - 400, step)])


def labels_to_the_end(size: int) -> bytes:
    return struct.pack("<IfQQ", max(size - 24 - 40, 0) // 4, 0.0, 7, 0)


def jpeg_to_the_end(size: int) -> bytes:
    return image(0, 7, b"\xff\xd8\xff\xe0\xff\xff\0\0")


def image_records(count: int) -> Files:
    payloads = [part(0, image(at, at, b"\xff\xd8\xff" + bytes(9))) for at in range(count)]
    return Files(b"".join(payloads), [*range(0, 44 * count, 44)])


def faces(count: int) -> Files:
    """InsightFace's layout: a file header, images, and identities that all have all of these."""
    images = [image(at % 7, at, b"8 bytes.") for at in range(1, count + 1)]
    identities = [labelled([1, count + 1], count + 1 + at) for at in range(count)]
    payloads = [labelled([count + 1, 2 * count + 1], 0), *images, *identities]
    return Files(b"".join(part(0, one) for one in payloads), [*range(0, 40 * 2 * count + 40, 40)])


def shuffled(count: int) -> Files:
    files = image_records(count)
    return files._replace(offsets=files.offsets[::2] + files.offsets[::-2], keys=[*range(count)])


def odd_lines(line: Callable[[int], bytes]) -> Callable[[int], Files]:
    """An index that begins well, of lines that are odd."""

    def make(count: int) -> Files:
        lines = [b"%d\t%d\n" % (at, 44 * at) for at in range(FEW)]
        lines += [line(at) for at in range(FEW, count)]
        return image_records(count)._replace(lines=b"".join(lines))

    return make


def long_line(count: int) -> Files:
    """Zeros without an end, which are a number, and then another one."""
    return Files(SIX, [], lines=b"0" * (100 * count) + b" " + b"0" * (100 * count))


def one_of_many_parts(count: int) -> bytes:
    return part(1, b"") + part(2, b"") * count + part(3, b"")


BEHIND = part(0, bytes(1 << 14))  # so that the end of the file cuts no read short

RECORDS: dict[str, Callable[[int], Files]] = {
    "shared tail": lambda n: sharing(n, part(3, b"")),
    "shared tail without an end": lambda n: sharing(n, b""),
    "shared tail into damage": lambda n: sharing(n, b"no magic"),
    "shared tail in a payload": false_starts,
    "labels to the end of the file": lambda n: nested(n, labels_to_the_end),
    "images to the end of the file": lambda n: nested(n, jpeg_to_the_end),
    "images": image_records,
    "empty records": lambda n: Files(part(0, b"") * n, [*range(0, 8 * n, 8)]),
    "one record of many parts": lambda n: Files(
        one_of_many_parts(n) + BEHIND, [*range(0, 8 * n, 8)]
    ),
    "a payload of magics": lambda n: Files(part(0, MAGIC * n) + BEHIND, [*range(0, 4 * n, 4)]),
    "records in a payload": lambda n: Files(
        part(0, bytes(4) + part(0, b"") * n), [*range(12, 8 * n, 8)]
    ),
    "damage": lambda n: Files(image_records(n).records[:-1], [*range(0, 44 * n, 44)]),
    "faces": faces,
}
INDEXES: dict[str, Callable[[int], Files]] = {
    "entries in no order": shuffled,
    "entries past the end": lambda n: Files(part(0, bytes(8 * n)), [*range(8 * n, 24 * n, 16)]),
    "one record, named often": lambda n: Files(one_of_many_parts(n), [0] * n),
    "equal keys": lambda n: image_records(n)._replace(keys=[7] * n),
    "names": lambda n: image_records(n)._replace(keys=[f"name{at % (n // 2)}" for at in range(n)]),
    "lines of Windows": odd_lines(lambda at: b"%d\t%d\r\n" % (at, 44 * at)),
    "lines that end in a return": odd_lines(lambda at: b"%d\t%d\r" % (at, 44 * at)),
    "spaces for tabs": odd_lines(lambda at: b"%d %d\n" % (at, 44 * at)),
    "odd lines in turns": odd_lines(
        lambda at: (b"\n", b"# x\n", b"1.5\t0\n", b"x 1 2 3\n")[at % 4]
    ),
    "a long line": long_line,
    "keys of many digits": odd_lines(lambda at: b"1" * (at % 100) + b"x\t44\n"),
}
INPUTS = RECORDS | INDEXES

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
WITHOUT_INDEX = frozenset(
    name for name, words in COMMANDS.items() if not any("other.idx" in word for word in words)
)
# These give a record anew for each entry that names it, however often.
GIVING_OFTEN = ("RecordDataset, all items", "RecordDataset, mapped", "read_many")


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
READING_ON = {"scan in segments", "read_records", "MXRecordIO"}


def make_room(files: Files) -> None:
    """Have these files in the folder, and no others."""
    for left in Path().iterdir():
        remove(left)
    files.write()


def cost_on(make: Callable[[int], Files], count: int, work: Callable[[], object]) -> Cost:
    make_room(make(count))
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


def cases(names: Iterable[str], without_index: Container[str]) -> list[ParameterSet]:
    """Each piece of work on each input that concerns it."""
    return [
        pytest.param(kind, name, id=f"{name} on {kind}")
        for name, kind in itertools.product(names, INPUTS)
        if not (name in GIVING_OFTEN and kind == "one record, named often")
        and not (name in without_index and kind in INDEXES)
    ]


LOADED: set[str] = set()  # work whose modules have been read


@pytest.mark.parametrize(("kind", "name"), cases(WORK, WITHOUT_INDEX | READING_ON))
def test_twice_the_input_takes_twice_the_operations(folder, kind, name):
    make, work = INPUTS[kind], WORK[name]
    if name not in LOADED:
        LOADED.add(name)
        cost_on(make, FEW, work)
    require_linear(*(cost_on(make, count, work) for count in (FEW, SOME, 2 * SOME)))


class Far:
    """A source as behind a network, which counts what is asked for."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.data = Path(path).read_bytes()
        self.size = len(self.data)
        self.modified = None
        self.reads = self.given = 0

    def read(self, offset: int, length: int) -> bytes:
        data = self.data[offset : offset + length]
        self.reads += 1
        self.given += len(data)
        return data

    def require_unchanged(self) -> None:
        pass

    def location(self) -> object:
        raise NotImplementedError


def nowhere(data: bytes | memoryview) -> None:
    pass


FAR_WORK: dict[str, Callable[[Far], object]] = {
    "list_records": lambda far: list(list_records(far)),
    "list_records with an index": lambda far: list(list_records(far, "other.idx")),
    "copy_record": lambda far: copy_record(far, "3", None, nowhere),
    "copy_record with an index": lambda far: copy_record(far, "3", "other.idx", nowhere),
    "scan": lambda far: list(scan(far, jobs=1)),
    "scan in segments": lambda far: list(scan(far, jobs=2, segment_size=256, block_size=64)),
    "create_index": lambda far: rec2idx.create_index(far, io.BytesIO()),
    "info": rec2idx.info,
    "check": lambda far: rec2idx.check(far, "other.idx", full=True),
    "salvage": lambda far: rec2idx.salvage(far, "new.rec"),
    "extract": lambda far: rec2idx.extract(far, "images", to="wds", index="other.idx"),
    "read_records": lambda far: list(read_records(far)),
}
FAR_WITHOUT_INDEX = FAR_WORK.keys() - {
    *("list_records with an index", "copy_record with an index", "check", "extract"),
}


@pytest.mark.parametrize(("kind", "name"), cases(FAR_WORK, FAR_WITHOUT_INDEX))
def test_twice_the_input_takes_twice_the_requests(folder, kind, name):
    def requests(count: int) -> tuple[int, int]:
        make_room(INPUTS[kind](count))
        far = Far("a.rec")
        cost_of(lambda: FAR_WORK[name](far))
        return far.reads, far.given

    least, once, twice = map(requests, (FEW, SOME, 2 * SOME))
    assert twice[0] - least[0] <= 2.2 * max(once[0] - least[0], 0) + 8
    assert twice[1] - least[1] <= 2.2 * max(once[1] - least[1], 0) + (1 << 16)


LISTS: dict[str, Callable[[int], list[str]]] = {
    "one picture": lambda n: [f"{at}\t1\ta.jpg" for at in range(n)],
    "one number": lambda n: ["7\t1\ta.jpg"] * n,
    "numbers in no order": lambda n: [f"{at * 7919 % n}\t1\ta.jpg" for at in range(n)],
    "pictures that are not there": lambda n: [f"{at}\t1\t{at}.jpg" for at in range(n)],
    "many labels": lambda n: ["7\t" + "1\t" * (20 * n) + "a.jpg"],
    "many digits": lambda n: ["1" * (100 * n) + "\t1\ta.jpg"],
    "a long name": lambda n: ["7\t1\t" + "../" * (20 * n) + "a.jpg"],
    "blank lines": lambda n: ["", " \t "] * n,
}
LIST_WORK = {
    "pack": ["recordio", "pack", "--pack-label", "a.lst", "new.rec"],
    "ls --lst": ["recordio", "ls", "--lst", "a.lst", "a.rec"],
    "extract --lst": ["recordio", "extract", "--to", "wds", "--lst", "a.lst", "a.rec", "images"],
}


@pytest.mark.parametrize("name", LIST_WORK)
@pytest.mark.parametrize("kind", LISTS)
def test_twice_the_list_takes_twice_the_operations(folder, kind, name):
    def cost(count: int) -> Cost:
        make_room(Files(SIX, []))
        Path("a.jpg").write_bytes(b"\xff\xd8\xff")
        Path("a.lst").write_text("\n".join(LISTS[kind](count)))
        return cost_of(lambda: run_command(*LIST_WORK[name]))

    cost(FEW)
    require_linear(*map(cost, (FEW, SOME, 2 * SOME)))


# Each of these would take minutes if its time grew with the square of its input.


def test_a_line_of_zeros():
    """It is a number to DALI, which goes on to the next one."""
    index = read_index(io.BytesIO(b"0" * (1 << 20) + b"\t5"))
    assert [(problem.code, problem.count) for problem in index.problems] == [("long-line", 1)]


def test_a_key_that_is_nearly_a_number():
    """No more than 65536 bytes of a line are looked at."""
    keys = [b"1" * 60_000 + end for end in (b"x", b".x", b"ex")]
    index = read_index(io.BytesIO(b"".join(key + b"\t5\n" for key in keys)))
    assert index.keys == [key.decode() for key in keys]
    assert ("text-key", 3) in [(problem.code, problem.count) for problem in index.problems]


def test_labels_that_would_want_one_place():
    """Multiplied by the number that hashes are mostly made with, they lie close together."""
    found: list[numpy.ndarray] = []
    for start in range(0, 1 << 26, 1 << 22):
        words = numpy.arange(start + 1, start + 1 + (1 << 22), dtype="u8")
        places = words * numpy.uint64(0x9E3779B97F4A7C15) >> numpy.uint64(32)
        found.append(words[places % numpy.uint64(1 << 20) < 4096])
    words = numpy.concatenate(found).astype("<u4")
    assert len(words) > 1 << 17
    values = array("f", words.tobytes())
    heads = numpy.zeros((len(words), 8), "<u4")
    heads[:, 3] = words
    by_labels, by_numbers = _tally.Distinct(), _tally.Distinct()
    by_labels.add_labels(array("B", heads.tobytes()), array("B", bytes(len(words))), 32, 0)
    by_numbers.add_numbers(values)
    assert len(by_labels) == len(by_numbers) == len(words)
