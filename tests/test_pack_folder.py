"""pack_images() of a folder: which pictures, in which order, under which labels, and their list."""

import errno
import os
import random
from pathlib import Path

import pytest
from folders import put
from packs import expected, failing, found, names
from samples import SIX_INDEX, image

import rec2idx
from rec2idx import new_file, pack_images

JPEG = b"\xff\xd8\xff\xe0 and so on"


@pytest.fixture
def pictures(folder):
    put(
        pics__b__z_jpg=b"bz",
        pics__b__inner__a_PNG=b"ia",
        pics__b__a_JPEG=b"ba",
        pics__B__x_jpg=b"Bx",
        pics__c__notes_txt=b"no picture",
        pics__c__a_gif=b"GIF89a",
        pics__d__ä_jpg="ä".encode(),
    )


def test_labels_by_folder(pictures):
    summary = pack_images("pics", "out.rec")
    assert summary.folders == ("B", "b", "b/inner", "d")
    assert (summary.records, summary.others, summary.list) == (5, 2, "out.lst")
    assert found() == expected(
        image(0, 0, b"Bx"),
        image(1, 1, b"ba"),
        image(1, 2, b"bz"),
        image(2, 3, b"ia"),
        image(3, 4, "ä".encode()),
    )
    assert Path("out.lst").read_text() == (
        "0\t0.000000\tB/x.jpg\n"
        "1\t1.000000\tb/a.JPEG\n"
        "2\t1.000000\tb/z.jpg\n"
        "3\t2.000000\tb/inner/a.PNG\n"
        "4\t3.000000\td/ä.jpg\n"
    )
    again = pack_images("out.lst", "again.rec", root="pics")
    assert found("again") == found()
    assert again.folders == ()


def test_pictures_first_come_first(pictures):
    put(pics__z_jpg=b"top")
    assert pack_images("pics/", "out.rec").folders == (".", "B", "b", "b/inner", "d")
    assert Path("out.lst").read_text().startswith("0\t0.000000\tz.jpg\n1\t1.000000\tB/x.jpg\n")


def test_shuffled(pictures):
    """In the order of im2rec, with the numbers that they have without it."""
    pack_images("pics", "sorted.rec")
    pack_images("pics", "out.rec", shuffle=True)
    lines = Path("sorted.lst").read_text().splitlines(keepends=True)
    random.Random(100).shuffle(lines)
    assert Path("out.lst").read_text() == "".join(lines)
    numbers = [int(line.split("\t")[0]) for line in lines]
    assert numbers != sorted(numbers)
    assert [int(line.split("\t")[0]) for line in found()[1].decode().splitlines()] == numbers


def test_links(pictures):
    """They count as what they lead to; one that leads back is not followed."""
    put(elsewhere__x_jpg=b"ex")
    os.symlink("../elsewhere", "pics/a")
    os.symlink("../elsewhere", "pics/e")
    os.symlink("b/a.JPEG", "pics/link.jpg")
    os.symlink("..", "pics/b/back")
    assert pack_images("pics", "out.rec").folders == (".", "B", "a", "b", "b/inner", "d", "e")
    listed = [line.split("\t")[2] for line in Path("out.lst").read_text().splitlines()]
    first = ["link.jpg", "B/x.jpg", "a/x.jpg", "b/a.JPEG", "b/z.jpg", "b/inner/a.PNG"]
    assert listed == [*first, "d/ä.jpg", "e/x.jpg"]


