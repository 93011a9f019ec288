"""MXRecordIO and IndexCreator: the interface of MXNet's and DALI's classes."""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import folder_content
from damage import cut_tail, flip_byte
from hypothesis import given
from reference import MAGIC, read, record
from samples import SIX, SIX_INDEX, payload_lists, whole_file

import rec2idx
from rec2idx import IndexCreator, MXRecordIO


@pytest.fixture
def six(tmp_path: Path) -> Path:
    path = tmp_path / "six.rec"
    path.write_bytes(SIX)
    return path


@given(payload_lists)
def test_read_returns_each_payload_then_none(tmp_path, contents):
    """Magics restored, empty records as empty bytes, and tell() is where the next one starts."""
    path = tmp_path / "a.rec"
    path.write_bytes(whole_file(contents))
    with MXRecordIO(path, "r") as reader:
        for offset, payload in read(path.read_bytes())[0]:
            assert reader.tell() == offset
            assert reader.read() == payload
        assert reader.tell() == path.stat().st_size
        assert reader.read() is None
        assert reader.read() is None


def test_an_empty_file_has_no_records(tmp_path):
    """As MXNet reads it; only an index of nothing is refused."""
    (tmp_path / "a.rec").touch()
    assert MXRecordIO(tmp_path / "a.rec", "r").read() is None


def test_reset_open_close(six):
    reader = MXRecordIO(str(six), "r")
    assert (reader.is_open, reader.uri, reader.flag) == (True, str(six), "r")
    first = reader.read()
    reader.read()
    reader.reset()
    assert reader.read() == first
    reader.close()
    reader.close()
    assert not reader.is_open
    for use in (reader.read, reader.tell):
        with pytest.raises(ValueError, match="the reader is closed"):
            use()
    reader.open()
    assert reader.read() == first


def test_no_descriptor_is_leaked(six):
    before = len(os.listdir("/dev/fd"))
    for _ in range(10):
        reader = MXRecordIO(six, "r")
        reader.open()  # without a close before it
        reader.reset()
        reader.close()
    with pytest.raises(rec2idx.UnsafeTargetError):
        rec2idx.create_index(six, six)
    assert len(os.listdir("/dev/fd")) == before


def test_pickled_and_copied_readers_start_again(six):
    """As MXNet's: open stays open and closed stays closed; the original goes on undisturbed."""
    reader = MXRecordIO(six, "r")
    first = reader.read()
    again = pickle.loads(pickle.dumps(reader))
    assert again.read() == first
    assert copy.copy(reader).read() == first
    assert reader.tell() == 44
    reader.close()
    assert not pickle.loads(pickle.dumps(reader)).is_open


def test_a_reader_survives_a_fork(six):
    """Parent and child share no position."""
    reader = MXRecordIO(six, "r")
    payloads = [payload for _, payload in read(SIX)[0]]
    assert reader.read() == payloads[0]
    pid = os.fork()
    if pid == 0:
        os._exit(0 if [reader.read() for _ in range(5)] == payloads[1:] else 1)
    assert [reader.read() for _ in range(5)] == payloads[1:]
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_many_readers_in_threads(six):
    def read_all(_):
        with MXRecordIO(six, "r") as reader:
            return list(iter(reader.read, None))

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(read_all, range(64)))
    assert results == [[payload for _, payload in read(SIX)[0]]] * 64


def test_threads_that_share_a_reader_get_each_record_once(tmp_path):
    payloads = [b"%d" % number for number in range(20_000)]
    (tmp_path / "a.rec").write_bytes(whole_file(payloads))
    reader = MXRecordIO(tmp_path / "a.rec", "r")
    with ThreadPoolExecutor(8) as pool:
        results = pool.map(lambda _: list(iter(reader.read, None)), range(8))
    assert sorted((payload for found in results for payload in found), key=int) == payloads


@pytest.mark.parametrize("flag", ["a", "rb", "wb", ""])
def test_other_flags(six, flag):
    with pytest.raises(ValueError, match="expected 'r'"):
        MXRecordIO(six, flag)
    assert six.read_bytes() == SIX


def test_damage_is_raised_where_it_is_met(six):
    """Not before: the records in front of it can be read. Then it is raised again and again."""
    six.write_bytes(flip_byte(SIX, 88))
    reader = MXRecordIO(six, "r")
    assert [reader.read(), reader.read()] == [payload for _, payload in read(SIX)[0][:2]]
    for _ in range(2):
        with pytest.raises(rec2idx.DamagedRecordError) as caught:
            reader.read()
        assert (caught.value.record, caught.value.offset) == (2, 88)


def test_a_record_without_its_last_part_is_not_lost_in_silence(tmp_path):
    path = tmp_path / "a.rec"
    path.write_bytes(cut_tail(record(b"1234" + MAGIC + b"5678"), 12))
    with pytest.raises(rec2idx.TruncatedError, match="between the parts of a record"):
        MXRecordIO(path, "r").read()


def test_index_creator_is_dalis_class(six, capsys):
    """Constructor, attributes, context manager, and the lines on standard output."""
    with IndexCreator(str(six), str(six.with_suffix(".idx"))) as creator:
        assert isinstance(creator, MXRecordIO)
        assert (creator.idx_path, creator.key_type) == (str(six.with_suffix(".idx")), int)
        creator.create_index()
        creator.create_index()
        assert creator.read() == read(SIX)[0][0][1]
    assert not creator.is_open
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0::2] for line in lines] == [["time:", "count:"]] * 2
    assert [line.split("  ")[1] for line in lines] == ["count: 0"] * 2


@pytest.mark.parametrize(("records", "counts"), [(999, [0]), (1000, [0, 1000]), (1001, [0, 1000])])
def test_the_original_s_lines(tmp_path, capsys, records, counts):
    """One for record 0 and for each further thousand; also at the end of a whole thousand."""
    (tmp_path / "a.rec").write_bytes(record(b"") * records)
    IndexCreator(tmp_path / "a.rec", tmp_path / "a.idx").create_index()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[1] for line in lines] == [f"count: {count}" for count in counts]
    assert all(float(line.split()[1]) >= 0 for line in lines)


def test_index_creator_with_another_key_type(six, capsys):
    IndexCreator(six, six.with_suffix(".idx"), key_type=float).create_index()
    assert six.with_suffix(".idx").read_bytes().splitlines()[5] == b"5.0\t220"


def test_the_constructor_truncates_nothing(six):
    """The original's opens the index for writing, and empties the record file in these cases."""
    six.with_suffix(".idx").write_bytes(b"old")
    IndexCreator(six, six.with_suffix(".idx")).close()
    IndexCreator(six.with_suffix(".idx"), six).close()
    creator = IndexCreator(six, six)
    with pytest.raises(rec2idx.UnsafeTargetError):
        creator.create_index()
    assert folder_content(six.parent) == {"six.rec": SIX, "six.idx": b"old"}


def test_index_creator_can_be_pickled(six, capsys):
    creator = pickle.loads(pickle.dumps(IndexCreator(six, six.with_suffix(".idx"))))
    creator.create_index()
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX
