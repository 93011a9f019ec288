"""Which records an index names, under which keys: --keys, --images-only and the library's same."""

import io
import struct
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, SIX_INDEX, image, labelled

import rec2idx
from rec2idx import _heads
from rec2idx.select import tells_other_ids

FACE_IMAGES = b"".join(b"%d\t%d\n" % (key, 40 + 40 * key) for key in range(5))
FACE_IDS = b"".join(b"%d\t%d\n" % (key + 1, 40 + 40 * key) for key in range(5))


def six_with_ids(*ids: int) -> bytes:
    return b"".join(part(0, image(0, number, bytes(12))) for number in ids)


def made(data: bytes, **options) -> tuple[bytes, rec2idx.IndexSummary]:
    """The index of some bytes."""
    index = io.BytesIO()
    summary = rec2idx.create_index(io.BytesIO(data), index, **options)
    return index.getvalue(), summary


# Case C17: an index of the images of an InsightFace file, which itself stays as it is


def test_images_only():
    index, summary = made(FACE, images_only=True)
    assert index == FACE_IMAGES
    assert summary.records == 5
    assert summary.left_out == {"file header": 1, "identity record": 2}


def test_images_only_under_their_ids():
    index, summary = made(FACE, images_only=True, keys="id")
    assert index == FACE_IDS
    assert summary.records == 5


def test_all_under_their_ids():
    assert made(FACE, keys="id")[0] == b"".join(b"%d\t%d\n" % (n, 40 * n) for n in range(8))


def test_never_by_flag():
    """Images of InsightFace have flag 2 in many files, and are images all the same."""
    data = part(0, labelled([4, 5], 0)) + part(0, labelled([7, 0], 1, b"x")) * 3
    index, summary = made(data, images_only=True)
    assert index == b"0\t40\n1\t84\n2\t128\n"
    assert summary.left_out == {"file header": 1}


def test_what_is_left_out_is_named_by_what_it_is():
    data = b"".join(
        part(0, payload)
        for payload in (
            image(1, 0, b"x"),
            image(1, 1, b""),
            labelled([1, 2], 2)[:-4],
            bytes(23),
            b"",
            labelled([1, 2], 3),
        )
    )
    index, summary = made(data, images_only=True)
    assert index == b"0\t0\n"
    assert summary.left_out == {
        "record without an image": 2,
        "record cut off inside its labels": 1,
        "record without an IRHeader": 2,
    }


def test_no_image_at_all(tmp_path):
    (tmp_path / "a.rec").write_bytes(part(0, image(1, 0, b"")))
    with pytest.raises(rec2idx.NoImageError, match=r"a\.rec: no record has bytes after its labels"):
        rec2idx.create_index(tmp_path / "a.rec", images_only=True)
    assert not (tmp_path / "a.idx").exists()


# Ids as keys


def test_ids_in_any_order():
    assert made(six_with_ids(9, 3, 0), keys="id")[0] == b"9\t0\n3\t44\n0\t88\n"


def test_the_largest_id():
    assert made(six_with_ids(2**64 - 1, 2**63), keys="id")[0].startswith(b"18446744073709551615\t0")


def test_ids_that_are_all_0(tmp_path):
    """Case C7."""
    (tmp_path / "a.rec").write_bytes(six_with_ids(0, 0, 0, 0, 0, 0))
    with pytest.raises(rec2idx.KeysError) as caught:
        rec2idx.create_index(tmp_path / "a.rec", keys="id")
    assert str(caught.value) == (
        f"{tmp_path}/a.rec: 5 of 6 records have an id that a record before them has, such as id 0 "
        "of the index's records 0 and 1; use running numbers as keys: --keys sequence"
    )
    assert not (tmp_path / "a.idx").exists()
    rec2idx.create_index(tmp_path / "a.rec")
    assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX


def test_a_record_without_an_id():
    with pytest.raises(rec2idx.KeysError) as caught:
        made(SIX + part(0, bytes(23)), keys="id")
    assert (caught.value.record, caught.value.offset) == (6, 264)
    assert "expected an IRHeader of 24 bytes, found a record of 23" in str(caught.value)


def test_ids_made_into_other_keys():
    assert made(six_with_ids(7, 5), keys="id", key_type=hex)[0] == b"0x7\t0\n0x5\t44\n"


