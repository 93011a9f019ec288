"""salvage(): what stands where the new file goes, or appears there at the last moment."""

import errno
import os
from pathlib import Path

import pytest
from conftest import folder_content
from samples import SIX

import rec2idx
from rec2idx import new_file, salvage


@pytest.fixture
def cut(folder) -> bytes:
    """a.rec in the folder is SIX, cut off; returns it."""
    data = SIX[:250]
    (folder / "a.rec").write_bytes(data)
    return data


def at_the_last_moment(monkeypatch, make):
    """Call `make` once the bytes of the new file are on the disk, after the last look."""
    real = os.fsync

    def fsync(fd):
        real(fd)
        if not os.path.lexists("b.rec") or os.path.getsize("b.rec") == 0:
            make()

    monkeypatch.setattr(os, "fsync", fsync)


def no_rename(monkeypatch):
    """As on a file system that cannot rename without replacing."""
    monkeypatch.setattr(new_file, "rename_new", lambda *_: errno.EINVAL)


def no_links(monkeypatch):
    """As on one that has no links either."""
    no_rename(monkeypatch)

    def link(source, target, **folders):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)


ABLE = {"rename": lambda _: None, "link": no_rename, "neither": no_links}
THEIRS = {
    "file": lambda: Path("b.rec").write_bytes(b"theirs"),
    "link": lambda: os.symlink("theirs", "b.rec"),
    "folder": lambda: os.mkdir("b.rec"),
    "pipe": lambda: os.mkfifo("b.rec"),
}


@pytest.mark.parametrize("index_path", [None, "b.idx"])
@pytest.mark.parametrize("able", ABLE)
@pytest.mark.parametrize("what", THEIRS)
def test_what_appears_at_the_last_moment_is_not_replaced(
    folder, cut, monkeypatch, what, able, index_path
):
    Path("theirs").write_bytes(b"theirs")
    ABLE[able](monkeypatch)
    made = []

    def make():
        if not made:
            THEIRS[what]()
            made.append(os.lstat("b.rec"))

    at_the_last_moment(monkeypatch, make)
    with pytest.raises(rec2idx.UnsafeTargetError) as caught:
        salvage("a.rec", "b.rec", index_path)
    assert str(caught.value) == (
        "b.rec: a file stands there already, and a new record file replaces none; give it another "
        "name, or remove that file first"
    )
    assert os.path.samestat(os.lstat("b.rec"), made[0])
    assert Path("theirs").read_bytes() == b"theirs"
    assert sorted(os.listdir()) == ["a.rec", "b.rec", "theirs"]


def test_behind_a_file_url_too(folder, cut, monkeypatch):
    at_the_last_moment(monkeypatch, lambda: Path("b.rec").write_bytes(b"theirs"))
    with pytest.raises(rec2idx.UnsafeTargetError):
        salvage("a.rec", f"file://{folder}/b.rec")
    assert folder_content(folder) == {"a.rec": cut, "b.rec": b"theirs"}


@pytest.mark.parametrize("able", ABLE)
@pytest.mark.parametrize("there", ["an empty file", "one at the last moment"])
def test_an_empty_file_is_somebodys(folder, cut, monkeypatch, able, there):
    ABLE[able](monkeypatch)
    if there == "an empty file":
        Path("b.rec").touch()
    else:
        at_the_last_moment(monkeypatch, Path("b.rec").touch)
    with pytest.raises(rec2idx.UnsafeTargetError, match=r"b\.rec: a file stands there already"):
        salvage("a.rec", "b.rec")
    assert folder_content(folder) == {"a.rec": cut, "b.rec": b""}


@pytest.mark.parametrize("able", ABLE)
def test_a_new_file_has_one_name(folder, cut, monkeypatch, able):
    ABLE[able](monkeypatch)
    salvage("a.rec", "b.rec")
    assert folder_content(folder) == {"a.rec": cut, "b.rec": SIX[:220]}
    assert os.stat("b.rec").st_nlink == 1


def test_a_link_that_was_made_although_it_is_refused(folder, cut, monkeypatch):
    """As over NFS, where the answer gets lost and the question is asked again."""
    no_rename(monkeypatch)
    real = os.link

    def link(source, target, **folders):
        real(source, target, **folders)
        real(source, target, **folders)

    monkeypatch.setattr(os, "link", link)
    salvage("a.rec", "b.rec")
    assert folder_content(folder) == {"a.rec": cut, "b.rec": SIX[:220]}


def test_the_summary_says_whether_an_index_was_replaced(folder, cut):
    assert not salvage("a.rec", "b.rec", "b.idx").index_replaced
    Path("e.idx").touch()  # an empty file that nobody has open
    assert not salvage("a.rec", "c.rec", "e.idx").index_replaced
    assert salvage("a.rec", "d.rec", "b.idx").index_replaced
    assert not salvage("a.rec", "e.rec").index_replaced
