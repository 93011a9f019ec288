"""Run the installed commands many times, quickly, and do harm at one of their system calls.

A process has the package loaded, and forks for each run: so a run takes some milliseconds. With the
library that is made of `shim.c`, it can be told what to do at which call; see there.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

pytest.register_assert_rewrite("faults.each_call", "faults.races", "faults.scenes")

HERE = Path(__file__).parent
SECONDS = 60  # of one run


class Call(NamedTuple):
    """A call that was counted: its name, the path or paths it is about, and how it ended."""

    number: int
    name: str
    about: str
    end: str


class Done(NamedTuple):
    """What a run came to.

    Attributes:
        status: the exit status; below 0, the signal that ended it.
        stdout: what it printed.
        stderr: what it complained of.
        calls: the calls that were counted, in their order.
    """

    status: int
    stdout: str
    stderr: str
    calls: list[Call]

    @property
    def harmed(self) -> bool:
        """Whether the run came to the call at which harm was to be done."""
        return any(call.end.startswith(("errno", "kill", "signal", "run")) for call in self.calls)


class Plan(NamedTuple):
    """Which folder is watched, and what happens at which call; see `shim.c`."""

    folder: Path
    number: int = 0
    action: str = ""
    names: str = ""

    def text(self, trace: Path | str) -> str:
        fields = (self.folder.resolve(), trace, self.names, self.number, self.action)
        return "\n".join(map(str, fields))


def build(folder: Path) -> Path:
    """Compile the shim; returns where it is."""
    library = folder / "shim.so"
    compiler = os.environ.get("CC", "cc").split()
    command = [*compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "shim.c", "-ldl"]
    subprocess.run(command, check=True)
    return library


class Commands:
    """A process that runs the commands in forks of itself.

    Args:
        folder: for its files.
        shim: the library, or None to run without it.
    """

    def __init__(self, folder: Path, shim: Path | None = None) -> None:
        self._folder = folder
        self._shim = shim
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        environment.pop("FAULT_PLAN", None)
        if shim is not None:
            environment["LD_PRELOAD"] = str(shim)
        self._process = subprocess.Popen(
            [sys.executable, HERE / "forks.py", shim or ""],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def run(
        self, argv: Sequence[str | Path], cwd: Path, plan: Plan | None = None, files: int = 0
    ) -> Done:
        """Run a command to its end.

        Args:
            argv: its name and arguments.
            cwd: the folder it runs in.
            plan: what is watched, and what happens.
            files: bytes of a file at most; 0 for any number.
        """
        self.start(argv, cwd, plan, files)
        return self.wait()

    def start(
        self, argv: Sequence[str | Path], cwd: Path, plan: Plan | None = None, files: int = 0
    ) -> None:
        """Start a command; nothing else can be run before `wait`."""
        assert plan is None or self._shim is not None
        self._trace = self._folder / "trace"
        self._trace.unlink(missing_ok=True)
        request = {
            "argv": [os.fsdecode(word) for word in argv],
            "cwd": str(cwd),
            "stdout": str(self._folder / "stdout"),
            "stderr": str(self._folder / "stderr"),
            "plan": plan and plan.text(self._trace),
            "seconds": SECONDS,
            "files": files,
        }
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    def wait(self) -> Done:
        """Wait for the end of the command that was started."""
        status = os.waitstatus_to_exitcode(int(self._process.stdout.readline()))
        return Done(
            status,
            (self._folder / "stdout").read_text(),
            (self._folder / "stderr").read_text(),
            calls(self._trace),
        )

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=SECONDS)


def calls(trace: Path) -> list[Call]:
    """The calls in a trace. One that was harmed has a line for that, and one for its end."""
    if not trace.exists():
        return []
    lines = (line.split("\t") for line in trace.read_text().splitlines())
    return [Call(int(number), *rest) for number, *rest in lines]


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Give a folder until the block ends: in memory where there is one, as disks make runs wait."""
    memory = "/dev/shm"
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder).resolve()


@contextmanager
def commands(folder: Path, shim: Path | None = None) -> Iterator[Commands]:
    """Give a `Commands` until the block ends."""
    running = Commands(folder, shim)
    try:
        yield running
    finally:
        running.close()


def run_alone(argv: Sequence[str | Path], cwd: Path, shim: Path, plan: Plan, folder: Path) -> Done:
    """Run a command as a process of its own, under the shim."""
    trace = folder / "trace-alone"
    trace.unlink(missing_ok=True)
    program = Path(sys.executable).with_name(str(argv[0]))
    done = subprocess.run(
        [program, *argv[1:]],
        cwd=cwd,
        env={**os.environ, "LD_PRELOAD": str(shim), "FAULT_PLAN": plan.text(trace)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return Done(done.returncode, done.stdout, done.stderr, calls(trace))
