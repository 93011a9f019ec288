"""Writing records, and an index along with them."""

import copy
import os
import pickle
import resource
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from reference import MAGIC, index, read
from samples import SIX, SIX_INDEX, payload_lists, whole_file

from rec2idx.appending import SOME
from rec2idx.errors import (
    KeysError,
    OtherProcessError,
    PayloadError,
    UnsafeTargetError,
    WrongFlagError,
)
from rec2idx.recordio import MXIndexedRecordIO, MXRecordIO

SIX_PAYLOADS = [payload for _, payload in read(SIX)[0]]


def write(contents, record: Path = Path("a.rec"), flag: str = "w") -> bytes:
    with MXRecordIO(record, flag) as writer:
        for payload in contents:
            assert writer.write(payload) is None
    return record.read_bytes()


@given(payload_lists)
def test_records_are_laid_out_as_they_should_be(tmp_path, contents):
    """As plain Python lays them out, and what is read is what was written."""
    path = tmp_path / "a.rec"
    assert write(contents, path) == whole_file(contents)
    with MXRecordIO(path, "r") as reader:
        assert list(iter(reader.read, None)) == contents


@given(payload_lists)
def test_the_index_goes_along(tmp_path, contents):
    paths = tmp_path / "a.idx", tmp_path / "a.rec"
    with MXIndexedRecordIO(*paths, "w") as writer:
        offsets = []
        for key, payload in enumerate(contents):
            offsets.append(writer.tell())
            writer.write_idx(key, payload)
        assert writer.idx == dict(enumerate(offsets))
        assert writer.keys == list(range(len(contents)))
    assert paths[1].read_bytes() == whole_file(contents)
    assert paths[0].read_bytes() == index(whole_file(contents))


@pytest.mark.parametrize("size", [SOME - 9, SOME - 8, SOME, 3 * SOME + 1])
def test_large_records(folder, size):
    """A magic across every boundary of what is written at once."""
    contents = [os.urandom(size), MAGIC * (size // 4), b"", b"x" * size + MAGIC]
    assert write(contents) == whole_file(contents)


def test_what_stands_there_is_emptied_at_once(folder):
    Path("a.rec").write_bytes(SIX)
    writer = MXRecordIO("a.rec", "w")
    assert Path("a.rec").read_bytes() == b""
    assert writer.tell() == 0
    writer.write(b"x")
    assert writer.tell() == 12
    writer.reset()
    assert (writer.tell(), writer.writable, writer.is_open) == (0, True, True)
    writer.close()
    writer.close()
    assert Path("a.rec").read_bytes() == b""


def test_keys_as_mxnet_makes_them(folder):
    """By the type of keys; what fails leaves no line and no record."""
    with MXIndexedRecordIO("a.idx", "a.rec", "w") as writer:
        writer.write_idx("1", b"bb")
        writer.write_idx(1.7, b"")
        for key, payload, error in [
            ("x", b"", ValueError),
            (None, b"", TypeError),
            (5, "", TypeError),
        ]:
            with pytest.raises(error):
                writer.write_idx(key, payload)
        writer.write_idx(5, bytearray(b"again"))
        assert (writer.idx, writer.keys) == ({1: 12, 5: 20}, [1, 1, 5])
    assert Path("a.idx").read_bytes() == b"1\t0\n1\t12\n5\t20\n"
    with MXIndexedRecordIO("b.idx", "b.rec", "w", key_type=str) as writer:
        writer.write_idx("é b", b"")
        for key in ("a\tb", "a\nb", "a\n", " a", ""):
            with pytest.raises(KeysError, match="cannot be read from an index"):
                writer.write_idx(key, b"")
    assert Path("b.idx").read_text("utf-8") == "é b\t0\n"


def test_write_leaves_the_index_alone(folder):
    with MXIndexedRecordIO("a.idx", "a.rec", "w") as writer:
        writer.write(b"without a key")
        writer.write_idx(3, b"with one")
    assert Path("a.idx").read_bytes() == b"3\t24\n"


@pytest.mark.parametrize("payload", ["text", None, 5, [1]])
def test_only_bytes(folder, payload):
    with MXRecordIO("a.rec", "w") as writer, pytest.raises(TypeError, match="expected bytes"):
        writer.write(payload)


def test_a_record_that_is_too_long(folder):
    payload = bytes(1 << 29)
    with MXRecordIO("a.rec", "w") as writer:
        with pytest.raises(PayloadError, match="expected 536870911 bytes at most, found 536870912"):
            writer.write(payload)
        assert writer.tell() == 0


def test_reading_from_a_writer_and_writing_to_a_reader(folder):
    writer = MXIndexedRecordIO("a.idx", "a.rec", "w")
    writer.write_idx(0, b"")
    for use in (writer.read, lambda: writer.read_idx(0), lambda: writer.seek(0)):
        with pytest.raises(WrongFlagError, match="give the flag 'r'"):
            use()
    writer.close()
    reader = MXIndexedRecordIO("a.idx", "a.rec", "r")
    for use in (lambda: reader.write(b""), lambda: reader.write_idx(0, b"")):
        with pytest.raises(AssertionError, match="which empties the file"):
            use()
    writer_again = (lambda: writer.write(b""), lambda: writer.write_idx(0, b""), writer.tell)
    for use in writer_again:
        with pytest.raises(ValueError, match="the writer is closed"):
            use()


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
def test_record_and_index_are_two_files(folder, link):
    Path("a.rec").write_bytes(SIX)
    if link:
        link("a.rec", "a.idx")
    with pytest.raises(UnsafeTargetError, match="one file"):
        MXIndexedRecordIO("a.idx" if link else "./a.rec", "a.rec", "w")
    assert Path("a.rec").read_bytes() == SIX


def test_where_nothing_can_be_written(folder):
    for path in ("no/a.rec", "."):
        with pytest.raises(OSError, match=path):
            MXRecordIO(path, "w")
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        MXIndexedRecordIO("no/a.idx", "a.rec", "w")
    assert len(os.listdir("/dev/fd")) == before


def test_a_writer_is_not_copied(folder):
    """MXNet closes it, and its copy empties the file."""
    with MXIndexedRecordIO("a.idx", "a.rec", "w") as writer:
        writer.write_idx(0, b"kept")
        for use in (pickle.dumps, copy.copy):
            with pytest.raises(WrongFlagError, match="would empty the file"):
                use(writer)
        writer.write_idx(1, b"kept too")
    closed = pickle.loads(pickle.dumps(writer))
    assert (closed.is_open, closed.keys) == (False, [0, 1])
    assert read(Path("a.rec").read_bytes())[0] == [(0, b"kept"), (12, b"kept too")]


def test_a_writer_belongs_to_its_process(folder):
    """A child cannot write, and at its end writes nothing of what waits in its memory."""
    writer = MXIndexedRecordIO("a.idx", "a.rec", "w")
    writer.write_idx(0, b"one")
    pid = os.fork()
    if pid == 0:
        refused = 0
        for use in (lambda: writer.write(b"x"), lambda: writer.write_idx(1, b"x"), writer.reset):
            try:
                use()
            except RuntimeError as error:
                refused += isinstance(error, OtherProcessError)
        writer.close()
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    writer.write_idx(1, b"two")
    writer.close()
    assert read(Path("a.rec").read_bytes())[0] == [(0, b"one"), (12, b"two")]
    assert Path("a.idx").read_bytes() == b"0\t0\n1\t12\n"


def test_threads_may_share_a_writer(folder):
    with MXIndexedRecordIO("a.idx", "a.rec", "w") as writer, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: writer.write_idx(key, b"%d" % key * (key % 50)), range(3000)))
    with MXIndexedRecordIO("a.idx", "a.rec", "r") as reader:
        assert sorted(reader.keys) == list(range(3000))
        assert all(reader.read_idx(key) == b"%d" % key * (key % 50) for key in range(3000))


