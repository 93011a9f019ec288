# ruff: noqa: F811 # fixtures are imported, and named again as arguments
"""Somebody else writes into the folder just before each system call of a run, or reads from it.

As in `each_call.py`, whose fixtures these tests take; here another program runs at the call.
"""

import os
import sys
from itertools import takewhile
from pathlib import Path

import pytest
from samples import FACE, SIX_INDEX

from faults import Call
from faults.each_call import pytestmark, running, shim, stage  # noqa: F401 # fixtures
from faults.scenes import Stage, at_each, harmed, new, ours, require_words

THEIRS = b"5\t40\n"  # another index
QUIET = ("write", "fsync", "fchmod", "fchown", "dup")


@pytest.fixture
def theirs(stage: Stage) -> Stage:
    """The scene, with their files beside."""
    (stage.folder / "in/theirs.rec").write_bytes(FACE)
    (stage.folder / "in/theirs.idx").write_bytes(THEIRS)
    return stage


def require_others(stage: Stage, found: dict, target: str, status: int) -> None:
    """Of the other files that belong to the target, none is new if the run failed, or all are."""
    others = set(stage.made) - {target}
    if stage.scene.together and others:
        wanted = others if status == 0 else set()
        assert new(stage, found) - {target} == wanted, f"new are {new(stage, found)}"


def test_a_file_that_appears_is_not_replaced(theirs: Stage):
    """A link is made, which fails where something stands: whoever comes first has the name."""
    stage, appeared = theirs, theirs.folder / "in/appeared"
    for target in set(stage.made) - set(stage.before):
        command = f"ln in/theirs.rec {target} 2> /dev/null && : > in/appeared"
        times = 0

        def check(call: Call, target=target, command=command) -> None:
            nonlocal times
            appeared.unlink(missing_ok=True)
            done, found = harmed(stage, call.number, f"run before {command}")
            times += appeared.exists()
            if not appeared.exists():
                assert (done.status, new(stage, found)) == (0, set(stage.made))
                return
            assert os.path.samefile(stage.folder / target, stage.folder / "in/theirs.rec")
            assert found[target] == FACE
            assert done.status == 1, f"status {done.status}"
            require_words(stage, done)
            assert os.path.basename(target) in done.stderr
            require_others(stage, found, target, 1)
            assert not ours(stage, found), f"left: {ours(stage, found)}"

        at_each(stage.calls(), check)
        assert times > 0


@pytest.mark.parametrize("what", ["rec", "idx"])
@pytest.mark.parametrize("how", ["written to", "replaced"])
def test_an_index_that_changes_is_not_replaced(theirs: Stage, how: str, what: str):
    """What they write stands in the end, whether they come before or after the new index does."""
    stage, data, came = theirs, FACE if what == "rec" else THEIRS, theirs.folder / "in/came"
    for target in set(stage.made) & set(stage.scene.before):
        looks = list(takewhile(is_look, stage.calls()))
        command = f"cp in/theirs.{what} in/new && mv -f in/new {target}"
        if how == "written to":  # they do not wait until they may
            command = f"dd if=in/theirs.{what} of={target} oflag=nonblock 2> /dev/null"
        command += " && : > in/came"

        def check(call: Call, target=target, command=command, looks=looks) -> None:
            came.unlink(missing_ok=True)
            done, found = harmed(stage, call.number, f"run before {command}")
            assert done.status in (0, 1), f"status {done.status}"
            if done.status == 1:
                require_words(stage, done)
                assert os.path.basename(target) in done.stderr
            assert not ours(stage, found), f"left: {ours(stage, found)}"
            if done.status == 0 and (not came.exists() or (call in looks and what == "idx")):
                # They were told to wait, or the run may have seen theirs.
                assert new(stage, found) | {target} == set(stage.made)
                return
            if came.exists():
                assert found[target] == data, "what they wrote is lost"
            require_others(stage, found, target, done.status)

        at_each(stage.calls(), check)


def is_look(call: Call) -> bool:
    """Whether a call may still be part of the first look at what stands there."""
    return call.about.endswith(("/t", "/t/x.idx"))


def test_another_run_into_the_folder_takes_nothing_away(stage: Stage):
    """It clears away what is left of dead processes, and this one is not dead."""
    program = Path(sys.executable).with_name("rec2idx")

    def check(call: Call) -> None:
        other = f"{program} -q in/a.rec t/other.idx || : > in/failed"
        done, found = harmed(stage, call.number, f"run before {other}")
        assert (done.status, done.stderr) == (0, "")
        assert not (stage.folder / "in/failed").exists()
        assert new(stage, found) == set(stage.made)
        assert found["t/other.idx"] == SIX_INDEX
        assert ours(stage, found) == {"t/other.idx"}

    # Each takes a whole process, so only where names come and go.
    at_each((call for call in stage.calls() if call.name not in QUIET), check)
