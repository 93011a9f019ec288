"""Memory of pack_images(): it does not grow with how many pictures there are, nor how large."""

import subprocess
import sys
from pathlib import Path

MB = 1 << 20

# Packs a list into pipes, and prints how many records, and the most bytes that the process held.
METER = """if True:
    import resource, sys
    from rec2idx import pack_images
    summary = pack_images("all.lst", "out.rec", jobs=4)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(summary.records, peak * (1 if sys.platform == "darwin" else 1024))
"""


def peak_of(folder: Path, pictures: list[str]) -> int:
    """Pack pictures in a process of its own; return the most bytes held."""
    lines = [f"{number}\t0\t{name}\n" for number, name in enumerate(pictures)]
    (folder / "all.lst").write_text("".join(lines))
    # A process begins with the peak of the one that starts it, which here is a small shell.
    script = 'mkfifo out.rec; cat out.rec > /dev/null & "$@"; status=$?; rm out.rec; exit $status'
    command = ["sh", "-c", script, "sh", sys.executable, "-c", METER]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True, timeout=300)
    records, peak = map(int, done.stdout.split())
    assert records == len(pictures)
    return peak


def test_many_and_large_pictures(tmp_path):
    """Of large ones, one is in memory, as a picture and as a record; of others, those read ahead.

    For each of four threads these are one that it reads, one that it hands on, and four that wait.
    """
    for name, size in (("small", 10), ("medium", 3 * MB), ("large", 40 * MB)):
        with (tmp_path / name).open("wb") as file:
            file.truncate(size)
    few = peak_of(tmp_path, ["small"] * 100)
    assert peak_of(tmp_path, ["small"] * 10_000) < few + 8 * MB
    assert peak_of(tmp_path, ["large"] * 8) < few + 2 * 40 * MB + 8 * MB
    assert peak_of(tmp_path, ["medium"] * 150) < few + 4 * 7 * 3 * MB + 16 * MB
