"""The keys of an old index: --keys keep=OLD.idx, and KeepKeys in the library."""

import io
import os
import threading

import pytest
from conftest import folder_content
from hypothesis import example, given
from hypothesis import strategies as st
from reference import part, read
from samples import FACE, SIX, SIX_INDEX, A, B, image, payloads, whole_file

import rec2idx
from rec2idx import KeepKeys

TOP = 1 << 64
THREES = b"".join(b"%d\t%d\n" % (3 * n, 44 * n) for n in range(6))
NAMES = b"".join(b"%d.jpg\t%d\n" % (n, 44 * n) for n in range(6))


def kept(folder, data: bytes, old: bytes, **options) -> bytes:
    """The index of some bytes, under the keys of an old one."""
    (folder / "old.idx").write_bytes(old)
    index = io.BytesIO()
    rec2idx.create_index(io.BytesIO(data), index, keys=KeepKeys("old.idx"), **options)
    return index.getvalue()


def refusal(folder, old: bytes, data: bytes = SIX, **options) -> rec2idx.KeysError:
    """Why the keys of an old index are refused; an index that is there stays."""
    (folder / "a.rec").write_bytes(data)
    (folder / "a.idx").write_bytes(b"7\t7\n")
    (folder / "old.idx").write_bytes(old)
    before = folder_content(folder)
    with pytest.raises(rec2idx.KeysError) as caught:
        rec2idx.create_index("a.rec", keys=KeepKeys("old.idx"), **options)
    assert folder_content(folder) == before
    return caught.value


# Which keys


@pytest.mark.parametrize("old", [SIX_INDEX, THREES, NAMES])
def test_an_index_comes_back_byte_for_byte(folder, old):
    assert kept(folder, SIX, old) == old


@pytest.mark.parametrize(
    "keys",
    [
        [b"0", b"18446744073709551615", b"3", b"2", b"1", b"9"],
        [b"0", b"18446744073709551616", b"3", b"2", b"1", b"9"],
        [b"007", b"7", b"+7", b"-7", b"7.0", b"7e0"],
        [b"a b", "\u00fc".encode(), b"\xe9", b"\xef\xbb\xbf1", b"'", b"x" * 5000],
    ],
)
def test_keys_stand_as_they_are_written(folder, keys):
    """Numbers on both sides of 2^64, and texts of any bytes."""
    old = b"".join(b"%s\t%d\n" % (key, 44 * number) for number, key in enumerate(keys))
    assert kept(folder, SIX, old) == old


def test_an_old_index_in_any_order_and_oddly_written(folder):
    """The new one is in the order of the file, and as it should be."""
    lines = THREES.splitlines(keepends=True)
    odd = b"\xef\xbb\xbf# key offset\n\n" + b"".join(reversed(lines)).replace(b"\t", b"  ")
    assert kept(folder, SIX, odd.replace(b"\n", b"\r\n")) == THREES
    odd = b"".join(NAMES.splitlines(keepends=True)[n] for n in (3, 0, 5, 1, 4, 2))
    assert kept(folder, SIX, odd[:-1]) == NAMES


def test_more_records_than_a_batch(folder):
    """Keys that fall, so that none of them is that of its place; in several batches."""
    count = 20_000
    old = b"".join(b"%d\t%d\n" % (3 * count - 3 * n, 8 * n) for n in range(count))
    assert kept(folder, part(0, b"") * count, old) == old
    names = old.replace(b"\t", b".jpg\t")
    assert kept(folder, part(0, b"") * count, names) == names


def test_entries_where_no_record_starts(folder):
    """They are left out, and counted: inside records, at the end of all, and impossible ones."""
    (folder / "a.rec").write_bytes(SIX)
    (folder / "old.idx").write_bytes(THREES + b"50\t1\n51\t1\n52\t264\n53\t%d\n" % (TOP - 1))
    summary = rec2idx.create_index("a.rec", keys=KeepKeys("old.idx"))
    assert (folder / "a.idx").read_bytes() == THREES
    assert (summary.records, summary.unused_keys) == (6, 4)
    assert rec2idx.create_index("a.rec").unused_keys == 0


