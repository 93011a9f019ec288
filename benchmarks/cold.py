"""Files that are not in memory: each run begins with an empty page cache. Linux, and as root."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .contenders import CONTENDERS, Command, require_same, run

DROP = Path("/proc/sys/vm/drop_caches")
EVERYTHING = "3"  # pages, and what is known of folders and files
ORIGINAL_ROUNDS = 1  # it takes longer than all others together, and is not what is compared with

Figures = dict[str, Any]


def possible() -> bool:
    """Return whether this process may empty the page cache."""
    return os.access(DROP, os.W_OK)


def cold(record: Path, floor: Path, folder: Path, rounds: int) -> Figures:
    """Let all index a file in turn, each from an empty page cache; compare what they wrote."""
    commands = _commands(record, floor, folder)
    figures: Figures = {name: {"seconds": [], "read": []} for name in commands}
    for number in range(rounds):
        # To and fro, so that nobody always follows the same one.
        for name in list(commands)[:: -1 if number % 2 else 1]:
            if name == "original" and number >= ORIGINAL_ROUNDS:
                continue
            _empty_cache()
            done = run(commands[name])
            figures[name]["seconds"].append(done.seconds)
            figures[name]["read"].append(done.read)
    for name in ("one", "ours"):
        require_same(record, folder / "original.idx", folder / f"{name}.idx")
    return figures


def _commands(record: Path, floor: Path, folder: Path) -> dict[str, Command]:
    commands: dict[str, Command] = {
        "blocks": [floor, record, "blocks", "1"],
        "headers": [floor, record, "headers", "1"],
    }
    for name in ("original", "one", "ours"):
        commands[name] = [*CONTENDERS[name], record, folder / f"{name}.idx"]
    return commands


def _empty_cache() -> None:
    os.sync()  # pages that are still to be written would stay
    DROP.write_text(EVERYTHING)
