"""One index over many files."""

import os
from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from damage import flip_byte
from folders import all_but_records, put, tree
from hypothesis import given
from hypothesis import strategies as st
from reference import index, part
from samples import SIX, SIX_INDEX, A, B, image, payload_lists, whole_file

import rec2idx


def test_one_index_over_two_files(folder):
    """Case C9: offsets as if they were one file, keys that run on."""
    put(a_rec=A, b_rec=B)
    summary = rec2idx.combine_index(["a.rec", "b.rec"], "all.idx")
    assert all_but_records() == {"all.idx": SIX_INDEX}
    assert [(f.path, f.records, f.bytes, f.first, f.offset) for f in summary.files] == [
        ("a.rec", 3, 132, 0, 0),
        ("b.rec", 3, 132, 3, 132),
    ]
    assert (summary.records, summary.bytes, summary.index) == (6, 264, "all.idx")
    assert (summary.left_out, summary.warnings) == ((), [])
    assert summary.dali_call == (
        "fn.readers.mxnet(path=['a.rec', 'b.rec'], index_path=['all.idx'])"
    )
    assert summary.mxnet_call == (
        "mx.io.ImageRecordIter(path_imgrec='a.rec;b.rec', path_imgidx='all.idx', "
        "data_shape=..., batch_size=...)"
    )


@given(st.lists(payload_lists, min_size=1, max_size=4))
def test_it_is_the_index_of_the_files_laid_end_to_end(tmp_path, contents):
    files = [whole_file(content) for content in contents]
    paths = [tmp_path / f"{number}.rec" for number in range(len(files))]
    for path, content in zip(paths, files, strict=True):
        path.write_bytes(content)
    rec2idx.combine_index(paths, tmp_path / "all.idx")
    assert (tmp_path / "all.idx").read_bytes() == index(b"".join(files))


def test_the_order_is_that_given(folder):
    put(a_rec=A, b_rec=SIX)
    summary = rec2idx.combine_index(["b.rec", "a.rec"], "all.idx")
    assert summary.path == ["b.rec", "a.rec"]
    assert Path("all.idx").read_bytes() == index(SIX + A)


def test_more_records_than_a_batch(folder):
    put(a_rec=part(0, b"") * 20_000, b_rec=part(0, b"1234") * 20_000)
    rec2idx.combine_index(["a.rec", "b.rec"], "all.idx")
    lines = [(key, key * 8) for key in range(20_000)]
    lines += [(key, 160_000 + (key - 20_000) * 12) for key in range(20_000, 40_000)]
    assert Path("all.idx").read_text() == "".join(f"{key}\t{at}\n" for key, at in lines)


def test_an_empty_file_in_the_middle_is_left_out(folder):
    """Case C9: with it, DALI fails. The call that is printed has it no more."""
    put(a_rec=A, e_rec=b"", b_rec=B)
    summary = rec2idx.combine_index(["a.rec", "e.rec", "b.rec"], "all.idx")
    assert Path("all.idx").read_bytes() == SIX_INDEX
    assert (summary.path, summary.left_out) == (["a.rec", "b.rec"], ("e.rec",))
    assert "e.rec" not in summary.dali_call
    assert summary.warnings == [
        "e.rec: empty, so left out of the index; leave it out of the reader's path too"
    ]


def test_a_last_file_of_one_record_is_told(folder):
    """Case C9: DALI fails at it on S3. Empty files behind it do not make it less the last."""
    put(a_rec=A, one_rec=SIX[:44], e_rec=b"")
    assert rec2idx.combine_index(["a.rec", "one.rec", "e.rec"], "all.idx").warnings[1:] == [
        "one.rec: the last file, with a single record: where the files are on S3, DALI fails at "
        "it; put another file last"
    ]
    assert rec2idx.combine_index(["one.rec", "a.rec"], "all.idx").warnings == []
    assert rec2idx.combine_index(["one.rec"], "all.idx").warnings == []


IMAGE, OTHER = SIX[:44], part(0, image(0, 7, b""))
LATE = (
    "wb.rec: the last file, with a single record in the index, which is not at its start: DALI "
    "looks for it in the file before, and fails, or with dont_use_mmap gives another record; put a "
    "file with several records in the index last, or leave this one out, or write it anew so that "
    "it begins with that record (where damage stands before it, with recordio salvage)"
)


@pytest.mark.parametrize(
    ("first", "options"),
    [(OTHER, {"images_only": True}), (flip_byte(IMAGE, 0), {"salvage": lambda region: None})],
    ids=["images only", "salvage"],
)
def test_a_record_that_dali_looks_for_in_a_file_before_is_told(folder, first, options):
    """Locally, too."""
    put(wa_rec=A, wb_rec=first + IMAGE)
    summary = rec2idx.combine_index(["wa.rec", "wb.rec"], "wall.idx", **options)
    assert summary.warnings == [LATE]
    assert [file.first_offset for file in summary.files] == [0, len(A + first)]
    found = rec2idx.check(summary.path, "wall.idx", readers=("dali",))
    assert "wrong-file" in [error.code for error in found.errors]
    swapped = rec2idx.combine_index(["wb.rec", "wa.rec"], "wall.idx", **options)
    assert swapped.warnings == []


