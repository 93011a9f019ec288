"""Measures speed and memory beside DALI's tool under MXNet: ``python -m benchmarks.bench``."""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .cold import cold, possible
from .contenders import (
    CONTENDERS,
    MXNET_PYTHON,
    OURS,
    RECORDIO,
    REMOTE_PYTHON,
    ROOT,
    VENV_PYTHON,
    Command,
    IndexesDifferError,
    compile_floor,
    output,
    require_same,
    run,
)
from .copies import copies
from .data import SHAPES, TEN, Shape
from .extract import extractions
from .machine import machine, versions
from .records import RecordsDifferError, records
from .report import text_of

RESULTS = Path(__file__).parent / "results"
START_UPS = 20  # runs of a process that does next to nothing
REPEATS = 5  # walks through a file in one process
SCANS = 11  # with one thread and with two, in one process
COLD_ROUNDS = 3

Figures = dict[str, Any]


def whole_processes(record: Path, folder: Path, rounds: int) -> Figures:
    """Let the contenders index a file in turn, `rounds` times; compare what they wrote."""
    figures: Figures = {name: {"seconds": [], "peak": []} for name in CONTENDERS}
    for number in range(rounds + 1):
        for name, command in CONTENDERS.items():
            done = run([*command, record, folder / f"{name}.idx"])
            if number > 0:  # the first round warms the page cache
                figures[name]["seconds"].append(done.seconds)
                figures[name]["peak"].append(done.peak)
            require_same(record, folder / "original.idx", folder / f"{name}.idx")
    return figures


def looks(record: Path, folder: Path, rounds: int) -> Figures:
    """Index a file, say what is in it, and check it and its index, in turn."""
    index = folder / "ours.idx"
    commands: dict[str, Command] = {
        "ours": [*CONTENDERS["ours"], record, index],
        "info": [RECORDIO, "info", record],
        "check": [RECORDIO, "check", record, index],
    }
    figures: Figures = {name: {"seconds": [], "peak": []} for name in commands}
    for number in range(rounds + 1):
        for name, command in commands.items():
            done = run(command)
            if number > 0:
                figures[name]["seconds"].append(done.seconds)
                figures[name]["peak"].append(done.peak)
    return figures


def indexes(record: Path, folder: Path) -> Figures:
    """Load an index with MXNet, and read and check it, each several times in a process."""
    index = folder / "ours.idx"
    run([*CONTENDERS["ours"], record, index])
    mxnet: Command = [MXNET_PYTHON, Path(__file__).parent / "index_mxnet.py", record, index]
    ours: Command = [VENV_PYTHON, "-m", "benchmarks.index_ours", index]
    return {
        "mxnet": json.loads(output([*mxnet, str(REPEATS)])),
        "ours": json.loads(output([*ours, str(REPEATS)])),
    }


def kernels(record: Path, floor: Path, rounds: int) -> Figures:
    """Let the kernel and the C loop, both its ways, walk through a file in turn."""
    figures: Figures = {"blocks": [], "headers": [], "walk": [], "lines": []}
    for _ in range(rounds):
        for way in ("blocks", "headers"):
            words = output([floor, record, way, str(REPEATS)]).split()
            figures[way].append([float(word) for word in words[1:]])
        found = json.loads(output([VENV_PYTHON, "-m", "benchmarks.kernel", record, str(REPEATS)]))
        figures["walk"].append(found["walk"])
        figures["lines"].append(found["lines"])
    figures["records"] = int(words[0])
    return figures


def threads(record: Path) -> Figures:
    """Scan a file with one thread and with two in turn."""
    command: Command = [VENV_PYTHON, "-m", "benchmarks.threads", record, str(SCANS)]
    found: Figures = json.loads(output(command))
    return found


def salvage(shape: Shape, scale: float) -> Figures:
    """Scan a file and its damaged copy in turn."""
    files = shape.path(scale), shape.damaged_path(scale)
    found: Figures = json.loads(
        output([VENV_PYTHON, "-m", "benchmarks.salvage", *files, str(SCANS)])
    )
    return found


