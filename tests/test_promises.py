"""What no command ever does, to whatever stands where it writes.

Run for every command that writes, for each of its files, under every name that leads there. What
happens while a run goes on is in `test_promises_meanwhile.py`, and storages other than the local
one are in `remote/test_promises_urls.py`.
"""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults import Commands, Done, commands, quick_folder
from samples import FACE, SIX, SIX_INDEX
from spellings import DOUBTFUL, INDEXES, OTHERS, RECORDS, SPELLINGS
from writers import (
    FINISHED,
    INPUTS,
    NEW_FILES,
    ONE_OF_EACH,
    WRITERS,
    Writer,
    content,
    put,
    same,
)
from writers import INDEXES as INDEX_WRITERS


@pytest.fixture(scope="module")
def running() -> Iterator[Commands]:
    with quick_folder() as folder, commands(folder) as running:
        yield running


@pytest.fixture
def place() -> Iterator[Path]:
    """The folder in which commands run; `link` in it leads to `t`."""
    with quick_folder() as place:
        put(place, INPUTS)
        (place / "t").mkdir()
        (place / "link").symlink_to("t")
        yield place


def prepare(place: Path, writer: Writer) -> Path:
    """Put what the command needs in `t/`; returns the path of the target, whose folder is there."""
    put(place, dict.fromkeys(writer.needs, SIX))
    target = place / writer.target
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def identity(path: Path) -> tuple:
    status = path.lstat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_nlink, status.st_mode


def require_refused(
    place: Path, writer: Writer, done: Done, before: dict, statuses: tuple[int, ...] = (1,)
) -> None:
    """Nothing that was there has changed; nothing is there that only a finished run leaves."""
    after = content(place)
    assert {name: after.get(name) for name in before} == before, "something was lost"
    for name in set(after) - set(before):
        assert writer.apart, f"{name} was left"
        assert name.startswith("t/"), name
        assert ".rec2idx" not in name
        if not name.endswith("/"):
            assert name in writer.beside
            assert after[name] == FINISHED[name]
    assert done.status in statuses, done
    assert "Traceback" not in done.stderr
    assert done.stderr


def require_named(writer: Writer, done: Done) -> None:
    """One line, which names the target, as it was spelled or as a path."""
    name = os.path.basename(writer.target)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    first, rest = f"(?:{re.escape(name[0])}|%{ord(name[0]):02X})", re.escape(name[1:])
    assert re.search(first + rest, done.stderr), done.stderr