def test_what_is_called_a_picture_and_is_none(pictures):
    """im2rec does not number the first three; the others no list can name."""
    os.symlink("nowhere", "pics/B/a.jpg")
    os.symlink("loop.jpg", "pics/B/loop.jpg")
    os.mkfifo("pics/B/pipe.jpg")
    put(**{"pics__c__\n_jpg": b"", "pics__d__\tx_jpg": b"", "pics__d__ _jpg": b""})
    Path("pics/d/y\t.jpg").write_bytes(b"")
    failures, options = failing()
    summary = pack_images("pics", "out.rec", **options)
    assert [(failure.number, failure.name) for failure in failures] == [
        (None, "B/a.jpg"),
        (None, "B/loop.jpg"),
        (None, "B/pipe.jpg"),
        (4, "c/\n.jpg"),
        (5, "d/\tx.jpg"),
        (7, "d/y\t.jpg"),
    ]
    assert str(failures[0].error) == "[Errno 22] not a regular file: 'pics/B/a.jpg'"
    assert failures[3].error.strerror == "its name cannot stand in a list"
    assert (summary.failed, summary.records) == (6, 6)
    assert summary.folders == ("B", "b", "b/inner", "c", "d")
    assert Path("out.lst").read_text().endswith("6\t4.000000\td/ .jpg\n8\t4.000000\td/ä.jpg\n")


def test_names_of_any_bytes(folder):
    os.mkdir("pics")
    with open(b"pics/\xff.jpg", "wb") as file:
        file.write(JPEG)
    pack_images("pics", "out.rec")
    assert Path("out.lst").read_bytes() == b"0\t0.000000\t\xff.jpg\n"
    assert found() == expected(image(0, 0, JPEG))


@pytest.mark.parametrize("content", [{}, {"pics__a_gif": b"GIF89a"}])
def test_no_picture(folder, content):
    os.mkdir("pics")
    put(**content)
    with pytest.raises(rec2idx.NoImageError, match=r"^pics: there is no file in it that ends "):
        pack_images("pics", "out.rec")
    assert names() == ["pics"]


def test_a_folder_that_cannot_be_read(pictures, folder):
    """Here because its path is too long. im2rec passes it over, and what is in it."""
    with pytest.MonkeyPatch.context() as patch:
        for _ in range(17):
            name = ("pics/" if Path.cwd() == folder else "") + "d" * 250
            os.mkdir(name)
            patch.chdir(name)
    with pytest.raises(OSError, match="pics/ddd") as caught:
        pack_images("pics", "out.rec")
    assert caught.value.errno == errno.ENAMETOOLONG
    assert names() == ["pics"]


def test_root_is_for_lists(pictures):
    with pytest.raises(ValueError, match="root is for a list"):
        pack_images("pics", "out.rec", root="pics")


def test_a_list_that_stands_there(pictures):
    put(out_lst=b"0\t1\tmine.jpg\n")
    with pytest.raises(rec2idx.UnsafeTargetError, match=r"^out.lst: a file stands there alre"):
        pack_images("pics", "out.rec")
    assert Path("out.lst").read_bytes() == b"0\t1\tmine.jpg\n"
    assert names() == ["out.lst", "pics"]


@pytest.mark.parametrize("name", ["out.rec", "out.lst"])
def test_what_appears_at_the_last_moment_is_not_replaced(pictures, monkeypatch, name):
    put(out_idx=SIX_INDEX)
    real = os.fsync

    def fsync(fd):
        real(fd)
        Path(name).write_bytes(b"theirs")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(rec2idx.UnsafeTargetError, match=f"^{name}: a file stands there"):
        pack_images("pics", "out.rec")
    assert names() == ["out.idx", name, "pics"]
    assert Path("out.idx").read_bytes() == SIX_INDEX
    assert Path(name).read_bytes() == b"theirs"


def test_an_index_that_cannot_appear(pictures, monkeypatch):
    """The others have appeared by then, and are removed."""
    Path("out.idx").write_bytes(SIX_INDEX)

    def exchange(folder, one, other):
        assert names()[2:4] == ["out.lst", "out.rec"]
        return errno.EIO

    monkeypatch.setattr(new_file, "exchange", exchange)
    with pytest.raises(OSError, match=r"out\.idx") as caught:
        pack_images("pics", "out.rec")
    assert caught.value.errno == errno.EIO
    assert names() == ["out.idx", "pics"]
    assert Path("out.idx").read_bytes() == SIX_INDEX
