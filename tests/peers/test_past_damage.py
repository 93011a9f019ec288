"""An index made with --salvage: real DALI and MXNet read all whole records of the damaged file."""

import hashlib
from pathlib import Path

import pytest
from damage import flip_byte, insert_bytes, remove_bytes, set_lrec, zero_block
from environments import in_dali, in_mxnet
from reference import record
from samples import image

import rec2idx

PIXELS = [bytes([number]) * (40 + number) for number in range(30)]
RECORDS = [record(image(number, number, pixels)) for number, pixels in enumerate(PIXELS)]
WHOLE = b"".join(RECORDS)
AT = sum(map(len, RECORDS[:12]))

DAMAGED = {
    "magic": flip_byte(WHOLE, AT),
    "length": set_lrec(WHOLE, AT, 0, 1 << 20),
    "zeros": zero_block(WHOLE, AT, AT + 60),
    "three bytes more": insert_bytes(WHOLE, AT + 30, b"abc"),
    "five bytes fewer": remove_bytes(WHOLE, AT + 30, AT + 35),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_readers_get_all_but_the_damaged_record(tmp_path: Path, name: str) -> None:
    files = {"record": tmp_path / "a.rec", "index": tmp_path / "a.idx"}
    files["record"].write_bytes(DAMAGED[name])
    regions: list[rec2idx.DamagedRegion] = []
    rec2idx.create_index(files["record"], salvage=regions.append)
    assert len(regions) == 1
    [samples] = in_dali({"do": "read", **files})
    [payloads] = in_mxnet({"do": "read_indexed", **files})
    payloads = [digest for _, digest in reversed(payloads)]
    others = [at for at in range(30) if at != 12]
    assert samples == [[hashlib.sha256(PIXELS[at]).hexdigest(), [float(at)]] for at in others]
    assert payloads == [hashlib.sha256(image(at, at, PIXELS[at])).hexdigest() for at in others]
