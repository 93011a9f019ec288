"""Real DALI 2.4 and real MXNet 1.9.1 make of an index what we say that they make of it."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from environments import DALI, MXNET, require
from reference import part
from samples import image

from rec2idx.lines import dali_entries, mxnet_entries, read_index

RECORDS = [part(0, image(number, number, b"JPEG")) for number in range(6)]
SIZE = len(b"".join(RECORDS))
STARTS = [len(b"".join(RECORDS[:number])) for number in range(6)]
GOOD = [b"%d\t%d\n" % (number, start) for number, start in enumerate(STARTS)]
WHOLE = b"".join(GOOD)
TOP = 1 << 64
THIRD = STARTS[3]


def with_line(line: bytes, at: int = 3) -> bytes:
    """The index with one line in place of another."""
    return b"".join([*GOOD[:at], line, *GOOD[at + 1 :]])


CASES = {
    "good": WHOLE,
    "no-final-newline": WHOLE[:-1],
    "spaces": WHOLE.replace(b"\t", b" "),
    "many-spaces": WHOLE.replace(b"\t", b"   "),
    "crlf": WHOLE.replace(b"\n", b"\r\n"),
    "cr": WHOLE.replace(b"\n", b"\r"),
    "other-spaces": WHOLE.replace(b"\t", b"\v").replace(b"\n", b"\f"),
    "one-line": WHOLE.replace(b"\n", b" "),
    "blank-lines": with_line(b"\n \n3\t%d\n" % THIRD),
    "blank-at-end": WHOLE + b"\n",
    "comment": b"# key offset\n" + WHOLE,
    "comment-inside": with_line(b"# comment\n"),
    "bom": b"\xef\xbb\xbf" + WHOLE,
    "utf-16": WHOLE.decode().encode("utf-16"),
    "text-keys": WHOLE.replace(b"\t", b".jpg\t").replace(b"\n", b"\nimage"),
    "text-key": with_line(b"cat\t%d\n" % THIRD),
    "float-keys": WHOLE.replace(b"\t", b".0\t"),
    "float-key": with_line(b"3.0\t%d\n" % THIRD),
    "float-offset": with_line(b"3\t%d.0\n" % THIRD),
    "negative-key": with_line(b"-3\t%d\n" % THIRD),
    "plus-signs": with_line(b"+3\t+%d\n" % THIRD),
    "joined-by-plus": with_line(b"3+%d\n" % THIRD),
    "lone-sign": with_line(b"- 3\t%d\n" % THIRD),
    "key-too-large": with_line(b"%d\t%d\n" % (TOP, THIRD)),
    "largest-key": with_line(b"%d\t%d\n" % (TOP - 1, THIRD)),
    "negative-offset": with_line(b"3\t-1\n"),
    "most-negative-offset": with_line(b"3\t-%d\n" % (TOP - THIRD)),
    "too-negative-offset": with_line(b"3\t-%d\n" % TOP),
    "offset-too-large": with_line(b"3\t%d\n" % TOP),
    "largest-offset": with_line(b"3\t%d\n" % (TOP - 1)),
    "third-columns": WHOLE.replace(b"\n", b"\t7\n"),
    "third-column": with_line(b"3\t%d\t7\n" % THIRD),
    "third-column-last": with_line(b"5\t%d\t7\n" % STARTS[5], 5),
    "two-third-columns": b"".join([*GOOD[:2], b"2\t2\t2\n", b"3\t3\t3\n", *GOOD[4:]]),
    "no-offset": with_line(b"3\n"),
    "empty-offset": with_line(b"3\t\n"),
    "two-tabs": with_line(b"3\t\t%d\n" % THIRD),
    "comma": with_line(b"3,%d\n" % THIRD),
    "underscore": with_line(b"3_0\t1_0\n"),
    "zeros-before": with_line(b"%s3\t%s%d\n" % (b"0" * 40, b"0" * 40, THIRD)),
    "hexadecimal": with_line(b"0x3\t%d\n" % THIRD),
    "arabic-digits": with_line("\u0663\t\u0663\n".encode()),
    "nul-bytes-at-end": WHOLE + bytes(30),
    "nul-bytes-inside": with_line(bytes(9) + b"\n"),
    "not-utf-8": with_line(b"c\xe9\t%d\n" % THIRD),
    "control-z": WHOLE + b"\x1a",
    "unsorted": b"".join(reversed(GOOD)),
    "same-offset": with_line(b"3\t%d\n" % STARTS[2]),
    "same-key": with_line(b"2\t%d\n" % THIRD),
    "all-keys-equal": b"".join(b"0\t%d\n" % start for start in STARTS),
    "at-the-end": WHOLE + b"6\t%d\n" % SIZE,
    "past-the-end": WHOLE + b"6\t%d\n" % (SIZE + 1),
    "only-the-end": b"0\t%d\n" % SIZE,
    "impossible": b"".join(GOOD[:3]) + b"".join(b"%d\t%d\n" % (k, TOP - 1) for k in (3, 4, 6)),
    "no-record-there": with_line(b"0\t9\n", 0),
    "one-entry": GOOD[0],
    "one-number": b"5\n",
    "empty": b"",
    "only-spaces": b" \n\n",
}


def random_text(seed: int) -> bytes:
    """Good lines and odd pieces of lines, in any order."""
    rng = random.Random(seed)
    pieces = [
        b"\n",
        b"\r",
        b"\t",
        b" ",
        b"7",
        b"-1",
        b"+",
        b"x",
        b"1_0",
        b"%d" % TOP,
        b"0",
        b"\xc2\xa0",
    ]
    chosen = rng.choices(GOOD, k=8) + rng.choices(pieces, k=rng.randrange(8))
    rng.shuffle(chosen)
    return b"".join(chosen)


CASES.update({f"random-{seed:02}": random_text(seed) for seed in range(60)})


def run(environment: Path, script: str, tasks: list) -> list:
    require(environment)
    done = subprocess.run(
        [environment / "bin/python", "-W", "ignore", Path(__file__).with_name(script)],
        input=json.dumps(tasks, default=str),
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class Peers:
    """An index for each case, and what the two make of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        record = folder / "six.rec"
        record.write_bytes(b"".join(RECORDS))
        for name, data in CASES.items():
            self.path(name).write_bytes(data)
        tasks = [[record, self.path(name)] for name in CASES]
        self.dali = dict(zip(CASES, run(DALI, "in_dali_lines.py", tasks), strict=True))
        self.mxnet = dict(zip(CASES, run(MXNET, "in_mxnet_lines.py", tasks), strict=True))

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.idx"