def test_keys_that_do_not_exist():
    with pytest.raises(ValueError, match="keys is 'ids', expected one of sequence, id"):
        made(SIX, keys="ids")


# Several files


def test_combined_images_run_on(tmp_path):
    paths = [tmp_path / name for name in ("a.rec", "b.rec")]
    for path in paths:
        path.write_bytes(FACE)
    summary = rec2idx.combine_index(paths, tmp_path / "all.idx", images_only=True)
    expected = [40, 80, 120, 160, 200, 360, 400, 440, 480, 520]
    lines = "".join(f"{key}\t{offset}\n" for key, offset in enumerate(expected))
    assert (tmp_path / "all.idx").read_text() == lines
    assert (summary.records, summary.files[1].first, summary.files[1].records) == (10, 5, 5)
    assert summary.records_left_out == {"file header": 2, "identity record": 4}


def test_a_file_without_an_image_is_as_if_it_were_not_there(tmp_path):
    """DALI fails where a file in its path has no line in the index."""
    paths = [tmp_path / name for name in ("a.rec", "none.rec", "b.rec")]
    for path, data in zip(paths, (SIX, part(0, image(1, 0, b"")), SIX), strict=True):
        path.write_bytes(data)
    summary = rec2idx.combine_index(paths, tmp_path / "all.idx", images_only=True)
    offsets = [int(line.split()[1]) for line in (tmp_path / "all.idx").read_text().splitlines()]
    assert offsets == [*range(0, 264, 44), *range(264, 528, 44)]
    assert summary.path == [str(paths[0]), str(paths[2])]
    assert summary.without_image == (str(paths[1]),)
    assert f"{paths[1]}: no image in it, so left out" in "\n".join(summary.warnings)


def test_the_same_ids_in_two_files(tmp_path):
    for name in ("a.rec", "b.rec"):
        (tmp_path / name).write_bytes(SIX)
    with pytest.raises(rec2idx.KeysError, match=r"all\.idx: 6 of 12 records have an id"):
        rec2idx.combine_index(
            [tmp_path / "a.rec", tmp_path / "b.rec"], tmp_path / "all.idx", keys="id"
        )
    assert not (tmp_path / "all.idx").exists()


# Whatever the file, as a plain reading of it says


pieces = st.one_of(st.just(MAGIC), st.binary(max_size=12), st.just(bytes(8)))
headers = st.builds(
    struct.pack,
    st.just("<IfQQ"),
    st.one_of(st.integers(0, 4), st.sampled_from([2**32 - 1, 0xCED7230A])),
    st.floats(width=32),
    st.one_of(st.integers(0, 20), st.just(0xCED7230ACED7230A)),
    st.sampled_from([0, 0xCED7230A]),
)
some_payloads = st.one_of(
    st.lists(pieces, max_size=4).map(b"".join),
    st.builds(lambda head, rest: head + b"".join(rest), headers, st.lists(pieces, max_size=4)),
)
layouts = st.sampled_from([record, lambda payload: part(0, payload)])
contents = st.lists(
    st.builds(lambda layout, payload: layout(payload), layouts, some_payloads), min_size=1
).map(b"".join)


def head_of(data: bytes, offset: int, payload: bytes, size: int) -> bytes:
    """The head of a record, as the documentation of `Batch` has it."""
    at, parts, first = offset, 0, None
    while True:
        lrec = struct.unpack_from("<I", data, at + 4)[0]
        length = lrec & 0x1FFFFFFF
        first = length if first is None else first
        parts += 1
        at += 8 + (length + 3) // 4 * 4
        if lrec >> 29 in (0, 3):
            return struct.pack("<II", first, parts) + payload[:size].ljust(size, b"\0")


@given(
    contents,
    st.sampled_from([1, 24, 120]),
    st.integers(1, 4),
    st.integers(4, 200),
    st.integers(8, 300),
)
def test_heads(tmp_path, data, size, jobs, segment_size, block_size):
    (tmp_path / "a.rec").write_bytes(data)
    expected = b"".join(head_of(data, at, payload, size) for at, payload in read(data)[0])
    options = {"jobs": jobs, "segment_size": segment_size, "block_size": block_size}
    batches = rec2idx.scan(tmp_path / "a.rec", heads=size, **options)
    assert b"".join(bytes(batch.heads) for batch in batches) == expected


