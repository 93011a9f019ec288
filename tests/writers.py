"""Every command that writes, and each file that it writes; what it is run on, and where.

The tests run in a folder with `in/`, which has the record files and pictures that are read, and
`t/`, which has what is written. One argument of a command leads to the target: a test may spell it
as it likes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reference import record
from samples import SIX, SIX_INDEX, A, B, image

Spell = Callable[[str], str]

JPEG, OTHER_JPEG = b"\xff\xd8\xff\xe0 a cat", b"\xff\xd8\xff\xe0 and a dog"
PACKED = record(image(0, 0, JPEG)) + record(image(1, 1, OTHER_JPEG))
PACKED_INDEX = b"0\t0\n1\t%d\n" % len(record(image(0, 0, JPEG)))
LIST = b"0\t0.000000\tcat/a.jpg\n1\t1.000000\tdog/b.jpg\n"
IMAGES = {f"{i:010d}.bin": bytes([i]) * 12 for i in range(6)}
IMAGES_LIST = b"".join(b"%d\t%d\t%010d.bin\n" % (i, i, i) for i in range(6))

# What may stand there although another file could not be written.
FINISHED = {
    "t/w.idx": SIX_INDEX,
    "t/images.lst": IMAGES_LIST,
    **{f"t/{name}": image for name, image in IMAGES.items()},
    **{f"t/{int(name[:10]):08d}/{name}": image for name, image in IMAGES.items()},
}

# What is read. The records of a.rec have 12 bytes of "image"; x.rec is the same file once more.
INPUTS = {
    "in/a.rec": SIX,
    "in/x.rec": SIX,
    "in/one.rec": A,
    "in/two.rec": B,
    "in/pics/cat/a.jpg": JPEG,
    "in/pics/dog/b.jpg": OTHER_JPEG,
    "in/list.lst": LIST.replace(b"cat", b"pics/cat").replace(b"dog", b"pics/dog"),
}


@dataclass(frozen=True)
class Writer:
    """A command, and one of the files that it writes.

    Attributes:
        name: what the test is called.
        argv: returns the words of the command, with one argument spelled as asked for.
        target: the file that is meant, as a path below the folder.
        new: the bytes that it has after a run, if nothing was in the way.
        index: whether it is an index, which may replace an index.
        beside: what else the run writes, where nothing is in the way.
        source: the record file that is read; None for none.
        needs: record files that must stand in `t/` before.
        folder: whether a folder is given, and the command makes up the name in it.
        apart: whether the other files stand also if this one cannot be written.
    """

    name: str
    argv: Callable[[Spell], list[str]]
    target: str
    new: bytes | None
    index: bool
    beside: tuple[str, ...] = ()
    source: str | None = "in/a.rec"
    needs: tuple[str, ...] = ()
    folder: bool = False
    apart: bool = False

    def __str__(self) -> str:
        return self.name


def _recordio(*words: str) -> list[str]:
    return ["recordio", words[0], "-q", *words[1:]]


INDEXES = [
    Writer(
        "rec2idx",
        lambda spell: ["rec2idx", "-q", "in/a.rec", spell("t/x.idx")],
        "t/x.idx",
        SIX_INDEX,
        True,
    ),
    Writer(
        "index of one file, beside it",
        lambda spell: _recordio("index", spell("t/x.rec")),
        "t/x.idx",
        SIX_INDEX,
        True,
        source="t/x.rec",
        needs=("t/x.rec",),
    ),
    Writer(
        "index of several files",
        lambda spell: _recordio("index", "t/w.rec", spell("t/x.rec")),
        "t/x.idx",
        SIX_INDEX,
        True,
        beside=("t/w.idx",),
        source="t/x.rec",
        needs=("t/w.rec", "t/x.rec"),
        apart=True,
    ),
    Writer(
        "index --out-dir",
        lambda spell: _recordio("index", "--out-dir", spell("t"), "in/x.rec"),
        "t/x.idx",
        SIX_INDEX,
        True,
        source="in/x.rec",
        folder=True,
    ),
    Writer(
        "index --combine",
        lambda spell: _recordio("index", "--combine", spell("t/x.idx"), "in/one.rec", "in/two.rec"),
        "t/x.idx",
        SIX_INDEX,
        True,
        source="in/two.rec",
    ),
    Writer(
        "salvage --index, the index",
        lambda spell: _recordio("salvage", "in/a.rec", "t/k.rec", "--index", spell("t/x.idx")),
        "t/x.idx",
        SIX_INDEX,
        True,
        beside=("t/k.rec",),
    ),
    Writer(
        "pack of a list, the index",
        lambda spell: _recordio("pack", "in/list.lst", spell("t/x.rec")),
        "t/x.idx",
        PACKED_INDEX,
        True,
        beside=("t/x.rec",),
        source=None,
    ),
    Writer(
        "pack of a folder, the index",
        lambda spell: _recordio("pack", "in/pics", spell("t/x.rec")),
        "t/x.idx",
        PACKED_INDEX,
        True,
        beside=("t/x.rec", "t/x.lst"),
        source=None,
    ),
]

NEW_FILES = [
    Writer(
        "salvage",
        lambda spell: _recordio("salvage", "in/a.rec", spell("t/x.rec")),
        "t/x.rec",
        SIX,
        False,
    ),
    Writer(
        "salvage --index, the record file",
        lambda spell: _recordio("salvage", "in/a.rec", spell("t/x.rec"), "--index", "t/k.idx"),
        "t/x.rec",
        SIX,
        False,
        beside=("t/k.idx",),
    ),
    Writer(
        "cat",
        lambda spell: ["recordio", "cat", "in/a.rec", "3", "-o", spell("t/x.bin")],
        "t/x.bin",
        image(3, 3, b"\3" * 12),
        False,
    ),
    Writer(
        "pack of a list, the record file",
        lambda spell: _recordio("pack", "in/list.lst", spell("t/x.rec")),
        "t/x.rec",
        PACKED,
        False,
        beside=("t/x.idx",),
        source=None,
    ),
    Writer(
        "pack of a folder, the record file",
        lambda spell: _recordio("pack", "in/pics", spell("t/x.rec")),
        "t/x.rec",
        PACKED,
        False,
        beside=("t/x.idx", "t/x.lst"),
        source=None,
    ),
    Writer(
        "pack of a folder, the list",
        lambda spell: _recordio("pack", "in/pics", spell("t/x.rec")),
        "t/x.lst",
        LIST,
        False,
        beside=("t/x.rec", "t/x.idx"),
        source=None,
    ),
    Writer(
        "extract into folders",
        lambda spell: _recordio("extract", "-j", "1", "in/a.rec", spell("t")),
        "t/00000003/0000000003.bin",
        b"\3" * 12,
        False,
        beside=tuple(f"t/{i:08d}/{name}" for i, name in enumerate(IMAGES) if i != 3),
        folder=True,
        apart=True,
    ),
    Writer(
        "extract --to flat, an image",
        lambda spell: _recordio("extract", "-j", "1", "in/a.rec", spell("t"), "--to", "flat"),
        "t/0000000003.bin",
        b"\3" * 12,
        False,
        beside=("t/images.lst", *(f"t/{name}" for i, name in enumerate(IMAGES) if i != 3)),
        folder=True,
        apart=True,
    ),
    Writer(
        "extract --to flat, the list",
        lambda spell: _recordio("extract", "-j", "1", "in/a.rec", spell("t"), "--to", "flat"),
        "t/images.lst",
        IMAGES_LIST,
        False,
        beside=tuple(f"t/{name}" for name in IMAGES),
        folder=True,
        apart=True,
    ),
    Writer(
        "extract --to wds",
        lambda spell: _recordio("extract", "-j", "1", "in/a.rec", spell("t"), "--to", "wds"),
        "t/000000.tar",
        None,
        False,
        folder=True,
        apart=True,
    ),
]

WRITERS = INDEXES + NEW_FILES

# One writer of each command: several are of the same.
ONE_OF_EACH = list({tuple(writer.argv(str)): writer for writer in WRITERS}.values())


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Write files, by paths below a folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def content(folder: Path) -> dict[str, bytes | str | None]:
    """All that is below a folder: files with their bytes, links with where they lead, folders."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = str(path.readlink())
        elif path.is_dir():
            found[f"{name}/"] = None
        elif path.is_file():
            found[name] = path.read_bytes()
        else:
            found[name] = None
    return found


def same(text: str) -> str:
    return text
