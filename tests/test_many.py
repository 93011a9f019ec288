"""Many files: an index for each, one over all, and one that is there when it is needed."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import folder_content
from damage import cut_tail, flip_byte
from hypothesis import given
from hypothesis import strategies as st
from reference import index, part
from samples import SIX, SIX_INDEX, payload_lists, whole_file

import rec2idx
from rec2idx.many import find_records

A, B = SIX[:132], SIX[132:]
THREE_INDEX = SIX_INDEX[: SIX_INDEX.index(b"3\t")]
NEWER = 10**9  # nanoseconds


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(**files: bytes) -> None:
    """Write files; `__` in a name is a slash and `_` a dot: a__b_rec is a/b.rec."""
    for name, content in files.items():
        path = Path(name.replace("__", "/").replace("_", "."))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def tree() -> dict[str, bytes]:
    """All files in the folder and below, links left out."""
    paths = (path for path in Path().rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path): path.read_bytes() for path in paths}


def all_but_records() -> dict[str, bytes]:
    return {name: content for name, content in tree().items() if not name.endswith(".rec")}


# An index for each file


def test_each_file_has_its_own_index(folder):
    put(a_rec=A, x__b_rec=SIX)
    summary = rec2idx.create_indexes(["a.rec", Path("x/b.rec")])
    assert all_but_records() == {"a.idx": THREE_INDEX, "x/b.idx": SIX_INDEX}
    assert [(file.record, file.summary.index) for file in summary.files] == [
        ("a.rec", "a.idx"),
        ("x/b.rec", "x/b.idx"),
    ]
    assert (summary.records, summary.bytes) == (9, 396)
    assert (summary.failed, summary.skipped, summary.repeated) == ([], (), ())
    assert summary.seconds >= sum(done.seconds for done in summary.done)


def test_a_single_path_is_not_taken_for_its_characters(folder):
    put(a_rec=A)
    assert rec2idx.create_indexes("a.rec").records == 3


def test_folders_of_files_one_of_them_damaged(folder):
    """Case C30: twenty files in nested folders; the others are indexed, where they should be."""
    names = [f"data/{i % 3}/{i % 2}/{i:02}.rec" for i in range(20)]
    for i, name in enumerate(names):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(SIX[: 44 * (1 + i % 6)])
    damaged = names[13]
    Path(damaged).write_bytes(flip_byte(SIX, 88))
    before = tree()
    summary = rec2idx.create_indexes("data", "made/indexes", recursive=True)
    assert [file.record for file in summary.files] == sorted(names)
    [failed] = summary.failed
    assert failed.record == damaged
    assert isinstance(failed.error, rec2idx.DamagedRecordError)
    assert (failed.error.path, failed.error.record, failed.error.offset) == (damaged, 2, 88)
    expected = {
        name.replace("data", "made/indexes").replace(".rec", ".idx"): index(content)
        for name, content in before.items()
        if name != damaged
    }
    assert len(expected) == 19
    assert tree() == {**before, **expected}
    assert summary.records == sum(content.count(b"\n") for content in expected.values())


def test_only_what_is_recordio_is_taken_from_a_folder(folder):
    """What is named like it and is not is told; what cannot be right is an error."""
    put(d__a_rec=A, d__zip_rec=b"PK\x03\x04", d__empty_rec=b"", d__notes_txt=b"", d__b_REC=B)
    os.mkfifo("d/pipe.rec")
    Path("d/gone.rec").symlink_to("nowhere")
    Path("d/folder.rec").mkdir()
    Path("d/folder.rec/c.rec").write_bytes(B)
    summary = rec2idx.create_indexes(["d"], recursive=True)
    assert {file.path: type(file.reason) for file in summary.skipped} == {
        "d/pipe.rec": OSError,
        "d/zip.rec": rec2idx.NotRecordIOError,
    }
    assert summary.skipped[1].reason.looks_like == "a zip archive"
    assert {file.record: type(file.error) for file in summary.failed} == {
        "d/empty.rec": rec2idx.EmptyFileError,
        "d/gone.rec": FileNotFoundError,
    }
    assert [done.index for done in summary.done] == ["d/a.idx", "d/folder.rec/c.idx"]


def test_a_file_that_is_named_is_taken_whatever_its_name(folder):
    put(d__data_bin=A, zip_rec=b"PK\x03\x04")
    summary = rec2idx.create_indexes(["d/data.bin", "zip.rec"], recursive=True)
    assert summary.done[0].index == "d/data.idx"
    assert isinstance(summary.failed[0].error, rec2idx.NotRecordIOError)


def test_a_folder_is_walked_only_if_that_is_asked_for(folder):
    put(d__a_rec=A)
    [failed] = rec2idx.create_indexes(["d"]).failed
    assert (failed.record, type(failed.error)) == ("d", IsADirectoryError)
    assert all_but_records() == {}


def test_links_that_lead_in_circles(folder):
    """Each folder and each file counts once, under the name that sorts first."""
    put(d__b__x_rec=A, elsewhere__y_rec=B)
    Path("d/b/up").symlink_to("..")
    Path("d/self").symlink_to(".")
    Path("d/a").symlink_to("../elsewhere")
    Path("d/c").symlink_to("b")
    Path("d/z.rec").symlink_to("b/x.rec")
    found = find_records(["d", "d/b"], recursive=True)
    assert [file.path for file in found.files] == ["d/a/y.rec", "d/b/x.rec"]
    assert [(file.path, file.same_as) for file in found.repeated] == [("d/z.rec", "d/b/x.rec")]


def test_a_folder_that_cannot_be_read_is_an_error(folder, monkeypatch):
    """Passing over it in silence would lose what is in it."""
    put(d__a_rec=A, d__locked__b_rec=B)
    scandir = os.scandir

    def refuse(path):
        if str(path).endswith("locked"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    summary = rec2idx.create_indexes(["d"], recursive=True)
    assert [(file.record, type(file.error)) for file in summary.failed] == [
        ("d/locked", PermissionError)
    ]
    assert [done.index for done in summary.done] == ["d/a.idx"]


@pytest.mark.parametrize(
    ("records", "out_dir", "recursive"),
    [
        (["a.rec", "x/a.rec"], "out", False),
        (["a.rec", "a.bin"], None, False),
        (["b.rec", "link.rec"], None, False),
        (["x", "y"], "out", True),
    ],
)
def test_two_files_with_the_same_index_are_refused(folder, records, out_dir, recursive):
    """By the same name, by a suffix that differs, by a link, by folders: before any is written."""
    put(a_rec=A, a_bin=B, x__a_rec=B, y__a_rec=A, b_rec=A, link_rec=B)
    Path("link.idx").symlink_to("b.idx")
    before = tree()
    with pytest.raises(rec2idx.UnsafeTargetError) as caught:
        rec2idx.create_indexes(records, out_dir, recursive=recursive)
    for record in records:
        assert record in str(caught.value)
    assert tree() == before
    assert not Path("out").exists()


def test_a_file_that_is_named_twice(folder):
    """Again, by another way, by links: it is indexed once, under its first name."""
    put(a_rec=A)
    Path("soft.rec").symlink_to("a.rec")
    Path("hard.rec").hardlink_to("a.rec")
    summary = rec2idx.create_indexes(["a.rec", "a.rec", "./a.rec", "soft.rec", "hard.rec"])
    assert [(file.path, file.same_as) for file in summary.repeated] == [
        (again, "a.rec") for again in ("a.rec", "./a.rec", "soft.rec", "hard.rec")
    ]
    assert len(summary.files) == 1
    assert all_but_records() == {"a.idx": THREE_INDEX}


def test_a_file_that_does_not_exist_does_not_stop_the_others(folder):
    put(a_rec=A)
    summary = rec2idx.create_indexes(["none.rec", "a.rec"])
    assert [type(file.error) for file in summary.files] == [FileNotFoundError, type(None)]
    assert all_but_records() == {"a.idx": THREE_INDEX}


def test_an_out_dir_that_is_a_file(folder):
    put(a_rec=A, out=b"")
    with pytest.raises(FileExistsError):
        rec2idx.create_indexes(["a.rec"], "out")


def test_no_files_at_all(folder):
    Path("d").mkdir()
    summary = rec2idx.create_indexes(["d"], recursive=True)
    assert (summary.files, summary.records, summary.bytes) == ((), 0, 0)


def test_progress_is_that_over_all_files(folder):
    """A damaged file counts as done with all its bytes, and with none of its records."""
    put(a_rec=A, b_rec=cut_tail(SIX, 250), c_rec=B)
    seen = []
    rec2idx.create_indexes(["a.rec", "b.rec", "c.rec"], progress=seen.append)
    assert {p.total for p in seen} == {132 + 250 + 132}
    assert list(dict.fromkeys((p.records, p.bytes) for p in seen)) == [
        (0, 0),
        (3, 132),
        (8, 352),
        (3, 382),
        (6, 514),
    ]


@pytest.mark.parametrize("error", [RuntimeError("enough"), OSError("enough"), KeyboardInterrupt()])
def test_what_progress_raises_ends_the_run_with_whole_indexes_only(folder, error):
    put(a_rec=A, b_rec=SIX, c_rec=B)

    def stop(progress):
        if progress.records > 3:
            raise error

    with pytest.raises(type(error)):
        rec2idx.create_indexes(["a.rec", "b.rec", "c.rec"], progress=stop)
    assert all_but_records() == {"a.idx": THREE_INDEX}


# One index over all


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


# An index that is there


def stamp(path: str) -> tuple[int, int]:
    """What tells whether a file was written anew."""
    status = os.stat(path)
    return status.st_ino, status.st_mtime_ns


def age(path: str, nanoseconds: int) -> None:
    """Let the file seem older by so much."""
    then = os.stat(path).st_mtime_ns - nanoseconds
    os.utime(path, ns=(then, then))


def test_a_missing_index_is_made_and_a_fresh_one_is_kept(folder):
    put(a_rec=SIX)
    assert rec2idx.ensure_index("a.rec") == "a.idx"
    assert all_but_records() == {"a.idx": SIX_INDEX}
    made = stamp("a.idx")
    assert rec2idx.ensure_index(Path("a.rec"), Path("a.idx")) == "a.idx"
    assert stamp("a.idx") == made


@pytest.mark.parametrize(
    "stale",
    [
        b"",
        THREE_INDEX,
        SIX_INDEX[4:],
        SIX_INDEX + b"6\t264\n",
        SIX_INDEX[:-1],
        SIX_INDEX.replace(b"\t", b" "),
        SIX_INDEX.replace(b"5\t220", b"5\t221"),
        SIX_INDEX.replace(b"5\t220", b"5\t22000"),
        SIX_INDEX.replace(b"5\t220", b"five\t220"),
        b"0\t0\n1\t9999999999999999999999\n",
        b"\n" + SIX_INDEX,
        SIX_INDEX + b"\n",
        b"junk",
    ],
)
def test_an_index_that_does_not_fit_is_made_anew(folder, stale):
    put(a_rec=SIX, a_idx=stale)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": SIX_INDEX}


@pytest.mark.parametrize("fresh", [SIX_INDEX, b"0\t0\n3\t132\n5\t220\n", b"7\t0\n12\t44\n9\t220\n"])
def test_an_index_that_reaches_from_end_to_end_stays(folder, fresh):
    """Also with other keys, as im2rec writes them, or without some of the records."""
    put(a_rec=SIX, a_idx=fresh)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": fresh}


def test_an_older_index_is_made_anew(folder):
    """The file was overwritten with other records that end in the same way."""
    other = whole_file([b"x" * 36, b"y" * 80]) + SIX[132:]
    assert len(other) == len(SIX)
    put(a_rec=SIX)
    rec2idx.ensure_index("a.rec")
    age("a.idx", NEWER)
    put(a_rec=other)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": index(other)}


def test_a_file_that_grew(folder):
    """Also where nothing but its end tells, as with a clock that stands still."""
    put(a_rec=A)
    rec2idx.ensure_index("a.rec")
    put(a_rec=SIX)
    age("a.rec", NEWER)
    rec2idx.ensure_index("a.rec")
    assert all_but_records() == {"a.idx": SIX_INDEX}


def test_a_file_from_the_future_is_not_indexed_at_every_call(folder):
    """The clock of a file server may be ahead of ours."""
    put(a_rec=SIX)
    age("a.rec", -3600 * NEWER)
    rec2idx.ensure_index("a.rec")
    made = stamp("a.idx")
    rec2idx.ensure_index("a.rec")
    assert stamp("a.idx") == made


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", rec2idx.EmptyFileError), (SIX[:250], rec2idx.TruncatedError)],
)
@pytest.mark.parametrize("old", [None, SIX_INDEX])
def test_a_file_without_a_right_index(folder, content, error, old):
    """Case C12. What was there stays, but its path is not returned."""
    put(a_rec=content, **({"a_idx": old} if old else {}))
    with pytest.raises(error):
        rec2idx.ensure_index("a.rec")
    assert all_but_records() == ({"a.idx": old} if old else {})


def test_nothing_but_an_index_is_replaced(folder):
    put(a_rec=SIX, other_rec=A)
    with pytest.raises(rec2idx.UnsafeTargetError):
        rec2idx.ensure_index("a.rec", "other.rec")
    assert Path("other.rec").read_bytes() == A


@pytest.mark.parametrize("before", [None, b"0\t0\n"])
def test_eight_processes_at_once(folder, before):
    """Case C30: each finds one whole index at the path that it gets, and nothing is left beside."""
    records = 300_000
    put(a_rec=part(0, b"") * records, **({"a_idx": before} if before else {}))
    code = (
        "import sys, rec2idx; sys.stdin.read(1);"
        "print(open(rec2idx.ensure_index('a.rec'), 'rb').read().count(b'\\n'))"
    )
    starts, begin = os.pipe()
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdin=starts, stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    os.write(begin, b"12345678")
    os.close(begin)
    os.close(starts)
    assert [process.communicate(timeout=60)[0] for process in processes] == [b"300000\n"] * 8
    assert sorted(folder_content(folder)) == ["a.idx", "a.rec"]
    assert Path("a.idx").read_bytes().endswith(b"\n299999\t2399992\n")
