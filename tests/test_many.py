"""Many files: an index for each."""

import errno
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from damage import cut_tail, flip_byte
from folders import all_but_records, put, tree
from reference import index
from samples import SIX, SIX_INDEX, THREE_INDEX, A, B

import rec2idx
from rec2idx.find import find_records


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
    assert summary.seconds >= max(done.seconds for done in summary.done)


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
    rec2idx.create_indexes(["a.rec", "b.rec", "c.rec"], jobs=1, progress=seen.append)
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
        rec2idx.create_indexes(["a.rec", "b.rec", "c.rec"], jobs=1, progress=stop)
    assert all_but_records() == {"a.idx": THREE_INDEX}


def test_progress_comes_in_one_thread_and_only_grows(folder):
    """Whatever the number of files under way at once."""
    names = [f"{number:02}.rec" for number in range(40)]
    for name in names:
        Path(name).write_bytes(SIX)
    seen, threads = [], set()

    def report(progress):
        seen.append((progress.records, progress.bytes))
        threads.add(threading.get_ident())

    summary = rec2idx.create_indexes(names, progress=report)
    assert [file.record for file in summary.files] == names
    assert all_but_records() == {name.replace(".rec", ".idx"): SIX_INDEX for name in names}
    assert seen == sorted(seen)
    assert seen[-1] == (240, 264 * 40)
    assert threads == {threading.get_ident()}


@pytest.mark.parametrize("error", [RuntimeError("enough"), OSError("enough"), KeyboardInterrupt()])
def test_what_progress_raises_ends_the_files_under_way_too(folder, error):
    """The second file is a pipe that gives bytes until it is closed, which is after the run."""
    put(a_rec=A)
    os.mkfifo("b.rec")

    def stop(progress):
        if progress.records > 1000:
            raise error

    writer = threading.Thread(target=give_records_for_ever, args=("b.rec",))
    writer.start()
    with pytest.raises(type(error)):
        rec2idx.create_indexes(["a.rec", "b.rec"], progress=stop)
    writer.join()
    assert all_but_records() == {"a.idx": THREE_INDEX}


def give_records_for_ever(path: str) -> None:
    with suppress(BrokenPipeError), open(path, "wb", buffering=0) as pipe:
        while True:
            pipe.write(SIX)
