"""pack_images(): the bytes of both files against those written by hand, and all that can fail."""

import dataclasses
import os
import random
import sys
from pathlib import Path

import pytest
from folders import put
from hypothesis import given, settings
from hypothesis import strategies as st
from packs import expected, failing, found, names
from reference import MAGIC, record
from samples import SIX_INDEX, image, labelled, payload_lists

import rec2idx
from rec2idx import PackSummary, pack_images
from rec2idx.packing import packer
from rec2idx.recordio import MXIndexedRecordIO, unpack

JPEG = b"\xff\xd8\xff\xe0 and so on"
SHORT = "/sys/class/net/lo/mtu"  # a regular file of 4096 bytes, of which few can be read
UNSIZED = "/proc/version"  # a regular file of 0 bytes, of which some can be read


@pytest.mark.parametrize("jobs", [None, 1, 2, 7])
def test_a_list(folder, jobs):
    put(a_jpg=JPEG, b__b_jpg=MAGIC + b"x" + MAGIC, c=b"")
    put(pics_lst=b"7\t1.5\ta.jpg\n3\t-2\tb/b.jpg\n\n9\t1e40\tc\r\n 5 \t 0 \t a.jpg \n")
    summary = pack_images("pics.lst", "out.rec", jobs=jobs)
    payloads = [
        image(1.5, 7, JPEG),
        image(-2, 3, MAGIC + b"x" + MAGIC),
        image(float("inf"), 9, b""),
        image(0, 5, JPEG),
    ]
    assert found() == expected(*payloads, keys=[7, 3, 9, 5])
    assert dataclasses.replace(summary, seconds=0) == PackSummary(
        records=4,
        bytes_written=len(found()[0]),
        failed=0,
        empty=1,
        unrecognised=1,
        labels_left_out=0,
        repeated=0,
        repeated_number=None,
        folders=(),
        others=0,
        seconds=0,
        path="out.rec",
        index="out.idx",
        list=None,
        index_replaced=False,
    )
    assert names() == ["a.jpg", "b", "c", "out.idx", "out.rec", "pics.lst"]


def test_labels(folder):
    """Only the first, as im2rec packs it; or all, and then one alone stands in the header."""
    put(a_jpg=JPEG)
    put(pics_lst=b"0\t1\t2\t0.1\ta.jpg\n1\t16777217\ta.jpg\n2\tnan\t1e40\ta.jpg\n")
    assert pack_images("pics.lst", "out.rec").labels_left_out == 2
    nan = float("nan")
    first = [image(1, 0, JPEG), image(16777216, 1, JPEG), image(nan, 2, JPEG)]
    assert found() == expected(*first)
    assert pack_images("pics.lst", "all.rec", pack_label=True).labels_left_out == 0
    assert found("all") == expected(
        labelled([1, 2, 0.1], 0, JPEG),
        image(16777216, 1, JPEG),
        labelled([nan, float("inf")], 2, JPEG),
    )


@settings(max_examples=40)
@given(
    contents=payload_lists,
    labels=st.lists(
        st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=5), min_size=20
    ),
    numbers=st.lists(st.integers(0, 2**64 - 1), min_size=20, unique=True),
    jobs=st.sampled_from([1, 3]),
)
def test_what_is_packed_is_read(tmp_path, contents, labels, numbers, jobs):
    """By key: the bytes, the labels and the ids that were packed."""
    given = list(zip(numbers, labels, contents, strict=False))
    with (tmp_path / "a.lst").open("w") as file:
        for at, (number, values, content) in enumerate(given):
            (tmp_path / f"{at}.jpg").write_bytes(content)
            print(number, *map(repr, values), f"{at}.jpg", sep="\t", file=file)
    out = tmp_path / "a.rec"
    out.unlink(missing_ok=True)
    pack_images(tmp_path / "a.lst", out, pack_label=True, jobs=jobs)
    payloads = [
        image(values[0], number, content) if len(values) == 1 else labelled(values, number, content)
        for number, values, content in given
    ]
    assert found(tmp_path / "a") == expected(*payloads, keys=[number for number, _, _ in given])
    with MXIndexedRecordIO(tmp_path / "a.idx", out, "r") as reader:
        for number, values, content in given:
            header, packed = unpack(reader.read_idx(number))
            assert (header.id, header.id2, packed) == (number, 0, content)
            assert header.flag == (len(values) if len(values) > 1 else 0)
            assert values == ([header.label] if len(values) == 1 else header.label.tolist())


