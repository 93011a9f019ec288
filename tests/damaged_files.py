"""Record files with one to four damages, and what of them is untouched: made from a seed."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass

from damage import flip_byte, insert_bytes, remove_bytes, zero_block
from reference import MAGIC, part, record
from samples import image, labelled


@dataclass(frozen=True)
class DamagedFile:
    """A file, and where its records are.

    Attributes:
        data: its bytes.
        starts: where each record starts; one whose first byte is lost, where that was.
        ends: where each ends.
        sizes: payload size of each, before any damage.
        touched: the numbers of the records in which bytes were changed, inserted or removed.
        damages: what was done, in words.
    """

    data: bytes
    starts: list[int]
    ends: set[int]
    sizes: list[int]
    touched: frozenset[int]
    damages: list[str]

    def has(self, start: int) -> bool:
        """Whether a record of the file is there; of one that was damaged, its start or its end."""
        if start in self.starts:
            return True
        cflag, end = 1, start
        while cflag in (1, 2):
            cflag, length = divmod(int.from_bytes(self.data[end + 4 : end + 8], "little"), 1 << 29)
            end += 8 + (length + 3 & ~3)
        return end in self.ends

    def ends_of(self, number: int) -> list[int]:
        """Where a record ends, by the order of the ends."""
        return sorted(self.ends)[number : number + 1]

    def near(self) -> set[int]:
        """The numbers of records that are touched, or next to one that is."""
        return {number + step for number in self.touched for step in (-1, 0, 1)}

    def untouched(self, far: bool = False) -> set[tuple[int, int]]:
        """Where each record is that is as it was, and its payload size.

        Args:
            far: only those that are not next to one that is touched.
        """
        numbers = set(range(len(self.starts))) - (self.near() if far else self.touched)
        return {(self.starts[at], self.sizes[at]) for at in numbers}


def jpeg(rng: random.Random, inside: bytes) -> bytes:
    """What has the segments of a JPEG, with any bytes in a comment and in what is left of it."""
    comment = b"\xff\xfe" + (len(inside) + 2).to_bytes(2, "big") + inside
    scan = b"\xff\xda\x00\x02" + noise(rng, rng.randrange(4, 60)).replace(b"\xff", b"\xfe")
    return b"\xff\xd8\xff\xe0\x00\x10JFIF\0\1\1\0\0\1\0\1\0\0" + comment + scan + b"\xff\xd9"


def png(rng: random.Random, inside: bytes) -> bytes:
    """What has the chunks of a PNG, with any bytes in its IDAT."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = zlib.crc32(name + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + name + data + crc

    size = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    data = inside + noise(rng, rng.randrange(4, 60))
    chunks = chunk(b"IHDR", size) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def blob(rng: random.Random, inside: bytes) -> bytes:
    """An image of no known kind."""
    return b"\x01" + inside + noise(rng, rng.randrange(4, 60))


def noise(rng: random.Random, size: int) -> bytes:
    return rng.randbytes(size).replace(b"\xd7", b"\xd6")


IMAGES = {"jpeg": jpeg, "png": png, "blob": blob}


