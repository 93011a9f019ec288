"""Readers that threads share, while one of them forks or closes; and paths that are swapped."""

import os
import signal
from pathlib import Path
from threading import Barrier, Thread

import pytest
from reference import record
from samples import SIX, SIX_INDEX

import rec2idx
from rec2idx.recordio import MXIndexedRecordIO, MXRecordIO

PAYLOADS = [number.to_bytes(2, "little") * 20_000 for number in range(300)]


@pytest.fixture(autouse=True)
def _in_a_folder(folder):
    """Each test has one."""


@pytest.fixture
def path() -> str:
    Path("many.rec").write_bytes(b"".join(map(record, PAYLOADS)))
    return "many.rec"


def in_a_child(reader: MXRecordIO) -> int:
    """Read a few records in a forked process, which gives up after some seconds; its status.

    It is 0 where they follow each other, 2 where they cannot be read, since the reader was closed.
    """
    pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(20)
            reader.tell()
            found = [reader.read() for _ in range(20)]
            start = PAYLOADS.index(found[0]) if found[0] in PAYLOADS else len(PAYLOADS)
            expected = [*PAYLOADS, *[None] * 20][start : start + 20]
            os._exit(0 if found == expected else 1)
        except ValueError:
            os._exit(2)
        finally:
            os._exit(3)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_another_thread_reads(path):
    """The child waits for no lock, and what it reads is in order and without a gap."""
    stop = False
    reader = MXRecordIO(path, "r")

    def read_on() -> None:
        while not stop:
            if reader.read() is None:
                reader.reset()

    thread = Thread(target=read_on)
    thread.start()
    try:
        statuses = []
        while len(statuses) < 20:
            statuses.append(in_a_child(reader))
    finally:
        stop = True
        thread.join()
    assert set(statuses) <= {0, 2}
    assert 0 in statuses


def test_a_child_goes_on_where_the_reader_stood(path):
    reader = MXRecordIO(path, "r")
    assert reader.read() == PAYLOADS[0]
    assert in_a_child(reader) == 0
    assert reader.read() == PAYLOADS[1]


def test_closing_while_other_threads_read(path):
    """They see records, and then that it is closed; the file's number is not used again before."""
    rec2idx.create_index(path)
    for _ in range(30):
        reader = MXIndexedRecordIO("many.idx", path, "r")
        errors: list[Exception] = []
        begin = Barrier(4)

        def read_by(step: int, reader=reader, errors=errors, begin=begin) -> None:
            begin.wait()
            try:
                for key in range(0, 300, step):
                    assert reader.read_idx(key) == PAYLOADS[key]
            except Exception as raised:
                errors.append(raised)

        threads = [Thread(target=read_by, args=(step,)) for step in (1, 3, 7)]
        for thread in threads:
            thread.start()
        begin.wait()
        reader.close()
        for thread in threads:
            thread.join()
        assert {type(error) for error in errors} <= {ValueError}
        with pytest.raises(ValueError, match=r"many\.rec: the reader is closed; reset\(\) opens"):
            reader.read_idx(0)


def test_a_closed_file_is_closed(path):
    before = os.listdir("/proc/self/fd")
    reader = MXRecordIO(path, "r")
    reader.read()
    assert len(os.listdir("/proc/self/fd")) == len(before) + 1
    reader.close()
    assert os.listdir("/proc/self/fd") == before


@pytest.fixture
def six() -> None:
    Path("a.rec").write_bytes(SIX)
    Path("a.idx").write_bytes(SIX_INDEX)


@pytest.mark.usefixtures("six")
def test_swapped_paths_empty_nothing():
    with pytest.raises(rec2idx.UnsafeTargetError) as raised:
        MXIndexedRecordIO("a.rec", "a.idx", "w")
    assert str(raised.value) == (
        "a.rec: the index would empty a RecordIO file; are the two paths swapped? The index comes "
        "first, then the record file"
    )
    assert (Path("a.rec").read_bytes(), Path("a.idx").read_bytes()) == (SIX, SIX_INDEX)


@pytest.mark.usefixtures("six")
def test_swapped_paths_are_not_read():
    with pytest.raises(rec2idx.BadIndexError) as raised:
        MXIndexedRecordIO("a.rec", "a.idx", "r")
    assert str(raised.value) == (
        "a.rec: not an index, but a RecordIO file; are the two paths swapped? The index comes "
        "first, then the record file"
    )


@pytest.mark.usefixtures("six")
def test_no_index():
    with pytest.raises(rec2idx.MissingIndexError) as raised:
        MXIndexedRecordIO("b.idx", "a.rec", "r")
    assert isinstance(raised.value, FileNotFoundError)
    assert str(raised.value) == (
        "b.idx: there is no index; make it with rec2idx, or ensure_index()"
    )


def test_a_key_that_no_index_can_hold():
    """The record is not written either."""
    with MXIndexedRecordIO("b.idx", "b.rec", "w", str) as writer:
        writer.write_idx("one", b"1111")
        with pytest.raises(rec2idx.KeysError, match="a text in UTF-8"):
            writer.write_idx("caf\udce9", b"2222")
        writer.write_idx("two", b"3333")
    assert Path("b.rec").read_bytes() == record(b"1111") + record(b"3333")
    assert Path("b.idx").read_bytes() == b"one\t0\ntwo\t12\n"