@pytest.mark.parametrize("jobs", [1, 4])
def test_pictures_small_and_large_in_many_groups(folder, monkeypatch, jobs):
    """Those that are read ahead, and those that are read at their turn, keep their order."""
    monkeypatch.setattr(packer, "SOME", 9_000)
    monkeypatch.setattr(packer, "LARGE", 15_000)
    rng = random.Random(5)
    sizes = [rng.choice([0, 1, 3000, 4001, 15_000]) for _ in range(3 * packer.GROUP + 1)]
    sizes[packer.GROUP - 1] = sizes[2 * packer.GROUP] = 200_001
    contents = [rng.randbytes(16) + bytes(size) + MAGIC for size in sizes]
    for at, content in enumerate(contents):
        Path(f"{at}.jpg").write_bytes(content)
    lines = [f"{at}\t{at % 7}\t{at}.jpg\n" for at in range(len(contents))]
    Path("a.lst").write_text("".join(lines))
    seen = []
    pack_images("a.lst", "out.rec", jobs=jobs, progress=seen.append)
    data, index = found()
    assert (data, index) == expected(
        *(image(at % 7, at, content) for at, content in enumerate(contents))
    )
    assert [seen[0].records, seen[-1].records] == [0, len(contents)]
    assert [progress.bytes for progress in seen] == sorted(progress.bytes for progress in seen)
    assert (seen[-1].bytes, seen[-1].total) == (len(data), None)


