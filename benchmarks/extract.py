"""Images as files, beside `cp -r` of as many: ``python -m benchmarks.extract``."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from .contenders import RECORDIO, Command, run
from .data import SHAPES, make

FACE = SHAPES[1]
SCALE = 0.1  # of the face file: 60,000 images
ROUNDS = 5
LAYOUTS = ("flat", "imagefolder", "wds")


def extractions(record: Path, folder: Path, rounds: int) -> dict[str, list[float]]:
    """Extract a file in each layout in turn, and copy the files of one of them.

    Returns:
        The seconds that each took.

    Raises:
        RuntimeError: one failed.
    """
    source, target = folder / "source", folder / "target"
    run([RECORDIO, "extract", "-q", record, source, "--to", "flat"])
    commands: dict[str, Command] = {"cp -r": ["cp", "-r", source, target]}
    for layout in LAYOUTS:
        commands[layout] = [RECORDIO, "extract", "-q", record, target, "--to", layout]
    figures: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            figures[name].append(run(command).seconds)
            shutil.rmtree(target)
    return figures


def main() -> None:
    """Print the least time of each, and how much it writes in a second."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=SCALE)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", help="where the files go (default: where others do)")
    args = parser.parse_args()
    record = make(FACE, args.scale)
    size = record.stat().st_size
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        figures = extractions(record, Path(folder), args.rounds)
    copy = min(figures["cp -r"])
    for name, seconds in figures.items():
        least = min(seconds)
        print(
            f"{name:12} {least:6.2f} s {size / least / 1e6:7.0f} MB/s {least / copy:5.2f} x cp -r"
        )


if __name__ == "__main__":
    main()
