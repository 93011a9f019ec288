"""Run targets, each in a process of its own, for some time: python -m fuzz --help."""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .seeds import dictionary, inputs
from .targets import NAMES

# What was found; and from one run to the next, the inputs that reached something new.
KEPT = Path(".fuzz")
# An input of a few KB that takes so many seconds, or so many MB at once, is a finding.
LIMITS = ["-timeout=10", "-malloc_limit_mb=64", "-rss_limit_mb=2048", "-max_len=4096"]


def main() -> int:
    args = arguments()
    if args.again:
        name = Path(args.again).name.split("-")[0]
        return start(name, [args.again]).wait()
    names = args.targets or NAMES
    seed = random.randrange(1, 1 << 31) if args.seed is None else args.seed
    jobs = min(args.jobs, len(names))
    seconds = max(args.seconds * jobs // len(names), 1)
    print(f"{len(names)} targets, {seconds} seconds each, {jobs} at once, seed {seed}")
    KEPT.mkdir(exist_ok=True)
    with ThreadPoolExecutor(jobs) as pool, tempfile.TemporaryDirectory() as folder:
        runs = [
            pool.submit(run, name, seconds, seed, Path(folder), args.seed is None) for name in names
        ]
        failed = sum(not future.result() for future in runs)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=f"of {', '.join(NAMES)}; all unless given")
    parser.add_argument("--seconds", type=int, default=60, help="for all targets (%(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets at once")
    parser.add_argument(
        "--seed",
        type=int,
        help="begin the same way each time, without the inputs that were kept from runs before",
    )
    parser.add_argument("--again", metavar="FILE", help="run an input that was found once more")
    return parser.parse_args()


def run(name: str, seconds: int, seed: int, folder: Path, keeps: bool) -> bool:
    """Run a target; print how it went, and return whether it found nothing."""
    corpus = (KEPT if keeps else folder) / name
    seeds = folder / f"{name}-seeds"
    words = folder / f"{name}-words"
    for made in (corpus, seeds):
        made.mkdir(exist_ok=True)
    for number, content in enumerate(inputs(seed)):
        (seeds / str(number)).write_bytes(content)
    words.write_text(dictionary())
    options = [f"-max_total_time={seconds}", f"-seed={seed}", f"-dict={words}", *LIMITS]
    options += ["-print_final_stats=1", f"-artifact_prefix={KEPT}/{name}-"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    process = start(name, [*options, str(corpus), str(seeds)], **pipes)
    log = process.communicate()[0]
    went = f"FAILED\n{trouble(log)}" if process.returncode else summary(log)
    print(f"{name}: {went}", flush=True)
    return not process.returncode


def summary(log: str) -> str:
    """How many inputs there were, how fast, and how many edges they took."""
    count, speed, edges = (
        (re.findall(rf"{what}:\s*(\d+)", log) or ["?"])[-1]
        for what in ("stat::number_of_executed_units", "stat::average_exec_per_sec", "cov")
    )
    return f"{count} inputs, {speed} a second, {edges} edges"


def trouble(log: str) -> str:
    """What was found, and how to see it once more."""
    began = re.search(r"^.*(Uncaught|runtime error|ERROR: )", log, re.MULTILINE)
    lines = log[began.start() if began else 0 :].splitlines()
    shown = lines[:16] + [line for line in lines if line.startswith("Base64: ")]
    if found := re.search(r"Test unit written to (\S+)", log):
        shown.append(f"To run it once more: make fuzz AGAIN={found[1]}")
    return "\n".join(shown)


def start(name: str, options: list[str], **how: int) -> subprocess.Popen[str]:
    """Start the process of a target, under the sanitizers that atheris brings."""
    import atheris

    environment = {
        **os.environ,
        "LD_PRELOAD": str(Path(atheris.path(), "asan_with_fuzzer.so")),
        "ASAN_OPTIONS": "detect_leaks=0",  # Python leaves much behind at its end
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # so that each object has memory of its own
    }
    command = [sys.executable, "-m", "fuzz.one", name, *options]
    return subprocess.Popen(command, env=environment, text=True, errors="replace", **how)


if __name__ == "__main__":
    sys.exit(main())
