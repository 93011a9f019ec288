"""Several damages in a file, and what is said about each of them."""

import pytest
from damage import cut_tail, flip_byte, insert_bytes, remove_bytes, set_lrec, zero_block
from damaged_files import png
from reference import MAGIC, part, record
from samples import SIX, image, labelled
from test_salvage import salvaged, starts_of

import rec2idx
from rec2idx.cli.regions import line_of


def equal(number: int) -> list[bytes]:
    """Records of 44 bytes."""
    return [part(0, image(at % 7, at, bytes([at % 251]) * 12)) for at in range(number)]


def images(number: int) -> list[bytes]:
    """Records with whole PNG images of some size each."""
    import random

    rng = random.Random(7)
    payloads = [image(at % 7, at, png(rng, bytes(3 * at))) for at in range(number)]
    return [record(payload) for payload in payloads]


def regions_of(tmp_path, data: bytes) -> list[rec2idx.DamagedRegion]:
    regions: list[rec2idx.DamagedRegion] = []
    (tmp_path / "a.rec").write_bytes(data)
    rec2idx.create_index(tmp_path / "a.rec", salvage=regions.append)
    return regions


def test_a_chain_at_an_odd_distance_between_two_damages(tmp_path):
    """One byte more in record 10, three in record 900: together they are four."""
    data = insert_bytes(b"".join(equal(1000)), 44 * 900 + 20, b"xyz")
    data = insert_bytes(data, 44 * 10 + 20, b"x")
    kept, regions = salvaged(tmp_path / "a.rec", data)
    expected = [44 * at + (at > 10) + 3 * (at > 900) for at in range(1000)]
    assert [at for at, _ in kept] == expected
    assert [region[:2] for region in regions] == [(484, 485), (39645, 39648)]


