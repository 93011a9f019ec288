"""What no command ever does, on storages other than the local one, and with sources that are slow.

The storages are a real S3 server and the memory of this process. `test_promises.py` has the rest.
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from samples import FACE, SIX, SIX_INDEX, image
from servers import S3Server
from spellings import INDEXES, OTHERS, RECORDS
from test_promises import (  # noqa: F401 # here once more, as fsspec is installed
    place,
    running,
    test_nor_under_a_name_that_may_be_another_one,
)
from writers import LIST, PACKED, PACKED_INDEX, put

import rec2idx
from rec2idx import UnsafeTargetError

DAMAGED = RECORDS["a record file, its first byte flipped"]


class Memory:
    """The memory of this process as a storage.

    Attributes:
        spellings: ways to name an object in it.
    """

    spellings = ("memory://{}", "memory:///{}")
    doubtful = (
        "memory://./{}",
        "memory:////{}",
        "memory://a/../{}",
        "memory://%78.{}",
        "MEMORY://{}",
    )

    def __init__(self) -> None:
        self._system = fsspec.filesystem("memory")
        self._system.store.clear()

    def put(self, name: str, data: bytes) -> str:
        self._system.pipe_file(f"/{name}", data)
        return f"memory://{name}"

    def remove(self, name: str) -> None:
        self._system.store.pop(f"/{name}", None)

    def content(self) -> dict[str, bytes]:
        return {name[1:]: file.getvalue() for name, file in self._system.store.items()}


class Bucket:
    """A bucket of its own on the S3 server."""

    spellings = ("s3://{bucket}/{}", "s3a://{bucket}/{}")
    doubtful = (
        "s3://{bucket}/./{}",
        "s3://{bucket}//{}",
        "s3://{bucket}/a/../{}",
        "S3://{bucket}/{}",
    )

    def __init__(self, server: S3Server, name: str) -> None:
        self.server, self.name = server, name
        server.put(name, "unrelated", b"theirs")

    def put(self, name: str, data: bytes) -> str:
        return self.server.put(self.name, name, data)

    def remove(self, name: str) -> None:
        self.server.client.delete_object(Bucket=self.name, Key=name)

    def content(self) -> dict[str, bytes]:
        found = {key: self.server.get(self.name, key) for key in self.server.keys(self.name)}
        assert found.pop("unrelated") == b"theirs"
        return found


_numbers = itertools.count()


@pytest.fixture(params=["memory", "s3"])
def storage(request, monkeypatch) -> Memory | Bucket:
    if request.param == "memory":
        return Memory()
    server = request.getfixturevalue("s3_running")
    server.use(monkeypatch)
    monkeypatch.setattr(server, "answer", lambda environ: None)
    return Bucket(server, f"promises-{next(_numbers)}")


def spelled(storage: Memory | Bucket, pattern: str, name: str) -> str:
    return pattern.format(name, bucket=getattr(storage, "name", ""))


@pytest.fixture
def source(tmp_path: Path) -> str:
    put(tmp_path, {"a.rec": SIX, "pics/cat/a.jpg": b"\xff\xd8\xff\xe0 a cat"})
    put(tmp_path, {"pics/dog/b.jpg": b"\xff\xd8\xff\xe0 and a dog", "a.lst": LIST})
    return str(tmp_path / "a.rec")


Write = Callable[..., object]

# What writes an index: from a record file to a URL.
INDEXING: dict[str, Write] = {
    "create_index": lambda record, url, **more: rec2idx.create_index(record, url, **more),
    "combine_index": lambda record, url, **more: rec2idx.combine_index([record], url, **more),
    "salvage": lambda record, url, **more: rec2idx.salvage(
        record, url.replace("x.idx", "new.rec"), url, **more
    ),
}


def pack_list(record: str, url: str, **more: object) -> object:
    folder = os.path.dirname(record)
    return rec2idx.pack_images(f"{folder}/a.lst", url, root=f"{folder}/pics", **more)


def pack_folder(record: str, url: str, **more: object) -> object:
    return rec2idx.pack_images(f"{os.path.dirname(record)}/pics", url, **more)


# What writes a new file; the files that a finished run makes.
MAKING: dict[str, tuple[Write, dict[str, bytes]]] = {
    "salvage": (
        lambda record, url, **more: rec2idx.salvage(record, url, **more),
        {"x.rec": SIX},
    ),
    "salvage with an index": (
        lambda record, url, **more: rec2idx.salvage(
            record, url, url.replace("x.rec", "x.idx"), **more
        ),
        {"x.rec": SIX, "x.idx": SIX_INDEX},
    ),
    "pack_images of a list": (pack_list, {"x.rec": PACKED, "x.idx": PACKED_INDEX}),
    "pack_images of a folder": (
        pack_folder,
        {"x.rec": PACKED, "x.idx": PACKED_INDEX, "x.lst": LIST},
    ),
}
each_indexing = pytest.mark.parametrize("write", INDEXING.values(), ids=INDEXING)
each_making = pytest.mark.parametrize(("write", "made"), MAKING.values(), ids=MAKING)


# Two spellings of one object are one


def test_every_spelling_is_that_object(storage, source):
    for pattern in storage.spellings:
        rec2idx.create_index(source, spelled(storage, pattern, "x.idx"))
        assert storage.content() == {"x.idx": SIX_INDEX}


@pytest.mark.parametrize("data", [SIX, FACE], ids=["many records", "another one"])
@pytest.mark.parametrize("name", ["x.rec", "x.idx"])
def test_no_index_replaces_the_file_that_is_read(storage, name, data):
    storage.put(name, data)
    before = storage.content()
    for one in storage.spellings:
        for other in storage.spellings:
            record, index = spelled(storage, one, name), spelled(storage, other, name)
            for write in INDEXING.values():
                with pytest.raises(UnsafeTargetError) as caught:
                    write(record, index)
                assert name in str(caught.value)
                assert storage.content() == before


def test_no_index_replaces_the_damaged_file_that_is_salvaged(storage):
    """Whose first byte does not tell what it is, and whose name is that of an index."""
    storage.put("x.idx", DAMAGED)
    for one, other in itertools.product(storage.spellings, repeat=2):
        record, index = spelled(storage, one, "x.idx"), spelled(storage, other, "x.idx")
        with pytest.raises(UnsafeTargetError, match=r"x\.idx"):
            rec2idx.salvage(record, index.replace("x.idx", "new.rec"), index)
        assert storage.content() == {"x.idx": DAMAGED}


def test_no_index_replaces_the_new_file(storage, source):
    for one in storage.spellings:
        for other in storage.spellings:
            target, index = spelled(storage, one, "x.rec"), spelled(storage, other, "x.rec")
            with pytest.raises(UnsafeTargetError, match=r"x\.rec"):
                rec2idx.salvage(source, target, index)
            assert storage.content() == {}


def test_a_spelling_that_may_be_another_object(storage, source):
    """Either it is the same one, and refused; or another, and both files stand."""
    for pattern in storage.doubtful:
        index = spelled(storage, pattern, "x.rec")
        target = spelled(storage, storage.spellings[0], "x.rec")
        storage.put("x.rec", SIX)
        try:
            rec2idx.create_index(target, index)
        except (UnsafeTargetError, OSError):
            assert storage.content()["x.rec"] == SIX, pattern
        else:
            assert storage.content()["x.rec"] == SIX, pattern
            assert SIX_INDEX in storage.content().values()


# What stands there


@each_indexing
def test_no_other_object_is_replaced_by_an_index(storage, source, write):
    for what, data in {**RECORDS, **OTHERS}.items():
        url = storage.put("x.idx", data)
        before = storage.content()
        with pytest.raises(UnsafeTargetError) as caught:
            write(source, url)
        assert storage.content() == before, what
        assert "x.idx" in str(caught.value)


@each_indexing
def test_an_index_is_replaced(storage, source, write):
    for what, data in INDEXES.items():
        for pattern in storage.spellings:
            storage.put("x.idx", data)
            write(source, spelled(storage, pattern, "x.idx"))
            assert storage.content().pop("x.idx") == SIX_INDEX, what
            storage.remove("new.rec")


@each_making
def test_no_object_is_replaced_by_a_new_file(storage, source, write, made):
    """Not even an empty one."""
    for name in set(made) - {"x.idx"}:
        contents = {**RECORDS, **OTHERS, **INDEXES, "nothing": b""}
        patterns = itertools.cycle(storage.spellings)
        for (what, data), pattern in zip(contents.items(), patterns, strict=False):
            storage.put(name, data)
            before = storage.content()
            with pytest.raises(UnsafeTargetError) as caught:
                write(source, spelled(storage, pattern, "x.rec"))
            assert storage.content() == before, (name, what)
            assert name in str(caught.value)
        storage.remove(name)


# What comes meanwhile


@each_making
def test_an_object_that_appears_is_not_replaced_by_a_new_file(storage, source, write, made):
    for name in set(made) - {"x.idx"}:

        def appear(progress: rec2idx.Progress, name: str = name) -> None:
            storage.put(name, FACE)

        with pytest.raises(UnsafeTargetError) as caught:
            write(source, spelled(storage, storage.spellings[0], "x.rec"), progress=appear)
        assert storage.content() == {name: FACE}
        assert name in str(caught.value)
        storage.remove(name)


@pytest.mark.parametrize("there", [None, b"0\t0\n"], ids=["nothing", "an index"])
@each_indexing
def test_an_object_that_appears_or_changes_is_not_replaced_by_an_index(
    storage, source, write, there
):
    if there is not None:
        storage.put("x.idx", there)

    def change(progress: rec2idx.Progress) -> None:
        storage.put("x.idx", FACE)

    with pytest.raises(UnsafeTargetError) as caught:
        write(source, spelled(storage, storage.spellings[0], "x.idx"), progress=change)
    assert storage.content() == {"x.idx": FACE}
    assert "x.idx" in str(caught.value)


@each_making
def test_an_object_that_appears_at_the_last_moment(s3, source, monkeypatch, write, made):
    """When the server gets the new one: it is told to take that only where there is nothing."""
    bucket = Bucket(s3, f"promises-{next(_numbers)}")
    for name in set(made) - {"x.idx"}:
        came = []

        def appear(environ: dict, name: str = name, came: list = came) -> None:
            ours = environ["PATH_INFO"].endswith(f"/{name}") and not came
            if ours and environ["REQUEST_METHOD"] in ("PUT", "POST"):
                came.append(True)
                bucket.put(name, FACE)

        monkeypatch.setattr(s3, "answer", appear)
        with pytest.raises(UnsafeTargetError) as caught:
            write(source, f"s3://{bucket.name}/x.rec")
        assert came
        assert bucket.content() == {name: FACE}
        assert name in str(caught.value)
        bucket.remove(name)


# Files on this machine, from a source that is slow

FROM_S3 = {
    "rec2idx": (["rec2idx", "-q", "{}", "t/x.idx"], "t/x.idx"),
    "index": (["recordio", "index", "-q", "--out-dir", "t", "{}"], "t/x.idx"),
    "index --combine": (["recordio", "index", "-q", "--combine", "t/x.idx", "{}"], "t/x.idx"),
    "salvage": (["recordio", "salvage", "-q", "{}", "t/x.rec"], "t/x.rec"),
    "salvage --index, the record file": (
        ["recordio", "salvage", "-q", "{}", "t/x.rec", "--index", "t/k.idx"],
        "t/x.rec",
    ),
    "salvage --index, the index": (
        ["recordio", "salvage", "-q", "{}", "t/k.rec", "--index", "t/x.idx"],
        "t/x.idx",
    ),
    "cat": (["recordio", "cat", "{}", "3", "-o", "t/x.bin"], "t/x.bin"),
    "extract --to flat, the list": (
        ["recordio", "extract", "-q", "{}", "t", "--to", "flat"],
        "t/images.lst",
    ),
    "extract --to wds": (["recordio", "extract", "-q", "{}", "t", "--to", "wds"], "t/000000.tar"),
}


@pytest.mark.parametrize("before", [None, b"0\t0\n"], ids=["nothing there", "an index there"])
@pytest.mark.parametrize(("argv", "target"), FROM_S3.values(), ids=FROM_S3)
def test_a_file_that_comes_while_the_source_is_read(
    s3, tmp_path, monkeypatch, argv, target, before
):
    """At the last thing that the source is asked for, which is long after the first look."""
    if before is not None and not target.endswith(".idx"):
        pytest.skip("it is refused at once")
    url = s3.put("slow", "x.rec", SIX)
    stands = tmp_path / target

    def run(at: int) -> tuple[int, subprocess.CompletedProcess[str]]:
        put(tmp_path, {"theirs": FACE, "t/other": b""})
        for path in (tmp_path / "t").iterdir():
            path.unlink()
        if before is not None:
            stands.write_bytes(before)
        asked = 0

        def come(environ: dict) -> None:
            nonlocal asked
            asked += environ["PATH_INFO"] == "/slow/x.rec"
            if asked == at:
                stands.unlink(missing_ok=True)
                os.link(tmp_path / "theirs", stands)

        monkeypatch.setattr(s3, "answer", come)
        words = [word.format(url) for word in argv]
        program = Path(sys.executable).with_name(words[0])
        done = subprocess.run(
            [program, *words[1:]], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        return asked, done

    asked, done = run(0)
    assert (done.returncode, done.stderr) == (0, "")
    _, done = run(asked)
    assert os.path.samefile(stands, tmp_path / "theirs")
    assert stands.read_bytes() == FACE
    assert done.returncode == 1
    assert os.path.basename(target) in done.stderr
    assert len(done.stderr.splitlines()) == 1
    found = {path.name for path in (tmp_path / "t").iterdir()} - {stands.name}
    assert all(name.endswith(".bin") for name in found)


def test_an_image_that_comes_while_the_source_is_read(s3, tmp_path, monkeypatch):
    url = s3.put("image", "x.rec", SIX)
    assert rec2idx.extract(url, tmp_path / "first", to="flat").extracted == 6
    name = "0000000003.bin"
    assert (tmp_path / "first" / name).read_bytes() == image(3, 3, b"\3" * 12)[24:]

    def come(progress: rec2idx.Progress) -> None:
        (tmp_path / "t").mkdir(exist_ok=True)
        if not (tmp_path / "t" / name).exists():
            (tmp_path / "t" / name).write_bytes(b"theirs")

    with pytest.raises(UnsafeTargetError, match=name):
        rec2idx.extract(url, tmp_path / "t", to="flat", progress=come)
    assert (tmp_path / "t" / name).read_bytes() == b"theirs"
    assert not (tmp_path / "t/images.lst").exists()
