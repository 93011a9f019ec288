"""Creating an index: its bytes, its path, what it replaces and what it never touches."""

import os
import stat
from pathlib import Path

import pytest
from conftest import folder_content
from hypothesis import given
from reference import MAGIC, index, part
from samples import SIX, SIX_INDEX, payload_lists, whole_file

import rec2idx
from rec2idx.index import default_index_path


@pytest.fixture
def six(tmp_path: Path) -> Path:
    path = tmp_path / "six.rec"
    path.write_bytes(SIX)
    return path


@given(payload_lists)
def test_the_index_is_that_of_the_reference(tmp_path, contents):
    path = tmp_path / "a.rec"
    path.write_bytes(whole_file(contents))
    summary = rec2idx.create_index(path)
    assert (tmp_path / "a.idx").read_bytes() == index(path.read_bytes())
    assert (summary.records, summary.bytes) == (len(contents), path.stat().st_size)
    assert summary.index == str(tmp_path / "a.idx")


def test_one_record_gives_one_line(tmp_path):
    """Case C37."""
    (tmp_path / "one.rec").write_bytes(part(0, b"payload"))
    rec2idx.create_index(tmp_path / "one.rec")
    assert (tmp_path / "one.idx").read_bytes() == b"0\t0\n"


def test_more_records_than_a_batch(tmp_path):
    """20,000 records: keys run on from batch to batch."""
    (tmp_path / "a.rec").write_bytes(part(0, b"") * 20_000)
    assert rec2idx.create_index(tmp_path / "a.rec").records == 20_000
    expected = "".join(f"{key}\t{key * 8}\n" for key in range(20_000))
    assert (tmp_path / "a.idx").read_text() == expected


def test_a_sparse_file_of_more_than_four_gigabytes(tmp_path):
    """Offsets above 2^32; only the eleven headers are read."""
    header = MAGIC + ((1 << 29) - 8).to_bytes(4, "little")
    with (tmp_path / "a.rec").open("wb") as file:
        for number in range(11):
            file.seek(number << 29)
            file.write(header)
        file.truncate(11 << 29)
    assert rec2idx.create_index(tmp_path / "a.rec").bytes == 11 << 29
    expected = "".join(f"{number}\t{number << 29}\n" for number in range(11))
    assert (tmp_path / "a.idx").read_text() == expected


@pytest.mark.parametrize(
    ("record", "index_path"),
    [
        ("a.rec", "a.idx"),
        ("data/a.rec", "data/a.idx"),
        ("a", "a.idx"),
        ("data.v2/a", "data.v2/a.idx"),
        ("a.b.rec", "a.b.idx"),
        (".rec", ".rec.idx"),
        (Path("a.rec"), "a.idx"),
    ],
)
def test_default_index_path(record, index_path):
    assert default_index_path(record) == index_path


@pytest.mark.parametrize(
    ("key_type", "expected"),
    [(str, b"0\t0\n"), (float, b"0.0\t0\n"), ("image-{:04}".format, b"image-0000\t0\n")],
)
def test_any_key_type(six, key_type, expected):
    """It is applied to the running number, and its text is written."""
    rec2idx.create_index(six, key_type=key_type)
    assert six.with_suffix(".idx").read_bytes().startswith(expected)
    assert six.with_suffix(".idx").read_bytes().count(b"\n") == 6


@pytest.mark.parametrize("key", ["a\tb", "a\n", ""])
def test_a_key_that_would_break_the_index_is_refused(six, key):
    with pytest.raises(ValueError, match="the key of the record at byte 0"):
        rec2idx.create_index(six, key_type=lambda number: key)
    assert folder_content(six.parent) == {"six.rec": SIX}


def test_progress_is_reported_from_nothing_to_all(six):
    seen = []
    rec2idx.create_index(six, progress=seen.append)
    assert [(p.records, p.bytes, p.total) for p in seen] == [(0, 0, 264), (6, 264, 264)]
    assert all(p.seconds >= 0 for p in seen)


def test_what_progress_raises_ends_the_run(six):
    """And nothing is left of the index."""

    def stop(progress):
        if progress.records:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        rec2idx.create_index(six, progress=stop)
    assert folder_content(six.parent) == {"six.rec": SIX}


def test_the_library_prints_nothing(six, capfd):
    rec2idx.create_index(six)
    assert capfd.readouterr() == ("", "")


def swap(folder: Path) -> tuple[Path, Path]:
    (folder / "six.idx").write_bytes(SIX_INDEX)
    return folder / "six.idx", folder / "six.rec"


def same(folder: Path) -> tuple[Path, Path]:
    return folder / "six.rec", folder / "six.rec"


def symbolic_link(folder: Path) -> tuple[Path, Path]:
    (folder / "six.idx").symlink_to("six.rec")
    return folder / "six.rec", folder / "six.idx"


