"""Files with one to four damages: all that is untouched is kept, and nothing else than records."""

import pytest
from damaged_files import DamagedFile, damaged_file
from reference import read

import rec2idx
from rec2idx.scan import scan
from rec2idx.sources import LocalFile

FILES = 500


def kept(path, data: bytes, **how):
    """Return (offset, size) of what is kept, and the regions."""
    path.write_bytes(data)
    records, regions = [], []
    with LocalFile(str(path)) as source:
        try:
            for batch in scan(source, salvage=regions.append, **how):
                records.extend(zip(batch.offsets, batch.sizes, strict=True))
        except rec2idx.RecordIOError:
            assert not records
            regions = None
    return records, regions


def require_all(file: DamagedFile, records, regions) -> None:
    far = file.untouched(far=True)
    assert far <= set(records), file.damages
    assert [at for at, _ in records if not file.has(at)] == [], file.damages
    if regions is None:
        return
    # A record next to a damage is kept, or lies where bytes are said to be lost.
    for number, start in enumerate(file.starts):
        if number in file.near() and start not in {at for at, _ in records}:
            end = start + 8 + file.sizes[number]
            assert any(one.start < end and start <= one.stop for one in regions), file.damages
    for one in regions:
        assert not any(one.start < at + 8 and at < one.stop for at, _ in records)


@pytest.mark.parametrize("block", range(10))
def test_what_is_untouched_is_kept(tmp_path, block):
    for seed in range(FILES * block // 10, FILES * (block + 1) // 10):
        file = damaged_file(seed)
        require_all(file, *kept(tmp_path / "a.rec", file.data, jobs=1))


@pytest.mark.parametrize(
    "how",
    [
        {"jobs": 1, "block_size": 8},
        {"jobs": 3, "segment_size": 64},
        {"jobs": 2, "segment_size": 1000, "block_size": 40, "heads": 24},
    ],
    ids=str,
)
def test_every_way_of_walking_keeps_the_same(tmp_path, how):
    for seed in range(60):
        data = damaged_file(seed).data
        assert kept(tmp_path / "a.rec", data, **how) == kept(tmp_path / "a.rec", data, jobs=1)


def test_the_files_are_what_they_say():
    """Before its damages, a file is whole; its untouched records are the reference's."""
    for seed in range(50):
        file = damaged_file(seed)
        assert 1 <= len(file.damages) <= 4
        for start, size in file.untouched():
            [(at, payload), *_], _ = read(file.data[start:])
            assert (at, len(payload)) == (0, size)
