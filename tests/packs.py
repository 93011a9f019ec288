"""What packing should write, and what it wrote, in the folder in which a test runs."""

import os
from pathlib import Path

from reference import record

import rec2idx


def expected(*payloads: bytes, keys: list[int] | None = None) -> tuple[bytes, bytes]:
    """The record file and the index with these payloads."""
    data, lines = b"", b""
    for key, payload in zip(keys or range(len(payloads)), payloads, strict=True):
        lines += b"%d\t%d\n" % (key, len(data))
        data += record(payload)
    return data, lines


def found(path: str = "out") -> tuple[bytes, bytes]:
    return Path(f"{path}.rec").read_bytes(), Path(f"{path}.idx").read_bytes()


def names() -> list[str]:
    return sorted(os.listdir())


def failing() -> tuple[list, dict]:
    """A list of what failed, and the arguments that fill it."""
    failures: list[rec2idx.FailedImage] = []
    return failures, {"failed": failures.append}