def hard_link(folder: Path) -> tuple[Path, Path]:
    (folder / "six.idx").hardlink_to(folder / "six.rec")
    return folder / "six.rec", folder / "six.idx"


def record_is_a_link(folder: Path) -> tuple[Path, Path]:
    (folder / "link.rec").symlink_to("six.rec")
    return folder / "link.rec", folder / "six.rec"


def other_record(folder: Path) -> tuple[Path, Path]:
    (folder / "other.idx").write_bytes(part(0, b"other"))
    return folder / "six.rec", folder / "other.idx"


def list_file(folder: Path) -> tuple[Path, Path]:
    (folder / "six.lst").write_bytes(b"0\t1.0\ta.jpg\n")
    return folder / "six.rec", folder / "six.lst"


def an_image_named_as_an_index(folder: Path) -> tuple[Path, Path]:
    (folder / "six.idx").write_bytes(b"\xff\xd8\xff\xe0 a JPEG")
    return folder / "six.rec", folder / "six.idx"


def a_link_named_as_an_index(folder: Path) -> tuple[Path, Path]:
    (folder / "notes").write_bytes(b"somebody's notes")
    (folder / "six.idx").symlink_to("notes")
    return folder / "six.rec", folder / "six.idx"


DESTRUCTIVE = [
    an_image_named_as_an_index,
    a_link_named_as_an_index,
    swap,
    same,
    symbolic_link,
    hard_link,
    record_is_a_link,
    other_record,
    list_file,
]


@pytest.mark.parametrize("arrange", DESTRUCTIVE)
def test_nothing_is_destroyed(six, arrange):
    """Whatever stands where the index should go stays byte for byte, and nothing is added."""
    record, target = arrange(six.parent)
    before = folder_content(six.parent)
    with pytest.raises(rec2idx.UnsafeTargetError) as caught:
        rec2idx.create_index(record, target)
    assert caught.value.path == str(target)
    assert folder_content(six.parent) == before


@pytest.mark.parametrize(
    "old",
    [
        SIX_INDEX,
        b"",
        b"\xef\xbb\xbf0\t0\n",
        b"0 0\n",
        b"0\t0\r\n\r\n1\t44\r\n",
        b"cat\t0\ndog\t44\n",
        b"-1\t-1\n0\t18446744073709551615\n1\t99999999999999999999999\n",
        SIX_INDEX[:-2],
        SIX_INDEX + b"6",
        SIX_INDEX * 5000,
    ],
)
def test_an_old_index_is_replaced_whatever_is_wrong_with_it(six, old):
    six.with_suffix(".idx").write_bytes(old)
    rec2idx.create_index(six)
    assert folder_content(six.parent) == {"six.rec": SIX, "six.idx": SIX_INDEX}


@pytest.mark.parametrize("name", ["six.idx", "notes"])
@pytest.mark.parametrize(
    "content",
    [
        b"junk",
        bytes(9),
        b"key,offset\n0,0\n",
        b"key\toffset\n0\t0\n",
        b"0\t1.0\ta.jpg\n",
        b"0\t1\ta.jpg\n",
        b"a.jpg\t1\nb.jpg\t1\n",
        b"5\n",
        b"\n",
        SIX[1:],
        b"\0" + SIX[1:],
        SIX_INDEX + b"\0",
        SIX_INDEX * 5000 + b"the end\n",
        b"the beginning\n" + SIX_INDEX * 5000,
    ],
)
def test_what_does_not_read_as_an_index_stays(six, name, content):
    """Whatever its name: a record file may have lost its first byte, a list the right suffix."""
    (six.parent / name).write_bytes(content)
    with pytest.raises(rec2idx.UnsafeTargetError, match="the index would replace"):
        rec2idx.create_index(six, six.parent / name)
    assert folder_content(six.parent) == {"six.rec": SIX, name: content}


def test_an_index_under_another_name_is_replaced(six):
    (six.parent / "list.txt").write_bytes(b"7\t44\r\n")
    rec2idx.create_index(six, six.parent / "list.txt")
    assert (six.parent / "list.txt").read_bytes() == SIX_INDEX


def test_a_link_to_an_index_stays_a_link(six):
    """The file it leads to is replaced, as `open` for writing would; also where there is none."""
    (six.parent / "store").mkdir()
    link = six.with_suffix(".idx")
    link.symlink_to("store/real.idx")
    for _ in range(2):
        rec2idx.create_index(six)
        assert link.is_symlink()
        assert (six.parent / "store/real.idx").read_bytes() == SIX_INDEX
        assert os.listdir(six.parent / "store") == ["real.idx"]


