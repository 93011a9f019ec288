"""What MXNet writes, ours reads, and the reverse, for whatever payloads and labels there may be."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from environments import MXNET, encode, require
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference import MAGIC

from rec2idx.recordio import IRHeader, MXIndexedRecordIO, MXRecordIO, pack, unpack

SCRIPT = Path(__file__).with_name("in_mxnet_recordio.py")
Ask = Callable[..., list]

PIECES = st.sampled_from([MAGIC, MAGIC[1:], MAGIC + b"x", b"a", b"bc"]) | st.binary(max_size=30)
PAYLOADS = st.lists(PIECES, max_size=8).map(b"".join)
# Of a NaN, no text has all bits.
LABELS = st.floats(width=32, allow_nan=False) | st.lists(
    st.floats(width=32, allow_nan=False), max_size=20
)
NUMBERS = st.integers(0, 2**64 - 1)
HEADERS = st.tuples(st.just(0), LABELS, NUMBERS, NUMBERS)
# A file has some records, with keys that are all different.
FILES = st.dictionaries(st.integers(-(2**70), 2**70), st.tuples(HEADERS, PAYLOADS), max_size=8)


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """Does steps in a process with MXNet, and returns their results."""
    require(MXNET)
    command = [MXNET / "bin/python", SCRIPT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def answer(*steps: dict) -> list:
            process.stdin.write(json.dumps(steps, default=str) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield answer
        process.stdin.close()


def bits(label: float | list | np.ndarray) -> bytes:
    return np.asarray(0.0 if np.size(label) == 0 else label, "<f4").tobytes()


@given(FILES)
@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_each_reads_what_the_other_writes(ask: Ask, tmp_path: Path, records: dict) -> None:
    headers = [repr(header) for header, _ in records.values()]
    packed = [pack(header, payload) for header, payload in records.values()]
    contents = {"payloads": encode(packed), "keys": list(records), "key_type": "int"}
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    with MXIndexedRecordIO(f"{ours}.idx", f"{ours}.rec", "w") as writer:
        for key, payload in zip(records, packed, strict=True):
            writer.write_idx(key, payload)
    labels, written, read = ask(
        {"do": "pack", "headers": headers, "payload": "b'image'"},
        {"do": "write", "record": f"{theirs}.rec", "index": f"{theirs}.idx", **contents},
        {"do": "read", "record": f"{ours}.rec", "index": f"{ours}.idx", "key_type": "int"},
    )
    for suffix in ("rec", "idx"):
        assert Path(f"{ours}.{suffix}").read_bytes() == Path(f"{theirs}.{suffix}").read_bytes()
    assert [bytes.fromhex(label[0]) for label in labels] == [
        pack(header, b"image") for header, _ in records.values()
    ]
    assert read[2] == written[2] == list(records)
    with MXIndexedRecordIO(f"{theirs}.idx", f"{theirs}.rec", "r") as reader:
        for key, (header, payload) in records.items():
            found, rest = unpack(reader.read_idx(key))
            assert rest == payload
            assert bits(found.label) == bits(IRHeader(*header).label)
            assert (found.id, found.id2) == header[2:]
    with MXRecordIO(f"{theirs}.rec", "r") as reader:
        assert list(iter(reader.read, None)) == packed
