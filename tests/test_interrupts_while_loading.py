"""Signals at any moment from a command's first line to its last: status 130, and no traceback."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND
from samples import SIX, SIX_INDEX

import rec2idx

# Python runs this before the command. It has the process send itself a signal once the package
# has begun to load and so many modules were asked for since: while it is looked for, or where
# exceptions are lost; or at the very end.
HOOK = """\
import _signal, atexit, os, sys
number, at, where = (os.environ[name] for name in ("NUMBER", "AT", "WHERE"))
count = 0
def send():
    _signal.raise_signal(int(number))
class Deleted:
    def __del__(self):
        send()
def hook(event, args):
    global count
    if event == "import" and "rec2idx" in sys.modules:
        count += 1
        if count == int(at):
            Deleted() if where == "deleted" else send()
if where == "exit":
    atexit.register(send)
else:
    sys.addaudithook(hook)
"""

PYTHON = [sys.executable]
COMMANDS = {
    "rec2idx": [COMMAND, "-q", "six.rec"],
    "module": [*PYTHON, "-m", "rec2idx", "-q", "six.rec"],
    "dali": [*PYTHON, "-c", "from rec2idx import main; main()", "-q", "six.rec"],
    "recordio": [COMMAND.with_name("recordio"), "index", "-q", "six.rec"],
    "pack": [COMMAND.with_name("recordio"), "pack", "-q", "pictures", "new.rec"],
}
WHOLE = r"written, and whole: [a-z.]+(, [a-z.]+)*; "  # where it comes after the work is done
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def hooked(folder: Path) -> Path:
    (folder / "hook").mkdir()
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    (folder / "six.rec").write_bytes(SIX)
    (folder / "pictures" / "cat").mkdir(parents=True)
    (folder / "pictures" / "cat" / "a.jpg").write_bytes(b"\xff\xd8")
    return folder


def run(
    folder: Path, name: str, number: int, at: int = 0, where: str = "sent"
) -> "subprocess.CompletedProcess[str]":
    for new in folder.glob("new.*"):  # of a run that was whole when the signal came
        new.unlink()
    environment = {"NUMBER": str(int(number)), "AT": str(at), "WHERE": where}
    return subprocess.run(
        COMMANDS[name], cwd=folder, capture_output=True, text=True, timeout=60,
        env={**os.environ, **environment, "PYTHONPATH": str(folder / "hook")},
    )  # fmt: skip


def program_of(name: str) -> str:
    return "recordio" if name in ("recordio", "pack") else "rec2idx"


@pytest.mark.parametrize(
    ("name", "step", "where"),
    [
        ("rec2idx", 1, "sent"),
        ("rec2idx", 4, "deleted"),
        ("recordio", 5, "sent"),
        ("pack", 7, "sent"),
        ("pack", 7, "deleted"),
    ],
)
def test_at_each_module_that_is_loaded(hooked, name, step, where):
    """Those of others, too, and inside compiled ones, until all are loaded."""
    at = 1
    while True:
        number = SIGNALS[at % 3]
        done = run(hooked, name, number, at, where)
        if done.returncode != 130:
            break
        assert done.stdout == ""
        said = rf"interrupted by {number.name}; ({WHOLE})?no unfinished file was left"
        assert re.fullmatch(f"{program_of(name)}: {said}\n", done.stderr), at
        at += step
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert at > 40  # modules


@pytest.mark.parametrize("name", ["module", "dali"])
@pytest.mark.parametrize("number", SIGNALS)
def test_other_ways_to_start_it(hooked, name, number):
    for at in (1, 2, 3, 9, 30):
        done = run(hooked, name, number, at)
        if name == "module" and done.returncode in (1, -number):
            # Between the package and its module __main__, it is runpy that runs.
            assert at == 1
            continue
        assert done.returncode == 130
        said = f"interrupted by {number.name}; no unfinished file was left"
        assert done.stderr == f"rec2idx: {said}\n"


@pytest.mark.parametrize("name", ["rec2idx", "module", "recordio"])
@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_after_the_work_changes_nothing(hooked, name, number):
    done = run(hooked, name, number, where="exit")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


LIBRARY = """\
import signal, sys
def handlers():
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM
    return [*map(signal.getsignal, numbers), signal.pthread_sigmask(0, ()), sys.unraisablehook]
before = handlers()
import rec2idx
from rec2idx import main
from rec2idx.cli import recordio
rec2idx.create_index("six.rec", "a.idx")
assert handlers() == before
sys.argv[1:] = ["-q", "six.rec"]
assert main() == 0
assert handlers() == before
def report(args):
    signal.raise_signal(signal.SIGTERM)
import rec2idx.cli.command
rec2idx.cli.command._index = report
try:
    main()
except SystemExit as stop:
    assert stop.code == 130
assert handlers() == before
"""


def test_a_library_handles_no_signals(hooked):
    """Nor does what imports the command; and after `main`, all is as it was."""
    done = subprocess.run([*PYTHON, "-c", LIBRARY], cwd=hooked, capture_output=True, text=True)
    said = "rec2idx: interrupted by SIGTERM; no unfinished file was left\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", said)
    assert (hooked / "six.idx").read_bytes() == SIX_INDEX


def test_the_package_loads_nothing_by_itself(hooked):
    """What is loaded before the first line of `main` is what may meet a signal there."""
    code = (
        "import sys; before = set(sys.modules); from rec2idx import main, _recordio;"
        "print(sorted(set(sys.modules) - before))"
    )
    packages = str(Path(rec2idx.__file__).parent.parent)  # -S: nothing of what else is there
    done = subprocess.run(
        [*PYTHON, "-S", "-c", code], capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": packages},
    )  # fmt: skip
    assert done.stdout == "['rec2idx']\n"


def test_functions_are_not_hidden_by_modules_of_their_name():
    code = (
        "import rec2idx.scan, rec2idx.index; import rec2idx;"
        "from rec2idx.scan import scan; assert rec2idx.scan is scan;"
        "assert {'scan', 'create_index', 'main'} <= set(dir(rec2idx))"
    )
    subprocess.run([*PYTHON, "-c", code], check=True)
