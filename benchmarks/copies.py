"""Copies of a record file to a disk: `recordio salvage`, with an index, beside `cp`."""

from __future__ import annotations

from pathlib import Path

from .contenders import RECORDIO, Command, require_same, run

CP = 'cp "$1" "$2" && sync "$2"'


def copies(record: Path, folder: Path, rounds: int) -> dict[str, list[float]]:
    """Copy a file into `folder` in turn; return the seconds that each copy took.

    Raises:
        IndexesDifferError: what salvage wrote is not the file, which has no damage.
    """
    copy, index = folder / "copy.rec", folder / "copy.idx"
    commands: dict[str, Command] = {
        "cp": ["sh", "-c", CP, "sh", record, copy],
        "salvage": [RECORDIO, "salvage", "-q", record, copy, "--index", index],
    }
    figures: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            figures[name].append(run(command).seconds)
            if number == 0:
                require_same(record, record, copy)
            copy.unlink()
    return figures
