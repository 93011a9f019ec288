"""Files behind a server on this machine: ``python -m benchmarks.storage --scale SCALE``.

To be run with the Python that has what the extra `remote` brings, and moto. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .contenders import OURS_REMOTE, ROOT, Command, IndexesDifferError, require_same, run
from .data import FOLDER, S3, SLOW, Shape
from .slow_server import COUNTS

# What each is called in tables, and its command; URL and INDEX are put at the end.
CONTENDERS: dict[str, Command] = {
    "plain": [sys.executable, Path(__file__).parent / "plain_http.py"],
    "one": [OURS_REMOTE, "--jobs", "1"],
    "ours": [OURS_REMOTE],
}
# One header a request takes a minute where there are few records, and where a header is all that
# fits into a request of ours too, our command with one thread does the same.
PLAIN = "large"
# Who asks for one thing at a time mostly waits, which takes the same time whenever it is done.
ROUNDS = {"plain": 1, "one": 1, "ours": 3}
# Requests and bytes are nearly the same each time, and seconds are those of moto.
S3_ROUNDS = {"one": 1, "ours": 1}

Figures = dict[str, Any]


def slow(scale: float, folder: Path) -> Figures:
    """Index files on a server that takes its time for each answer."""
    figures: Figures = {}
    with _slow_server() as url:

        def counts() -> Figures:
            with urllib.request.urlopen(url + COUNTS) as answer:
                found: Figures = json.load(answer)
            return found

        for name, shape in SLOW.items():
            record = shape.path(scale)
            rounds = {who: n for who, n in ROUNDS.items() if who != "plain" or name == PLAIN}
            runs = _runs(record, f"{url}/{record.name}", rounds, folder, counts)
            figures[name] = _facts(shape, scale, runs)
    return figures


def s3(scale: float, folder: Path) -> Figures:
    """Index objects on a real S3 server; what is of interest are requests and bytes."""
    from servers import s3_server  # of the tests, which must be on the path

    figures: Figures = {}
    with s3_server() as server:

        def counts() -> Figures:
            found = {"requests": len(server.traffic.requests), "sent": server.traffic.sent}
            server.traffic.clear()
            return found

        for name, shape in S3.items():
            record = shape.path(scale)
            url = server.put("bench", record.name, record.read_bytes())
            runs = _runs(record, url, S3_ROUNDS, folder, counts, server.environment)
            figures[name] = _facts(shape, scale, runs)
    return figures


def _facts(shape: Shape, scale: float, runs: Figures) -> Figures:
    size = shape.path(scale).stat().st_size
    return {"records": shape.scaled(scale), "bytes": size, "runs": runs}


def _runs(
    record: Path,
    url: str,
    rounds: dict[str, int],
    folder: Path,
    counts: Callable[[], Figures],
    environment: dict[str, str] | None = None,
) -> Figures:
    """Let contenders index a URL in turn; compare what they wrote with the index of the file."""
    expected = folder / "expected.idx"
    run([OURS_REMOTE, "--quiet", record, expected])
    figures: Figures = {name: [] for name in rounds}
    for number in range(max(rounds.values())):
        for name, most in rounds.items():
            if number >= most:
                continue
            index = folder / f"{name}.idx"
            counts()  # from here on
            done = run([*CONTENDERS[name], url, index], environment)
            found = {"seconds": done.seconds, "scan": _seconds(done.said), **counts()}
            figures[name].append(found)
            require_same(record, expected, index)
    return figures


def _seconds(said: str) -> float | None:
    """Return how long a run of ours took by its own account, without the start of the process."""
    match = re.search(r"([\d.e+-]+) s; index written", said)
    return float(match[1]) if match else None


@contextmanager
def _slow_server() -> Iterator[str]:
    """Run the server in a process of its own; give where it answers."""
    command: Command = [sys.executable, "-m", "benchmarks.slow_server", FOLDER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.terminate()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure files behind a server.")
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of records")
    scale = parser.parse_args().scale
    with tempfile.TemporaryDirectory(dir=FOLDER) as name:
        try:
            print(json.dumps({"slow": slow(scale, Path(name)), "s3": s3(scale, Path(name))}))
        except IndexesDifferError as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