def test_only_images_need_a_key(folder):
    """Case C21: key 0 has vanished; all others stay."""
    old = b"".join(b"%d\t%d\n" % (n, 40 * n) for n in range(1, 6))
    (folder / "a.rec").write_bytes(FACE)
    (folder / "a.idx").write_bytes(old)
    summary = rec2idx.create_index("a.rec", keys=KeepKeys("a.idx"), images_only=True)
    assert (folder / "a.idx").read_bytes() == old
    assert (summary.records, summary.unused_keys) == (5, 0)
    assert summary.left_out == {"file header": 1, "identity record": 2}
    error = refusal(folder, old, FACE)
    assert (error.record, error.offset) == (0, 0)


def test_keys_of_records_that_are_left_out_fit(folder):
    """They are no keys without a record: what was left out is said elsewhere."""
    (folder / "a.rec").write_bytes(FACE)
    (folder / "old.idx").write_bytes(b"".join(b"a%d\t%d\n" % (n, 40 * n) for n in range(8)))
    summary = rec2idx.create_index("a.rec", keys=KeepKeys("old.idx"), images_only=True)
    expected = b"".join(b"a%d\t%d\n" % (n, 40 * n) for n in range(1, 6))
    assert (folder / "a.idx").read_bytes() == expected
    assert summary.unused_keys == 0


def test_no_image_at_all(folder):
    with pytest.raises(rec2idx.NoImageError):
        kept(folder, part(0, image(1, 0, b"")), b"0\t0\n", images_only=True)


# What is refused


def test_the_first_of_records_without_a_key(folder):
    """They are counted in all batches; the first is named by its number in the file."""
    count = 40_000
    lines = [b"%d\t%d\n" % (number, 8 * number) for number in range(count)]
    del lines[30_000:30_010], lines[12_345]
    error = refusal(folder, b"".join(lines), part(0, b"") * count)
    assert (error.record, error.offset) == (12_345, 8 * 12_345)
    assert "old.idx has no key for 11 of 40000 records" in str(error)


def test_one_impossible_offset_on_many_lines(folder):
    """Case C2: three records have no key, and none is made up for them."""
    old = SIX_INDEX[: SIX_INDEX.index(b"3\t")] + b"".join(
        b"%d\t%d\n" % (key, TOP - 1) for key in (3, 4, 6)
    )
    error = refusal(folder, old)
    assert (error.path, error.record, error.offset) == ("a.rec", 3, 132)
    assert str(error) == (
        "a.rec: record 3 at byte 132: old.idx has no key for 3 of 6 records, of which this is the "
        "first; is that the old index of this very file? If it is, use other keys: --keys sequence "
        "or --keys id"
    )


def test_all_keys_equal(folder):
    """Case C7."""
    error = refusal(folder, b"".join(b"0\t%d\n" % (44 * n) for n in range(6)))
    assert str(error) == (
        "a.rec: 5 of 6 records have a key in old.idx that a record before them has, such as key 0 "
        "of the index's records 0 and 1; use other keys: --keys sequence or --keys id"
    )


def test_a_text_that_is_the_key_of_two(folder):
    """And one that is so only where no record starts is no matter."""
    lines = NAMES.splitlines(keepends=True)
    error = refusal(folder, b"".join([*lines[:5], b"2.jpg\t220\n"]))
    assert "1 of 6 records" in str(error)
    assert "such as key 2.jpg of the index's records 2 and 5;" in str(error)
    assert kept(folder, SIX, NAMES + b"2.jpg\t1\n2.jpg\t999\n") == NAMES
    assert kept(folder, SIX, THREES + b"3\t1\n3\t999\n") == THREES


def test_two_keys_of_one_record(folder):
    """None of them is dropped in silence. The same one twice loses nothing."""
    error = refusal(folder, THREES + b"6\t88\n8\t88\n9\t132\n10\t132\n")
    assert str(error) == (
        "a.rec: record 2 at byte 88: old.idx has several keys, here 6 and 8, for 2 of 6 records, "
        "of which this is the first; delete the lines that are not to be kept, or use other keys: "
        "--keys sequence or --keys id"
    )
    assert "several keys, here 5.jpg and x, for 1 of" in str(refusal(folder, NAMES + b"x\t220\n"))
    (folder / "old.idx").write_bytes(THREES + THREES[-7:])
    assert rec2idx.create_index("a.rec", keys=KeepKeys("old.idx")).unused_keys == 0
    assert (folder / "a.idx").read_bytes() == THREES


def test_two_keys_of_a_record_that_is_left_out(folder):
    old = b"".join(b"%d\t%d\n" % (n, 40 * n) for n in range(8))
    images = old[old.index(b"1\t") : old.index(b"6\t")]
    assert kept(folder, FACE, b"99\t0\n" + old, images_only=True) == images