def test_a_new_index_has_the_usual_mode_and_an_old_one_keeps_its_own(six):
    old = os.umask(0o027)
    try:
        rec2idx.create_index(six)
        index_path = six.with_suffix(".idx")
        assert stat.S_IMODE(index_path.stat().st_mode) == 0o640
        index_path.chmod(0o604)
        rec2idx.create_index(six)
        assert stat.S_IMODE(index_path.stat().st_mode) == 0o604
    finally:
        os.umask(old)


def test_a_pipe_takes_the_lines_directly(six):
    """Where the target is no file, there is nothing to replace: it stays what it is."""
    pipe = six.parent / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    rec2idx.create_index(six, pipe)
    assert os.read(reader, 1000) == SIX_INDEX
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_index_as_record_is_called_an_index(six):
    """With nothing else given, its default index would be itself."""
    six.with_suffix(".idx").write_bytes(SIX_INDEX)
    with pytest.raises(rec2idx.NotRecordIOError, match="but an index"):
        rec2idx.create_index(six.with_suffix(".idx"))
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


def test_an_open_file_as_index_is_not_the_record(six):
    """Appending the index to the record file would make it longer while it is read."""
    with six.open("ab") as out, pytest.raises(rec2idx.UnsafeTargetError, match="itself"):
        rec2idx.create_index(six, out)
    with (
        six.open("ab") as out,
        six.open("rb") as file,
        pytest.raises(rec2idx.UnsafeTargetError, match="itself"),
    ):
        rec2idx.create_index(file, out)
    assert six.read_bytes() == SIX


def test_an_empty_record_is_not_replaced_either(tmp_path):
    (tmp_path / "a.rec").touch()
    with pytest.raises(rec2idx.UnsafeTargetError, match="itself"):
        rec2idx.create_index(tmp_path / "a.rec", tmp_path / "a.rec")


def test_paths_as_bytes(six):
    summary = rec2idx.create_index(os.fsencode(six), os.fsencode(six.with_suffix(".idx")))
    assert summary.index == str(six.with_suffix(".idx"))
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


def test_a_text_file_is_no_record_file(six):
    with six.open(encoding="latin1") as file, pytest.raises(TypeError, match="expected bytes"):
        rec2idx.create_index(file, six.with_suffix(".idx"))
    assert folder_content(six.parent) == {"six.rec": SIX}


def test_a_name_as_long_as_the_folder_takes(six):
    name = "n" * 251 + ".idx"
    rec2idx.create_index(six, six.parent / name)
    assert (six.parent / name).read_bytes() == SIX_INDEX


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("folder", IsADirectoryError),
        ("missing/", FileNotFoundError),
        ("missing/a.idx", FileNotFoundError),
        ("six.rec/a.idx", NotADirectoryError),
    ],
)
def test_an_impossible_target_is_named(six, target, error):
    (six.parent / "folder").mkdir()
    with pytest.raises(error) as caught:
        rec2idx.create_index(six, os.path.join(six.parent, target))
    assert caught.value.filename == os.path.join(six.parent, target)
    assert folder_content(six.parent) == {"six.rec": SIX}


def test_an_empty_file_gives_no_index(tmp_path):
    """Case C12: loaders refuse an empty index; an old one is not replaced by nothing."""
    (tmp_path / "a.rec").touch()
    with pytest.raises(rec2idx.EmptyFileError, match="the file is empty"):
        rec2idx.create_index(tmp_path / "a.rec")
    (tmp_path / "a.idx").write_bytes(SIX_INDEX)
    with pytest.raises(rec2idx.EmptyFileError):
        rec2idx.create_index(tmp_path / "a.rec")
    assert folder_content(tmp_path) == {"a.rec": b"", "a.idx": SIX_INDEX}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: os.truncate(path, 800_000), "became shorter while it was read"),
        (lambda path: path.write_bytes(path.read_bytes() + part(0, b"x")), "was written to while"),
        (lambda path: os.utime(path, (1, 1)), "was written to while"),
    ],
)
def test_a_file_that_changes_while_it_is_read(tmp_path, change, message):
    """It shrinks, it grows, it is overwritten: the old index stands."""
    record = tmp_path / "a.rec"
    record.write_bytes(part(0, b"") * 125_000)
    (tmp_path / "a.idx").write_bytes(SIX_INDEX)

    def progress(report):
        if report.records == 8192:
            change(record)

    with pytest.raises(rec2idx.FileChangedError, match=message):
        rec2idx.create_index(record, progress=progress)
    assert sorted(os.listdir(tmp_path)) == ["a.idx", "a.rec"]
    assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX


@pytest.mark.parametrize("name", ["数据集/训练.rec", 'two words/it\'s "here".rec'])
def test_any_name(tmp_path, name):
    """Case C34."""
    record = tmp_path / name
    record.parent.mkdir()
    record.write_bytes(SIX)
    rec2idx.create_index(record)
    assert record.with_suffix(".idx").read_bytes() == SIX_INDEX