class Pieces(io.BytesIO):
    """Gives a few bytes at a time."""

    def read(self, size=-1):
        return super().read(5000 if self.tell() < 10 else 7)


@given(contents, st.sampled_from([1, 24, 120]))
def test_heads_of_a_stream(data, size):
    big = part(0, bytes(4090)) + data
    expected = b"".join(head_of(big, at, payload, size) for at, payload in read(big)[0])
    batches = rec2idx.scan(Pieces(big), heads=size)
    assert b"".join(bytes(batch.heads) for batch in batches) == expected


def is_image(payload: bytes) -> bool:
    if len(payload) < 24:
        return False
    return len(payload) > 24 + 4 * struct.unpack_from("<I", payload)[0]


@given(contents)
def test_the_images_of_any_file(data):
    expected = [at for at, payload in read(data)[0] if is_image(payload)]
    left = len(read(data)[0]) - len(expected)
    if not expected:
        with pytest.raises(rec2idx.NoImageError):
            made(data, images_only=True)
        return
    index, summary = made(data, images_only=True)
    lines = "".join(f"{key}\t{at}\n" for key, at in enumerate(expected))
    assert index.decode() == lines
    assert sum(summary.left_out.values()) == left


@given(st.lists(st.integers(0, 30)))
def test_repeats(values):
    seen = sorted(value for value in set(values) if values.count(value) > 1)
    count = len(values) - len(set(values))
    assert _heads.repeats(array("Q", values)) == (count, seen[0] if seen else None)


# Ids that are worth a word


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (six_with_ids(0, 1, 2, 3), False),
        (six_with_ids(2, 0, 1), True),
        (six_with_ids(1, 2, 3), True),
        (six_with_ids(5, 5, 6), False),
        (six_with_ids(5), False),
        (part(0, bytes(23)) * 2, False),
        (part(0, labelled([1, 2], 7)[:-4]) + part(0, image(1, 3, b"x")), False),
        (part(0, struct.pack("<IfQQ", 0, 1, 9, 1)) + part(0, image(1, 3, b"x")), False),
        (FACE, False),
    ],
)
def test_ids_that_could_be_keys(tmp_path, data, told):
    (tmp_path / "a.rec").write_bytes(data)
    assert tells_other_ids(str(tmp_path / "a.rec")) is told


def test_ids_of_images_that_could_be_keys(tmp_path):
    """Without the file header, InsightFace's ids are no longer the running numbers."""
    (tmp_path / "a.rec").write_bytes(FACE)
    assert tells_other_ids(str(tmp_path / "a.rec"), images_only=True)


def test_the_command_says_so(tmp_path, run):
    (tmp_path / "a.rec").write_bytes(six_with_ids(2, 0, 1))
    done = run("a.rec", "--progress", "none")
    assert done.returncode == 0
    assert done.stderr.splitlines()[1:] == [
        "rec2idx: a.rec: its records have ids other than the running numbers; if im2rec wrote it, "
        "--keys id gives the keys that its index had"
    ]
    done = run("a.rec", "-q", "--keys", "id")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "a.idx").read_bytes() == b"2\t0\n0\t44\n1\t88\n"


def test_the_command_counts_what_it_leaves_out(tmp_path, run):
    (tmp_path / "a.rec").write_bytes(FACE)
    done = run("a.rec", "--progress", "none", "--images-only")
    assert done.returncode == 0
    said, hint = done.stderr.splitlines()
    assert said.startswith("rec2idx: a.rec: 5 records, 320 bytes, ")
    assert said.endswith(" s; left out 1 file header, 2 identity records; index written to a.idx")
    assert hint.startswith("rec2idx: a.rec: its records have ids other than")
    assert (tmp_path / "a.idx").read_bytes() == FACE_IMAGES


def test_the_index_of_many_files_too(tmp_path, run):
    for name in ("a.rec", "b.rec"):
        (tmp_path / name).write_bytes(FACE)
    rec2idx.create_indexes([tmp_path / "a.rec", tmp_path / "b.rec"], images_only=True, keys="id")
    assert (tmp_path / "a.idx").read_bytes() == (tmp_path / "b.idx").read_bytes() == FACE_IDS
