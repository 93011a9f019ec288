"""list_records(): where the records of a file are, and what they hold."""

import io
import json
import struct
from itertools import islice
from pathlib import Path

import pytest
from conftest import ROOT
from fuzz.drip import Drip
from hypothesis import given
from hypothesis import strategies as st
from listed import described, number_of_parts, plain, rows_of
from reference import MAGIC, part, read, record
from samples import FACE, SIX, SIX_INDEX, damaged_files, files, image, labelled

import rec2idx
from rec2idx import ListedRecord, list_records, peeks, record_listing

PICTURES = ROOT / "tests/pictures"
JPEG = (PICTURES / "baseline.jpg").read_bytes()
PNG = (PICTURES / "rgb.png").read_bytes()


def written(folder: Path, data: bytes, index: bytes | None = None) -> Path:
    path = folder / "a.rec"
    path.write_bytes(data)
    path.with_suffix(".idx").unlink(missing_ok=True)
    if index is not None:
        path.with_suffix(".idx").write_bytes(index)
    return path


def listed(*args, **options) -> list[tuple]:
    return list(map(plain, list_records(*args, **options)))


def keys_and_problems(*args, **options) -> list[tuple]:
    return [(row.key, row.offset, row.problem) for row in list_records(*args, **options)]


def test_six(tmp_path):
    rows = list(list_records(written(tmp_path, SIX)))
    assert rows == [
        ListedRecord(i, 44 * i, 36, 1, i, (float(i),), "unknown", None, None, None, None)
        for i in range(6)
    ]


def test_a_face_file(tmp_path):
    rows = [
        (row.key, row.id, row.labels, row.kind) for row in list_records(written(tmp_path, FACE))
    ]
    assert rows == [
        (0, 0, (6.0, 8.0), "none"),
        *((i, i, (float(i > 3),), "text") for i in range(1, 6)),
        (6, 6, (1.0, 4.0), "none"),
        (7, 7, (4.0, 6.0), "none"),
    ]


