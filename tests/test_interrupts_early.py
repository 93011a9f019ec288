"""Ctrl-C while the modules of the package are loaded: no traceback."""

import importlib.util
import signal
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from faults import Call, Plan, run_alone
from faults.each_call import pytestmark, shim  # noqa: F401 # a fixture

PACKAGE = Path(importlib.util.find_spec("rec2idx").origin).resolve().parent
SOME = 8  # of the modules that are loaded: each takes a whole run


def files_that_come_first(program: str) -> set[str]:
    """Those of the module that the command begins in, and of the packages it is in.

    While these are loaded, none of the package's code can have run.
    """
    names = entry_points(group="console_scripts")[program].module.split(".")
    return {str(PACKAGE.joinpath(*names[1:at], "__init__")) for at in range(1, len(names) + 1)} | {
        str(PACKAGE.joinpath(*names[1:]))
    }


def module_of(call: Call) -> str:
    """The path of the source file that was loaded, without its suffix."""
    path = Path(call.about)
    folder = path.parent.parent if path.parent.name == "__pycache__" else path.parent
    return str(folder / path.name.split(".")[0])


@pytest.mark.parametrize(
    "argv",
    [["rec2idx", "-q", "in/a.rec", "t/x.idx"], ["recordio", "salvage", "-q", "a.rec", "b.rec"]],
    ids=["rec2idx", "recordio"],
)
def test_ctrl_c_while_modules_load(shim: Path, tmp_path: Path, argv: list[str]):  # noqa: F811
    run_alone(argv, tmp_path, shim, Plan(PACKAGE), tmp_path)  # compiles what is not compiled yet
    first = run_alone(argv, tmp_path, shim, Plan(PACKAGE, names="open"), tmp_path)
    early = files_that_come_first(argv[0])
    calls = [call for call in first.calls if module_of(call) not in early]
    assert len(calls) > 1
    for call in calls[:: max(len(calls) // SOME, 1)]:
        plan = Plan(PACKAGE, call.number, f"signal before {signal.SIGINT:d}", "open")
        done = run_alone(argv, tmp_path, shim, plan, tmp_path)
        assert done.harmed
        where = f"at {call.about}: {done.stderr}"
        assert "Traceback" not in done.stderr, where
        assert "Error" not in done.stderr, where
        assert len(done.stderr.splitlines()) <= 1, where
        assert done.status in (130, -signal.SIGINT), where
