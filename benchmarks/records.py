"""Records read and written with MXNet's ``recordio`` and with ours, in turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .contenders import CONTENDERS, MXNET_PYTHON, VENV_PYTHON, Command, output, require_same, run
from .data import SHAPES

SCRIPT = Path(__file__).parent / "in_module.py"
MODULES = {"mxnet": MXNET_PYTHON, "ours": VENV_PYTHON}
TASKS = (
    ("opening", "tiny"),
    ("random_reads", "face"),
    ("reading", "face"),
    ("writing", "face"),
    ("writing", "tiny"),
)

Figures = dict[str, Any]


class RecordsDifferError(Exception):
    """The two modules read different records from the same file."""


def records(scale: float, folder: Path, rounds: int) -> Figures:
    """Do each task with both modules in turn; compare what they read and wrote.

    Raises:
        RecordsDifferError: they read different records.
        IndexesDifferError: they wrote different files.
    """
    figures: Figures = {}
    paths = {shape.name: shape.path(scale) for shape in SHAPES}
    for task, name in TASKS:
        record, index = paths[name], folder / f"{name}.idx"
        if not index.exists():
            run([*CONTENDERS["ours"], record, index])
        runs: dict[str, list[Figures]] = {module: [] for module in MODULES}
        for number in range(rounds + 1):
            found = {module: _do(module, task, record, index) for module in MODULES}
            _require_same(record, folder, task, found)
            if number > 0:  # the first round warms the page cache
                for module, done in found.items():
                    runs[module].append(done)
        if task == "random_reads":
            runs["bare"] = [_do("ours", "bare_reads", record, index) for _ in range(rounds)]
        figures[f"{task} {name}"] = runs
    return figures


def _do(module: str, task: str, record: Path, index: Path) -> Figures:
    command: Command = [MODULES[module], "-W", "ignore", SCRIPT, module, task, record, index]
    found: Figures = json.loads(output(command))
    return found


def _require_same(record: Path, folder: Path, task: str, found: Figures) -> None:
    """Raise if the two did not do the same."""
    read = [(done.get("records"), done.get("checksum")) for done in found.values()]
    if read[0] != read[1]:
        raise RecordsDifferError(f"{record.name}: {task}: MXNet {read[0]}, ours {read[1]}")
    if task == "writing":
        for kind in ("rec", "idx"):
            paths = [folder / f"{module}.{kind}" for module in MODULES]
            require_same(record, *paths)
            for path in paths:
                path.unlink()
