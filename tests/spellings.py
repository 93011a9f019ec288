"""Ways to name a local file: paths and `file:` URLs. And what may stand under the name."""

import io
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from damage import flip_byte, remove_bytes, zero_block
from samples import FACE, SIX, SIX_INDEX

Spell = Callable[[Path, str], str]


def _escaped(path: str) -> str:
    """The last character of the folder and the first one of the name, as numbers."""
    folder, _, name = path.rpartition("/")
    return f"{folder[:-1]}%{ord(folder[-1]):02x}/%{ord(name[0]):02X}{name[1:]}"


def _crooked(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/./../{os.path.basename(folder)}/{name}"


# Each gives the same file, from the folder in which the command runs and the path below it.
SPELLINGS: dict[str, Spell] = {
    "path": lambda folder, path: path,
    "absolute path": lambda folder, path: f"{folder}/{path}",
    "path with dots": lambda folder, path: f"in/../{path}",
    "path through a link": lambda folder, path: path.replace("t", "link", 1),
    "file:///": lambda folder, path: f"file://{folder}/{path}",
    "file:/": lambda folder, path: f"file:{folder}/{path}",
    "file://localhost/": lambda folder, path: f"file://localhost{folder}/{path}",
    "file:// escaped": lambda folder, path: f"file://{_escaped(f'{folder}/{path}')}",
    "file:// with dots": lambda folder, path: f"file://{_crooked(f'{folder}/{path}')}",
    "file:// escaped dots": lambda folder, path: f"file://{_crooked(f'{folder}/{path}')}".replace(
        "..", "%2e%2e"
    ),
    "file:// through a link": lambda folder, path: (
        f"file://{folder}/{path.replace('t', 'link', 1)}"
    ),
    "local://": lambda folder, path: f"local://{folder}/{path}",
    "local:/": lambda folder, path: f"local:{folder}/{path}",
}

# These may be refused, or mean the same file; and they never go around a rule.
DOUBTFUL: dict[str, Spell] = {
    "FILE:///": lambda folder, path: f"FILE://{folder}/{path}",
    "file:// with another host": lambda folder, path: f"file://example.org{folder}/{path}",
    "file:// without a host": lambda folder, path: f"file://{path}",
    "file: without a slash": lambda folder, path: f"file:{path}",
    "file:// with a query": lambda folder, path: f"file://{folder}/{path}?x=1",
    "a chain": lambda folder, path: f"simplecache::file://{folder}/{path}",
}


def _zip() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.txt", "text")
    return file.getvalue()


def _tar() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return file.getvalue()


_CHUNK = b"IDAT" + zlib.compress(b"\0" * 4)
PNG = b"\x89PNG\r\n\x1a\n" + len(_CHUNK).to_bytes(4, "big") + _CHUNK

# Record files, whole ones and such as nobody would know by their first bytes.
RECORDS = {
    "a record file": FACE,
    "a record file, its first byte flipped": flip_byte(SIX, 0),
    "a record file, its first byte missing": SIX[1:],
    "a record file, its first 4 bytes missing": remove_bytes(SIX, 0, 4),
    "a record file, its first record zeroed": zero_block(SIX, 0, 44),
    "a record file after a line of an index": b"0\t0\n" + SIX,
    "a record file after an index": SIX_INDEX * 200 + SIX,
    "a big-endian record file": b"\xce\xd7\x23\x0a" + SIX[4:],
}

OTHERS = {
    "text": b"The whole thesis, which is nowhere else.\n",
    "text with tabs": b"name\tvalue\nlength\t5 cm\n",
    "text after a line of an index": b"0\t0\nand so on\n",
    "text after a long index": SIX_INDEX * 400 + b"This is no line of an index.\n",
    "a list": b"0\t0.000000\tcat/a.jpg\n1\t1.000000\tdog/b.jpg\n",
    "numbers and their labels": b"1\t0\n2\t1\n3\t0\n4\t1\n",
    "names and their labels": b"a.jpg\t0\nb.jpg\t1\nc.jpg\t0\n",
    "pairs of numbers": b"0 1\n0 2\n1 2\n",
    "JSON": b'{"a": [1, 2]}\n',
    "a line feed": b"\n",
    "a zip archive": _zip(),
    "gzip data": b"\x1f\x8b\x08\0" + bytes(30),
    "a tar archive": _tar(),
    "a PNG image": PNG,
    "zeros": bytes(100),
    "NumPy": b"\x93NUMPY\x01\0v\0{'descr': '<i8', 'shape': (2,), }" + bytes(16),
}

# All that an index may replace.
INDEXES = {
    "an index": b"0\t0\n1\t8\n",
    "an index without its last line feed": b"0\t0\n1\t8",
    "an index with names as keys": b"cat.jpg\t0\ndog.jpg\t44\n",
    "an index out of order": b"1\t44\n0\t0\n",
    "an index with offsets twice": b"0\t0\n1\t8\n2\t8\n",
    "an index in CRLF": b"0\t0\r\n1\t8\r\n",
}
