"""Where a fuzzer starts: valid files, damaged ones, and the words that mean something in them."""

from __future__ import annotations

import random
import struct
from pathlib import Path

from damage import cut_tail, flip_byte, remove_bytes
from reference import MAGIC, part, record

from .choices import KNOBS

PICTURES = Path(__file__).parent.parent / "pictures"
MOST = 2048  # bytes of a seed, since short inputs are tried more often

# cflag and length of a part, as the file has them
_LRECS = [struct.pack("<I", cflag << 29 | n) for cflag in (0, 1, 2, 3, 7) for n in (0, 4, 5, 40)]
WORDS = [
    MAGIC,
    MAGIC[:2],
    *_LRECS,
    struct.pack("<I", (1 << 29) - 1),
    part(0, b""),
    part(1, b"") + part(3, b""),
    struct.pack("<IfQQ", 0, 1.0, 1, 0),
    struct.pack("<IfQQ", 2, 0.0, 0, 0),
    struct.pack("<f", float("nan")),
    b"\xff\xd8\xff",
    b"\xff\xda",
    b"\xff\xd9",
    b"\x89PNG\r\n\x1a\n",
    b"IHDR",
    b"IEND",
    b"\t0\n",
    b"\r\n",
    b"18446744073709551615",
    b"18446744073709551616",
]


def pictures() -> list[bytes]:
    """Small real images of every kind."""
    contents = (path.read_bytes() for path in sorted(PICTURES.iterdir()) if path.suffix != ".py")
    return [content for content in contents if len(content) <= MOST]


def _payloads() -> list[bytes]:
    """Of image records with one label and with several, with ids, and of what is none."""
    several = struct.pack("<IfQQ3f", 3, 0.0, 9, 0, 1.0, 2.0, 3.0)
    file_header = struct.pack("<IfQQ2f", 2, 0.0, 0, 0, 2.0, 3.0)
    no_numbers = struct.pack("<IfQQ2f", 2, 0.0, 0, 0, float("nan"), float("inf"))
    small = [image for image in pictures() if len(image) < 250]
    some = [struct.pack("<IfQQ", 0, 1.0, i, 0) + image for i, image in enumerate(small)]
    others = [b"", b"abc", MAGIC * 2, b"x" + MAGIC]
    return [file_header, *some, several + b"GIF89a", several, no_numbers, *others]


def files() -> list[bytes]:
    """Files of few records and of many, whole and damaged."""
    payloads = _payloads()
    split = [record(b"abcd" + MAGIC + payload + MAGIC) for payload in payloads[:6]]
    lies = part(0, part(0, b"abcd") + part(0, bytes(60))[:8])  # records in a payload
    whole = [
        b"",
        part(0, b"") * 12,
        lies * 4 + part(0, b"end"),
        *(record(payload) for payload in payloads),
        *split,
        b"".join(map(record, payloads[:5])),
        b"".join(map(record, payloads[-7:])),
        b"".join(split[:4]),
    ]
    last = whole[-1]
    damaged = [cut_tail(last, 57), flip_byte(last, 0), remove_bytes(last, 20, 31), last + b"\n"]
    return [data for data in whole + damaged if len(data) <= MOST]


def indexes() -> list[bytes]:
    """Indexes, as they should be and otherwise."""
    plain = "".join(f"{key}\t{44 * key}\n" for key in range(12)).encode()
    odd = b"\xef\xbb\xbf0\t0\n\n#\t1\n007 3\r\n-1\t+5\ncat\t1_0\r7\t18446744073709551616\n8\t9"
    texts = b"".join(b"n%d.jpg\t%d\n" % (number, number) for number in range(12))
    others = [plain.replace(b"\t", b" "), plain.replace(b"\n", b"\r\n")]
    return [plain, odd, texts, *others, b"5\t" + b"1" * 300 + b"\n"]


def _unescaped(chance: random.Random) -> bytes:
    """A file whose payloads hold what looks like records, some of which reach into the next one."""
    lies = [part(0, b"abcd"), part(0, b"") * 5, part(1, b""), b"abcd", MAGIC]
    lies += [part(0, bytes(size))[:8] for size in (0, 12, 20, 28, 44)]
    payloads = [chance.choices(lies, k=chance.randrange(9)) for _ in range(chance.randrange(3, 9))]
    return b"".join(part(0, b"".join(payload)) for payload in payloads)


def inputs(seed: int) -> list[bytes]:
    """What all targets start with: files and images, each with choices of its own."""
    chance = random.Random(seed)
    unescaped = [_unescaped(chance) for _ in range(20)]
    return [
        chance.choice((bytes(KNOBS), chance.randbytes(KNOBS))) + content
        for content in unescaped + files() + pictures() + indexes()
    ]


def dictionary() -> str:
    """The words, as libFuzzer reads them."""
    return "".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in WORDS)
