"""Several files at once: order, bounds, and an end to all waiting."""

import itertools
import os
import re
import signal
import subprocess
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import COMMAND
from folders import all_but_records, put
from reference import index, part
from samples import SIX, SIX_INDEX

import rec2idx
from rec2idx.concurrency import AHEAD, Linked, ahead, in_parallel
from rec2idx.sources import LocalFile

RECORDIO = COMMAND.with_name("recordio")


def test_the_error_of_the_first_item_is_raised():
    """Whichever fails first."""

    def fail(number: int) -> None:
        time.sleep(0.1 - 0.01 * number)
        raise ValueError(number)

    with pytest.raises(ValueError, match="2"):
        in_parallel(fail, [2, 3, 4, 5], 4)


def test_results_come_in_order():
    assert in_parallel(lambda n: (time.sleep(0.001 * (5 - n)), n)[1], range(5), 3) == [*range(5)]


def test_a_generator_is_only_a_little_ahead():
    made = []

    def numbers():
        for number in itertools.count():
            made.append(number)
            yield number

    with ahead([numbers, numbers], 2) as found:
        first = next(found)
        assert [next(first) for _ in range(3)] == [0, 1, 2]
        time.sleep(0.2)
        # Of each: what is kept, one that waits for room; and of the first what was taken.
        assert len(made) <= 2 * (AHEAD + 1) + 3


def test_generators_are_closed_one_by_one():
    closed = []

    def once(name: str):
        try:
            yield name
            yield name
        finally:
            closed.append(name)

    with ahead([lambda: once("a"), lambda: once("b")], 1) as found:
        for items in found:
            next(items)
    assert closed == ["a", "b"]


class Never(Executor):
    """An executor whose work is never done."""

    def __init__(self) -> None:
        self.submitted = threading.Event()

    def submit(self, function, /, *args, **kwargs):
        self.submitted.set()
        return Future()


def test_once_stopped_nobody_waits():
    linked = Linked(Never())
    future = linked.submit(print)
    linked.stop(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        future.result(timeout=5)
    with pytest.raises(ZeroDivisionError):
        linked.submit(print)


def test_what_is_done_stays_done():
    with ThreadPoolExecutor(1) as pool:
        linked = Linked(pool)
        future = linked.submit(sum, [1, 2])
        assert future.result(timeout=5) == 3
        linked.stop(ZeroDivisionError())
        assert future.result() == 3


@pytest.mark.parametrize("combine", [False, True])
def test_an_interrupted_run_does_not_wait_for_workers(folder, combine):
    """Two files, and workers that never answer; the report interrupts, as Ctrl-C would."""
    put(a_rec=SIX, b_rec=SIX)
    never = Never()

    def interrupt() -> None:
        never.submitted.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    function = rec2idx.combine_index if combine else rec2idx.create_indexes
    with pytest.raises(KeyboardInterrupt):
        function(["a.rec", "b.rec"], "all.idx" if combine else None, executor=never)
    # A thread that was just being started when the signal came is not waited for.
    deadline = time.monotonic() + 30
    while all_but_records() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all_but_records() == {}


def test_a_file_is_opened_again_and_not_its_name(tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    with LocalFile(tmp_path / "a.rec") as file:
        (tmp_path / "b.rec").write_bytes(b"another")
        os.replace(tmp_path / "b.rec", tmp_path / "a.rec")
        with file.again() as other:
            assert other.fd != file.fd
            assert other.read(0, 1000) == SIX


def test_an_interrupted_recordio_leaves_whole_indexes_only(tmp_path):
    """Files enough that the run takes seconds, interrupted once it has begun."""
    data = part(0, b"") * 2_000_000
    for number in range(12):
        (tmp_path / f"{number}.rec").write_bytes(data)
    process = subprocess.Popen(
        [RECORDIO, "index", "-r", ".", "-j", "1"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.glob("*.idx")):
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    whole = r"written, and whole: \./\d+\.idx(, \./\d+\.idx)*|\d+ files were written, and are whole"
    end = "no unfinished file was left\n"
    assert re.fullmatch(f"recordio: interrupted by SIGINT; ({whole}); {end}", errors)
    expected = index(data)
    indexes = list(tmp_path.glob("*.idx"))
    assert 0 < len(indexes) < 12
    assert all(path.read_bytes() == expected for path in indexes)
    assert not list(tmp_path.glob(".rec2idx-*"))


def test_indexes_of_many_small_files(folder):
    names = [f"{number}" for number in range(50)]
    for name in names:
        Path(f"{name}.rec").write_bytes(SIX)
    with ThreadPoolExecutor(2) as executor:
        summary = rec2idx.create_indexes([f"{name}.rec" for name in names], executor=executor)
    assert summary.failed == []
    assert all_but_records() == {f"{name}.idx": SIX_INDEX for name in names}