@pytest.mark.parametrize(
    ("old", "message"),
    [
        (b"", "the old index is empty: expected a key, a tab and an offset on each line, found no"),
        (b"<b>\n1\n", "the old index has no line with a key: expected a key, a tab and an offset"),
        (b"some\nlines\n", "on each line, found 'some'; use other keys: --keys sequence or --keys"),
        (SIX, "not an old index, but a RecordIO file; give the index that has the keys: --keys ke"),
        (b"\x1f\x8b" + bytes(30), "not an old index, but gzip data; give the index that has the k"),
        (bytes(9), "not an old index, but zeros; give the index that has the keys: --keys keep=OL"),
    ],
)
@pytest.mark.parametrize("piped", [False, True])
def test_what_is_no_old_index(folder, old, message, piped):
    """The file at fault is named, and it is the old index; also where it comes through a pipe."""
    (folder / "a.rec").write_bytes(SIX)
    if piped:
        os.mkfifo("old.idx")
        writer = threading.Thread(target=lambda: (folder / "old.idx").write_bytes(old))
        writer.start()
    else:
        (folder / "old.idx").write_bytes(old)
    with pytest.raises(rec2idx.KeysError, match=f"^old.idx: .*{message}") as caught:
        rec2idx.create_index("a.rec", keys=KeepKeys("old.idx"))
    if piped:
        writer.join()
    assert caught.value.path == "old.idx"
    assert not (folder / "a.idx").exists()


def test_a_large_file_that_is_no_index_is_not_read(folder):
    """It would take long, and be refused all the same."""
    with (folder / "large.rec").open("wb") as file:
        file.write(SIX)
        file.truncate(1 << 40)
    (folder / "a.rec").write_bytes(SIX)
    with pytest.raises(rec2idx.KeysError, match=r"^large\.rec: not an old index, but a RecordIO"):
        rec2idx.create_index("a.rec", keys=KeepKeys("large.rec"))


def test_no_old_index(folder):
    (folder / "a.rec").write_bytes(SIX)
    with pytest.raises(FileNotFoundError) as caught:
        rec2idx.create_index("a.rec", keys=KeepKeys("none.idx"))
    assert caught.value.filename == "none.idx"
    assert not (folder / "a.idx").exists()


def test_keys_made_of_numbers_are_not_kept_ones(folder):
    with pytest.raises(ValueError, match="key_type makes keys from numbers"):
        kept(folder, SIX, THREES, key_type=hex)


# From where and to where


def test_the_old_index_is_the_one_that_is_replaced(folder):
    (folder / "a.rec").write_bytes(SIX)
    (folder / "a.idx").write_bytes(NAMES + b"x\t1\n")
    assert rec2idx.create_index("a.rec", keys=KeepKeys(folder / "a.idx")).unused_keys == 1
    assert (folder / "a.idx").read_bytes() == NAMES


def test_a_damaged_file_leaves_the_old_index(folder):
    (folder / "a.rec").write_bytes(SIX[:250])
    (folder / "a.idx").write_bytes(NAMES)
    with pytest.raises(rec2idx.DamagedRecordError):
        rec2idx.create_index("a.rec", keys=KeepKeys("a.idx"))
    assert (folder / "a.idx").read_bytes() == NAMES


def test_an_old_index_through_a_pipe(folder):
    (folder / "a.rec").write_bytes(SIX)
    os.mkfifo("old.idx")
    writer = threading.Thread(target=lambda: (folder / "old.idx").write_bytes(THREES))
    writer.start()
    rec2idx.create_index("a.rec", keys=KeepKeys("old.idx"))
    writer.join()
    assert (folder / "a.idx").read_bytes() == THREES


# Several files


@pytest.fixture
def two(folder):
    """The six records in two files."""
    (folder / "a.rec").write_bytes(A)
    (folder / "b.rec").write_bytes(B)
    return ["a.rec", "b.rec"]


@pytest.mark.parametrize("old", [SIX_INDEX, THREES, NAMES])
def test_combined(folder, two, old):
    """The old index is over the files laid end to end, and may be the one that is replaced."""
    (folder / "all.idx").write_bytes(old + b"77\t5\n")
    summary = rec2idx.combine_index(two, "all.idx", keys=KeepKeys("all.idx"))
    assert (folder / "all.idx").read_bytes() == old
    assert (summary.records, summary.unused_keys) == (6, 1)