@pytest.fixture
def full_disk():
    """Files may have 400,000 bytes; what goes past that fails as on a full disk."""
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, limits[1]))
    yield lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    signal.signal(signal.SIGXFSZ, handler)


def write_thousands(writer: MXIndexedRecordIO) -> None:
    for key in range(len(writer.keys), 1000):
        writer.write_idx(key, bytes(1000))


def test_no_record_is_written_in_part(folder, full_disk):
    """The file ends with a whole record, and goes on from there when there is room again."""
    writer = MXIndexedRecordIO("a.idx", "a.rec", "w")
    with pytest.raises(OSError, match=r"a\.rec"):
        write_thousands(writer)
    written = len(writer.keys)
    records, broken = read(Path("a.rec").read_bytes())
    assert broken is None
    assert 0 < len(records) < written
    with pytest.raises(OSError, match=r"a\.rec"):
        write_thousands(writer)
    written = len(writer.keys)
    full_disk()
    writer.write_idx(written, b"last")
    writer.close()
    records, broken = read(Path("a.rec").read_bytes())
    assert broken is None
    assert [len(payload) for _, payload in records[:written]] == [1000] * written
    assert records[-1][1] == b"last"
    with MXIndexedRecordIO("a.idx", "a.rec", "r") as reader:
        assert reader.keys == list(range(written + 1))
        assert reader.read_idx(written) == b"last"


def test_a_close_that_fails(folder, full_disk):
    """No line of the index names a record that is not in the file."""
    writer = MXIndexedRecordIO("a.idx", "a.rec", "w")
    writer.write_idx(0, bytes(100_000))
    writer._appender._records.pile.add(bytes(500_000))
    with pytest.raises(OSError, match=r"a\.rec"):
        writer.close()
    assert (Path("a.rec").read_bytes(), Path("a.idx").read_bytes()) == (b"", b"")
    assert not writer.is_open


def test_a_writer_that_nobody_closes(folder):
    """It is closed at the end of the program, as MXNet's is."""
    program = (
        "from rec2idx.recordio import MXIndexedRecordIO\n"
        "writer = MXIndexedRecordIO('a.idx', 'a.rec', 'w')\n"
        f"for key, payload in enumerate({SIX_PAYLOADS}): writer.write_idx(key, payload)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (Path("a.rec").read_bytes(), Path("a.idx").read_bytes()) == (SIX, SIX_INDEX)