def all_of(writers: list[Writer]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("writer", writers, ids=str)


PATH_OR_URL = pytest.mark.parametrize("spelling", ["path", "file:///"])


def spelled(place: Path, name: str) -> Callable[[str], str]:
    """What spells a path below the folder as the spelling of that name does."""
    return lambda path: (SPELLINGS | DOUBTFUL)[name](place, path)


# Where nothing is in the way


@pytest.mark.parametrize("spelling", SPELLINGS)
@all_of(ONE_OF_EACH)
def test_every_name_of_a_file_is_that_file(place, running, writer, spelling):
    """Also a URL: the new file stands where the URL leads, and nowhere else."""
    target = prepare(place, writer)
    before = content(place)
    done = running.run(writer.argv(spelled(place, spelling)), place)
    assert (done.status, done.stderr) == (0, "")
    after = content(place)
    files = {file for file in set(after) - set(before) if not file.endswith("/")}
    assert files == {writer.target, *writer.beside}
    assert writer.new in (target.read_bytes(), None)


# A record file, or another file than an index, is never replaced


@all_of(WRITERS)
def test_no_record_file_and_no_other_file_is_replaced(place, running, writer):
    """Whatever it is called: here as an index or a new file would be."""
    contents = {**RECORDS, **OTHERS, **({} if writer.index else INDEXES)}
    for what, data in contents.items():
        target = prepare(place, writer)
        target.write_bytes(data)
        before, was = content(place), identity(target)
        done = running.run(writer.argv(same), place)
        try:
            require_refused(place, writer, done, before)
            require_named(writer, done)
            assert identity(target) == was
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error
        for name in set(content(place / "t")) - {os.path.relpath(writer.target, "t")}:
            if not name.endswith("/"):
                (place / "t" / name).unlink()


@pytest.mark.parametrize("spelling", SPELLINGS)
@all_of(WRITERS)
def test_under_no_name(place, running, writer, spelling):
    prepare(place, writer).write_bytes(RECORDS["a record file, its first byte flipped"])
    before = content(place)
    done = running.run(writer.argv(spelled(place, spelling)), place)
    require_refused(place, writer, done, before)
    require_named(writer, done)


@pytest.mark.parametrize("spelling", DOUBTFUL)
@all_of(WRITERS)
def test_nor_under_a_name_that_may_be_another_one(place, running, writer, spelling):
    target = prepare(place, writer)
    target.write_bytes(RECORDS["a record file, its first byte flipped"])
    before = content(place)
    done = running.run(writer.argv(spelled(place, spelling)), place)
    after = content(place)
    assert {name: after.get(name) for name in before} == before
    assert done.status != 0 or after != before
    assert "Traceback" not in done.stderr


@PATH_OR_URL
@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("symbolic link", "a record file"),
        ("symbolic link", "a record file, its first byte flipped"),
        ("hard link", "a record file, its first byte flipped"),
        ("link to a link", "text"),
    ],
)
@all_of(WRITERS)
def test_what_a_link_leads_to_stays(place, running, writer, data, what, spelling):
    """And the link stays, too."""
    target = prepare(place, writer)
    precious = place / "precious"
    precious.write_bytes((RECORDS | OTHERS)[data])
    lead(target, precious, what)
    before = content(place)
    done = running.run(writer.argv(spelled(place, spelling)), place)
    require_refused(place, writer, done, before)
    require_named(writer, done)


def lead(link: Path, target: Path, how: str) -> None:
    if how == "hard link":
        os.link(target, link)
        return
    if how == "link to a link":
        between = target.with_name("between")
        between.symlink_to(target)
        target = between
    link.symlink_to(target)


@PATH_OR_URL
@pytest.mark.parametrize("what", ["symbolic link", "hard link"])
@pytest.mark.parametrize("damage", ["whole", "damaged"])
@all_of([writer for writer in WRITERS if writer.source is not None])
def test_the_file_that_is_read_stays_under_its_other_names(
    place, running, writer, damage, what, spelling
):
    """Also where its first bytes are damaged, and its name is that of an index."""
    target = prepare(place, writer)
    source = place / writer.source
    if damage == "damaged":
        source.write_bytes(b"\0" + SIX[1:])
    lead(target, source, what)
    before = content(place)
    done = running.run(writer.argv(spelled(place, spelling)), place)
    require_refused(place, writer, done, before)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_file_that_is_read_is_not_the_target(place, running, spelling):
    """It is given twice, each time spelled in another way."""
    for path in ("t/x.rec", "t/x.idx"):
        put(place, {path: SIX})
        before = content(place)
        again = SPELLINGS[spelling](place, path)
        for argv in (
            ["rec2idx", "-q", path, again],
            ["recordio", "index", "-q", "--combine", again, "in/one.rec", path],
            ["recordio", "salvage", "-q", path, again],
            ["recordio", "salvage", "-q", path, "t/k.rec", "--index", again],
            ["recordio", "cat", path, "0", "-o", again],
        ):
            for words in (argv, [again if word == path else word for word in argv]):
                done = running.run(words, place)
                assert content(place) == before, words
                assert done.status == 1, words