def test_what_stands_in_place_of_images(tmp_path):
    """Case C22."""
    pictures = [JPEG, JPEG[: len(JPEG) // 2], PNG, b"<html><body>404</body></html>", b""]
    pictures.append(bytes(range(160, 250)))
    data = b"".join(record(image(i, 10 + i, data)) for i, data in enumerate(pictures))
    rows = list(list_records(written(tmp_path, data)))
    assert [(row.key, row.id, row.labels, row.size) for row in rows] == [
        (i, 10 + i, (float(i),), 24 + len(data)) for i, data in enumerate(pictures)
    ]
    assert [row.offset for row in rows] == [offset for offset, _ in read(data)[0]]
    assert [(row.kind, row.width, row.height) for row in rows] == [
        ("jpeg", 21, 13),
        ("jpeg", 21, 13),
        ("png", 21, 13),
        ("html", None, None),
        ("none", None, None),
        ("unknown", None, None),
    ]


def test_label_arrays(tmp_path):
    """Case C32: none is shortened."""
    arrays = [[2.0, 5.0, *(0.25 * n for n in range(width - 2))] for width in (7, 17, 9, 5000)]
    data = record(image(3, 0, JPEG)) + b"".join(
        record(labelled(labels, 1, JPEG)) for labels in arrays
    )
    rows = list(list_records(written(tmp_path, data)))
    assert [list(row.labels) for row in rows] == [[3.0], *arrays]
    assert {(row.kind, row.width, row.height) for row in rows} == {("jpeg", 21, 13)}


def test_labels_and_images_in_several_parts(tmp_path):
    """The magics between the parts are labels, too, and pixels."""
    [magic] = struct.unpack("<f", MAGIC)
    payloads = [
        labelled([magic, 1.0, magic, magic], struct.unpack("<Q", MAGIC * 2)[0], JPEG),
        image(magic, 2, MAGIC * 3000 + JPEG),
        labelled([magic] * 3000, 3, PNG),
        labelled([1.0, magic] * 2000, 4, PNG[:24] + MAGIC),
    ]
    data = b"".join(map(record, payloads))
    rows = list(list_records(written(tmp_path, data)))
    assert [row.parts for row in rows] == [6, 3002, 3001, 2002]
    assert rows[0].labels == (magic, 1.0, magic, magic)
    assert rows[2].labels == (magic,) * 3000
    assert rows[3].labels == (1.0, magic) * 2000
    kinds = [(row.kind, row.width, row.height) for row in rows]
    assert kinds == [("jpeg", 21, 13), ("unknown", None, None), ("png", 21, 13), ("png", 21, 13)]
    assert list(map(plain, rows)) == rows_of(data)[0]


@pytest.mark.parametrize("index", [None, b"0\t0\n1\t52\n"])
def test_a_record_of_several_parts_ends_where_it_ends(tmp_path, index):
    """What follows it is read at once, and is no image of it."""
    [magic] = struct.unpack("<f", MAGIC)
    data = record(labelled([magic, 1.0, magic], 0)) + record(image(1, 1, JPEG))
    assert data[52:56] == MAGIC
    rows = list(list_records(written(tmp_path, data, index)))
    assert [(row.parts, row.labels, row.kind) for row in rows] == [
        (3, (magic, 1.0, magic), "none"),
        (1, (1.0,), "jpeg"),
    ]


def test_a_size_that_stands_late_in_the_image(tmp_path):
    """Behind 60,000 bytes of a comment it is found, behind 70,000 it is not looked for."""
    comments = [b"\xff\xfe" + struct.pack(">H", 30_000) + bytes(29_998)] * 4
    rows = [
        row
        for count in (2, 4)
        for row in list_records(
            written(tmp_path, record(image(0, 0, JPEG[:2] + b"".join(comments[:count]) + JPEG[2:])))
        )
    ]
    assert [(row.kind, row.width) for row in rows] == [("jpeg", 21), ("jpeg", None)]


def test_what_are_no_image_records(tmp_path):
    """They have no labels and no id, and all of the payload is looked at."""
    text = b"some text, which is no record of an image"
    data = b"".join(map(record, [text, b"", b"x", JPEG, text]))
    rows = list(list_records(written(tmp_path, data)))
    assert {(row.id, row.labels) for row in rows} == {(None, None)}
    assert [row.kind for row in rows] == ["text", "none", "unknown", "jpeg", "text"]
    assert [row.width for row in rows] == [None, None, None, 21, None]


def test_odd_ones_among_image_records(tmp_path):
    """What a file mostly holds decides how a header is taken that makes no sense."""
    nan = struct.pack("<IfQQ", 0, float("nan"), 7, 9)
    data = SIX + b"".join(map(record, [b"short text", nan, struct.pack("<I", 99) + bytes(60)]))
    short, odd, cut = islice(list_records(written(tmp_path, data)), 6, None)
    assert (short.id, short.labels, short.kind) == (None, None, "text")
    assert (odd.id, str(odd.labels), odd.kind) == (7, "(nan,)", "none")
    assert (cut.id, cut.labels, cut.kind) == (None, None, "unknown")


def test_labels_of_64_bits(tmp_path):
    """As info tells them; what they say is not taken for anything else."""
    wide = [struct.pack("<I4xdQQ", 0, n + 1.0, n, 0) + JPEG for n in range(5)]
    rows = list(list_records(written(tmp_path, b"".join(map(record, wide)))))
    assert {(row.id, row.labels) for row in rows[1:]} == {(None, None)}


def test_more_labels_than_any_image_has(tmp_path):
    payload = struct.pack("<IfQQ", 1 << 20, 0, 1, 0) + bytes(4 << 20)
    [row] = list_records(written(tmp_path, record(payload)))
    assert (row.size, row.labels) == (len(payload), None)
    payload = struct.pack("<IfQQ", (1 << 20) - 1, 0, 1, 0) + bytes(4 << 20)
    [row] = list_records(written(tmp_path, record(payload)))
    assert row.labels == (0.0,) * ((1 << 20) - 1)


MANNERS = [peeks.LOCAL, peeks.Manner(80, 0, 1), peeks.Manner(90, 50, 400)]


@pytest.fixture(params=MANNERS, ids=["usual", "small", "together"])
def manner(request, monkeypatch):
    """Records are read in other pieces; what is told of them stays the same."""
    monkeypatch.setattr(peeks, "LOCAL", request.param)
    monkeypatch.setattr(record_listing, "LOCAL", request.param)


image_payloads = st.builds(
    labelled,
    st.lists(st.floats(width=32), max_size=40),
    st.integers(0, (1 << 64) - 1),
    st.one_of(
        st.sampled_from([JPEG, PNG, b"", MAGIC * 9]),
        st.lists(st.sampled_from([JPEG[:20], MAGIC, b"ab", b"\0"]), max_size=30).map(b"".join),
    ),
)
image_files = st.lists(image_payloads, min_size=1, max_size=9).map(
    lambda payloads: b"".join(map(record, payloads))
)


@given(st.one_of(files, image_files), st.integers(1, 50))
def test_any_file(tmp_path, manner, data, most):
    """From a path, a file object and a stream in small pieces: rows as plain Python has them."""
    path = written(tmp_path, data)
    expected, broken = rows_of(data)
    assert broken is None
    if not expected:
        return
    assert listed(path) == expected
    assert listed(io.BytesIO(data)) == expected
    assert listed(Drip(data, most)) == expected


@given(damaged_files())
def test_damage_comes_after_the_rows_before_it(tmp_path, data):
    expected, broken = rows_of(data)
    path = written(tmp_path, data)
    for source in (path, io.BytesIO(data)):
        rows, found = [], None
        try:
            rows.extend(map(plain, list_records(source)))
        except rec2idx.DamagedRecordError as error:
            found = (error.reason, error.record, error.offset)
        assert rows == expected
        assert found == (broken and broken.args)


@given(st.one_of(files, image_files), st.data())
def test_any_index(tmp_path, manner, data, draw):
    """Its entries and no others, in the order of the file; those that name nothing say so."""
    records, _ = read(data)
    if not records:
        return
    offsets = draw.draw(
        st.lists(
            st.one_of(
                st.sampled_from([offset for offset, _ in records]), st.integers(0, len(data) + 9)
            ),
            min_size=1,
            max_size=20,
        )
    )
    index = "".join(f"{key}\t{offset}\n" for key, offset in enumerate(offsets)).encode()
    rows = list(list_records(written(tmp_path, data, index)))
    assert [(row.key, row.offset) for row in rows] == sorted(
        enumerate(offsets), key=lambda entry: (entry[1], entry[0])
    )
    earlier: list[bytes] = []
    for row in rows:
        whole, _ = read(data[row.offset :])
        if whole:
            earlier.append(whole[0][1])
            assert (row.size, row.problem) == (len(earlier[-1]), None)
            assert row.parts == number_of_parts(data, row.offset)
            assert plain(row)[4:] == described(earlier[-1], earlier)
        else:
            assert (row.size, row.parts, row.kind) == (None, None, None)
            assert row.problem


def test_entries_that_name_no_record(tmp_path):
    """Case C2 and C23: all others are listed."""
    index = b"0\t9\n1\t44\n2\t88\n3\t18446744073709551615\n4\t264\n"
    path = written(tmp_path, SIX + part(1, b"abcd"), index)
    assert keys_and_problems(path) == [
        (0, 9, "wrong magic: expected 0xced7230a, found 0x00000000"),
        (1, 44, None),
        (2, 88, None),
        (4, 264, "at byte 276, the file ends between the parts of a record (in the record that "
         "starts at byte 264): expected a part with cflag 2 or 3, found the end of the file"),
        (3, 18446744073709551615, "no record can start there: the file ends at byte 276"),
    ]  # fmt: skip


def test_an_entry_of_a_record_that_is_cut_off(tmp_path):
    path = written(tmp_path, SIX[:-1], SIX_INDEX)
    problem = "cut off by the end of the file: expected a part of 44 bytes, found 43"
    assert keys_and_problems(path)[4:] == [(4, 176, None), (5, 220, problem)]


def test_what_no_entry_names_may_be_damaged(tmp_path):
    data = SIX[:44] + bytes(44) + SIX[88:]
    path = written(tmp_path, data, SIX_INDEX.replace(b"1\t44\n", b""))
    assert [row[0] for row in keys_and_problems(path)] == [0, 2, 3, 4, 5]


@pytest.mark.parametrize("beside", [True, False])
def test_keys_of_an_index(tmp_path, beside):
    path = written(tmp_path, SIX, b"z.jpg\t44\n007\t0\nz.jpg\t88\n" if beside else None)
    index = None
    if not beside:
        index = tmp_path / "other.idx"
        index.write_bytes(b"z.jpg\t44\n007\t0\nz.jpg\t88\n")
    rows = list(list_records(path, index))
    assert [(row.key, row.offset, row.id) for row in rows] == [
        ("007", 0, 0),
        ("z.jpg", 44, 1),
        ("z.jpg", 88, 2),
    ]


def test_large_keys_and_ids(tmp_path):
    top = (1 << 64) - 1
    path = written(tmp_path, record(image(1, top, JPEG)), b"%d\t0\n" % top)
    [row] = list_records(path)
    assert (row.key, row.id) == (top, top)


def test_a_file_object_has_no_index(tmp_path):
    path = written(tmp_path, SIX, b"9\t44\n")
    with path.open("rb") as file:
        assert [row.key for row in list_records(file)] == list(range(6))
    with path.open("rb") as file, pytest.raises(OSError, match="readable at any place"):
        next(list_records(file, tmp_path / "a.idx"))


def test_an_index_that_is_none(tmp_path):
    with pytest.raises(rec2idx.BadIndexError, match="line 2 is 'cat'"):
        next(list_records(written(tmp_path, SIX, b"0\t0\ncat\n")))
    with pytest.raises(rec2idx.BadIndexError, match="not an index, but a RecordIO file"):
        next(list_records(written(tmp_path, SIX, SIX)))


@pytest.mark.parametrize("index", [None, b"0\t0\n"])
def test_what_is_no_record_file(tmp_path, index):
    """Also where an index says that it has records."""
    path = written(tmp_path, b"PK\x03\x04 and so on", index)
    with pytest.raises(rec2idx.NotRecordIOError, match="but a zip archive"):
        next(list_records(path))


def test_an_empty_file(tmp_path):
    with pytest.raises(rec2idx.NotRecordIOError, match="the file is empty"):
        next(list_records(written(tmp_path, b"")))
    assert keys_and_problems(written(tmp_path, b"", b"0\t0\n")) == [
        (0, 0, "no record can start there: the file ends at byte 0")
    ]


def test_names_of_a_list(tmp_path):
    """Case C35: by the ids, in whatever order the list is."""
    lines = [f"{n}\t{n}\tcats/{n} ü.jpg\n" for n in (3, 0, 5, 1, 1 << 63)]
    (tmp_path / "a.lst").write_text("".join(lines))
    rows = list_records(written(tmp_path, SIX), names=tmp_path / "a.lst")
    assert [row.name for row in rows] == [
        f"cats/{n} ü.jpg" if n in (0, 1, 3, 5) else None for n in range(6)
    ]


def test_a_list_with_a_number_twice(tmp_path):
    (tmp_path / "a.lst").write_text("1\t0\ta.jpg\n0\t0\tb.jpg\n1\t0\tc.jpg\n")
    with pytest.raises(rec2idx.BadListError, match=r"'a\.jpg' and 'c\.jpg' for 1"):
        next(list_records(written(tmp_path, SIX), names=tmp_path / "a.lst"))


def test_a_list_that_is_none(tmp_path):
    (tmp_path / "a.lst").write_text("0\t0\ta.jpg\n1\tb.jpg\n")
    with pytest.raises(rec2idx.BadListError, match="line 2"):
        next(list_records(written(tmp_path, SIX), names=tmp_path / "a.lst"))


def test_as_json():
    row = ListedRecord(7, 0, 9, 1, 2, (1.0, 0.1, float("nan"), float("-inf")), "jpeg", 2, 3, "ü")
    assert json.loads(json.dumps(row.as_dict(), allow_nan=False)) == {
        "key": 7,
        "offset": 0,
        "size": 9,
        "parts": 1,
        "id": 2,
        "labels": [1, 0.1, "nan", "-inf"],
        "kind": "jpeg",
        "width": 2,
        "height": 3,
        "name": "ü",
        "problem": None,
    }


def bytes_read() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(dict(line.split(": ") for line in lines)["rchar"])


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="that counts bytes on Linux")
@pytest.mark.parametrize(
    ("size", "indexed", "share"), [(1 << 20, False, 1), (1 << 20, True, 1), (1 << 17, True, 5)]
)
def test_of_large_records_little_is_read(tmp_path, size, indexed, share):
    """Case C35: 1,000 records of 1 MB, of which 1 % at most."""
    count = 1000
    path = tmp_path / "a.rec"
    with path.open("wb") as file:
        for number in range(count):
            file.seek(number * (size + 8))
            head = part(0, image(number, number, JPEG))
            file.write(head[:4] + struct.pack("<I", size) + head[8:])
        file.truncate(count * (size + 8))
    if indexed:
        lines = (f"{number}\t{number * (size + 8)}\n" for number in reversed(range(count)))
        (tmp_path / "a.idx").write_text("".join(lines))
    before = bytes_read()
    rows = list(list_records(path))
    assert bytes_read() - before < count * size * share // 100
    assert [(row.key, row.size, row.width) for row in rows] == [
        (number, size, 21) for number in range(count)
    ]


def test_the_first_rows_of_a_huge_file_come_at_once(tmp_path):
    """After a few megabytes of 64 GB that are not even on the disk."""
    size = 64 << 30
    path = tmp_path / "a.rec"
    path.write_bytes(SIX * 1000)
    with path.open("r+b") as file:
        file.truncate(size)
    assert [row.key for row in islice(list_records(path), 3)] == [0, 1, 2]


def test_the_first_rows_of_a_stream_come_at_once():
    class Endless(io.RawIOBase):
        asked = 0

        def read(self, size: int = -1) -> bytes:
            Endless.asked += 1
            return SIX * 100

    assert next(list_records(Endless())).key == 0
    assert Endless.asked == 1