class Maker:
    """Makes the records of one file, all after one plan."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kinds = rng.choice([["jpeg"], ["png"], ["blob"], ["jpeg", "png"], [*IMAGES]])
        self.labels = rng.choice([[0], [0], [2], [0, 1, 2, 5]])
        self.largest = rng.choice([20, 200, 200, 2000])

    def payload(self, number: int, depth: int = 0) -> bytes:
        rng = self.rng
        inside = self.inside(depth)
        pixels = IMAGES[rng.choice(self.kinds)](rng, inside)
        labels = rng.choice(self.labels)
        if labels:
            return labelled([float(rng.randrange(9)) for _ in range(labels)], number, pixels)
        return image(float(rng.randrange(9)), number, pixels)

    def inside(self, depth: int) -> bytes:
        """Bytes of an image: mostly noise; magics, headers and files at any place of some."""
        rng = self.rng
        data = noise(rng, rng.randrange(self.largest))
        if rng.random() < 0.6:
            return data
        at = rng.randrange(len(data) + 1)
        return data[:at] + self.hard(depth) + data[at:]

    def hard(self, depth: int) -> bytes:
        """Bytes that look like records.

        A file of records like those of this one is not among them where these tell nothing of
        themselves: nobody could know what it is once the header before it is gone.
        """
        rng = self.rng
        choice = rng.randrange(5)
        if choice == 0:
            return MAGIC
        if choice == 1:
            return part(rng.randrange(4), bytes(rng.randrange(60)))[: rng.randrange(8, 40)]
        if choice == 2:
            return b"".join(MAGIC + noise(rng, rng.choice([0, 4, 8])) for _ in range(3))
        if depth or choice == 3 or "blob" in self.kinds:
            small = [noise(rng, rng.randrange(40)) for _ in range(rng.randrange(1, 12))]
            return b"".join(map(record, small))
        small = [image(float(at), at, noise(rng, 12)) for at in range(rng.randrange(1, 12))]
        return b"".join(map(record, small))


def damaged_file(seed: int) -> DamagedFile:
    """Return the file of a seed."""
    rng = random.Random(seed)
    maker = Maker(rng)
    payloads = [maker.payload(number) for number in range(rng.choice([10, 20, 40, 60]))]
    records = [record(payload) for payload in payloads]
    starts = [0]
    for one in records:
        starts.append(starts[-1] + len(one))
    data = b"".join(records)
    while True:
        file = _damaged(rng, data, starts, [len(payload) for payload in payloads])
        if not _leads_astray(file):
            return file


def _damaged(rng: random.Random, data: bytes, starts: list[int], sizes: list[int]) -> DamagedFile:
    edits = _edits(rng, starts)
    moved, ends = list(starts[:-1]), list(starts[1:])
    touched: set[int] = set()
    words = []
    for start, stop, verb in sorted(edits, reverse=True):
        data, shift = _apply(rng, data, start, stop, verb)
        words.append(f"{verb} {start} to {stop} ({shift:+d})")
        for number, at in enumerate(starts[:-1]):
            if starts[number + 1] > start:
                ends[number] += shift if starts[number + 1] >= stop else start - starts[number + 1]
            if at >= stop:
                moved[number] += shift
            elif start < starts[number + 1] and (at < stop) and not (start == stop <= at):
                touched.add(number)
                if at > start and verb == "remove":
                    moved[number] -= at - start
    return DamagedFile(data, moved, set(ends), sizes, frozenset(touched), words[::-1])


def _leads_astray(file: DamagedFile) -> bool:
    """Whether a damaged record leads to a header that is not the next one: then nothing breaks."""
    for number in file.touched:
        at, data = file.starts[number], file.data
        if data[at : at + 4] != MAGIC:
            continue
        cflag, length = divmod(int.from_bytes(data[at + 4 : at + 8], "little"), 1 << 29)
        end = at + 8 + (length + 3 & ~3)
        is_header = data[end : end + 4] == MAGIC or end == len(data)
        if cflag == 0 and is_header and end not in file.ends_of(number):
            return True
    return False


def _edits(rng: random.Random, starts: list[int]) -> list[tuple[int, int, str]]:
    """Choose one to four stretches, apart from each other, and what is done to them."""
    end = starts[-1]
    edits: list[tuple[int, int, str]] = []
    for _ in range(rng.randrange(1, 5)):
        verb = rng.choice(["flip", "flip", "insert", "remove", "zero"])
        place = rng.randrange(end)
        if rng.random() < 0.4:  # where it hurts
            place = min(rng.choice(starts) + rng.choice([-1, 0, 0, 1, 3, 4, 5, 7, 8]), end - 1)
        start = max(place, 0)
        length = {"flip": 1, "insert": 0}.get(verb, rng.choice([1, 2, 3, 4, 8, 20, 100]))
        stop = min(start + length, end)
        if all(stop < other[0] or start > other[1] for other in edits):
            edits.append((start, stop, verb))
    return edits


def _apply(rng: random.Random, data: bytes, start: int, stop: int, verb: str) -> tuple[bytes, int]:
    if verb == "flip":
        return flip_byte(data, start, rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])), 0
    if verb == "zero":
        return zero_block(data, start, stop), 0
    if verb == "remove":
        return remove_bytes(data, start, stop), start - stop
    size = rng.choice([1, 2, 3, 4, 5, 8, 16, 32, 37])
    extra = rng.choice([noise(rng, size), bytes(size), b"\n" * size])
    return insert_bytes(data, start, extra), len(extra)