def test_the_warnings_agree_with_the_check(folder):
    """For all data sets of one to three small files of images, other records and damage."""
    contents = {"i": IMAGE, "o": OTHER, "d": flip_byte(IMAGE, 0)}
    layouts = [*contents, *map("".join, product(contents, repeat=2)), "iii", "ooi", "dio"]
    for layout in layouts:
        Path(f"{layout}.rec").write_bytes(b"".join(contents[one] for one in layout))
    seen = Counter()
    for count in (1, 2, 3):
        some = layouts if count < 3 else ["i", "o", "ii", "oi", "di", "ooi"]
        for names in product(some, repeat=count):
            paths = [f"{name}.rec" for name in names]
            for images_only in (False, True):
                try:
                    summary = rec2idx.combine_index(
                        paths, "all.idx", images_only=images_only, salvage=lambda region: None
                    )
                except rec2idx.RecordIOError:  # nothing is left of a file
                    seen["failed"] += 1
                    continue
                found = rec2idx.check(summary.path, "all.idx", readers=("dali",))
                codes = {finding.code for finding in found.findings}
                text = "\n".join(summary.warnings)
                wrong, before = "wrong-file" in codes, "file-before" in codes
                assert wrong == ("DALI looks for it in the file before" in text), (paths, text)
                assert before == ("where the files are on S3" in text), (paths, text)
                seen[wrong, before] += 1
    assert min(seen[True, False], seen[False, True], seen[False, False]) > 20, seen


def test_a_file_that_is_named_twice_comes_twice(folder):
    """As readers would take it; but it is told."""
    put(a_rec=A)
    summary = rec2idx.combine_index(["a.rec", "a.rec"], "all.idx")
    assert Path("all.idx").read_bytes() == index(A + A)
    assert summary.warnings == ["a.rec: named 2 times; so often its records come"]


@pytest.mark.parametrize("name", ["x;y.rec", "x#y.rec", "x?y.rec"])
def test_paths_that_mxnet_would_take_apart(folder, name):
    put(a_rec=A)
    Path(name).write_bytes(B)
    summary = rec2idx.combine_index(["a.rec", name], "all.idx")
    assert summary.dali_call == (
        f"fn.readers.mxnet(path=['a.rec', '{name}'], index_path=['all.idx'])"
    )
    assert summary.mxnet_call is None
    [warning] = summary.warnings
    assert warning.startswith(f"{name}: in a path, the character {name[1]} means something else")


def test_the_calls_quote_any_name(folder):
    name = 'it\'s "new"\nline.rec'
    Path(name).write_bytes(A)
    summary = rec2idx.combine_index([name], "all.idx")
    called = {}

    class Reader:
        readers = io = property(lambda self: self)

        def mxnet(self, **arguments):
            called.update(arguments)

        ImageRecordIter = mxnet

    for call in (summary.dali_call, summary.mxnet_call):
        eval(call, {"fn": Reader(), "mx": Reader()})
    assert called == {
        "path": [name],
        "index_path": ["all.idx"],
        "path_imgrec": name,
        "path_imgidx": "all.idx",
        "data_shape": ...,
        "batch_size": ...,
    }


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (A + b"\n\n", rec2idx.DamagedRecordError),
        (A[:-1], rec2idx.TruncatedError),
        (b"PK\x03\x04" + bytes(40), rec2idx.NotRecordIOError),
    ],
)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_damaged_file_and_nothing_is_written(folder, content, error, at):
    """Case C9: with stray bytes in the first file, every offset behind it would be wrong."""
    records = ["a.rec", "b.rec"]
    put(a_rec=A, b_rec=B, bad_rec=content, all_idx=b"0\t0\n")
    records.insert(at, "bad.rec")
    with pytest.raises(error) as caught:
        rec2idx.combine_index(records, "all.idx")
    assert caught.value.path == "bad.rec"
    assert all_but_records() == {"all.idx": b"0\t0\n"}


def test_only_empty_files(folder):
    put(a_rec=b"", b_rec=b"")
    with pytest.raises(rec2idx.EmptyFileError, match="no file has any record"):
        rec2idx.combine_index(["a.rec", "b.rec"], "all.idx")
    with pytest.raises(ValueError, match="no record files were given"):
        rec2idx.combine_index([], "all.idx")
    assert all_but_records() == {}


@pytest.mark.parametrize("target", ["a.rec", "b.rec", "link.idx", "other.idx", "e.rec"])
def test_no_record_file_is_replaced(folder, target):
    """Not one of those named, under any name, not an empty one, and not any other."""
    put(a_rec=A, b_rec=B, other_idx=SIX, e_rec=b"")
    Path("link.idx").hardlink_to("b.rec")
    before = tree()
    with pytest.raises(rec2idx.UnsafeTargetError):
        rec2idx.combine_index(["a.rec", "b.rec", "e.rec"], target)
    assert tree() == before


@pytest.mark.parametrize("grown", ["a.rec", "b.rec", "e.rec"])
def test_a_file_that_changes_meanwhile(folder, grown):
    """Before it is read, after it was, or where it was left out: offsets would be wrong."""
    put(a_rec=A, b_rec=B, c_rec=A, e_rec=b"", all_idx=b"0\t0\n")

    def change(progress):
        if progress.records == 3:
            with open(grown, "ab") as file:
                file.write(SIX[:44])

    with pytest.raises(rec2idx.FileChangedError) as caught:
        rec2idx.combine_index(["a.rec", "b.rec", "e.rec", "c.rec"], "all.idx", progress=change)
    assert caught.value.path == grown
    assert all_but_records() == {"all.idx": b"0\t0\n"}


def test_progress_of_a_combined_index(folder):
    put(a_rec=A, b_rec=SIX)
    seen = []
    rec2idx.combine_index(["a.rec", "b.rec"], "all.idx", progress=seen.append)
    assert [(p.records, p.bytes, p.total) for p in seen] == [
        (0, 0, 396),
        (3, 132, 396),
        (9, 396, 396),
    ]


def test_a_pipe_is_no_file_of_a_data_set(folder):
    os.mkfifo("pipe.rec")
    keep_open = os.open("pipe.rec", os.O_RDWR)
    with pytest.raises(OSError, match="a reader needs files"):
        rec2idx.combine_index(["pipe.rec"], "all.idx")
    os.close(keep_open)
