"""Payloads that MXNet writes to files: what is hard about RecordIO, and much that is random."""

import random

from reference import MAGIC


def _large() -> list[bytes]:
    """Random bytes, with the magic now at a multiple of 4, now elsewhere."""
    rng = random.Random(300)
    content = bytearray(rng.randbytes(300_000))
    for at in (40_000, 80_001, 120_002, 160_003, 200_000, 200_004, 299_996):
        content[at : at + 4] = MAGIC
    return [b"before", bytes(content), b"after", rng.randbytes(70_001)]


def _random(seed: int) -> list[bytes]:
    rng = random.Random(seed)
    chunks = [b"", b"x", b"xyz", MAGIC, MAGIC, MAGIC[:2], MAGIC[2:], bytes(40)]

    def payload() -> bytes:
        pieces = [*rng.choices(chunks, k=rng.randrange(12)), rng.randbytes(rng.randrange(200))]
        rng.shuffle(pieces)
        return b"".join(pieces)

    return [payload() for _ in range(rng.randrange(1, 60))]


PINNED = {
    "sizes": [b"123456789"[:size] for size in range(10)],
    "empty": [b""] * 3,
    "magics": [b"x" * before + MAGIC + b"y" * after for before in range(9) for after in range(6)],
    "only_magics": [MAGIC * times for times in range(1, 6)],
    "rows_of_magics": [b"head" + MAGIC * 3 + b"tail" + MAGIC * 2, b"odd" + MAGIC * 3, MAGIC + b"t"],
    "halves_of_magics": [MAGIC[:2], MAGIC[2:] + MAGIC[:2], b"abcd" + MAGIC[:3], MAGIC[:3] + b"\0"],
    "thousand": [b""] * 1000,
}

CORPUS = {
    **PINNED,
    "one": [b"a single record"],
    "one_empty": [b""],
    "one_magic": [MAGIC],
    "large": _large(),
    "records_999": [b"%d" % number for number in range(999)],
    "records_1000": [b"%d" % number for number in range(1000)],
    "records_1001": [b"%d" % number for number in range(1001)],
    "records_3000": [MAGIC * (number % 3) + b"%d" % number for number in range(3000)],
    **{f"random_{seed:02}": _random(seed) for seed in range(36)},
}