def test_combined_files_of_other_sizes(folder):
    """Offsets run on from file to file; a record without a key is named by its place in its own."""
    (folder / "a.rec").write_bytes(A)
    (folder / "b.rec").write_bytes(part(0, bytes(100)) + B)
    starts = [0, 44, 88, 132, 240, 284, 328]
    lines = [b"%d.jpg\t%d\n" % (key, start) for key, start in enumerate(starts)]
    (folder / "all.idx").write_bytes(b"".join(lines) + b"x\t1\n")
    summary = rec2idx.combine_index(["a.rec", "b.rec"], "all.idx", keys=KeepKeys("all.idx"))
    assert (folder / "all.idx").read_bytes() == b"".join(lines)
    assert summary.unused_keys == 1
    (folder / "all.idx").write_bytes(b"".join(lines[:-1]))
    with pytest.raises(rec2idx.KeysError) as caught:
        rec2idx.combine_index(["a.rec", "b.rec"], "all.idx", keys=KeepKeys("all.idx"))
    error = caught.value
    assert (error.path, error.record, error.offset) == ("b.rec", 3, 196)
    assert "all.idx has no key for 1 of 7 records" in str(error)


def test_two_keys_in_the_second_file(folder, two):
    (folder / "old.idx").write_bytes(THREES + b"8\t176\n")
    message = r"^b\.rec: record 1 at byte 44: old\.idx has several keys, here 12 and 8, for 1 of 6"
    with pytest.raises(rec2idx.KeysError, match=message):
        rec2idx.combine_index(two, "all.idx", keys=KeepKeys("old.idx"))


def test_combined_with_a_file_that_has_no_image(folder, two):
    """It is as if it were not there: no key is that of its records, neither kept nor fitting."""
    (folder / "none.rec").write_bytes(part(0, image(1, 0, b"")) * 3)
    (folder / "old.idx").write_bytes(THREES)
    summary = rec2idx.combine_index(
        ["a.rec", "none.rec", "b.rec"], "all.idx", keys=KeepKeys("old.idx"), images_only=True
    )
    assert (folder / "all.idx").read_bytes() == THREES
    assert (summary.records, summary.unused_keys) == (6, 0)
    (folder / "old.idx").write_bytes(THREES + b"99\t168\n")  # where one of its records would be
    summary = rec2idx.combine_index(
        ["a.rec", "none.rec", "b.rec"], "all.idx", keys=KeepKeys("old.idx"), images_only=True
    )
    assert summary.unused_keys == 1


def test_each_file_its_own_index(folder, two):
    """Of one file it is as `create_index`; of several, nothing is written."""
    (folder / "old.idx").write_bytes(THREES)
    before = folder_content(folder)
    with pytest.raises(rec2idx.KeysError) as caught:
        rec2idx.create_indexes(two, keys=KeepKeys("old.idx"))
    assert str(caught.value) == (
        "old.idx: the old index of one file cannot have the keys of 2 files; index each file by "
        "itself, with its own old index; or, if this one is over all of them, use --combine"
    )
    assert folder_content(folder) == before
    summary = rec2idx.create_indexes(["a.rec"], keys=KeepKeys("old.idx"))
    assert (folder / "a.idx").read_bytes() == THREES[: THREES.index(b"9\t")]
    assert (summary.records, summary.unused_keys) == (3, 3)


def test_an_index_that_is_there_when_it_is_needed(folder):
    """The old index is read where a new one is made; one with texts is fresh as others are."""
    (folder / "a.rec").write_bytes(SIX)
    (folder / "old.idx").write_bytes(NAMES)
    assert rec2idx.ensure_index("a.rec", keys=KeepKeys("old.idx")) == "a.idx"
    assert (folder / "a.idx").read_bytes() == NAMES
    (folder / "old.idx").unlink()
    rec2idx.ensure_index("a.rec", keys=KeepKeys("old.idx"))
    (folder / "a.idx").write_bytes(NAMES[:-10])
    with pytest.raises(FileNotFoundError):
        rec2idx.ensure_index("a.rec", keys=KeepKeys("old.idx"))


def test_an_index_of_texts_is_made_anew_with_numbers(folder):
    (folder / "a.rec").write_bytes(SIX)
    (folder / "a.idx").write_bytes(NAMES)
    rec2idx.ensure_index("a.rec")
    assert (folder / "a.idx").read_bytes() == SIX_INDEX


# The commands