def storage(scale: float) -> Figures:
    """Index files behind servers, where what that needs is installed."""
    command: Command = [REMOTE_PYTHON, "-m", "benchmarks.storage", "--scale", str(scale)]
    found: Figures = json.loads(output(command, {"PYTHONPATH": str(ROOT / "tests")}))
    return found


def start_up(folder: Path) -> Figures:
    """Time processes that do next to nothing, in turn."""
    commands: dict[str, Command] = {
        "python -c pass": [VENV_PYTHON, "-c", "pass"],
        "rec2idx --version": [OURS, "--version"],
        "rec2idx, ten records": [OURS, TEN.path(1), folder / "ten.idx"],
        "DALI's tool, ten records": [
            *CONTENDERS["original"],
            TEN.path(1),
            folder / "original.idx",
        ],
    }
    figures: Figures = {name: [] for name in commands}
    for number in range(START_UPS + 1):
        for name, command in commands.items():
            seconds = run(command).seconds
            if number > 0:
                figures[name].append(seconds)
    return figures


def measure(scale: float, rounds: int, with_cold: bool) -> Figures:
    """Make the files and measure everything; with an empty page cache if that is asked for."""
    # In a process of its own: a process that is started counts the memory of the one that starts
    # it, for the moment until it runs another program, as its own.
    command = [sys.executable, "-m", "benchmarks.data", "--scale", str(scale)]
    subprocess.run(command, check=True, cwd=ROOT)
    figures: Figures = {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "scale": scale,
        "rounds": rounds,
        "machine": machine(),
        "versions": versions(),
        "files": {},
    }
    # Indexes go to the disk that the records are on, not to a file system in memory.
    with tempfile.TemporaryDirectory(dir=TEN.path(1).parent) as name:
        folder = Path(name)
        floor = compile_floor(folder)
        for shape in SHAPES:
            record = shape.path(scale)
            print(f"{record.name} ...", file=sys.stderr, flush=True)
            figures["files"][shape.name] = {
                "bytes": record.stat().st_size,
                "processes": whole_processes(record, folder, rounds),
                "kernel": kernels(record, floor, rounds),
                "threads": threads(record),
                "salvage": salvage(shape, scale),
                "copies": copies(record, folder, rounds),
                "looks": looks(record, folder, rounds),
            }
        figures["index"] = indexes(SHAPES[0].path(scale), folder)
        figures["records"] = records(scale, folder, rounds)
        figures["extract"] = extractions(scale, folder, rounds)
        figures["start-up"] = start_up(folder)
        print("files behind servers ...", file=sys.stderr, flush=True)
        figures.update(storage(scale))
        if with_cold:  # last, since it leaves nothing in memory
            print("cold page cache ...", file=sys.stderr, flush=True)
            figures["cold"] = {
                shape.name: cold(shape.path(scale), floor, folder, COLD_ROUNDS) for shape in SHAPES
            }
    return figures


def main() -> int:
    """Measure, print, and keep what was found."""
    parser = argparse.ArgumentParser(description="Measure speed beside DALI's tool under MXNet.")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of records")
    parser.add_argument("--rounds", type=int, default=5, help="of all contenders, after a warm-up")
    parser.add_argument("--cold", action="store_true", help="empty page cache too; as root")
    args = parser.parse_args()
    if args.cold and not possible():
        parser.error("--cold empties the page cache, which only root may do, on Linux")
    try:
        figures = measure(args.scale, args.rounds, args.cold)
    except (IndexesDifferError, RecordsDifferError, subprocess.CalledProcessError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    text = text_of(figures)
    print(text, end="")
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / f"{figures['date']}-{args.scale:g}"
    Path(f"{kept}.json").write_text(_json(figures))
    Path(f"{kept}.txt").write_text(text)
    return 0


def _json(figures: Figures) -> str:
    """Return figures as JSON, rounded to what they are worth."""

    def rounded(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.5g}")
        if isinstance(value, dict):
            return {key: rounded(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [rounded(inner) for inner in value]
        return value

    return json.dumps(rounded(figures), indent=1) + "\n"


if __name__ == "__main__":
    sys.exit(main())
