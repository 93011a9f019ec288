"""Memory stays flat, however many records there are: that of the installed command, at its peak."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest
from conftest import COMMAND
from reference import part
from samples import SIX

MB = 1 << 20
LARGE, SMALL = 100_000_000, 2_000_000

# A process begins with the peak of the one that starts it, so this small one stands between the
# tests and the command. It keeps nothing of the index but the end.
METER = """if True:
    import json, resource, subprocess, sys
    lines = size = 0
    end = b""
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as command:
        while piece := command.stdout.read(1 << 20):
            lines += piece.count(b"\\n")
            size += len(piece)
            end = (end + piece)[-40:]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    peak *= 1 if sys.platform == "darwin" else 1024
    print(json.dumps([command.returncode, lines, size, end.decode().split("\\n")[-2], peak]))
"""


def peak_of(*arguments: object, records: int, step: int, stdin: IO[bytes] | None = None) -> int:
    """Have the command write an index to its standard output; return the most bytes it held.

    Args:
        arguments: of the command.
        records: what the index must be of.
        step: bytes of each of them.
        stdin: of the command.
    """
    words = [sys.executable, "-c", METER, COMMAND, "-q", *arguments, "-"]
    done = subprocess.run(
        [str(word) for word in words], stdin=stdin, stdout=subprocess.PIPE, check=True, timeout=300
    )
    status, lines, size, last, peak = json.loads(done.stdout)
    assert (status, lines, last) == (0, records, f"{records - 1}\t{step * (records - 1)}")
    assert size == digits(records, 1) + digits(records, step) + 2 * records
    return int(peak)


def digits(count: int, step: int) -> int:
    """The number of digits of the first so many multiples of `step`."""
    return count + sum(max(0, count - -(-(10**power) // step)) for power in range(1, 12))


@pytest.fixture
def empty_records(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Makes a file of so many empty records, of 8 bytes each; it is deleted at the end."""
    path = tmp_path / "empty.rec"

    def make(count: int) -> Path:
        million = part(0, b"") * 1_000_000
        with path.open("wb") as file:
            for _ in range(count // 1_000_000):
                file.write(million)
        assert path.stat().st_size == 8 * count
        return path

    yield make
    path.unlink()


def test_a_hundred_million_records(empty_records):
    """Two bytes kept of each would be more than this. As many jobs as the machine takes."""
    path = empty_records(LARGE)
    assert peak_of(path, records=LARGE, step=8) < 128 * MB


@pytest.mark.parametrize("arguments", [["--jobs", "1"], ["--jobs", "4"], None])
def test_two_million_records(empty_records, tmp_path, arguments):
    """By one job, by several, as a stream: five segments of 1 MB at most, of 32 MB in all."""
    path = empty_records(SMALL)
    six = tmp_path / "six.rec"
    six.write_bytes(SIX)
    before = peak_of(six, records=6, step=44)
    if arguments is None:
        with path.open("rb") as file:
            peak = peak_of("-", records=SMALL, step=8, stdin=file)
    else:
        peak = peak_of(*arguments, path, records=SMALL, step=8)
    assert peak < before + 20 * MB


def test_the_keys_of_an_old_index_of_two_million(empty_records, tmp_path):
    """They take 16 bytes each; as objects of Python they would take ten times as many."""
    path, old = empty_records(SMALL), tmp_path / "old.idx"
    before = peak_of(path, records=SMALL, step=8)
    old.write_bytes(b"".join(b"%d\t%d\n" % (number, 8 * number) for number in range(SMALL)))
    assert peak_of("--keys", f"keep={old}", path, records=SMALL, step=8) < before + 56 * MB
