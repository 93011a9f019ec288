"""A fault at each system call of the writing path in turn: what stands is old or new, never less.

The calls are those that concern the folder that is written to. A first run without a fault lists
them; then the command is run once for each, and that call fails, or the process is killed there.
"""

import errno
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults import Call, Commands, Plan, build, commands, quick_folder, run_alone
from faults.scenes import (
    SCENES,
    Stage,
    at_each,
    harmed,
    new,
    ours,
    require_old_or_new,
    require_together,
    require_words,
)

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which(os.environ.get("CC", "cc").split()[0]) is None,
    reason="the library that makes calls fail is for Linux, and a C compiler is needed",
)

NOT_ESSENTIAL = ("fsync", "fchmod", "fchown")
BOTH = pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
EACH_LESS = pytest.mark.parametrize("error", ["EINVAL", "ENOSYS", "ENOTSUP", "EPERM"])
MOMENTS = pytest.mark.parametrize("moment", ["before", "after"])


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> Path:
    return build(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="module")
def running(shim: Path) -> Iterator[Commands]:
    with quick_folder() as folder, commands(folder, shim) as running:
        yield running


@pytest.fixture(scope="module", params=SCENES, ids=str)
def stage(request: pytest.FixtureRequest, running: Commands) -> Iterator[Stage]:
    with quick_folder() as folder:
        yield Stage(folder, running, request.param)


def is_folder(call: Call) -> bool:
    return call.about.endswith(("/t", "/out")) or Path(call.about).name.isdigit()


def test_the_calls_are_those_of_the_command_itself(stage: Stage, shim: Path, tmp_path: Path):
    """A fork of a process that has all modules makes the same ones."""
    stage.set()
    alone = run_alone(stage.scene.argv, stage.folder, shim, Plan(stage.folder / "t"), tmp_path)
    assert (alone.status, alone.stderr) == (0, "")
    assert [call.name for call in alone.calls] == [call.name for call in stage.calls()]
    assert "write" in {call.name for call in alone.calls}


@BOTH
def test_an_error_leaves_all_old_or_all_new(stage: Stage, error: str):
    def check(call: Call) -> None:
        done, found = harmed(stage, call.number, f"errno {getattr(errno, error)}")
        require_old_or_new(stage, found)
        require_together(stage, found)
        if call.name not in ("unlink", "rmdir"):
            assert not ours(stage, found), f"left: {ours(stage, found)}"
        assert done.status in (0, 1), f"status {done.status}"
        if done.status == 0:
            assert new(stage, found) == set(stage.made), "status 0, and not all is there"
            assert len(done.stderr.splitlines()) <= 1
        else:
            require_words(stage, done)

    at_each(stage.calls(), check)


@BOTH
def test_bytes_that_may_not_be_on_the_disk_get_no_name(stage: Stage, error: str):
    """An error of a write, or of the last wait for the disk, ends the run; all old files stand."""

    def check(call: Call) -> None:
        done, found = harmed(stage, call.number, f"errno {getattr(errno, error)}")
        assert done.status == 1, f"status {done.status}"
        assert len(new(stage, found)) < len(stage.made), "all is there"

    at_each(
        (call for call in stage.calls() if call.name in ("write", "fsync") and not is_folder(call)),
        check,
    )


@pytest.mark.parametrize("error", ["EIO", "EDQUOT"])
def test_an_error_of_close_counts_before_a_file_gets_its_name(stage: Stage, error: str):
    """With quotas and on NFS, close is what says that bytes got lost."""
    closes, named = written_and_named(stage)
    assert sorted(named) == sorted(stage.made)
    assert len(closes) == len(named), "each file is closed once after it was written"
    target_of = dict(zip(closes, named, strict=True))

    def check(call: Call) -> None:
        done, found = harmed(stage, call.number, f"errno {getattr(errno, error)}")
        assert done.status == 1, f"status {done.status}"
        require_words(stage, done)
        stands = new(stage, found) if stage.scene.together else {target_of[call]} & set(found)
        assert not stands, f"{stands} stands"

    at_each(closes, check)


def written_and_named(stage: Stage) -> tuple[list[Call], list[str]]:
    """The first close of each file after it was written; and the files as they get their names."""
    written, closes, named = set(), [], []
    for call in stage.calls():
        if call.name == "write":
            written.add(call.about)
        elif call.name == "close" and call.about in written:
            written.remove(call.about)
            closes.append(call)
        elif call.name in ("link", "rename", "renameat2"):
            target = os.path.relpath(call.about.split(" -> ")[1], stage.folder)
            if target in stage.made and target not in named:
                named.append(target)
    return closes, named