class TestWhatFails:
    def test_pictures(self, folder):
        put(a_jpg=JPEG, b_jpg=JPEG, folder__x=b"")
        os.mkfifo("pipe")
        with open("long", "wb") as file:
            file.truncate((1 << 29) - 1 - 24 + 1)
        Path("a.lst").write_text(
            "0\t0\ta.jpg\n1\t0\tnone.jpg\n2\t0\tfolder\n3\t0\tpipe\n4\t0\tlong\n5\t0\tb.jpg\n"
            "6\t0\ta.jpg/x\n7\t0\ta\0b\n"
        )
        failures, options = failing()
        summary = pack_images("a.lst", "out.rec", **options)
        assert found() == expected(image(0, 0, JPEG), image(0, 5, JPEG), keys=[0, 5])
        assert (summary.records, summary.failed) == (2, 6)
        assert [(failure.number, failure.name) for failure in failures] == [
            (1, "none.jpg"),
            (2, "folder"),
            (3, "pipe"),
            (4, "long"),
            (6, "a.jpg/x"),
            (7, "a\0b"),
        ]
        assert [type(failure.error) for failure in failures] == [
            FileNotFoundError,
            IsADirectoryError,
            OSError,
            rec2idx.PayloadError,
            NotADirectoryError,
            OSError,
        ]
        assert str(failures[3].error) == (
            "long: the picture is too long for a record: expected 536870887 bytes at most, found "
            "536870888"
        )

    def test_labels_count_for_the_length(self, folder):
        with open("long", "wb") as file:
            file.truncate((1 << 29) - 1 - 24 - 7)
        put(a_jpg=JPEG, a_lst=b"0\t1\t2\tlong\n1\t1\ta.jpg\n")
        failures, options = failing()
        pack_images("a.lst", "out.rec", pack_label=True, **options)
        assert [failure.error.expected for failure in failures] == ["536870879 bytes at most"]
        assert found() == expected(image(1, 1, JPEG), keys=[1])

    @pytest.mark.skipif(not os.path.exists(SHORT), reason="only Linux has such files")
    def test_a_picture_with_fewer_bytes_than_it_had(self, folder):
        put(a_jpg=JPEG, a_lst=f"0\t1\t{SHORT}\n1\t1\ta.jpg\n".encode())
        failures, options = failing()
        pack_images("a.lst", "out.rec", **options)
        assert [type(failure.error) for failure in failures] == [rec2idx.FileChangedError]
        assert found() == expected(image(1, 1, JPEG), keys=[1])

    @pytest.mark.skipif(not os.path.exists(UNSIZED), reason="only Linux has such files")
    def test_a_picture_of_which_nobody_knows_the_size(self, folder, monkeypatch):
        """It is read up to its end, ahead or at its turn; but no further than a record goes."""
        content = Path(UNSIZED).read_bytes()
        assert len(content) > 50
        put(a_jpg=b"", a_lst=f"0\t1\t{UNSIZED}\n1\t1\ta.jpg\n".encode())
        pack_images("a.lst", "ahead.rec")
        monkeypatch.setattr(packer, "SOME", 7)
        monkeypatch.setattr(packer, "LARGE", 20)
        assert pack_images("a.lst", "out.rec").empty == 1
        assert found("ahead") == found() == expected(image(1, 0, content), image(1, 1, b""))
        monkeypatch.setattr(packer, "LARGE", 45)
        monkeypatch.setattr(packer, "MAX_LENGTH", 40)
        failures, options = failing()
        pack_images("a.lst", "short.rec", **options)
        assert [(type(one.error), one.error.found) for one in failures] == [
            (rec2idx.PayloadError, "46")
        ]
        assert found("short") == expected(image(1, 1, b""), keys=[1])

    def test_all_pictures(self, folder):
        put(a_lst=b"0\t1\ta.jpg\n1\t1\tb.jpg\n", out_idx=SIX_INDEX)
        failures, options = failing()
        with pytest.raises(rec2idx.NoImageError, match=r"^a.lst: none of its pictures can be pack"):
            pack_images("a.lst", "out.rec", **options)
        assert len(failures) == 2
        assert names() == ["a.lst", "out.idx"]
        assert Path("out.idx").read_bytes() == SIX_INDEX

    @pytest.mark.parametrize("what", ["failed", "progress"])
    def test_what_a_callback_raises_ends_the_run(self, folder, what):
        put(a_jpg=JPEG, a_lst=b"0\t1\ta.jpg\n1\t1\tnone.jpg\n")

        def stop(_):
            raise KeyError("stop")

        with pytest.raises(KeyError, match="stop"):
            pack_images("a.lst", "out.rec", **{what: stop})
        assert names() == ["a.jpg", "a.lst"]

    @pytest.mark.parametrize(
        "line", ["1\ta.jpg", "-1\t0\ta.jpg", "18446744073709551616\t0\ta.jpg", "1\tcat\ta.jpg"]
    )
    def test_a_line_of_the_list(self, folder, line):
        """It is met before any picture is read."""
        put(a_lst=f"0\t0\tnone.jpg\n{line}\n".encode())
        failures, options = failing()
        with pytest.raises(rec2idx.BadListError) as caught:
            pack_images("a.lst", "out.rec", **options)
        assert (caught.value.path, caught.value.line, failures) == ("a.lst", 2, [])
        assert names() == ["a.lst"]

    @pytest.mark.parametrize("content", [b"", b"\n \n"])
    def test_a_list_of_nothing(self, folder, content):
        put(a_lst=content)
        with pytest.raises(rec2idx.NoImageError, match=r"^a.lst: the list has no line"):
            pack_images("a.lst", "out.rec")
        assert names() == ["a.lst"]

    def test_no_list_no_root(self, folder):
        put(a_lst=b"0\t1\ta.jpg\n", file=b"")
        with pytest.raises(FileNotFoundError, match=r"'none.lst'"):
            pack_images("none.lst", "out.rec")
        with pytest.raises(FileNotFoundError, match=r"'none'"):
            pack_images("a.lst", "out.rec", root="none")
        with pytest.raises(NotADirectoryError, match=r"'file'"):
            pack_images("a.lst", "out.rec", root="file")
        with pytest.raises(OSError, match="from files on this machine only: 's3://bucket/pics'"):
            pack_images("s3://bucket/pics", "out.rec")
        with pytest.raises(ValueError, match="shuffle is for a folder"):
            pack_images("a.lst", "out.rec", shuffle=True)


@pytest.mark.parametrize("jobs", [0, -1])
def test_jobs_that_are_none(folder, jobs):
    """Before anything is opened: not even that the list is missing is found out."""
    with pytest.raises(ValueError, match=f"^jobs is {jobs}, expected at least 1$"):
        pack_images("none.lst", "out.rec", jobs=jobs)
    assert names() == []


