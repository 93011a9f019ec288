"""Who runs: the commands that are measured beside each other, and how one of them is run."""

from __future__ import annotations

import filecmp
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
VENV_PYTHON = ROOT / ".venv/bin/python"
OURS = ROOT / ".venv/bin/rec2idx"
RECORDIO = ROOT / ".venv/bin/recordio"
MXNET_PYTHON = ROOT / ".envs/mxnet/bin/python"
DALI_TOOL = ROOT / ".envs/dali_rec2idx.py"
REMOTE_PYTHON = ROOT / ".envs/remote/bin/python"
OURS_REMOTE = ROOT / ".envs/remote/bin/rec2idx"  # with what it needs for URLs

Command = list[str | os.PathLike[str]]

# What each is called in tables, and its command; RECORD and INDEX are put at the end. Ours prints
# the same lines of progress as the original, so that it does the same work.
CONTENDERS: dict[str, Command] = {
    "original": [MXNET_PYTHON, DALI_TOOL],
    "plain": [VENV_PYTHON, Path(__file__).parent / "plain.py"],
    "one": [OURS, "--progress", "lines", "--jobs", "1"],
    "ours": [OURS, "--progress", "lines"],
}


class IndexesDifferError(Exception):
    """Two contenders wrote different indexes of the same file."""


def require_same(record: Path, expected: Path, index: Path) -> None:
    """Raise `IndexesDifferError` unless two indexes of a file are the same."""
    if not filecmp.cmp(expected, index, shallow=False):
        raise IndexesDifferError(f"{record.name}: {index.name} differs from {expected.name}")


@dataclass(frozen=True)
class Run:
    """What one process took.

    Attributes:
        seconds: from before it was started until after it ended.
        peak: most bytes of memory that it held.
        read: bytes that were read from the disk for it.
        said: what it wrote to standard error.
    """

    seconds: float
    peak: int
    read: int
    said: str


def run(command: Command, environment: dict[str, str] | None = None) -> Run:
    """Run a command to its end, its standard output to nowhere.

    Args:
        command: program and arguments.
        environment: variables beside those of this process.

    Raises:
        RuntimeError: it failed.
    """
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
    if process.returncode:
        raise RuntimeError(f"{command} ended with status {process.returncode}:\n{said}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Run(seconds, usage.ru_maxrss * unit, usage.ru_inblock * 512, said)


def output(command: Command, environment: dict[str, str] | None = None) -> str:
    """Run a command in the folder of the repository; return its standard output.

    Raises:
        CalledProcessError: it failed.
    """
    done = subprocess.run(
        command,
        check=True,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    return done.stdout


def compile_floor(folder: Path) -> Path:
    """Compile the C loop into `folder`; return the program."""
    program = folder / "floor"
    source = Path(__file__).parent / "floor.c"
    subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    return program