def test_one_record_between_two_damages(tmp_path):
    data = zero_block(zero_block(b"".join(equal(10)), 88, 92), 176, 180)
    kept, regions = salvaged(tmp_path / "a.rec", data)
    assert [at // 44 for at, _ in kept] == [0, 1, 3, 5, 6, 7, 8, 9]
    assert [region[:2] for region in regions] == [(88, 132), (176, 220)]


def test_a_chain_that_breaks_in_a_record_of_several_parts(tmp_path):
    """Record 0 damaged, four bytes after its magic; the second part of record 16 damaged, too."""
    records = equal(50)
    records[16] = record(image(2, 16, b"abcd" + MAGIC + b"efgh"))
    starts = starts_of(*records)
    second = starts[16] + len(records[16]) - 12
    data = flip_byte(b"".join(records), second, 1)
    data = insert_bytes(zero_block(data, 0, 4), 4, b"four")
    kept, regions = salvaged(tmp_path / "a.rec", data)
    assert [at for at, _ in kept] == [at + 4 for at in starts if at not in (0, starts[16])]
    assert [region[:2] for region in regions] == [(0, 48), (starts[16] + 4, starts[17] + 4)]


def test_a_length_that_leads_into_a_record_that_is_cut_off(tmp_path):
    """84 became 116: neither that record nor what it would swallow is a record of the file."""
    records = [record(image(at, at, bytes(60))) for at in range(5)]
    data = set_lrec(b"".join(records), 3 * 92, 0, 116)
    kept, _ = salvaged(tmp_path / "a.rec", cut_tail(data, 4 * 92 + 40))
    assert [at for at, _ in kept] == [0, 92, 184]


@pytest.mark.parametrize("extra", range(1, 68))
def test_a_file_in_a_payload_before_which_bytes_are_inserted(tmp_path, extra):
    """79 records that are whole, in one that is not."""
    inside = b"odd" + b"".join(equal(79))
    records = images(20)
    records[9] = record(image(1, 9, b"\x89PNG\r\n\x1a\n" + inside + b"!"))
    starts = starts_of(*records)
    data = insert_bytes(b"".join(records), starts[9] + 40, b"x" * extra)
    kept, _ = salvaged(tmp_path / "a.rec", data)
    found = [at for at, _ in kept]
    assert found == [
        at + extra * (at > starts[9]) for at in starts if at in found or at != starts[9]
    ]


@pytest.mark.parametrize("extra", [4, 8, 16, 32, 64])
def test_bytes_between_two_records_cost_none(tmp_path, extra):
    """Also where the record before would be whole if a bit of its length were another."""
    for records in (equal(9), images(9)):
        start = starts_of(*records)[4]
        data = insert_bytes(b"".join(records), start, b"x" * extra)
        kept, regions = salvaged(tmp_path / "a.rec", data)
        assert len(kept) == 9
        assert [region[:2] for region in regions] == [(start, start + extra)]


def test_a_length_that_has_lost_a_bit(tmp_path):
    """The image goes on after the record: it is not whole."""
    records = images(30)
    starts = starts_of(*records)
    length = len(records[20]) - 8
    assert length & 128
    kept, regions = salvaged(
        tmp_path / "a.rec", set_lrec(b"".join(records), starts[20], 0, length & ~128)
    )
    assert [at for at, _ in kept] == [at for at in starts if at != starts[20]]
    assert [region[:2] for region in regions] == [(starts[20], starts[21])]


def test_an_odd_record_before_zeros_is_kept(tmp_path):
    """It is unlike the others, and where it ends a magic may have been."""
    records = images(12)
    records[5] = record(b"no image at all, but text of about that size as all others")
    start = starts_of(*records)[6]
    kept, _ = salvaged(tmp_path / "a.rec", zero_block(b"".join(records), start, start + 20))
    assert [at for at, _ in kept] == [at for n, at in enumerate(starts_of(*records)) if n != 6]


def said(tmp_path, data: bytes) -> list[str]:
    return [line_of(region).partition(": ")[2] for region in regions_of(tmp_path, data)]


def test_what_is_said_of_a_length(tmp_path):
    assert said(tmp_path, set_lrec(SIX, 88, 0, (1 << 29) - 1)) == [
        "bytes 88 to 132 lost (44 bytes), after 2 records: the length of record 2 is damaged: it "
        "says 536,870,911 bytes, and the next record starts 44 bytes on"
    ]
    [region] = regions_of(tmp_path, set_lrec(SIX, 88, 0, (1 << 29) - 1))
    assert region.cause == rec2idx.Cause("length", 88, 96, 44, (1 << 29) - 1, in_record=True)
    assert region.reason == "wrong-length"


def test_what_is_said_of_zeros(tmp_path):
    records = images(400)
    data = b"".join(records)
    assert len(data) > 131072
    [line] = said(tmp_path, zero_block(data, 98304, 131072))
    assert line.endswith(": bytes 98304 to 131072 are zeros: a piece of the download is missing")


def test_what_is_said_of_bytes_that_are_missing_or_too_many(tmp_path):
    records = images(30)
    data, starts = b"".join(records), starts_of(*records)
    [line] = said(tmp_path, remove_bytes(data, starts[27] + 50, starts[27] + 90))
    assert line.endswith(", after 27 records: 40 bytes are missing inside record 27")
    [line] = said(tmp_path, insert_bytes(data, starts[27] + 50, b"x" * 16))
    assert line.endswith(", after 27 records: 16 bytes were inserted inside record 27")
    [line] = said(tmp_path, insert_bytes(data, starts[27], b"x" * 16))
    place = starts[27]
    assert line == (
        f"bytes {place} to {place + 16} lost (16 bytes), after 27 records: "
        f"16 bytes were inserted at byte {place}"
    )


def test_records_in_doubt_are_counted_and_left_out_if_that_is_wanted(tmp_path):
    """Whose bytes were changed, or whether bytes stand between two records, is not told by SIX."""
    (tmp_path / "a.rec").write_bytes(insert_bytes(SIX, 100, b"12345"))
    seen: list[rec2idx.DamagedRegion] = []
    done = rec2idx.create_index(tmp_path / "a.rec", salvage=seen.append)
    assert (done.records, done.doubtful, done.damaged_bytes) == (6, 1, 5)
    assert [(one.start, one.stop, one.doubtful) for one in seen] == [(132, 137, True)]
    done = rec2idx.create_index(tmp_path / "a.rec", salvage=seen.append, strict=True)
    assert (done.records, done.doubtful, done.damaged_bytes) == (5, 1, 49)
    assert (tmp_path / "a.idx").read_text() == "0\t0\n1\t44\n2\t137\n3\t181\n4\t225\n"
    done = rec2idx.salvage(tmp_path / "a.rec", tmp_path / "b.rec", strict=True)
    assert (done.records, done.doubtful) == (5, 1)
    assert (tmp_path / "b.rec").read_bytes() == SIX[:88] + SIX[132:]


def test_no_doubt_where_an_image_ends_with_its_record(tmp_path):
    records = images(9)
    start = starts_of(*records)[4]
    [region] = regions_of(tmp_path, insert_bytes(b"".join(records), start, b"12345"))
    assert not region.doubtful


def test_labels_tell_a_record_from_payload(tmp_path):
    """A header in an image leads nowhere; a record like all others stands alone between damages."""
    records = [record(labelled([1, 2], at, bytes([at]) * (50 + 8 * at))) for at in range(12)]
    records[5] = record(labelled([1, 2], 5, b"abc" + part(0, image(0, 0, bytes(20))) + b"def"))
    starts = starts_of(*records)
    data = b"".join(records)
    for at in (5, 7):
        data = zero_block(data, starts[at], starts[at] + 8)
    kept, _ = salvaged(tmp_path / "a.rec", data)
    assert [at for at, _ in kept] == [at for n, at in enumerate(starts) if n not in (5, 7)]