def test_numbers_that_are_repeated(folder):
    """im2rec packs them, too."""
    put(a_jpg=b"a", b_jpg=b"b", a_lst=b"5\t0\ta.jpg\n9\t0\ta.jpg\n5\t1\tb.jpg\n9\t0\tnone.jpg\n")
    summary = pack_images("a.lst", "out.rec")
    assert (summary.repeated, summary.repeated_number) == (1, 5)
    assert found() == expected(
        image(0, 5, b"a"), image(0, 9, b"a"), image(1, 5, b"b"), keys=[5, 9, 5]
    )


def test_the_largest_number(folder):
    put(a_jpg=b"a", a_lst=b"18446744073709551615\t0\ta.jpg\n")
    pack_images("a.lst", "out.rec")
    assert found() == expected(image(0, 2**64 - 1, b"a"), keys=[2**64 - 1])


def test_where_names_lead(folder, tmp_path_factory):
    """From the folder of the list, or from the root; an absolute one stands for itself."""
    other = tmp_path_factory.mktemp("other")
    put(lists__a_jpg=b"la", lists__b_lst=b"0\t0\ta.jpg\n1\t0\t../up.jpg\n", up_jpg=b"up")
    (other / "a.jpg").write_bytes(b"oa")
    (other.parent / "up.jpg").write_bytes(b"other up")
    pack_images("lists/b.lst", "1.rec")
    assert found("1") == expected(image(0, 0, b"la"), image(0, 1, b"up"))
    pack_images(Path("lists/b.lst"), Path("2.rec"), root=other)
    assert found("2") == expected(image(0, 0, b"oa"), image(0, 1, b"other up"))
    put(b_lst=f"0\t0\t{other}/a.jpg\n".encode())
    pack_images(b"b.lst", b"3.rec", root=b"lists")
    assert found("3") == expected(image(0, 0, b"oa"))


def test_a_list_out_of_a_pipe(folder):
    put(pics__a_jpg=JPEG)
    read, write = os.pipe()
    os.write(write, b"4\t2\ta.jpg\n")
    os.close(write)
    pack_images(f"/dev/fd/{read}", "out.rec", root="pics")
    os.close(read)
    assert found() == expected(image(2, 4, JPEG), keys=[4])


class TestWhereItGoes:
    @pytest.fixture(autouse=True)
    def pictures(self, folder):
        put(a_jpg=JPEG, a_lst=b"0\t1\ta.jpg\n")

    @pytest.mark.parametrize(
        ("source", "target", "message"),
        [
            ("a.lst", "a.lst", "a.lst: a file stands there already, and a new record file repl"),
            ("a.lst", "a.jpg", "a.jpg: a file stands there already, and a new record file repl"),
            ("a.lst", "new.idx", "new.idx: the new record file and its index would be the same"),
            (".", "new.lst", "new.lst: the new record file and its list would be the same file"),
        ],
    )
    def test_what_is_refused(self, source, target, message):
        with pytest.raises(rec2idx.UnsafeTargetError, match=f"^{message}"):
            pack_images(source, target)
        assert names() == ["a.jpg", "a.lst"]

    def test_a_list_that_is_called_as_an_index(self):
        os.rename("a.lst", "a.idx")
        with pytest.raises(rec2idx.UnsafeTargetError, match=r"^a.idx: the index would replace the"):
            pack_images("a.idx", "a.rec")
        assert names() == ["a.idx", "a.jpg"]

    def test_an_index_that_stands_there(self):
        put(out_idx=SIX_INDEX)
        assert pack_images("a.lst", "out.rec").index_replaced is True
        assert found() == expected(image(1, 0, JPEG))
        put(other_idx=record(b"x"))
        with pytest.raises(rec2idx.UnsafeTargetError, match=r"^other.idx: the index would replace"):
            pack_images("a.lst", "other.rec")

    def test_a_name_without_a_suffix(self):
        summary = pack_images("a.lst", "out.v2/../b")
        assert summary.index == "out.v2/../b.idx"

    def test_a_folder_that_is_not_there(self):
        with pytest.raises(FileNotFoundError, match=r"none/out\.rec"):
            pack_images("a.lst", "none/out.rec")


def test_labels_without_numpy(folder, monkeypatch):
    """It ends the run: the picture is not to blame."""
    put(a_jpg=JPEG, a_lst=b"0\t1\t2\ta.jpg\n")
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(rec2idx.MissingExtraError, match="an array of labels needs NumPy"):
        pack_images("a.lst", "out.rec", pack_label=True)
    pack_images("a.lst", "out.rec")
    assert found() == expected(image(1, 0, JPEG))
