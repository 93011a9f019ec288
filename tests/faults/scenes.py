"""What is run under faults: commands, what stands where they write, and what must stand then.

All happens in a folder with `in/`, which is read, and `t/`, which is written to and watched.
"""

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from reference import record
from samples import SIX, SIX_INDEX, image
from writers import IMAGES, INPUTS, LIST, PACKED, PACKED_INDEX, content, put

from faults import Call, Commands, Done, Plan

OLD = b"0\t0\n1\t8\n2\t16\n"
TWO = b"".join(record(image(i, i, bytes([i]) * 12)) for i in range(2))
PRECIOUS = {"t/y.rec": SIX, "t/y.txt": b"theirs\n"}  # these stand beside, and stay


@dataclass(frozen=True)
class Scene:
    """A command that writes.

    Attributes:
        name: what the test is called.
        argv: the words of the command.
        before: what stands in `t/` before.
        after: files that a run makes, with their bytes; None where the first run tells.
        together: whether these are all old, or all new.
        taken: the file that a second run finds taken; None where it may run again.
    """

    name: str
    argv: list[str]
    after: dict[str, bytes | None]
    before: dict[str, bytes] = field(default_factory=dict)
    together: bool = True
    taken: str | None = None

    def __str__(self) -> str:
        return self.name


SCENES = [
    Scene("rec2idx, a new index", ["rec2idx", "-q", "in/a.rec", "t/x.idx"], {"t/x.idx": SIX_INDEX}),
    Scene(
        "rec2idx, over an index",
        ["rec2idx", "-q", "in/a.rec", "t/x.idx"],
        {"t/x.idx": SIX_INDEX},
        before={"t/x.idx": OLD},
    ),
    Scene(
        "rec2idx, over an empty file",
        ["rec2idx", "-q", "in/a.rec", "t/x.idx"],
        {"t/x.idx": SIX_INDEX},
        before={"t/x.idx": b""},
    ),
    Scene(
        "index --combine, over an index",
        ["recordio", "index", "-q", "--combine", "t/x.idx", "in/one.rec", "in/two.rec"],
        {"t/x.idx": SIX_INDEX},
        before={"t/x.idx": OLD},
    ),
    Scene(
        "salvage --index, over an index",
        ["recordio", "salvage", "-q", "in/a.rec", "t/x.rec", "--index", "t/x.idx"],
        {"t/x.rec": SIX, "t/x.idx": SIX_INDEX},
        before={"t/x.idx": OLD},
        taken="t/x.rec",
    ),
    Scene(
        "pack of a folder, over an index",
        ["recordio", "pack", "-q", "-j", "1", "in/pics", "t/x.rec"],
        {"t/x.rec": PACKED, "t/x.lst": LIST, "t/x.idx": PACKED_INDEX},
        before={"t/x.idx": OLD},
        taken="t/x.rec",
    ),
    Scene(
        "cat",
        ["recordio", "cat", "in/a.rec", "3", "-o", "t/x.bin"],
        {"t/x.bin": image(3, 3, b"\3" * 12)},
        taken="t/x.bin",
    ),
    Scene(
        "extract --to flat",
        ["recordio", "extract", "-q", "-j", "1", "in/both.rec", "t/out", "--to", "flat"],
        {
            **{f"t/out/{name}": IMAGES[name] for name in sorted(IMAGES)[:2]},
            "t/out/images.lst": b"0\t0\t0000000000.bin\n1\t1\t0000000001.bin\n",
        },
        together=False,
    ),
    Scene(
        "extract into folders",
        ["recordio", "extract", "-q", "-j", "1", "in/both.rec", "t/out"],
        {f"t/out/{name[2:10]}/{name}": IMAGES[name] for name in sorted(IMAGES)[:2]},
        together=False,
    ),
    Scene(
        "extract --to wds",
        ["recordio", "extract", "-q", "-j", "1", "in/both.rec", "t/out", "--to", "wds"],
        {"t/out/000000.tar": None},
        together=False,
    ),
]


