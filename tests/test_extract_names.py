"""extract(): names from ids and lists, and that nothing appears outside of its folder."""

import contextlib
import os
import re
from pathlib import Path

import pytest
from extracting import Expected, tree
from hypothesis import given
from hypothesis import strategies as st
from samples import SIX, image, whole_file

import rec2idx
from rec2idx import extract, new_file
from rec2idx.extraction import out_folder
from rec2idx.extraction.file_names import IdNames, plain
from rec2idx.list_files import read_list

JPEG = b"\xff\xd8\xff\xe0 a JPEG"
LAYOUTS = ("imagefolder", "flat", "wds")


@pytest.fixture
def six(folder) -> Path:
    """a.rec has the ids 0 to 5, and the same labels."""
    Path("a.rec").write_bytes(SIX)
    return folder


def put_list(*names: str) -> None:
    """a.lst has the names for the ids from 0 on."""
    with open("a.lst", "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        for number, name in enumerate(names):
            file.write(f"{number}\t0\t{name}\n")


# Names from ids


@given(st.lists(st.integers(0, 9) | st.integers(0, (1 << 64) - 1), max_size=30))
def test_no_two_images_have_one_name(ids):
    names = IdNames()
    found = [names.of(number, 44 * at, "jpg") for at, number in enumerate(ids)]
    assert len(set(found)) == len(found)
    seen: set[int] = set()
    for at, (name, number) in enumerate(zip(found, ids, strict=True)):
        suffix = f"-{44 * at}" if number in seen else ""
        assert name == f"{number:010}{suffix}.jpg"
        seen.add(number)
    assert names.repeated == len(ids) - len(seen)


def test_ids_that_repeat(folder):
    data = whole_file([image(0, 7, JPEG + bytes(n)) for n in range(3)])
    Path("a.rec").write_bytes(data)
    for to in LAYOUTS:
        done = extract("a.rec", to, to=to)
        assert (done.extracted, done.repeated) == (3, 2)
        again = extract("a.rec", to, to=to)
        assert (again.extracted, again.already_there, again.repeated) == (0, 3, 2)
    starts = [image["offset"] for image in Expected(data).images]
    assert sorted(os.listdir("imagefolder/00000000")) == [
        f"0000000007-{starts[1]}.jpg", f"0000000007-{starts[2]}.jpg", "0000000007.jpg"
    ]  # fmt: skip
    lines = list(read_list("flat/images.lst"))
    assert [line.number for line in lines] == [7, 7, 7]
    assert len({line.name for line in lines}) == 3


# Names from a list


def test_names_from_a_list(six):
    names = ["a.jpg", "./cats/b.JPEG", "cats//c d.jpg", "é/\udcff.png", "dogs/a.jpg", "e"]
    put_list(*names)
    done = extract("a.rec", "out", to="flat", names="a.lst")
    found = tree(Path("out"))
    lines = list(read_list("out/images.lst"))
    assert [line.name for line in lines] == [
        "a.jpg", "cats/b.JPEG", "cats/c d.jpg", "é/\udcff.png", "dogs/a.jpg", "e"
    ]  # fmt: skip
    assert {found[line.name] for line in lines} == {bytes([number]) * 12 for number in range(6)}
    assert (done.extracted, len(found)) == (6, 7)


def test_names_from_a_list_below_labels(six):
    put_list(*(f"cats/{number}.jpg" for number in range(6)))
    extract("a.rec", "out", names="a.lst")
    assert tree(Path("out")) == {
        f"{number:08}/cats/{number}.jpg": bytes([number]) * 12 for number in range(6)
    }


HOSTILE = [
    "/etc/passwd", "//x", "..", "../x.jpg", "a/../../x.jpg", "a/..", "a/../b.jpg", ".", "./", "a/",
    "a/.", "C:/x.jpg", "c:x.jpg", "C:\\x.jpg", "..\\x.jpg", "\\\\server\\x", "a\0b.jpg", "a\x1b[2J",
    "a\x7f", "x" * 256, "é" * 128, "/".join(["x" * 100] * 11),
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("to", LAYOUTS)
def test_names_that_lead_elsewhere_are_refused(six, to, name):
    """Before anything is written."""
    put_list("a.jpg", name, *(f"{number}.jpg" for number in range(2, 6)))
    with pytest.raises(rec2idx.BadListError, match="is no path of a file below a folder"):
        extract("a.rec", "out", to=to, names="a.lst")
    assert sorted(os.listdir()) == ["a.lst", "a.rec"]


@pytest.mark.parametrize(
    "name", ["x" * 255, "é" * 127, "/".join(["x" * 100] * 10), "..a", "a.b..c"]
)
def test_names_that_do_not(six, name):
    put_list(name, *(f"{number}.jpg" for number in range(1, 6)))
    extract("a.rec", "out", to="flat", names="a.lst")
    assert Path("out", name).read_bytes() == bytes(12)


# Pieces of which hostile names are made.
pieces = st.sampled_from(
    ["..", ".", "", "/", "a", "b", "link", "file", "\\", "C:", "\0", "\n", " ", "\udcff", "~", "é"]
)
names = st.lists(pieces, min_size=1, max_size=7).map("/".join) | st.lists(pieces, min_size=1).map(
    "".join
)
some = names | st.sampled_from(["link", "file", "link/a.jpg", "./link/../a.jpg", "a/link/a.jpg"])


@given(some, st.sampled_from(LAYOUTS))
def test_nothing_appears_outside(tmp_path, name, to):
    """Whatever the names are, and where links in the folder lead out of it."""
    base = tmp_path / str(len(list(tmp_path.iterdir())))
    outside = base / "outside"
    out = base / "in/out"
    for folder in (outside, out, out / "00000000", out / "00000001"):
        folder.mkdir(parents=True)
        if folder != outside:
            (folder / "link").symlink_to(outside)
            (folder / "file").symlink_to(outside / "file")
    for number in range(6):
        (out / f"{number:06}.tar").symlink_to(outside / f"{number}.tar")
    (base / "a.rec").write_bytes(SIX)
    names = [name, *(f"{number}.jpg" for number in range(1, 6))]
    with open(base / "a.lst", "w", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines(f"{number}\t0\t{name}\n" for number, name in enumerate(names))
    before = places(base, out)
    with contextlib.suppress(rec2idx.RecordIOError, OSError):
        extract(base / "a.rec", out, to=to, names=base / "a.lst")
    assert places(base, out) == before


def places(base: Path, out: Path) -> dict[str, bytes | None]:
    """All there is, but for what is really below `out`; with the bytes of files."""
    found: dict[str, bytes | None] = {}
    for folder, folders, files in os.walk(base):
        if Path(folder) == out:
            folders.clear()
            continue
        found[folder] = None
        found |= {f"{folder}/{name}": Path(folder, name).read_bytes() for name in files}
    return found


@given(names)
def test_plain_names_lead_nowhere_else(name):
    found = plain(name)
    if found is not None:
        assert os.path.normpath(found) == found
        assert not os.path.isabs(found)
        assert ".." not in found.split("/")
        assert found.isprintable() or "\udcff" in found
        assert os.path.normpath(name) == found


def test_lists_that_give_no_names(six):
    def refuses(what: str, error=rec2idx.BadListError, to="flat") -> None:
        with pytest.raises(error, match=re.escape(what)):
            extract("a.rec", "out", to=to, names="a.lst")
        assert not Path("out").exists()

    put_list(*(f"{number}.jpg" for number in range(5)))
    refuses("no line of it has the number 5, which is the id of an image")
    put_list("a.jpg", "b.jpg", "./a.jpg", "d", "e", "f")
    refuses("a.lst: the name './a.jpg' stands there twice; mend that line of the list")
    put_list("a", "b", "c", "d", "e", "f")
    with open("a.lst", "a") as file:
        file.write("3\t0\tanother\n")
    refuses("the name 'another' is the second one for the number 3")
    for name in ("images.lst", "./images.lst/x.jpg"):
        put_list("a", "b", "c", "d", "e", name)
        refuses(f"the name '{name}' is not free: images.lst is the list of the images")
    Path("a.lst").write_text("some text\n")
    refuses("line 1 is not one of an im2rec list")
    put_list("a", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "f.jpg")
    refuses("the name 'a' has not one dot, as that of a sample needs", to="wds")
    put_list("a.b.jpg", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "f.jpg")
    refuses("the name 'a.b.jpg' has not one dot", to="wds")
    put_list("a.JSON", "b.jpg", "c.jpg", "d.jpg", "e.jpg", "f.jpg")
    refuses("the name 'a.JSON' is that of the JSON beside an image", to="wds")
    put_list("a.jpg", "a.png", "c.jpg", "d.jpg", "e.jpg", "f.jpg")
    refuses("the name 'a.png' has a sample's name that is taken", to="wds")


def test_a_name_of_the_list_is_free_elsewhere(six):
    """Deeper in the folder, and where no list is written."""
    put_list("a", "b", "c", "d", "e", "x/images.lst")
    assert extract("a.rec", "flat", to="flat", names="a.lst").extracted == 6
    put_list("a", "b", "c", "d", "images.lst", "images.lst/x")
    assert extract("a.rec", "out", names="a.lst").extracted == 6


def test_one_name_for_two_images(folder):
    Path("a.rec").write_bytes(whole_file([image(0, 0, JPEG), image(0, 0, JPEG)]))
    put_list("a.jpg")
    with pytest.raises(rec2idx.KeysError, match="a second image with the id 0, for which"):
        extract("a.rec", "out", names="a.lst")


def test_a_name_that_is_a_folder_too(six):
    put_list("a", "a/b", "c", "d", "e", "f")
    with pytest.raises(rec2idx.UnsafeTargetError, match="out/a: a link or a file stands where"):
        extract("a.rec", "out", to="flat", names="a.lst", jobs=1)


# What stands in the folder


def refused(what: str, to: str = "imagefolder", **options) -> None:
    with pytest.raises(rec2idx.UnsafeTargetError, match=re.escape(what)):
        extract("a.rec", "out", to=to, **options)


def test_links_are_not_followed(six):
    """Neither to folders nor to files, nor to where there is nothing."""
    for number, place in enumerate(("00000003", "00000003/0000000003.bin")):
        target = Path(f"outside{number}")
        target.mkdir()
        link = Path("out", place)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target.absolute())
        refused(f"out/{place}: a link or a ")
        link.unlink()
        link.symlink_to(target.absolute() / "nothing")
        refused(f"out/{place}: a link or a ")
        link.unlink()
        assert list(target.iterdir()) == []
    assert extract("a.rec", "out").already_there == 3  # those before
    for name, to in (("images.lst", "flat"), ("000000.tar", "wds")):
        Path("out", name).symlink_to(six / "nothing")
        refused(f"out/{name}: a link or a folder stands where a file should be", to=to)
    assert not Path("nothing").exists()


def test_the_folder_itself_may_be_a_link(six):
    os.mkdir("real")
    os.symlink("real", "out")
    extract("a.rec", "out")
    assert tree(Path("real")) == Expected(SIX).by_label()


def test_files_of_another_size_are_not_replaced(six):
    os.makedirs("out/00000003")
    theirs = Path("out/00000003/0000000003.bin")
    theirs.write_bytes(b"theirs")
    refused(
        "out/00000003/0000000003.bin: a file of another size stands there already, and none is "
        "replaced: expected 12 bytes, found 6; remove it, or give another folder"
    )
    assert theirs.read_bytes() == b"theirs"
    Path("out/000000.tar").write_bytes(b"theirs")
    refused("out/000000.tar: a file with other bytes stands there already", to="wds")
    Path("out/images.lst").write_bytes(b"theirs")
    refused("out/images.lst: a file with other bytes stands there already", to="flat")
    assert (Path("out/000000.tar").read_bytes(), Path("out/images.lst").read_bytes()) == (
        b"theirs", b"theirs"
    )  # fmt: skip


@pytest.mark.parametrize("to", LAYOUTS)
@pytest.mark.parametrize("at", [0, 6, -1])
def test_files_with_other_bytes_are_not_replaced(six, monkeypatch, to, at):
    """Also where as many of them stand there; whichever one differs."""
    monkeypatch.setattr(out_folder, "_SOME", 5)
    extract("a.rec", "out", to=to)
    for place in [path for path in Path("out").rglob("*") if path.is_file()]:
        content = place.read_bytes()
        other = bytearray(content)
        other[at] ^= 1
        place.write_bytes(other)
        refused(
            f"{place}: a file with other bytes stands there already, and none is replaced; run "
            "again with the same file and options as before, remove "
            "it, or give another folder",
            to=to,
        )
        assert place.read_bytes() == other
        place.write_bytes(content)
    assert extract("a.rec", "out", to=to).already_there == 6


def test_another_file_into_the_same_folder(folder):
    """With the same ids, and images as long; or with the same images, and other labels."""
    Path("a.rec").write_bytes(whole_file([image(1, 0, JPEG + b"1")]))
    for to in LAYOUTS:
        extract("a.rec", f"{to}/", to=to)
    before = {to: tree(Path(to)) for to in LAYOUTS}
    for label, content in ((1, JPEG + b"2"), (2, JPEG + b"1")):
        Path("b.rec").write_bytes(whole_file([image(label, 0, content)]))
        for to in LAYOUTS:
            if (to, label) == ("imagefolder", 2):  # that is another folder
                continue
            with pytest.raises(rec2idx.UnsafeTargetError, match="with other bytes stands there"):
                extract("b.rec", to, to=to)
            assert tree(Path(to)) == before[to]


@pytest.mark.parametrize("change", [bytes(512), -512])
def test_a_longer_or_shorter_shard_is_another(six, change):
    extract("a.rec", "out", to="wds")
    shard = Path("out/000000.tar")
    content = shard.read_bytes()
    shard.write_bytes(content[:change] if isinstance(change, int) else content + change)
    refused("out/000000.tar: a file with other bytes stands there already", to="wds")


@pytest.mark.parametrize("more", [b"6\t6\t6.jpg\n", b"x"])
def test_a_longer_list_is_another(six, more):
    extract("a.rec", "out", to="flat")
    with open("out/images.lst", "ab") as file:
        file.write(more)
    refused("a file with other bytes stands there already", to="flat")


def test_an_empty_file_is_not_replaced(six):
    os.makedirs("out/00000003")
    for name in ("00000003/0000000003.bin", "images.lst", "000000.tar"):
        Path("out", name).touch()
    refused("out/00000003/0000000003.bin: an empty file stands there already, and none is replaced")
    refused("out/images.lst: a file with other bytes stands there already", to="flat")
    refused("out/000000.tar: a file with other bytes stands there already", to="wds")
    assert Path("out/00000003/0000000003.bin").read_bytes() == b""


@pytest.mark.parametrize("nameless", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_what_appears_at_the_last_moment_is_not_replaced(six, monkeypatch, nameless, same):
    monkeypatch.setattr(new_file, "_HAS_NAMELESS", nameless)
    real = os.write
    content = b"t" * 12 if same else b"theirs"
    place = Path("out/00000003/0000000003.bin")

    def write(fd, data):
        if place.parent.exists():
            place.write_bytes(content)
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    refused(f"{place}: something stands there by now, and is not replaced", jobs=1)
    assert place.read_bytes() == content
    assert not [name for name in tree(Path("out")) if ".tmp" in name]


def test_other_files_stay(six):
    os.mkdir("out")
    Path("out/theirs").write_bytes(b"theirs")
    for to in LAYOUTS:
        extract("a.rec", "out", to=to)
    assert Path("out/theirs").read_bytes() == b"theirs"
    Path("file").touch()
    with pytest.raises(NotADirectoryError, match="file"):
        extract("a.rec", "file")
    with pytest.raises(FileNotFoundError, match="none/out"):
        extract("a.rec", "none/out")


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_run_goes_on_where_one_ended(six, jobs):
    extract("a.rec", "out", jobs=jobs)
    whole = tree(Path("out"))
    os.unlink("out/00000004/0000000004.bin")
    before = os.stat("out/00000002/0000000002.bin")
    done = extract("a.rec", "out", jobs=jobs)
    assert (done.extracted, done.already_there, done.bytes_written) == (1, 5, 12)
    assert tree(Path("out")) == whole
    assert os.stat("out/00000002/0000000002.bin").st_mtime_ns == before.st_mtime_ns
    extract("a.rec", "shards", to="wds", shard_count=2, jobs=jobs)
    whole = tree(Path("shards"))
    os.unlink("shards/000001.tar")
    done = extract("a.rec", "shards", to="wds", shard_count=2, jobs=jobs)
    assert (done.extracted, done.already_there, done.shards) == (2, 4, 3)
    assert tree(Path("shards")) == whole
