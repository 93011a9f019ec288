"""Makes the record files that the benchmark reads: ``python -m benchmarks.data``."""

from __future__ import annotations

import argparse
import os
import random
import shutil
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

FOLDER = Path(__file__).parent / "data"
MAGIC = 0xCED7230A
IR_HEADER = struct.calcsize("<IfQQ")
HEAD = struct.Struct("<IIIfQQ")  # magic, lrec and IRHeader
STEP = 4096  # from the place in the blob of one payload to that of the next
DAMAGES = 1000  # places in a damaged copy
CHUNK = 4 << 20  # bytes, about, of one write


@dataclass(frozen=True)
class Shape:
    """What a file is made of.

    Attributes:
        name: what tables call it.
        records: number of records at scale 1.
        mean: bytes of a payload, on average; they vary by 40 % either way.
        seed: of the sizes and of the bytes.
        hollow: payloads are zeros that take no room on the disk.
    """

    name: str
    records: int
    mean: int
    seed: int
    hollow: bool = False

    def scaled(self, scale: float) -> int:
        """Return the number of records at `scale`."""
        return max(1, round(self.records * scale))

    def path(self, scale: float) -> Path:
        """Return where the file stands at `scale`."""
        return FOLDER / f"{self.name}-{self.scaled(scale)}.rec"

    def damaged_path(self, scale: float) -> Path:
        """Return where its damaged copy stands."""
        return FOLDER / f"{self.name}-{self.scaled(scale)}-damaged.rec"


SHAPES = (
    Shape("tiny", 3_000_000, 230, 1),
    Shape("face", 600_000, 5_400, 2),
    Shape("imnet", 30_000, 125_000, 3),
)
# Its run is start-up and nothing else.
TEN = Shape("ten", 10, 5_400, 4)
# Files behind a server. Where requests are slow, a tenth of a file takes long enough to read.
SLOW = {
    "small": Shape("face", 60_000, 5_400, 2),
    "large": Shape("imnet", 3_000, 125_000, 3),
    "huge": Shape("huge", 2_000, 8_000_000, 7, hollow=True),  # 16 GB
}
S3 = {
    "small": Shape("object", 10_000, 10_000, 5),
    "large": Shape("clip", 20, 16 << 20, 6),
}


def make(shape: Shape, scale: float) -> Path:
    """Make the file unless it is there already; return its path."""
    path = shape.path(scale)
    if path.exists():
        return path
    began = time.perf_counter()
    FOLDER.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as file:
        if shape.hollow:
            _write_hollow(file, shape, shape.scaled(scale))
        else:
            for chunk in chunks(shape, shape.scaled(scale)):
                file.write(chunk)
        file.flush()
        os.fsync(file.fileno())  # so that no measurement shares the disk with the writing of it
    temporary.replace(path)
    size = path.stat().st_size
    print(f"made {path.name}: {size:,} bytes, {time.perf_counter() - began:.1f} s", flush=True)
    return path


def make_damaged(shape: Shape, scale: float) -> Path:
    """Make a copy of the file with `DAMAGES` damaged headers, unless it is there already."""
    path = shape.damaged_path(scale)
    if path.exists():
        return path
    temporary = path.with_suffix(".part")
    shutil.copyfile(make(shape, scale), temporary)
    offsets = [offset for offset, _ in layout(shape, shape.scaled(scale))]
    source = random.Random(shape.seed)
    chosen = sorted(source.sample(range(1, len(offsets)), min(DAMAGES, len(offsets) // 9)))
    with temporary.open("r+b") as file:
        for number, at in enumerate(chosen):
            place, damage = HARM[number % len(HARM)]
            file.seek(offsets[at] + place)
            file.write(damage)
    temporary.replace(path)
    return path


# Where in a header, and what is written there: no magic, another magic, a length too large.
HARM = ((0, bytes(8)), (1, b"!"), (5, b"\xff"))


def layout(shape: Shape, records: int) -> Iterator[tuple[int, int]]:
    """Yield the offset and the payload size of each record."""
    source = random.Random(shape.seed)
    smallest, widths = _sizes(shape)
    if not shape.hollow:
        source.randbytes(max(1 << 20, 2 * shape.mean))  # as `chunks` does, for the payloads
    position = 0
    for _ in range(records):
        size = smallest + int(source.random() * widths)
        yield position, size
        position += 8 + (size + 3 & ~3)


def chunks(shape: Shape, records: int) -> Iterator[bytes]:
    """Yield the bytes of the file, many records at a time."""
    source = random.Random(shape.seed)
    magic = struct.pack("<I", MAGIC)
    # A magic in a payload would split the record.
    blob = source.randbytes(max(1 << 20, 2 * shape.mean)).replace(magic, b"none")
    head = HEAD.pack
    smallest, widths = _sizes(shape)
    places = len(blob) - round(shape.mean * 1.4)
    pieces: list[bytes] = []
    held = 0
    for number in range(records):
        size = smallest + int(source.random() * widths)
        place = number * STEP % places
        pieces.append(head(MAGIC, size, 0, number % 1000, number, 0))
        # The payload is not a whole number of words: zeros follow up to the next.
        pieces.append(blob[place : place + size - IR_HEADER])
        pieces.append(bytes(-size % 4))
        held += size
        if held >= CHUNK:
            yield b"".join(pieces)
            pieces.clear()
            held = 0
    yield b"".join(pieces)


def _write_hollow(file: BinaryIO, shape: Shape, records: int) -> None:
    position = 0
    for number, (offset, size) in enumerate(layout(shape, records)):
        file.seek(offset)
        file.write(HEAD.pack(MAGIC, size, 0, number % 1000, number, 0))
        position = offset + 8 + (size + 3 & ~3)
    file.truncate(position)


def _sizes(shape: Shape) -> tuple[int, int]:
    """Return the smallest size of a payload, and how many sizes there are from it on."""
    return round(shape.mean * 0.6), round(shape.mean * 0.8) + 1


def main() -> None:
    """Make all the files at the scale that was asked for."""
    parser = argparse.ArgumentParser(description="Make the files that the benchmark reads.")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of records")
    scale = parser.parse_args().scale
    for shape in SHAPES:
        make(shape, scale)
        make_damaged(shape, scale)
    make(TEN, 1)
    for shape in (*SLOW.values(), *S3.values()):
        make(shape, scale)


if __name__ == "__main__":
    main()
