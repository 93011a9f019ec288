"""Real DALI, without a GPU: it reads files in a bucket through one index over all of them."""

import ast
import hashlib
import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from peers.environments import COMMAND, in_dali
from reference import MAGIC, index, record
from samples import image, labelled
from servers import S3Server


def some_payloads() -> list[bytes]:
    """Image records with one label or more, of odd lengths, some of them of several parts."""
    rng = random.Random(11)
    payloads = []
    for number in range(30):
        pixels = [rng.randbytes(4 * rng.randrange(60)), MAGIC * rng.randrange(3)]
        content = b"".join(pixels) + rng.randbytes(rng.randrange(300))
        labels = [rng.randrange(-50, 50) / 4 for _ in range(number % 4)]
        payloads.append(labelled(labels, number, content) if labels else image(7, number, content))
    return payloads


PAYLOADS = some_payloads()
FILES = {
    "a b.rec": PAYLOADS[:12],
    "b.rec": PAYLOADS[12:13],
    "c.rec": PAYLOADS[13:],
    "empty.rec": [],
}
CONTENT = {name: b"".join(map(record, payloads)) for name, payloads in FILES.items()}


def sample_of(payload: bytes) -> list:
    """What DALI should give for a record: [SHA-256 of the bytes after the labels, labels]."""
    flag, label = struct.unpack("<If", payload[:8])
    labels = list(struct.unpack(f"<{flag}f", payload[24 : 24 + 4 * flag])) if flag else [label]
    return [hashlib.sha256(payload[24 + 4 * flag :]).hexdigest(), labels]


def samples_of(*names: str) -> list:
    return [sample_of(payload) for name in names for payload in FILES[name]]


Combine = Callable[..., tuple[dict, str]]


@pytest.fixture
def combine(s3: S3Server, tmp_path: Path) -> Combine:
    """Index files in the bucket; returns the arguments of DALI's reader, and what was said."""
    for name, content in CONTENT.items():
        s3.put("dali", f"train/{name}", content)

    def combine(*names: str, index: str = "all.idx") -> tuple[dict, str]:
        done = subprocess.run(
            [COMMAND.with_name("recordio"), "index", "--combine", index, *urls(*names)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        call = ast.parse(done.stdout.splitlines()[0], mode="eval").body
        assert isinstance(call, ast.Call)
        given = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        return given, done.stderr

    return combine


def urls(*names: str) -> list[str]:
    return [f"s3://dali/train/{name}" for name in names]


def steps(paths: list[str], index: Path | str) -> list[dict]:
    """What DALI is to do: to read the files as it reads by default, and without mmap."""
    step = {"do": "read", "record": paths, "index": index}
    return [step, {**step, "dont_use_mmap": True}]


@pytest.mark.parametrize(
    "names",
    [("a b.rec", "b.rec", "c.rec"), ("c.rec", "b.rec", "a b.rec"), ("b.rec", "a b.rec", "c.rec")],
)
def test_each_record_once(combine: Combine, s3: S3Server, tmp_path: Path, names: tuple[str, ...]):
    """In order, by the call that was printed; with the index here, and with it in the bucket."""
    given, said = combine(*names)
    assert given == {"path": urls(*names), "index_path": ["all.idx"]}
    assert said.count("\n") == 1
    made = (tmp_path / "all.idx").read_bytes()
    assert made == index(b"".join(CONTENT[name] for name in names))
    there = "s3://dali/train/all.idx"
    assert combine(*names, index=there)[0] == {"path": urls(*names), "index_path": [there]}
    assert s3.get("dali", "train/all.idx") == made
    found = in_dali(*steps(given["path"], tmp_path / "all.idx"), *steps(given["path"], there))
    assert found == [samples_of(*names)] * 4


def missed(s3: S3Server, paths: list[str], index: Path) -> set[tuple[str, str]]:
    """DALI fails, either way; returns (object, range) of what it asked for that is not there."""
    s3.traffic.clear()
    for step in steps(paths, index):
        # Which of the two depends on whether what the server says fits into the record.
        with pytest.raises(AssertionError, match=r"InvalidRange|Failed to flush response stream"):
            in_dali(step)
    return {(asked.path, asked.range) for asked in s3.traffic.requests if asked.status == 416}


def test_a_last_file_of_one_record(combine: Combine, s3: S3Server, tmp_path: Path):
    """Why it is told: DALI looks for the record behind the end of the file before it.

    As the only file, or in any other place, it is read.
    """
    given, said = combine("a b.rec", "c.rec", "b.rec")
    assert "b.rec: the last file, with a single record: where the files are on S3, DALI" in said
    start = len(CONTENT["c.rec"])
    behind = f"bytes={start}-{start + len(CONTENT['b.rec']) - 1}"
    assert missed(s3, given["path"], tmp_path / "all.idx") == {("/dali/train/c.rec", behind)}
    given, said = combine("b.rec")
    assert said.count("\n") == 1
    assert in_dali(*steps(given["path"], tmp_path / "all.idx")) == [samples_of("b.rec")] * 2


def test_empty_files(combine: Combine, s3: S3Server, tmp_path: Path):
    """Why they are left out: DALI looks in it for a record of the file behind it.

    As the first or the last file it does no harm on S3.
    """
    given, _ = combine("a b.rec", "empty.rec", "c.rec")
    assert given["path"] == urls("a b.rec", "c.rec")
    made = tmp_path / "all.idx"
    second = urls("a b.rec", "empty.rec", "c.rec")
    stop = len(record(FILES["c.rec"][0])) - 1
    assert missed(s3, second, made) == {("/dali/train/empty.rec", f"bytes=0-{stop}")}
    first = steps(urls("empty.rec", "a b.rec", "c.rec"), made)
    last = steps(urls("a b.rec", "c.rec", "empty.rec"), made)
    found = in_dali(*steps(given["path"], made), *first, *last)
    assert found == [samples_of("a b.rec", "c.rec")] * 6