@pytest.fixture(scope="module")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Peers:
    return Peers(tmp_path_factory.mktemp("lines"))


@pytest.mark.parametrize("name", CASES)
def test_dali(peers: Peers, name: str) -> None:
    """As many samples, the very same ones up to where one fails; or the same refusal."""
    expected = dali_entries(read_index(peers.path(name)), SIZE)
    found = peers.dali[name]
    if isinstance(found, str):
        alone_past_the_end = "Invalid seek" in found and expected.offsets[0] > SIZE
        assert alone_past_the_end or str(expected.failure) in found
        return
    count, labels = found
    assert expected.failure is None
    assert count == len(expected.offsets)
    assert labels == [STARTS.index(offset) for offset in expected.offsets[: len(labels)]]
    # It fails, if it does, at or just before an offset at which no record starts.
    if all(offset in STARTS for offset in expected.offsets):
        assert len(labels) == count


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("key_type", [int, str])
def test_mxnet(peers: Peers, name: str, key_type: type) -> None:
    """The same keys and places, or the same exception."""
    expected = mxnet_entries(read_index(peers.path(name)), key_type)
    found = peers.mxnet[name][key_type is str]
    if isinstance(found, str):
        assert expected.failure is not None
        # It decodes many lines at once, and so may see undecodable bytes before another error.
        if not found.startswith("UnicodeDecodeError"):
            assert expected.failure.reason == found
        return
    assert expected.failure is None
    assert list(expected.keys) == found[0]
    assert [list(place) for place in expected.places().items()] == found[1]


def test_the_cases_are_of_all_kinds(peers: Peers) -> None:
    """The tests above mean something: each reader took some and refused some."""
    for found in (peers.dali, {name: pair[0] for name, pair in peers.mxnet.items()}):
        assert 5 < sum(isinstance(result, str) for result in found.values()) < len(CASES) - 20
    assert peers.dali["text-key"] == [3, [0, 1, 2]]
    assert peers.dali["blank-lines"] == peers.dali["good"] == [6, [0, 1, 2, 3, 4, 5]]