def test_the_command_says_how_many_keys_fit_no_record(folder, run):
    (folder / "a.rec").write_bytes(SIX)
    (folder / "a.idx").write_bytes(THREES + b"50\t1\n51\t2\n")
    done = run("a.rec", "--keys", "keep=a.idx", "--progress", "none")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("rec2idx: a.rec: 6 records, 264 bytes, ")
    assert done.stderr.endswith(" s; 2 keys of a.idx fit no record; index written to a.idx\n")
    assert (folder / "a.idx").read_bytes() == THREES
    done = run("a.rec", "--keys=keep=a.idx", "--progress", "none")
    assert " s; index written to a.idx" in done.stderr


def test_a_refusal_by_the_command(folder, run):
    (folder / "a.rec").write_bytes(SIX)
    (folder / "a.idx").write_bytes(SIX_INDEX[:-5])
    done = run("a.rec", "-q", "--keys", "keep=a.idx")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(
        "rec2idx: a.rec: record 5 at byte 220: a.idx has no key for 1 of 6"
    )
    assert (folder / "a.idx").read_bytes() == SIX_INDEX[:-5]


@pytest.mark.parametrize("keys", ["x", "keep", "keep=", "id=a", "Keep=a.idx"])
def test_keys_that_do_not_exist(folder, run, keys):
    done = run("a.rec", "--keys", keys)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(
        f"\nrec2idx: error: --keys is '{keys}', expected sequence, id or keep=OLD.idx\n"
    )


# Whatever the file and its old index, as a plain reading of both says


@st.composite
def records_and_old_indexes(draw):
    """A file; and lines of keys and offsets that differ, of which some are those of its records."""
    data = whole_file(draw(st.lists(payloads, min_size=1, max_size=12)))
    starts = [start for start, _ in read(data)[0]]
    missing = draw(st.sets(st.sampled_from(starts), max_size=draw(st.sampled_from([0, 0, 2]))))
    others = draw(st.sets(st.one_of(st.integers(0, len(data) + 9), st.integers(0, TOP - 1))))
    offsets = draw(st.permutations(sorted((others | set(starts)) - missing)))
    number = st.one_of(st.integers(0, 30), st.integers(0, TOP + 9)).map(str)
    key = st.one_of(number, st.sampled_from(["a", "b.jpg", "07", "\u00fc", "1.5"]))
    unique = draw(st.sampled_from([True, True, False]))
    size = len(offsets)
    some = draw(st.sampled_from([number, key]))
    keys = draw(st.lists(some, min_size=size, max_size=size, unique=unique))
    return data, list(zip(keys, offsets, strict=True))


@given(records_and_old_indexes())
@example((SIX, [("9", 220), ("8", 176), ("7", 132), ("6", 88), ("5", 44), ("a", 0)]))
@example((SIX, [("9", 220), ("8", 176), ("7", 132), ("6", 88), ("5", 44)]))
@example((SIX, [("9", 220), ("9", 176), ("7", 132), ("6", 88), ("5", 44), ("4", 0), ("9", 5)]))
def test_keys_are_those_of_a_plain_reading(folder, drawn):
    data, lines = drawn
    old = "".join(f"{key}\t{offset}\n" for key, offset in lines).encode()
    places = {offset: key for key, offset in lines}
    starts = [start for start, _ in read(data)[0]]
    without = [start for start in starts if start not in places]
    keys = [places[start] for start in starts if start in places]
    if without and not lines:
        with pytest.raises(rec2idx.KeysError, match="the old index is empty"):
            kept(folder, data, old)
    elif without:
        with pytest.raises(rec2idx.KeysError) as caught:
            kept(folder, data, old)
        assert caught.value.offset == without[0]
        assert caught.value.record == starts.index(without[0])
        assert f"no key for {len(without)} of {len(starts)} records" in str(caught.value)
    elif len(set(keys)) < len(keys):
        with pytest.raises(rec2idx.KeysError) as caught:
            kept(folder, data, old)
        repeated = len(keys) - len(set(keys))
        assert f"{repeated} of {len(keys)} records have a key in old.idx" in str(caught.value)
    else:
        expected = "".join(f"{places[start]}\t{start}\n" for start in starts)
        assert kept(folder, data, old).decode() == expected
        (folder / "a.rec").write_bytes(data)
        summary = rec2idx.create_index("a.rec", keys=KeepKeys("old.idx"))
        assert (folder / "a.idx").read_bytes().decode() == expected
        assert summary.unused_keys == len(lines) - len(starts)
