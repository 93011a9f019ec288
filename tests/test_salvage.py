"""Past damage: which records survive, which bytes are lost, exactly."""

from itertools import pairwise

import pytest
from damage import cut_tail, flip_byte, insert_bytes, remove_bytes, set_lrec, zero_block
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, damaged_files, image, payload_lists, whole_file

import rec2idx
from rec2idx._magic import find_header
from rec2idx.scan import scan
from rec2idx.sources import LocalFile


def salvaged(path, data: bytes, **how):
    """Return the offsets and sizes of what is kept, and (start, stop, records before, reason)."""
    path.write_bytes(data)
    regions, records, stops = [], [], [0]
    with LocalFile(str(path)) as source:
        for batch in scan(source, salvage=regions.append, **how):
            assert batch.first == len(records)
            assert not regions or batch.offsets[0] >= regions[-1].stop
            records.extend(zip(batch.offsets, batch.sizes, strict=True))
            stops.append(batch.stop)
    assert all(region.path == str(path) for region in regions)
    found = [(region.start, region.stop, region.record, region.reason) for region in regions]
    return records, found


STARTS = [0, 44, 88, 132, 176, 220]
LONG = part(0, image(7, 7, b"." * 400))
NESTED = part(0, b"odd" + SIX + b"!")  # an aligned magic is escaped, one at another place is not
UNESCAPED = part(0, image(0, 0, SIX))  # by somebody who does not escape it


def starts_of(*parts: bytes) -> list[int]:
    return [sum(map(len, parts[:at])) for at in range(len(parts))]