class Stage:
    """A folder in which a scene is played again and again."""

    def __init__(self, folder: Path, running: Commands, scene: Scene) -> None:
        self.folder = folder
        self.scene = scene
        self._running = running
        put(folder, {**INPUTS, "in/both.rec": TWO})
        self.first = self.play()
        assert (self.first.status, self.first.stderr) == (0, ""), self.first
        made = self.content()
        self.made = {name: made[name] for name in scene.after}
        for name, expected in scene.after.items():
            assert self.made[name] == expected or expected is None
        assert set(made) - set(self.before) - set(self.made) == {
            f"{folder}/" for folder in map(os.path.dirname, self.made) if folder != "t"
        } | ({"t/out/"} & set(made))

    @property
    def before(self) -> dict:
        return {**PRECIOUS, **self.scene.before, "t/": None}

    def set(self) -> None:
        """Put into the folder what stands there before."""
        shutil.rmtree(self.folder / "t", ignore_errors=True)
        put(self.folder, {**PRECIOUS, **self.scene.before})

    def play(self, number: int = 0, action: str = "", names: str = "") -> Done:
        """Set the scene, and run the command; see `Plan`."""
        self.set()
        return self.again(number, action, names)

    def again(self, number: int = 0, action: str = "", names: str = "") -> Done:
        """Run the command as things are."""
        plan = Plan(self.folder / "t", number, action, names)
        return self._running.run(self.scene.argv, self.folder, plan)

    def content(self) -> dict:
        found = content(self.folder)
        return {name: found[name] for name in found if not name.startswith("in/")}

    def calls(self) -> list[Call]:
        """The calls of a run without a fault."""
        return self.first.calls


def new(stage: Stage, found: dict) -> set[str]:
    """The files that are as a run makes them."""
    return {name for name, data in stage.made.items() if found.get(name) == data}


def ours(stage: Stage, found: dict) -> set[str]:
    """What is there that was not there before, and that a run does not leave."""
    left = set(found) - set(stage.before) - set(stage.made)
    full = {name for name in left if name.endswith("/") and _has_files(name, found)}
    return left - full


def _has_files(folder: str, found: dict) -> bool:
    return any(name.startswith(folder) and not name.endswith("/") for name in found)


def require_old_or_new(stage: Stage, found: dict) -> None:
    """Each file is as before, or as a run makes it; what else there was is untouched."""
    for name, data in stage.before.items():
        assert name in found, f"{name} is lost"
        assert found[name] == data or name in new(stage, found), f"{name} is neither old nor new"
    for name in set(stage.made) & set(found) - set(stage.before):
        assert name in new(stage, found), f"{name} is there, and not whole"


def require_together(stage: Stage, found: dict) -> None:
    """Of files that belong together, all are new or none is."""
    if stage.scene.together:
        assert len(new(stage, found)) in (0, len(stage.made)), f"only {new(stage, found)} new"


def require_words(stage: Stage, done: Done) -> None:
    """One line, which names a file that was to be, and no temporary one."""
    assert "Traceback" not in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert ".rec2idx-" not in done.stderr, done.stderr


def harmed(stage: Stage, number: int, action: str) -> tuple[Done, dict]:
    """Play the scene with harm at a call, which must be reached; and what stands then."""
    done = stage.play(number, action)
    assert done.harmed, done
    return done, stage.content()


def at_each(calls: Iterable[Call], check: Callable[[Call], None]) -> None:
    """Check something at each of some calls; all that fails is told at the end."""
    wrong = []
    for call in calls:
        try:
            check(call)
        except AssertionError as error:
            what = (str(error).splitlines() or [repr(error)])[0]
            wrong.append(f"call {call.number}, {call.name} {call.about}: {what}")
    assert not wrong, "\n" + "\n".join(wrong)