@pytest.mark.parametrize("one", SPELLINGS)
def test_a_new_record_file_is_not_replaced_by_its_own_index(place, running, one):
    before = content(place)
    for other in SPELLINGS:
        paths = [SPELLINGS[name](place, "t/x.rec") for name in (one, other)]
        argv = ["recordio", "salvage", "-q", "in/a.rec", paths[0], "--index", paths[1]]
        done = running.run(argv, place)
        assert content(place) == before, other
        assert done.status == 1, other
        assert "x.rec" in done.stderr or "%78.rec" in done.stderr


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_list_is_replaced_by_an_index(place, running, spelling):
    """A list that is called as the index of the new file would be, and looks like one."""
    put(place, {"t/x.idx": b"0\t0\n", "t/y.idx": INPUTS["in/list.lst"]})
    before = content(place)
    for name in ("t/x", "t/y"):
        argv = ["recordio", "pack", "-q", spelled(place, spelling)(f"{name}.idx"), f"{name}.rec"]
        done = running.run(argv, place)
        assert (content(place), done.status) == (before, 1), name


# An index replaces an index


@pytest.mark.parametrize("name", ["x.idx", "notes.txt", "train.rec"])
@pytest.mark.parametrize("what", INDEXES)
def test_what_reads_as_an_index_is_replaced_whatever_its_name(place, running, what, name):
    path = f"t/{name}"
    for argv in (
        ["rec2idx", "-q", "in/a.rec", path],
        ["recordio", "index", "-q", "--combine", path, "in/one.rec", "in/two.rec"],
        ["recordio", "salvage", "-q", "in/a.rec", "t/new.rec", "--index", path],
    ):
        put(place, {path: INDEXES[what]})
        done = running.run(argv, place)
        assert (done.status, done.stderr) == (0, ""), argv
        assert (place / path).read_bytes() == SIX_INDEX


@pytest.mark.parametrize("spelling", SPELLINGS)
@all_of(INDEX_WRITERS)
def test_an_index_is_replaced_under_every_name(place, running, writer, spelling):
    """The mode of the file stays, and a link goes on leading to it."""
    target, real = prepare(place, writer), place / "real.idx"
    real.write_bytes(INDEXES["an index"])
    real.chmod(0o640)
    target.symlink_to(real)
    done = running.run(writer.argv(spelled(place, spelling)), place)
    assert (done.status, done.stderr) == (0, "")
    assert real.read_bytes() == writer.new
    assert real.stat().st_mode & 0o777 == 0o640
    assert target.readlink() == real


# An empty file is somebody's


@pytest.mark.parametrize("held", ["", "ab", "r+b"])
@PATH_OR_URL
@all_of(NEW_FILES)
def test_an_empty_file_is_not_replaced_by_a_new_file(place, running, writer, spelling, held):
    """Nor while another process is about to write to it."""
    target = prepare(place, writer)
    target.touch()
    was = identity(target)
    before = content(place)
    other = target.open(held) if held else None
    done = running.run(writer.argv(spelled(place, spelling)), place)
    require_refused(place, writer, done, before)
    require_named(writer, done)
    assert identity(target) == was
    if other is not None:
        with other:
            other.write(b"theirs")
        assert target.read_bytes() == b"theirs"


@pytest.mark.parametrize("spelling", ["path", "file:///", "path through a link"])
@all_of(INDEX_WRITERS)
def test_an_index_replaces_an_empty_file_that_is_nobodys(place, running, writer, spelling):
    target = prepare(place, writer)
    target.touch()
    done = running.run(writer.argv(spelled(place, spelling)), place)
    assert (done.status, done.stderr) == (0, "")
    assert target.read_bytes() == writer.new


@pytest.mark.parametrize("mode", ["ab", "wb", "r+b"])
@all_of(INDEX_WRITERS)
def test_an_empty_file_that_somebody_writes_to_is_not_replaced_by_an_index(
    place, running, writer, mode
):
    target = prepare(place, writer)
    target.touch()
    with target.open(mode) as other:
        was, before = identity(target), content(place)
        done = running.run(writer.argv(same), place)
        require_refused(place, writer, done, before)
        require_named(writer, done)
        assert identity(target) == was
        other.write(b"theirs")
    assert target.read_bytes() == b"theirs"


