"""Real signals to a real run: the old index stands, nothing stays behind, the status tells."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from conftest import COMMAND
from reference import part

# So many records that the lines about them fill a pipe that nobody reads: the run stands still
# in the middle, for as long as the test needs.
RECORDS = 4_000_000


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("interrupts") / "big.rec"
    path.write_bytes(part(0, b"") * RECORDS)
    return path


def stuck_run(record: Path, **options) -> subprocess.Popen[str]:
    """Start the command and wait until it stands still, its temporary file half written."""
    process = subprocess.Popen(
        [COMMAND, record], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )
    sizes = [-1]
    deadline = time.monotonic() + 60
    while sizes[-1] <= 0 or len(sizes) < 5 or len(set(sizes[-5:])) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
        temporary = list(record.parent.glob(".rec2idx-*.tmp"))
        sizes.append(temporary[0].stat().st_size if temporary else -1)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_run_cleanly(big, number):
    big.with_suffix(".idx").write_bytes(b"0\t0\n")
    # Where the tests themselves run under nohup, SIGHUP would be ignored.
    process = stuck_run(big, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == f"rec2idx: interrupted by {number.name}; no unfinished file was left\n"
    assert big.with_suffix(".idx").read_bytes() == b"0\t0\n"
    assert sorted(os.listdir(big.parent)) == ["big.idx", "big.rec"]


def test_impatient_people_change_nothing(big):
    """Three times Ctrl-C: the later ones do not disturb the cleaning up."""
    process = stuck_run(big)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.startswith("rec2idx: interrupted by SIGINT; no unfinished file was left")
    assert not list(big.parent.glob(".rec2idx-*"))


def test_a_signal_that_the_parent_ignores_stays_ignored(big):
    """As under nohup: the run goes on to its end."""
    ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    process = stuck_run(big, **ignore)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert big.with_suffix(".idx").stat().st_size > RECORDS * 4


def test_a_run_that_is_killed_leaves_the_old_index(big):
    """Nothing can be cleaned up then, but what stands under the final name is still whole."""
    big.with_suffix(".idx").write_bytes(b"0\t0\n")
    process = stuck_run(big)
    process.kill()
    process.communicate(timeout=60)
    assert big.with_suffix(".idx").read_bytes() == b"0\t0\n"
    for left in big.parent.glob(".rec2idx-*"):
        left.unlink()


def test_only_the_main_thread_handles_signals(tmp_path):
    """main() also runs in other threads, as notebooks and servers call it."""
    (tmp_path / "a.rec").write_bytes(part(0, b"payload"))
    code = (
        "import sys, threading, rec2idx;"
        "sys.argv[1:] = ['-q', 'a.rec'];"
        "thread = threading.Thread(target=rec2idx.main); thread.start(); thread.join()"
    )
    python = COMMAND.with_name("python")
    done = subprocess.run([python, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "a.idx").read_bytes() == b"0\t0\n"
