"""Memory of extract(): a large image is held as often in each layout."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from reference import MAGIC
from samples import image

MB = 1 << 20
SIZE = 150 * MB

# Extracts a file, as the arguments say; prints the most bytes that the process held.
METER = """if True:
    import resource, sys
    from rec2idx import extract
    done = extract("in.rec", "out", to=sys.argv[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(done.extracted, done.already_there, peak * (1 if sys.platform == "darwin" else 1024))
"""


def figures(folder: Path, to: str) -> list[int]:
    """Extract in.rec in a process of its own; return images, those there, most bytes held."""
    # A process begins with the peak of the one that starts it, which here is a small shell.
    command = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, "-c", METER, to]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True, timeout=300)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("to", ["imagefolder", "wds"])
def test_a_large_image(tmp_path, to):
    """It is there once; and so it is where it is compared with a file that stands there."""
    with (tmp_path / "in.rec").open("wb") as file:
        file.write(struct.pack("<4sI", MAGIC, 24 + SIZE) + image(0, 1, b"GIF89a"))
        file.truncate(8 + 24 + SIZE)
    extracted, there, peak = figures(tmp_path, to)
    assert (extracted, there) == (1, 0)
    assert peak < SIZE + 100 * MB
    extracted, there, peak = figures(tmp_path, to)
    assert (extracted, there) == (0, 1)
    assert peak < SIZE + 100 * MB
    for path in (tmp_path / "out").rglob("*.*"):
        path.unlink()