@EACH_LESS
def test_a_file_system_that_knows_less_is_no_failure(stage: Stage, error: str):
    """What it does not know is left out; where that is to wait for the disk, a line says so."""

    def check(call: Call) -> None:
        done, found = harmed(stage, call.number, f"errno {getattr(errno, error)}")
        assert (done.status, new(stage, found)) == (0, set(stage.made))
        assert not ours(stage, found)
        lines = done.stderr.splitlines()
        assert len(lines) in ((1,) if says(call) else (0, 1)), done.stderr
        assert "Traceback" not in done.stderr

    at_each((call for call in stage.calls() if call.name in NOT_ESSENTIAL), check)


def says(call: Call) -> bool:
    """Whether it must be said that this call is not known."""
    return call.name == "fsync" and not is_folder(call)


@EACH_LESS
@pytest.mark.parametrize("name", NOT_ESSENTIAL)
def test_a_file_system_that_does_not_know_it_at_all(stage: Stage, name: str, error: str):
    """One line for all files of a run."""
    done = stage.play(-1, f"errno {getattr(errno, error)}", name)
    found = stage.content()
    assert (done.status, new(stage, found)) == (0, set(stage.made)), done
    assert not ours(stage, found)
    expected = any(says(call) for call in stage.calls() if call.name == name)
    assert len(done.stderr.splitlines()) == expected, done.stderr


@pytest.mark.parametrize(
    ("names", "error"),
    [
        ("link", "EPERM"),
        ("link", "EOPNOTSUPP"),
        ("renameat2", "EINVAL"),
        ("renameat2", "ENOSYS"),
        ("link,renameat2", "EPERM"),
        ("tmpfile", "EOPNOTSUPP"),
        ("tmpfile,link,renameat2", "EOPNOTSUPP"),
        ("lock", "ENOLCK"),
        ("lock", "EOPNOTSUPP"),
    ],
)
def test_a_file_system_without_links_or_locks(stage: Stage, names: str, error: str):
    done = stage.play(-1, f"errno {getattr(errno, error)}", names)
    found = stage.content()
    assert (done.status, done.stderr) == (0, ""), done
    assert new(stage, found) == set(stage.made)
    assert not ours(stage, found)


@MOMENTS
def test_a_kill_leaves_each_file_old_or_new(stage: Stage, moment: str):
    """The next run ends well, or says which file is taken; one that ends well clears away."""

    def check(call: Call) -> None:
        done, found = harmed(stage, call.number, f"kill {moment}")
        assert done.status == -signal.SIGKILL
        require_old_or_new(stage, found)
        for name in ours(stage, found):
            assert name.endswith("/") or os.path.basename(name).startswith(".rec2idx-"), name
        again = stage.again()
        later = stage.content()
        require_old_or_new(stage, later)
        assert new(stage, found) <= new(stage, later)
        if stage.scene.taken in new(stage, found):
            assert again.status == 1
            require_words(stage, again)
            assert stage.scene.taken in again.stderr
            for name in set(stage.made) - set(stage.before):
                (stage.folder / name).unlink(missing_ok=True)
            again = stage.again()
            later = stage.content()
        assert (again.status, again.stderr) == (0, "")
        assert new(stage, later) == set(stage.made)
        left = {name for name in ours(stage, later) if ".rec2idx-" in name}
        assert not left, f"still there after the next run: {left}"

    at_each(stage.calls(), check)


@MOMENTS
def test_a_run_that_is_refused_clears_away_too(stage: Stage, moment: str):
    """Where a killed run left the record file, the next one says that it is taken."""

    def check(call: Call) -> None:
        _, found = harmed(stage, call.number, f"kill {moment}")
        if stage.scene.taken in new(stage, found):
            assert stage.again().status == 1
            left = {name for name in ours(stage, stage.content()) if ".rec2idx-" in name}
            assert not left, f"still there after a run that is refused: {left}"

    at_each(stage.calls(), check)


@MOMENTS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda it: it.name)
def test_a_signal_leaves_all_old_or_all_new(stage: Stage, number: signal.Signals, moment: str):
    """Whatever the moment; and nothing else is left."""

    def check(call: Call) -> None:
        done, found = harmed(stage, call.number, f"signal {moment} {number:d}")
        require_old_or_new(stage, found)
        require_together(stage, found)
        assert not ours(stage, found), f"left: {ours(stage, found)}"
        assert done.status in (0, 130), f"status {done.status}"
        if done.status == 0:
            assert new(stage, found) == set(stage.made), "status 0, and not all is there"
        else:
            require_words(stage, done)

    at_each(stage.calls(), check)
