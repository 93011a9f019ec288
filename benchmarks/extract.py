"""Images as files, beside `cp -r` of as many."""

from __future__ import annotations

import shutil
from pathlib import Path

from .contenders import RECORDIO, Command, run
from .data import SHAPES, make

FACE = SHAPES[1]
PART = 0.1  # of the face file: a tenth of the images
LAYOUTS = ("flat", "imagefolder", "wds")


def extractions(scale: float, folder: Path, rounds: int) -> dict[str, object]:
    """Extract a file in each layout in turn, and copy the files of one of them.

    Returns:
        Bytes and images of the file, and the seconds that each took.
    """
    record = make(FACE, PART * scale)
    source, target = folder / "source", folder / "target"
    run([RECORDIO, "extract", "-q", record, source, "--to", "flat"])
    commands: dict[str, Command] = {"cp -r": ["cp", "-r", source, target]}
    for layout in LAYOUTS:
        commands[layout] = [RECORDIO, "extract", "-q", record, target, "--to", layout]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            seconds[name].append(run(command).seconds)
            shutil.rmtree(target)
    images = sum(1 for _ in source.iterdir()) - 1  # and the list
    shutil.rmtree(source)
    return {"bytes": record.stat().st_size, "images": images, "seconds": seconds}
