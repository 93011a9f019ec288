"""What a check says of record files, beside what MXNet and DALI do with them."""

import io
import json
import random
import signal
import subprocess
from pathlib import Path

import pytest
from environments import DALI, MXNET, ROOT, require
from environments import in_dali as dali
from reference import MAGIC, part, record
from samples import image, labelled

import rec2idx

JPEG = (ROOT / "tests/pictures/baseline.jpg").read_bytes()
HERE = Path(__file__).parent
RECORDS = 41  # so that halves and thirds end inside of a record


def codes(found: rec2idx.Check) -> set[str]:
    return {finding.code for finding in found.findings}


def in_a_process_of_its_own(script: str, *steps: dict) -> subprocess.CompletedProcess[str]:
    """Do steps that may end the process."""
    environment = MXNET if script == "in_mxnet.py" else DALI
    require(environment)
    return subprocess.run(
        [environment / "bin/python", "-W", "ignore", HERE / script],
        input=json.dumps(steps, default=str),
        capture_output=True,
        text=True,
        timeout=300,
    )


def iterate(path: Path, more: str = "") -> dict:
    call = f"mx.io.ImageRecordIter(path_imgrec={str(path)!r}, data_shape=..., batch_size=...{more})"
    return {"do": "iterate", "call": call}


# Magics that are not escaped


def payloads() -> list[bytes]:
    """Images, behind whose end there are magics and lengths that lead nowhere."""
    rng = random.Random(17)
    start = JPEG + bytes(-len(JPEG) % 4)
    lies = b"".join(MAGIC + rng.randbytes(3) + b"\0" + rng.randbytes(8) for _ in range(400))
    return [image(number, number, start + lies) for number in range(RECORDS)]


@pytest.fixture
def unescaped(tmp_path: Path) -> Path:
    path = tmp_path / "unescaped.rec"
    path.write_bytes(b"".join(part(0, payload) for payload in payloads()))
    return path


@pytest.fixture
def escaped(tmp_path: Path) -> Path:
    path = tmp_path / "escaped.rec"
    path.write_bytes(b"".join(map(record, payloads())))
    return path


def test_mxnet_fails_at_a_part_of_a_file_with_unescaped_magics(unescaped: Path) -> None:
    """From start to end it reads all of it."""
    labels = [float(number) for number in range(RECORDS)]
    whole = in_a_process_of_its_own("in_mxnet.py", iterate(unescaped))
    assert whole.returncode == 0
    for parts in (2, 3):
        done = in_a_process_of_its_own(
            "in_mxnet.py", iterate(unescaped, f", num_parts={parts}, part_index=1")
        )
        assert "Invalid RecordIO Format" in done.stderr
        assert done.returncode == -signal.SIGABRT
    finding = next(f for f in rec2idx.check(unescaped).findings if f.code == "unescaped-magic")
    assert (finding.severity, finding.reader, finding.count) == ("warning", "mxnet", len(labels))


def test_mxnet_reads_parts_of_the_same_records_escaped(escaped: Path) -> None:
    for index in (0, 1):
        step = iterate(escaped, f", num_parts=2, part_index={index}")
        assert in_a_process_of_its_own("in_mxnet.py", step).returncode == 0
    assert "unescaped-magic" not in codes(rec2idx.check(escaped))


# Sizes that are no multiple of 4: case C14


def test_what_follows_the_last_record(tmp_path: Path) -> None:
    """MXNet refuses missing padding and stray bytes; DALI reads all records of both."""
    whole = b"".join(part(0, image(n, n, JPEG + b"\0" * (n == 2))) for n in range(3))
    assert (len(JPEG) + 1) % 4
    for name, data in (("cut", whole[:-1]), ("more", whole + b"\n\n")):
        path = tmp_path / f"{name}.rec"
        path.write_bytes(data)
        found = rec2idx.check(path)
        assert codes(found) & {"cut-padding", "stray-bytes"}
        assert found.errors
        assert not rec2idx.check(path, readers=["dali"]).errors
        assert in_a_process_of_its_own("in_mxnet.py", iterate(path)).returncode != 0
        (tmp_path / f"{name}.idx").write_bytes(index_of(whole))
        [samples] = dali({"do": "read", "record": path, "index": tmp_path / f"{name}.idx"})
        assert len(samples) == 3


def index_of(data: bytes) -> bytes:
    index = io.BytesIO()
    rec2idx.create_index(io.BytesIO(data), index)
    return index.getvalue()


# Labels: case C32


BOX = [0, 0.1, 0.1, 0.5, 0.5]


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        (image(1, 9, JPEG), "single-label"),
        (labelled([2, 5, *BOX, 1, 2], 9, JPEG), "label-misfit"),
    ],
)
def test_mxnet_refuses_labels_of_a_detection_that_do_not_fit(
    tmp_path: Path, odd: bytes, code: str
) -> None:
    right = [labelled([2, 5, *BOX * boxes], boxes, JPEG) for boxes in (1, 3, 2)]
    for name, contents in (("right", right), ("odd", [*right, odd])):
        path = tmp_path / f"{name}.rec"
        path.write_bytes(b"".join(map(record, contents)))
        rec2idx.create_index(path)
        index = path.with_suffix(".idx")
        done = in_a_process_of_its_own("in_mxnet.py", detect(path, index))
        assert (done.returncode == 0) == (name == "right")
        assert (code in codes(rec2idx.check(path))) == (name == "odd")


def detect(path: Path, index: Path) -> dict:
    return {
        "do": "detect",
        "call": f"mx.image.ImageDetIter(path_imgrec={str(path)!r}, path_imgidx={str(index)!r}, "
        "data_shape=..., batch_size=...)",
    }


def test_mxnet_fails_at_other_numbers_of_labels(tmp_path: Path) -> None:
    """DALI gives them as they are."""
    path = tmp_path / "labels.rec"
    path.write_bytes(b"".join(map(record, [image(1, 0, JPEG), labelled([1, 2], 1, JPEG)])))
    rec2idx.create_index(path)
    assert in_a_process_of_its_own("in_mxnet.py", iterate(path)).returncode != 0
    [samples] = dali({"do": "read", "record": path, "index": path.with_suffix(".idx")})
    assert [labels for _, labels in samples] == [[1.0], [1.0, 2.0]]
    [finding] = rec2idx.check(path).findings[:1]
    assert (finding.code, finding.severity, finding.reader) == ("label-widths", "warning", "mxnet")
    assert not rec2idx.check(path, readers=["dali"]).warnings


# Images: case C22


@pytest.mark.parametrize(
    "content", [JPEG[: len(JPEG) // 2], b"<html></html>", b"", bytes(40)], ids=lambda c: c[:6].hex()
)
def test_dali_fails_at_what_is_no_image(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.rec"
    path.write_bytes(b"".join(record(image(1, n, c)) for n, c in enumerate([JPEG, content])))
    rec2idx.create_index(path)
    step = {"do": "decode", "record": path, "index": path.with_suffix(".idx")}
    done = in_a_process_of_its_own("in_dali.py", step)
    assert done.returncode != 0
    found = rec2idx.check(path, full=True)
    assert codes(found) & {"broken-image", "not-an-image", "empty-image"}
    assert found.errors