# What is no file to protect


def test_a_pipe_and_standard_output_take_the_bytes(place):
    """They are written to, and stay what they are."""
    for argv, expected in (
        (["rec2idx", "-q", "in/a.rec"], SIX_INDEX),
        (["recordio", "cat", "in/a.rec", "3", "-o"], b"\0\0\0\0"),
    ):
        program = Path(sys.executable).with_name(argv[0])
        for name in ("/dev/stdout", "file:///dev/stdout"):
            done = subprocess.run([program, *argv[1:], name], cwd=place, capture_output=True)
            assert (done.returncode, done.stderr) == (0, b""), name
            assert done.stdout.startswith(expected)
        pipe = place / "t/pipe"
        os.mkfifo(pipe)
        for name in ("t/pipe", f"file://{pipe}"):
            with subprocess.Popen([program, *argv[1:], name], cwd=place) as process:
                assert pipe.read_bytes().startswith(expected)
            assert process.returncode == 0
            assert pipe.is_fifo()
        pipe.unlink()
    assert os.listdir(place / "t") == []


def test_standard_output_that_is_a_record_file(place):
    """A shell has emptied it by then, or appends to it: the record file that is read stays."""
    before = content(place)
    with (place / "in/a.rec").open("ab") as output:
        for name in ("-", "/dev/stdout", "/dev/fd/1", "file:///dev/stdout"):
            done = subprocess.run(
                [Path(sys.executable).with_name("rec2idx"), "-q", "in/a.rec", name],
                cwd=place,
                stdout=output,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert content(place) == before, name
            assert done.returncode == 1, name
            assert "Traceback" not in done.stderr


OWN_OUTPUTS = {
    "rec2idx": ["rec2idx", "-q", "in/a.rec", "{}"],
    "salvage": ["recordio", "salvage", "-q", "in/a.rec", "{}"],
    "salvage --index": ["recordio", "salvage", "-q", "in/a.rec", "t/k.rec", "--index", "{}"],
    "cat": ["recordio", "cat", "in/a.rec", "3", "-o", "{}"],
}
OPEN_FILES = ["/dev/fd/{}", "/proc/self/fd/{}", "/proc/thread-self/fd/{}", "file:///dev/fd/{}"]


@pytest.mark.parametrize("mode", ["rb", "r+b", "ab"])
@pytest.mark.parametrize("argv", OWN_OUTPUTS.values(), ids=OWN_OUTPUTS)
def test_a_record_file_that_the_shell_has_opened(place, argv, mode):
    """For reading, as with `<`, or for writing; also where another process has it open."""
    put(place, {"t/precious.rec": FACE})
    before = content(place)
    with (place / "t/precious.rec").open(mode) as file:
        fd = file.fileno()
        names = [name.format(fd) for name in OPEN_FILES]
        for name in (*names, f"/proc/{os.getpid()}/fd/{fd}"):
            words = [word.format(name) for word in argv]
            done = subprocess.run(
                [Path(sys.executable).with_name(words[0]), *words[1:]],
                cwd=place,
                pass_fds=[fd],
                capture_output=True,
                text=True,
            )
            assert content(place) == before, name
            assert done.returncode == 1, name
            assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("name", ["-", "/dev/stdout", "//dev/./stdout", "t/link", "/dev/fd/1"])
def test_an_open_file_is_written_where_it_stands(place, name):
    """So what a shell writes to it before and after stays; it may also have its name by a link."""
    (place / "t/link").symlink_to("../out")
    (place / "out").symlink_to("/dev/stdout")
    with (place / "t/all").open("wb", buffering=0) as output:
        output.write(b"before\n")
        done = subprocess.run(
            [Path(sys.executable).with_name("rec2idx"), "-q", "in/a.rec", name],
            cwd=place,
            stdout=output,
            stderr=subprocess.PIPE,
        )
        output.write(b"after\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (place / "t/all").read_bytes() == b"before\n" + SIX_INDEX + b"after\n"