# data, offsets of what is kept, (start, stop, records before, reason)
CASES = {
    "wrong magic": (flip_byte(SIX, 88), {88}, [(88, 132, 2, "wrong-magic")]),
    "first magic": (flip_byte(SIX, 0), {0}, [(0, 44, 0, "wrong-magic")]),
    "last magic": (flip_byte(SIX, 220), {220}, [(220, 264, 5, "wrong-magic")]),
    "header of zeros": (zero_block(SIX, 88, 96), {88}, [(88, 132, 2, "wrong-magic")]),
    "zeros over two headers": (
        *(zero_block(SIX, 80, 140), {88, 132}),
        [(88, 176, 2, "wrong-magic")],
    ),
    "a length past the end of the file": (
        *(set_lrec(SIX, 88, 0, 1 << 28 | 36), {88}, [(88, 132, 2, "wrong-length")]),
    ),
    "a length into a record": (
        *(set_lrec(SIX, 88, 0, 64 | 36), {88}, [(88, 132, 2, "wrong-length")]),
    ),
    "a length too small": (set_lrec(SIX, 88, 0, 32), {88}, [(88, 132, 2, "wrong-length")]),
    "cflag above 3": (set_lrec(SIX, 88, 5, 36), {88}, [(88, 132, 2, "wrong-cflag")]),
    "no first part": (set_lrec(SIX, 88, 2, 36), {88}, [(88, 132, 2, "no-first-part")]),
    "no last part": (set_lrec(SIX, 88, 1, 36), {88}, [(88, 132, 2, "record-not-ended")]),
    "no last part at the end": (
        *(set_lrec(SIX, 220, 1, 36), {220}, [(220, 264, 5, "ends-inside-record")]),
    ),
    "cut inside a record": (cut_tail(SIX, 250), {220}, [(220, 250, 5, "cut-part")]),
    "cut inside a header": (cut_tail(SIX, 224), {220}, [(220, 224, 5, "cut-header")]),
    "two bytes behind the end": (SIX + b"\n\n", set(), [(264, 266, 6, "stray-bytes")]),
    "text behind the end": (SIX + b"the end\n", set(), [(264, 272, 6, "wrong-magic")]),
    "the same text twice": (
        *(SIX[:88] + b"text" + SIX[88:176] + b"text" + SIX[176:], set()),
        [(88, 92, 2, "wrong-magic"), (180, 184, 4, "wrong-magic")],
    ),
    "two records between two damages": (
        *(flip_byte(flip_byte(SIX, 44), 176), {44, 176}),
        [(44, 88, 1, "wrong-magic"), (176, 220, 3, "wrong-magic")],
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", [{"jobs": 1}, {"jobs": 2, "segment_size": 40}], ids=str)
def test_what_is_kept_and_what_is_lost(tmp_path, name, how):
    data, _, regions = CASES[name]
    shift = 0
    expected = []
    for start in STARTS:
        if name == "the same text twice":
            shift = 4 * (start >= 88) + 4 * (start >= 176)
        if start not in CASES[name][1]:
            expected.append((start + shift, 36))
    assert salvaged(tmp_path / "a.rec", data, **how) == (expected, regions)


def test_padding_at_the_end_is_all_that_is_missing(tmp_path):
    """C14: the record is whole, so it is kept, and no byte is lost."""
    data = SIX[:220] + part(0, image(5, 5, b"ten bytes."))
    for cut, lost in ((262, (262, 262, 6, "cut-padding")), (261, (220, 261, 5, "cut-part"))):
        records, regions = salvaged(tmp_path / "a.rec", data[:cut])
        assert [at for at, _ in records] == (STARTS if cut == 262 else STARTS[:5])
        assert regions == [lost]
    several = SIX + record(MAGIC + b"odd")
    records, regions = salvaged(tmp_path / "a.rec", several[:-1], heads=24)
    assert records[-1] == (264, 7)
    assert regions == [(283, 283, 7, "cut-padding")]


@pytest.mark.parametrize("extra", range(1, 12))
def test_bytes_inserted(tmp_path, extra):
    """Later records may then start anywhere; those behind the damage are all found."""
    data = insert_bytes(SIX, 100, b"x" * extra)
    records, [(start, stop, before, reason)] = salvaged(tmp_path / "a.rec", data)
    kept = [at for at, _ in records]
    assert kept[:2] == [0, 44]
    assert kept[-3:] == [at + extra for at in (132, 176, 220)]
    assert (stop, reason) in [(132 + extra, "wrong-magic"), (132 + extra, "wrong-length")]
    assert (start, before) in [(132, 3), (88, 2)]


@pytest.mark.parametrize("extra", [1, 2, 3, 5, 6, 7])
def test_bytes_inserted_between_records(tmp_path, extra):
    """Both neighbours are untouched, and kept."""
    data = insert_bytes(SIX, 88, b"x" * extra)
    records, regions = salvaged(tmp_path / "a.rec", data)
    assert [at for at, _ in records] == [0, 44, *(at + extra for at in STARTS[2:])]
    assert regions == [(88, 88 + extra, 2, "wrong-magic")]


@pytest.mark.parametrize("fewer", range(1, 12))
def test_bytes_removed(tmp_path, fewer):
    data = remove_bytes(SIX, 100, 100 + fewer)
    records, regions = salvaged(tmp_path / "a.rec", data)
    assert [at for at, _ in records] == [0, 44, *(at - fewer for at in (132, 176, 220))]
    assert regions == [(88, 132 - fewer, 2, "wrong-length")]


def test_records_in_a_payload_are_not_taken_for_records(tmp_path):
    """At an odd place, six of them in a row: behind a header whose length is wrong, too."""
    files = [SIX, NESTED, SIX]
    data = b"".join(files)
    whole = [at for at, _ in read(data)[0]]
    assert len(whole) == 13
    broken = set_lrec(data, 264, 0, 1 << 28)
    records, regions = salvaged(tmp_path / "a.rec", broken)
    assert [at for at, _ in records] == [at for at in whole if at != 264]
    assert regions == [(264, 264 + len(NESTED), 6, "wrong-length")]


def test_unescaped_records_in_a_record_before_damage(tmp_path):
    """The framing around them holds, so they are bytes of a payload."""
    data = UNESCAPED + SIX + UNESCAPED + flip_byte(SIX, 0)
    at = len(UNESCAPED)
    records, regions = salvaged(tmp_path / "a.rec", data)
    second = at + 264 + at
    assert [offset for offset, _ in records] == [
        *(0, *(at + start for start in STARTS), at + 264),
        *(second + start for start in STARTS[1:]),
    ]
    assert regions == [(second, second + 44, 8, "wrong-magic")]


def test_download_cut_off_inside_a_record(tmp_path):
    """C4: 137 of 200 records of 44 bytes, and 20 bytes of the next one."""
    data = b"".join(part(0, image(i % 7, i, bytes([i]) * 12)) for i in range(200))[:6048]
    records, regions = salvaged(tmp_path / "a.rec", data)
    assert records == [(44 * i, 36) for i in range(137)]
    assert regions == [(6028, 6048, 137, "cut-part")]


@pytest.mark.parametrize("data", [cut_tail(SIX, 40), flip_byte(LONG, 0), bytes(100), b"<html>"])
def test_nothing_is_whole(tmp_path, data):
    """Then the first damage is an error all the same."""
    (tmp_path / "a.rec").write_bytes(data)
    (tmp_path / "a.idx").write_bytes(b"0\t0\n")
    with pytest.raises(rec2idx.RecordIOError) as without:
        rec2idx.create_index(tmp_path / "a.rec")
    with pytest.raises(rec2idx.RecordIOError) as error:
        rec2idx.create_index(tmp_path / "a.rec", salvage=lambda region: None)
    assert str(error.value) == str(without.value)
    assert (tmp_path / "a.idx").read_bytes() == b"0\t0\n"


def test_a_region_says_what_is_wrong(tmp_path):
    (tmp_path / "a.rec").write_bytes(set_lrec(SIX, 88, 0, 64 | 36))
    regions = []
    done = rec2idx.create_index(tmp_path / "a.rec", salvage=regions.append)
    assert regions == [
        rec2idx.DamagedRegion(
            *(str(tmp_path / "a.rec"), 88, 132, 2, "wrong-length"),
            "the record's length is wrong: expected the next record where it ends, "
            "found none at byte 196",
            cause=rec2idx.Cause("length", 88, 96, 44, 64 | 36, in_record=True),
        )
    ]
    assert (done.records, done.damaged, done.damaged_bytes) == (5, 1, 44)
    assert (tmp_path / "a.idx").read_bytes() == b"0\t0\n1\t44\n2\t132\n3\t176\n4\t220\n"


def test_what_is_not_damage_stays_an_error(tmp_path):
    """A failing read is no reason to leave records out."""

    class Failing(LocalFile):
        def read(self, offset, length):
            raise OSError(5, "Input/output error", self.path)

    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    with Failing(str(tmp_path / "a.rec")) as source, pytest.raises(OSError, match="Input/output"):
        list(scan(source, salvage=lambda region: None))


def test_one_index_over_damaged_files(tmp_path):
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    (tmp_path / "b.rec").write_bytes(SIX + b"!!")
    regions = []
    done = rec2idx.combine_index(
        [tmp_path / "a.rec", tmp_path / "b.rec"], tmp_path / "all.idx", salvage=regions.append
    )
    offsets = [0, 44, 132, 176, 220, *(264 + start for start in STARTS)]
    lines = [f"{key}\t{offset}\n" for key, offset in enumerate(offsets)]
    assert (tmp_path / "all.idx").read_text() == "".join(lines)
    assert (done.damaged, done.damaged_bytes) == (2, 46)
    assert sorted((region.path[-5:], region.start, region.stop) for region in regions) == [
        ("a.rec", 88, 132),
        ("b.rec", 264, 266),
    ]


def test_only_images_of_a_damaged_file(tmp_path):
    (tmp_path / "face.rec").write_bytes(flip_byte(FACE, 80))
    done = rec2idx.create_index(
        tmp_path / "face.rec", images_only=True, keys="id", salvage=lambda region: None
    )
    assert (tmp_path / "face.idx").read_text() == "1\t40\n3\t120\n4\t160\n5\t200\n"
    assert done.left_out == {"file header": 1, "identity record": 2}


# Words without the byte that begins a magic, so that all magics are where a writer escapes them.
word = st.binary(min_size=4, max_size=4).map(lambda word: word.replace(b"\n", b"x"))
tail = st.binary(max_size=3).map(lambda odd: odd.replace(b"\n", b"x"))
escaped = st.tuples(st.lists(st.one_of(word, st.just(MAGIC)), max_size=8), tail).map(
    lambda both: b"".join(both[0]) + both[1]
)


@st.composite
def one_damage(draw, contents, verbs):
    """Return damaged bytes, where the untouched records are in them, and where any may be."""
    payloads = draw(st.lists(contents, min_size=1, max_size=9))
    records = [record(payload) for payload in payloads]
    starts = starts_of(*records)
    data = b"".join(records)
    start = draw(st.integers(0, len(data) - 1))
    stop = min(len(data), start + draw(st.integers(1, 40)))
    verb = draw(st.sampled_from(verbs))
    if verb == "flip":
        stop = start + 1
        damaged = flip_byte(data, start, draw(st.integers(1, 255)))
    elif verb == "zero":
        damaged = zero_block(data, start, stop)
    elif verb == "cut":
        stop = len(data)
        damaged = cut_tail(data, start)
    elif verb == "remove":
        damaged = remove_bytes(data, start, stop)
    else:
        assume(start not in starts)  # what stands between two records may be the end of the first
        stop = start
        damaged = insert_bytes(data, start, draw(word) + draw(tail))
    shift = len(damaged) - len(data) if stop < len(data) or verb == "insert" else 0
    assume(not _leads_astray(data, damaged, starts))
    untouched, all_starts = [], []
    for at, whole in zip(starts, records, strict=True):
        moved = at + shift if at >= stop else at
        all_starts.append(moved)
        if at + len(whole) <= start or (at >= stop and not (verb == "cut" and at >= start)):
            untouched.append((moved, len(whole)))
    return damaged, untouched, all_starts


def _leads_astray(data: bytes, damaged: bytes, starts: list[int]) -> bool:
    """Whether a damaged header is as good as a whole one: it leads to a part, or opens a record."""
    ends = {*starts, len(damaged)}
    at = 0
    headers = []
    while at < len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        headers.append(at)
        at += 8 + ((length & 0x1FFFFFFF) + 3 & ~3)
    ends.update(headers)
    for at in headers:
        old, new = data[at + 4 : at + 8], damaged[at + 4 : at + 8]
        if len(new) == 4 and old != new:
            length = int.from_bytes(new, "little")
            end = at + 8 + ((length & 0x1FFFFFFF) + 3 & ~3)
            if end in ends or (old[3] >> 5 > 1 and new[3] >> 5 < 2):
                return True
    return False


@given(case=one_damage(escaped, ["flip", "zero", "cut", "insert", "remove"]))
def test_any_one_damage_costs_no_other_record(tmp_path_factory, case):
    require_all_but_the_damaged(tmp_path_factory, *case)


@given(case=one_damage(payload_lists.map(b"".join), ["flip", "zero"]))
def test_nor_do_magics_at_odd_places(tmp_path_factory, case):
    require_all_but_the_damaged(tmp_path_factory, *case)


def require_all_but_the_damaged(tmp_path_factory, damaged, untouched, all_starts):
    path = tmp_path_factory.mktemp("one") / "a.rec"
    try:
        records, regions = salvaged(path, damaged, jobs=1)
    except rec2idx.RecordIOError:
        records, regions = [], [(0, len(damaged), 0, "")]
    kept = [at for at, _ in records]
    assert {at for at, _ in untouched} <= set(kept) <= set(all_starts)
    # No byte is in an untouched record and in a region.
    for at, length in untouched:
        assert not any(start < at + length and at < stop for start, stop, *_ in regions)


@settings(max_examples=150)
@given(data=damaged_files(), odd=st.binary(max_size=3))
def test_every_way_of_walking_finds_the_same(tmp_path_factory, data, odd):
    """Also of hostile files, at any alignment; the regions and the records share no byte."""
    path = tmp_path_factory.mktemp("same") / "a.rec"
    data = odd + data

    def outcome(**how):
        try:
            return salvaged(path, data, **how)
        except rec2idx.RecordIOError as error:
            return str(error)

    expected = outcome(jobs=1)
    for how in (
        {"jobs": 1, "block_size": 8},
        {"jobs": 3, "segment_size": 24},
        {"jobs": 2, "segment_size": 100, "block_size": 40, "heads": 24},
    ):
        assert outcome(**how) == expected
    if not isinstance(expected, str):
        ends = sorted(
            [(at, at + 8 + size) for at, size in expected[0]] + [r[:2] for r in expected[1]]
        )
        assert all(one[1] <= other[0] for one, other in pairwise(ends))


def test_records_that_are_kept_are_those_of_the_file(tmp_path):
    """Without damage there is nothing to say."""
    data = whole_file([b"", MAGIC, b"x" * 70, MAGIC * 2])
    expected = [(at, len(payload)) for at, payload in read(data)[0]]
    assert salvaged(tmp_path / "a.rec", data) == (expected, [])


@given(
    st.lists(st.sampled_from([MAGIC, b"\xd7", MAGIC[:3], *(part(n, b"")[:8] for n in range(6))])),
    st.integers(0, 40),
)
def test_headers_are_found_at_any_byte(pieces, start):
    data = b"".join(pieces)
    expected = [
        at
        for at in range(start, len(data) - 7)
        if data[at : at + 4] == MAGIC and data[at + 7] >> 5 < 4
    ]
    assert find_header(data, start) == next(iter(expected), -1)


def test_two_damages_the_second_of_which_is_the_end(tmp_path):
    """Bytes inserted, so that records start elsewhere, and the last padding missing."""
    data = b"junk!" + SIX[:220] + part(0, image(5, 5, b"ten bytes."))[:-2]
    records, regions = salvaged(tmp_path / "a.rec", data)
    assert [at for at, _ in records] == [start + 5 for start in STARTS]
    assert regions == [(0, 5, 0, "wrong-magic"), (267, 267, 6, "cut-padding")]


def test_a_false_head_in_the_last_record_before_a_stray_byte(tmp_path):
    """What it opens ends where the record ends, so that it is bytes of the record."""
    data = SIX + part(0, image(6, 6, part(0, b"four")))
    records, regions = salvaged(tmp_path / "a.rec", data + b"x")
    assert [at for at, _ in records] == [*STARTS, 264]
    assert regions == [(len(data), len(data) + 1, 7, "stray-bytes")]


def test_the_next_word_leads_on_by_chance(tmp_path):
    """It is payload: a record grew by a bit of its length, and where it ends is no magic."""
    records = [record(image(at, at, bytes(20 + at))) for at in range(30)]
    tail = MAGIC[:1] + b"no!" + (len(records[1]) - 12 + len(records[2])).to_bytes(4, "little")
    data = set_lrec(b"".join(records), 0, 0, len(records[0]) - 8 + 8)
    start = len(records[0])
    data = data[: start + 8] + tail + data[start + 16 :]
    kept, regions = salvaged(tmp_path / "a.rec", data)
    starts = starts_of(*records)
    assert [at for at, _ in kept] == starts[1:]
    assert [region[:2] for region in regions] == [(0, starts[1])]


def test_records_in_payloads_near_a_cut_end(tmp_path):
    """At odd places, each leading to the next, up to the end of the file: payload all the same."""
    records = [record(b"odd" + part(0, b"12345678")[:8] + b"x") for _ in range(5)]
    data = flip_byte(b"".join(records), 7, 1 << 4)
    kept, _ = salvaged(tmp_path / "a.rec", data)
    assert [at for at, _ in kept] == [20, 40, 60, 80]


@pytest.mark.parametrize("prefix", [b"", bytes(1 << 20)])
def test_an_archive_is_not_gone_through(tmp_path, prefix):
    """Zeros may be what is left of a download; records in what else is known are not its own."""
    import tarfile

    (tmp_path / "six.rec").write_bytes(SIX)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tmp_path / "six.rec", "six.rec")
    if not prefix:
        with pytest.raises(rec2idx.NotRecordIOError, match="but a tar archive"):
            salvaged(tmp_path / "a.rec", (tmp_path / "a.tar").read_bytes())
    else:
        kept, regions = salvaged(tmp_path / "a.rec", prefix + SIX)
        assert [at for at, _ in kept] == [at + len(prefix) for at in STARTS]
        assert regions == [(0, len(prefix), 0, "wrong-magic")]


def test_long_chains_from_many_places_take_no_more_than_their_share(tmp_path):
    """Each of 20,000 places leads into one chain that breaks: reading it each time takes hours."""
    middle = part(1, bytes(1016)) + part(2, bytes(1016)) * 60 + part(3, b"")
    chain = middle * 14
    heads = b"".join(
        part(0, b"")[:4] + (8 * (20_000 - at - 1)).to_bytes(4, "little") for at in range(20_000)
    )
    data = record(b"x" * 8) + b"z" + heads + chain + b"junk" * 8
    kept, regions = salvaged(tmp_path / "a.rec", data, jobs=1)
    assert kept[0] == (0, 8)
    assert regions[-1][1] == len(data)
