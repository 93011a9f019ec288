"""What salvage takes: operations are counted, and grow no faster than the bytes."""

import struct

import pytest
from reference import MAGIC, part
from samples import image

import rec2idx
from rec2idx import chains, explaining, judging
from rec2idx.scan import scan
from rec2idx.sources import LocalFile

WHOLE = b"".join(part(0, image(1, at, bytes(20))) for at in range(40))


def magics(number: int) -> bytes:
    return b"".join(MAGIC + struct.pack("<I", 4 + at % 50 * 8) for at in range(number))


def far(number: int) -> bytes:
    return b"".join(MAGIC + struct.pack("<I", at * 7919 % (8 * number)) for at in range(number))


def never_meeting(number: int) -> bytes:
    return (part(0, b"12345678") * 3 + b"zz") * (number // 4)


def nested(number: int) -> bytes:
    data = b"inner"
    while len(data) < 8 * number:
        data = part(0, b"odd" + data)
    return data[:-4] + b"cut"


def parts(number: int) -> bytes:
    return (part(1, b"abcd") + part(2, b"efgh") * 9 + b"zzzz") * (number // 10)


class Counted(LocalFile):
    """Counts what is read of it."""

    reads = 0
    amount = 0

    def read(self, offset, length):
        self.reads += 1
        data = super().read(offset, length)
        self.amount += len(data)
        return data


def work(path, data: bytes, monkeypatch) -> dict[str, int]:
    """Return how many headers were followed, chains weighed, and bytes and contents looked at."""
    counts = dict.fromkeys(("followed", "weighed", "judged"), 0)

    def counting(owner, name, key, amount=lambda result: 1):
        original = getattr(owner, name)

        def counted(*args):
            result = original(*args)
            counts[key] += amount(result)
            return result

        monkeypatch.setattr(owner, name, counted)

    with monkeypatch.context() as monkeypatch:
        counting(chains.Sweep, "_follow", "followed", lambda chain: 1 + chain.count)
        counting(explaining.Explainer, "_cost_of", "weighed")
        counting(judging.Judge, "record", "judged")
        path.write_bytes(data)
        with Counted(str(path)) as source:
            list(scan(source, salvage=lambda region: None, jobs=1))
            counts["read"] = source.amount
            counts["reads"] = source.reads
    return counts


@pytest.mark.parametrize("make", [magics, far, never_meeting, nested, parts])
def test_twice_as_many_bytes_take_twice_as_much(tmp_path, monkeypatch, make):
    few, many = (
        work(tmp_path / "a.rec", WHOLE + b"x" + make(number), monkeypatch)
        for number in (3000, 6000)
    )
    for name, count in few.items():
        assert many[name] <= 2.2 * count + 20_000, name


def test_a_length_takes_no_memory(tmp_path, monkeypatch):
    """However far heads lead, what is read of the file is little more than the file."""
    data = WHOLE + b"x" + far(6000)
    found = work(tmp_path / "a.rec", data, monkeypatch)
    assert found["read"] < 20 * len(data) + (1 << 20)


def test_no_chain_is_followed_twice(tmp_path, monkeypatch):
    """Heads that all lead into one chain, which breaks."""
    heads = b"".join(MAGIC + struct.pack("<I", 8 * (2000 - at - 1)) for at in range(2000))
    data = WHOLE + b"z" + heads + part(0, bytes(40)) * 2000 + b"junk" * 9
    found = work(tmp_path / "a.rec", data, monkeypatch)
    assert found["followed"] < 2 * 4000


def test_a_damage_in_a_large_file_does_not_read_it_twice(tmp_path, monkeypatch):
    """A chain that goes on is left to the walk."""
    records = b"".join(part(0, image(1, at, bytes(200))) for at in range(10_000))
    found = work(tmp_path / "a.rec", records[:5000] + b"x" + records[5000:], monkeypatch)
    assert found["read"] < 8 << 16
    assert found["followed"] < 400


def test_damage_here_and_there_is_linear(tmp_path, monkeypatch):
    record = part(0, image(1, 1, bytes(20)))
    few, many = (
        work(tmp_path / "a.rec", (record * 20 + b"x" * 5) * number, monkeypatch)
        for number in (100, 200)
    )
    for name, count in few.items():
        assert many[name] <= 2.2 * count + 200, name
    regions: list[rec2idx.DamagedRegion] = []
    found = sum(len(batch) for batch in scan(tmp_path / "a.rec", salvage=regions.append))
    assert (found, len(regions)) == (4000, 200)
