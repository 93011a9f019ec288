"""Every kind of damage: which record, which byte, what was expected and found, what survives."""

import pickle
from pathlib import Path

import pytest
from damage import cut_tail, flip_byte, insert_bytes, remove_bytes, set_lrec, zero_block
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, payload_lists, whole_file

import rec2idx
from rec2idx.scan import scan
from rec2idx.sources import LocalFile


def index(tmp_path: Path, data: bytes) -> rec2idx.RecordIOError | None:
    """Index `data`; return the error. The old index must stand, with nothing beside it."""
    (tmp_path / "a.rec").write_bytes(data)
    (tmp_path / "a.idx").write_bytes(b"0\t0\n")
    failure = None
    try:
        rec2idx.create_index(tmp_path / "a.rec")
    except rec2idx.RecordIOError as error:
        failure = error
    if failure is not None:
        assert (tmp_path / "a.idx").read_bytes() == b"0\t0\n"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.idx", "a.rec"]
        assert failure.path == str(tmp_path / "a.rec")
    return failure


TWO_PARTS = part(1, b"first") + part(3, b"last")  # 16 bytes and 12

# data, reason, record, offset, expected, found
DAMAGES = {
    "wrong magic": (flip_byte(SIX, 88), "wrong-magic", 2, 88, "0xced7230a", "0xced723f5"),
    "zeros": (zero_block(SIX, 88, 132), "wrong-magic", 2, 88, "0xced7230a", "0x00000000"),
    "bytes inserted": (insert_bytes(SIX, 100, b"x"), "wrong-magic", 3, 132, None, None),
    "bytes removed": (remove_bytes(SIX, 50, 54), "wrong-magic", 2, 88, None, None),
    "a length too large": (
        set_lrec(SIX, 88, 0, 1 << 20),
        *("cut-part", 2, 88, "a part of 1048584 bytes", "176"),
    ),
    "a length too small": (
        set_lrec(SIX, 88, 0, 32),
        *("wrong-magic", 3, 128, "0xced7230a", "0x02020202"),
    ),
    "cflag above 3": (set_lrec(SIX, 88, 5, 36), "wrong-cflag", 2, 88, "0 to 3", "5"),
    "opens with a middle part": (
        set_lrec(SIX, 88, 2, 36),
        *("no-first-part", 2, 88, "a part with cflag 0 or 1", "a middle part (cflag 2)"),
    ),
    "opens with a last part": (
        set_lrec(SIX, 88, 3, 36),
        *("no-first-part", 2, 88, "a part with cflag 0 or 1", "a last part (cflag 3)"),
    ),
    "a whole record inside a record": (
        set_lrec(SIX, 88, 1, 36),
        *("record-not-ended", 2, 132, "a part with cflag 2 or 3", "a new record (cflag 0)"),
    ),
    "a first part inside a record": (
        set_lrec(set_lrec(SIX, 88, 1, 36), 132, 1, 36),
        *("record-not-ended", 2, 132, "a part with cflag 2 or 3", "a new record (cflag 1)"),
    ),
    "ends between parts": (
        SIX + TWO_PARTS[:16],
        *("ends-inside-record", 6, 280, "a part with cflag 2 or 3", "the end of the file"),
    ),
    "ends in the header of a next part": (
        SIX + TWO_PARTS[:18],
        *("cut-header", 6, 280, "a header of 8 bytes", "2 bytes"),
    ),
    "cut in the payload": (
        cut_tail(SIX, 227),
        *("cut-header", 5, 220, "a header of 8 bytes", "7 bytes"),
    ),
    "cut behind the header": (
        cut_tail(SIX, 228),
        *("cut-part", 5, 220, "a part of 44 bytes", "8"),
    ),
    "four stray bytes": (
        SIX + b"\n\n\n\n",
        *("stray-bytes", 6, 264, "the end of the file", "4 bytes (0a 0a 0a 0a)"),
    ),
    "a newline at the end, which is also how a magic begins": (
        SIX + b"\n",
        *("stray-bytes", 6, 264, "the end of the file", "1 byte (0a)"),
    ),
    "cut in the magic": (
        cut_tail(SIX, 222),
        *("cut-header", 5, 220, "a header of 8 bytes", "2 bytes"),
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_names_record_offset_expected_and_found(tmp_path, name):
    """With the values as attributes and in the message, and the reference's reason."""
    data, reason, number, offset, expected, found = DAMAGES[name]
    error = index(tmp_path, data)
    assert isinstance(error, rec2idx.DamagedRecordError)
    assert (error.reason, error.record, error.offset) == (reason, number, offset)
    assert read(data)[1].args == (reason, number, offset)
    if expected is not None:
        assert (error.expected, error.found) == (expected, found)
    assert f"record {number} at byte {offset}: " in str(error)
    assert f"expected {error.expected}, found {error.found}" in str(error)
    assert error.advice in str(error)


def test_a_multi_part_record_says_where_it_starts(tmp_path):
    """The damage is in its third part; the record starts earlier."""
    data = SIX + record(b"1234" + MAGIC + b"5678" + MAGIC + b"90")
    error = index(tmp_path, flip_byte(data, 264 + 24))
    assert (error.reason, error.record, error.offset) == ("wrong-magic", 6, 288)
    assert error.record_offset == 264
    assert "(in the record that starts at byte 264)" in str(error)


@given(payload_lists)
def test_every_cut_of_a_small_file(tmp_path, contents):
    """Cut anywhere: the records before are whole, and what is said is what the reference says."""
    data = whole_file(contents[:3])
    path = tmp_path / "a.rec"
    for length in range(1, len(data)):
        cut = cut_tail(data, length)
        path.write_bytes(cut)
        records, broken = read(cut)
        found = []
        error = None
        with LocalFile(path) as source:
            try:
                for batch in scan(source):
                    found += batch.offsets
            except rec2idx.DamagedRecordError as damage:
                error = damage
            except rec2idx.NotRecordIOError as other:
                assert length < 2
                error = other
        assert found == [at for at, _ in records]
        if isinstance(error, rec2idx.DamagedRecordError):
            assert (error.reason, error.record, error.offset) == broken.args
            # A single byte 0a may be a newline, so it is not said to be a cut.
            assert isinstance(error, rec2idx.TruncatedError) or error.reason == "stray-bytes"
        else:
            assert (error is None) == (broken is None)


@given(payload_lists, st.binary(max_size=100), st.data())
def test_any_damage_is_an_error_with_the_reference_s_reason(tmp_path, contents, junk, data):
    """Bytes replaced, inserted or removed anywhere."""
    whole = whole_file(contents)
    start = data.draw(st.integers(0, len(whole)))
    stop = data.draw(st.integers(start, len(whole)))
    damaged = MAGIC + whole[4:start] + junk + whole[stop:]
    records, broken = read(damaged)
    error = index(tmp_path, damaged)
    if broken is None:
        assert error is None
        assert (tmp_path / "a.idx").read_bytes().count(b"\n") == len(records)
    else:
        assert (error.reason, error.record, error.offset) == broken.args


def test_errors_are_the_builtins_that_callers_expect():
    assert issubclass(rec2idx.DamagedRecordError, ValueError)
    assert issubclass(rec2idx.TruncatedError, EOFError)
    assert issubclass(rec2idx.NotRecordIOError, ValueError)
    assert issubclass(rec2idx.EmptyFileError, rec2idx.NotRecordIOError)
    assert issubclass(rec2idx.FileChangedError, OSError)
    assert issubclass(rec2idx.UnsafeTargetError, FileExistsError)


def test_errors_survive_a_trip_to_another_process(tmp_path):
    """All attributes are there after pickling."""
    error = index(tmp_path, cut_tail(SIX, 250))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_download_cut_off_inside_a_record(tmp_path):
    """Case C4: 200 records of 44 bytes, of which 137 and 20 bytes arrived."""
    whole = b"".join(part(0, bytes(36)) for _ in range(200))
    error = index(tmp_path, cut_tail(whole, 6048))
    assert (error.record, error.offset) == (137, 6028)
    assert (error.expected, error.found) == ("a part of 44 bytes", "20")
    assert isinstance(error, rec2idx.TruncatedError)
    assert (index(tmp_path, cut_tail(FACE, 170)).record, error.reason) == (4, "cut-part")


def test_sizes_that_are_no_multiple_of_4(tmp_path):
    """Case C14: padding missing, a byte missing, two bytes too many: three different messages."""
    six = SIX[:220] + part(0, SIX[228:262])  # the last payload is 34 bytes, its padding 2
    padding = index(tmp_path, cut_tail(six, 262))
    assert padding.describe() == (
        "record 5 at byte 220: the record is whole, but its padding is cut off by the end of the "
        "file: expected 2 bytes of padding, found 0; add it (truncate -s 264), or copy or "
        "download the file again"
    )
    byte = index(tmp_path, cut_tail(six, 261))
    assert byte.describe() == (
        "record 5 at byte 220: cut off by the end of the file: expected a part of 42 bytes, "
        "found 41; copy or download the file again; rec2idx --salvage indexes what is whole"
    )
    stray = index(tmp_path, six + b"\n\n")
    assert (padding.reason, byte.reason) == ("cut-padding", "cut-part")
    assert stray.describe() == (
        "record 6 at byte 264: stray bytes after the last record: expected the end of the file, "
        "found 2 bytes (0a 0a); cut them off (truncate -s 264), or copy or download the file again; rec2idx --salvage indexes what is whole"
    )
