# ruff: noqa: F811 # fixtures are imported, and named again as arguments
"""What no command ever does while it runs, to what comes, changes or stands where it writes."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import COMMAND
from faults import Commands
from reference import part
from samples import FACE, SIX, SIX_INDEX
from spellings import SPELLINGS
from test_promises import place, running  # noqa: F401 # fixtures
from writers import WRITERS, Writer, content, put, same

TEMPORARY = re.compile(r"\.rec2idx-.*")
# More than a pipe holds: when it is written, the run has begun to read.
MANY = part(0, bytes(1000)) * 2000
MANY_INDEX = b"".join(b"%d\t%d\n" % (number, 1008 * number) for number in range(2000))
OLD = b"0\t0\n1\t8\n"


class UnderWay:
    """A run that has read most of its standard input, or of a pipe, and waits for the rest."""

    def __init__(self, place: Path, target: str, source: str = "-") -> None:
        self.process = subprocess.Popen(
            [COMMAND, "-q", source, target],
            cwd=place,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        name = f"/proc/self/fd/{self.process.stdin.fileno()}" if source == "-" else place / source
        self._pipe = self._opened(name)
        self.process.stdin.close()
        self.process.stdin = None  # so that `communicate` leaves it alone
        with suppress(BrokenPipeError):  # the end will say why
            view = memoryview(MANY)
            while view:
                view = view[os.write(self._pipe, view) :]

    def _opened(self, name: str | Path) -> int:
        """Open a pipe to write to, once the run reads it, or when it has ended."""
        while self.process.poll() is None:
            try:
                pipe = os.open(name, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue
            os.set_blocking(pipe, True)
            return pipe
        return os.open(os.devnull, os.O_WRONLY)

    def end(self) -> tuple[int, str]:
        """Let the run come to its end; returns its status and what it said."""
        self._close()
        _, words = self.process.communicate(timeout=60)
        return self.process.returncode, words

    def kill(self) -> None:
        self.process.kill()
        self.end()

    def _close(self) -> None:
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1

    def __enter__(self) -> "UnderWay":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.kill()


# A file that comes meanwhile


@pytest.mark.parametrize("source", ["-", "t/pipe"])
@pytest.mark.parametrize("spelling", ["path", "file:///", "path through a link"])
@pytest.mark.parametrize("what", ["a record file", "text", "a link to a record file", "a folder"])
def test_what_appears_meanwhile_is_not_replaced(place, what, spelling, source):
    os.mkfifo(place / "t/pipe")
    target = place / "t/x.idx"
    with UnderWay(place, SPELLINGS[spelling](place, "t/x.idx"), source) as run:
        if what == "a folder":
            target.mkdir()
        elif what == "a link to a record file":
            target.symlink_to("../in/a.rec")
        else:
            target.write_bytes(FACE if what == "a record file" else b"theirs\n")
        before = content(place)
        was = target.lstat()
        status, words = run.end()
    found = {name: data for name, data in content(place).items() if not TEMPORARY.search(name)}
    assert found == {name: data for name, data in before.items() if not TEMPORARY.search(name)}
    assert os.path.samestat(target.lstat(), was)
    assert content(place) == found, "a temporary file was left"
    assert status == 1
    assert "x.idx" in words
    assert len(words.splitlines()) == 1


@pytest.mark.parametrize(
    "new", [FACE, b"7\t7\n", b""], ids=["a record file", "an index", "nothing"]
)
@pytest.mark.parametrize("how", ["written to", "replaced", "appended to"])
def test_an_index_that_changes_meanwhile_is_not_replaced(place, how, new):
    target = place / "t/x.idx"
    target.write_bytes(OLD)
    with UnderWay(place, "t/x.idx") as run:
        if how == "replaced":
            (place / "in/new").write_bytes(new)
            os.replace(place / "in/new", target)
        elif how == "written to":
            target.write_bytes(new)
        else:
            with target.open("ab") as file:
                file.write(new or b"2\t16\n")
            new = target.read_bytes()
        status, words = run.end()
    assert target.read_bytes() == new
    assert os.listdir(place / "t") == ["x.idx"]
    assert status == 1
    assert "x.idx" in words
    assert len(words.splitlines()) == 1


def test_an_index_that_goes_away_meanwhile_may_come_anew(place):
    """There is nothing that could be lost: either is right."""
    (place / "t/x.idx").write_bytes(OLD)
    with UnderWay(place, "t/x.idx") as run:
        (place / "t/x.idx").unlink()
        status, _ = run.end()
    found = content(place / "t")
    assert (status, found) in ((0, {"x.idx": MANY_INDEX}), (1, {}))


# What was left by a process that was killed


def left_by_a_killed_run(place: Path) -> dict[str, bytes]:
    with UnderWay(place, "t/killed.idx") as run:
        run.kill()
    return {f"t/{name}": data for name, data in content(place / "t").items()}


def cleared(place: Path, running: Commands, writer: Writer, left: dict[str, bytes]) -> int:
    """Run a command where something was left, and see that it is gone; returns the status."""
    put(place, {**left, **dict.fromkeys(writer.needs, SIX)})
    done = running.run(writer.argv(same), place)
    found = content(place / "t")
    assert not any(map(TEMPORARY.search, found)), writer.name
    return done.status


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def test_the_next_run_clears_away_what_a_killed_one_left(place, running):
    """Whichever command it is."""
    left = left_by_a_killed_run(place)
    assert all(TEMPORARY.fullmatch(os.path.basename(name)) for name in left)
    for writer in WRITERS:
        empty(place / "t")
        assert cleared(place, running, writer, left) == 0


def test_so_does_one_that_is_refused(place, running):
    left = left_by_a_killed_run(place)
    for writer in WRITERS:
        empty(place / "t")
        put(place, {writer.target: b"theirs\n"})
        assert cleared(place, running, writer, left) == 1


def test_what_a_live_run_writes_stays(place, running):
    with UnderWay(place, "t/live.idx") as run:
        temporary = content(place / "t")
        for writer in WRITERS:
            put(place, dict.fromkeys(writer.needs, SIX))
            running.run(writer.argv(same), place)
            assert temporary.keys() <= content(place / "t").keys(), writer.name
        assert run.end() == (0, "")
    assert (place / "t/live.idx").read_bytes() == MANY_INDEX
    assert not any(map(TEMPORARY.search, content(place / "t")))


def test_what_is_not_ours_stays(place, running):
    """A file of such a name that another process has locked; a link, a folder, another name."""
    put(
        place,
        {
            "precious.rec": SIX,
            "t/.rec2idx-0123456789abcdef.tmp": b"theirs",
            "t/.rec2idx-notes.txt": b"theirs",
            "t/.rec2idx": b"theirs",
            "t/rec2idx-0123456789abcdef.tmp": b"theirs",
            "t/.rec2idx-0123456789abcdea.tmp/file": b"theirs",
        },
    )
    (place / "t/.rec2idx-fedcba9876543210.tmp").symlink_to("../precious.rec")
    before = content(place)
    with (place / "t/.rec2idx-0123456789abcdef.tmp").open("r+b") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        for writer in WRITERS:
            put(place, dict.fromkeys(writer.needs, SIX))
            running.run(writer.argv(same), place)
            found = content(place)
            lost = {name for name in before if found.get(name) != before[name]}
            assert lost <= {"t/.rec2idx-fedcba9876543210.tmp"}, writer.name


def test_many_runs_at_once_into_one_folder(place):
    """None takes another's temporary file for one that was left."""
    processes = [
        subprocess.Popen(
            [COMMAND, "-q", "in/a.rec", f"t/{number}.idx"], cwd=place, stderr=subprocess.PIPE
        )
        for number in range(16)
    ]
    words = [process.communicate(timeout=60)[1] for process in processes]
    assert words == [b""] * 16
    assert [process.returncode for process in processes] == [0] * 16
    assert content(place / "t") == {f"{number}.idx": SIX_INDEX for number in range(16)}


# A disk that is full


@pytest.fixture
def full(place: Path) -> Iterator[Path]:
    """`t/` is a small disk, which is full but for what a test puts there first."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    disk = place / "t"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", disk], check=True)


def fill(disk: Path) -> None:
    with open(disk / "filler", "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


@pytest.mark.parametrize("there", [None, OLD], ids=["nothing there", "an index there"])
def test_a_disk_that_is_full_keeps_what_there_was(place, running, full, there):
    for writer in WRITERS:
        put(place, dict.fromkeys(writer.needs, SIX))
        if there is not None and writer.index:
            put(place, {writer.target: there})
        fill(full)
        before = content(place)
        done = running.run(writer.argv(same), place)
        found = content(place)
        for name in list(found):
            if name.startswith("t/") and found[name] == b"":
                raise AssertionError(f"{writer.name}: an empty {name} was left")
        assert found == before, writer.name
        assert done.status == 1, writer.name
        assert len(done.stderr.splitlines()) == max(len(writer.needs), 1), done.stderr
        assert ".rec2idx-" not in done.stderr
        for name in found:
            if name.startswith("t/") and not name.endswith("/"):
                (place / name).unlink()
