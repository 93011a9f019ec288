"""What `recordio salvage` writes, read by real MXNet and real DALI."""

import hashlib
import struct
import subprocess
from pathlib import Path

import pytest
from damage import flip_byte, insert_bytes
from environments import COMMAND, MXNET, ROOT, encode, in_dali, in_mxnet, require
from reference import MAGIC, part, read, record
from samples import SIX, image

SAMPLE = ROOT / "examples/sample.rec"


def salvage(folder: Path, status: int = 3) -> None:
    """Salvage in.rec to out.rec, with an index."""
    command = [COMMAND.with_name("recordio"), "salvage", "in.rec", "out.rec", "--index", "out.idx"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr


def sha256(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


def payloads_in_mxnet(folder: Path, name: str) -> list[str]:
    """SHA-256 of each payload that MXNet's MXRecordIO reads, to the end."""
    [reads] = in_mxnet({"do": "read", "record": folder / name})
    return [digest for _, digest in reads if digest is not None]


def refused_by_mxnet(path: Path) -> str:
    """What MXNet says where it cannot read a file to its end; where it can, the test fails."""
    code = (
        "import sys, mxnet as mx; reader = mx.recordio.MXRecordIO(sys.argv[1], 'r')\n"
        "while reader.read() is not None: pass"
    )
    return refused(code, path)


def refused(code: str, *arguments: object) -> str:
    require(MXNET)
    done = subprocess.run(
        [MXNET / "bin/python", "-W", "ignore", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    return done.stderr


@pytest.mark.parametrize(
    "damaged",
    [
        SIX[:-2],  # in the last record
        SIX[:220] + part(0, image(5, 5, b"10 bytes.."))[:-2],  # only its padding
        SIX + b"\n\n",
        flip_byte(SIX, 88),
        insert_bytes(SIX, 44, b"12345"),
    ],
    ids=["cut", "padding", "stray", "flipped", "inserted"],
)
def test_mxnet_reads_what_it_refused(tmp_path: Path, damaged: bytes) -> None:
    """Case C14 and others: the payloads of all whole records, and an end."""
    (tmp_path / "in.rec").write_bytes(damaged)
    assert refused_by_mxnet(tmp_path / "in.rec")
    salvage(tmp_path)
    records, broken = read((tmp_path / "out.rec").read_bytes())
    assert broken is None
    expected = [sha256(payload) for _, payload in records]
    assert len(expected) >= 5
    assert payloads_in_mxnet(tmp_path, "out.rec") == expected
    [by_index] = in_mxnet(
        {"do": "read_indexed", "record": tmp_path / "out.rec", "index": tmp_path / "out.idx"}
    )
    assert by_index == [[key, digest] for key, digest in enumerate(expected)][::-1]


def test_the_bytes_are_those_that_mxnet_writes(tmp_path: Path) -> None:
    """From records that nobody escaped and nobody padded with zeros."""
    contents = [b"x" * before + MAGIC * 2 + b"y" * after for before in range(9) for after in (0, 5)]
    laid_out = [
        (part(0, content) if number % 2 else record(content))
        for number, content in enumerate(contents)
    ]
    (tmp_path / "in.rec").write_bytes(b"".join(laid_out))
    in_mxnet({"do": "write", "record": tmp_path / "mxnet.rec", "payloads": encode(contents)})
    salvage(tmp_path, status=0)
    assert (tmp_path / "out.rec").read_bytes() == (tmp_path / "mxnet.rec").read_bytes()


ITERATE = """if True:
    import sys, mxnet as mx
    labels = []
    for part in range(4):
        for batch in mx.io.ImageRecordIter(
            path_imgrec=sys.argv[1], data_shape=(3, 16, 16), batch_size=1, num_parts=4,
            part_index=part, preprocess_threads=1,
        ):
            labels.append(int(batch.label[0].asscalar()))
    print(sorted(labels))
"""


def test_mxnet_shares_out_a_file_that_nobody_escaped(tmp_path: Path) -> None:
    """It looks for magics where a share begins, and takes one in a payload for a record."""
    pictures = [
        payload[24 + 4 * struct.unpack("<I", payload[:4])[0] :]
        for _, payload in read(SAMPLE.read_bytes())[0]
    ]
    # Behind the end of a picture, where no decoder looks, what seems to be the start of a record.
    lie = part(0, b"not a picture, and longer than it seems")[:24]
    tails = [picture + bytes(-len(picture) % 4) + lie * 40 for picture in pictures]
    contents = [image(number, number, tail) for number, tail in enumerate(tails)]
    (tmp_path / "in.rec").write_bytes(b"".join(part(0, content) for content in contents))
    assert "Invalid RecordIO Format" in refused(ITERATE, tmp_path / "in.rec")
    salvage(tmp_path, status=0)
    assert (tmp_path / "out.rec").read_bytes() == b"".join(map(record, contents))
    done = subprocess.run(
        [MXNET / "bin/python", "-W", "ignore", "-c", ITERATE, tmp_path / "out.rec"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(list(range(24)))


def test_dali_reads_it_through_its_index(tmp_path: Path) -> None:
    """Every picture but the lost one, with its very bytes, and decodes it."""
    whole = SAMPLE.read_bytes()
    records, _ = read(whole)
    (tmp_path / "in.rec").write_bytes(flip_byte(whole, records[7][0]))
    salvage(tmp_path)
    step = {"record": tmp_path / "out.rec", "index": tmp_path / "out.idx"}
    found, shapes = in_dali({"do": "read", **step}, {"do": "decode", **step})
    kept = [payload for number, (_, payload) in enumerate(records) if number != 7]
    pictures = [payload[24 + 4 * struct.unpack("<I", payload[:4])[0] :] for payload in kept]
    assert [digest for digest, _ in found] == [sha256(picture) for picture in pictures]
    assert len(shapes) == 23
