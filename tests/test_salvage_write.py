"""salvage(): the new file is what a conforming writer writes for what is whole, or is not there."""

import dataclasses
import errno
import os
import signal
import struct
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import folder_content
from damage import cut_tail, flip_byte, insert_bytes, remove_bytes, zero_block
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import MAGIC, index, part, read, record
from samples import SIX, SIX_INDEX, files, image, payload_lists, payloads, whole_file

import rec2idx
from rec2idx import new_file, rewrite, salvage

# The last image has 10 bytes, so that its record ends with two of padding.
SHORT = SIX[:220] + part(0, image(5, 5, b"10 bytes.."))


def salvaged(folder: Path, data: bytes, **options) -> tuple[bytes, rec2idx.SalvageSummary, list]:
    """Salvage some bytes; return the new file, the summary, and the damaged regions."""
    (folder / "in.rec").write_bytes(data)
    for name in ("out.rec", "out.idx"):
        (folder / name).unlink(missing_ok=True)
    regions = []
    summary = salvage(
        folder / "in.rec", folder / "out.rec", folder / "out.idx", damaged=regions.append, **options
    )
    written = (folder / "out.rec").read_bytes()
    assert (folder / "out.idx").read_bytes() == index(written)
    assert (folder / "in.rec").read_bytes() == data
    assert summary.bytes == len(data)
    assert summary.bytes_written == len(written)
    assert summary.damaged == len(regions)
    assert summary.damaged_bytes == sum(region.bytes for region in regions)
    assert len(folder_content(folder)) == 3
    return written, summary, regions


def test_a_whole_file_is_copied(tmp_path):
    written, summary, regions = salvaged(tmp_path, SIX)
    assert (written, regions) == (SIX, [])
    assert (tmp_path / "out.idx").read_bytes() == SIX_INDEX
    assert dataclasses.replace(summary, seconds=0) == rec2idx.SalvageSummary(
        records=6,
        bytes=264,
        bytes_written=264,
        damaged=0,
        damaged_bytes=0,
        rewritten=0,
        seconds=0,
        path=str(tmp_path / "out.rec"),
        index=str(tmp_path / "out.idx"),
    )


@pytest.mark.parametrize("block", [8, 1 << 19])
def test_padding_that_is_cut_off_is_added(tmp_path, monkeypatch, block):
    """Case C14: all six records are there."""
    monkeypatch.setattr(rewrite, "LOCAL_BLOCK", block)
    assert len(SHORT) == 264
    written, summary, [region] = salvaged(tmp_path, cut_tail(SHORT, 262))
    assert written == SHORT
    assert (summary.records, summary.damaged_bytes, summary.rewritten) == (6, 0, 1)
    assert region.reason == "cut-padding"
    assert salvaged(tmp_path, cut_tail(SHORT, 263))[0] == SHORT


def test_a_record_that_lacks_a_byte_is_lost(tmp_path):
    """Case C14."""
    written, summary, [region] = salvaged(tmp_path, cut_tail(SHORT, 261))
    assert written == SIX[:220]
    assert (summary.records, summary.damaged_bytes, summary.rewritten) == (5, 41, 0)
    assert (region.start, region.stop, region.reason) == (220, 261, "cut-part")


def test_bytes_behind_the_last_record_are_dropped(tmp_path):
    """Case C14."""
    written, summary, [region] = salvaged(tmp_path, SHORT + b"\n\n")
    assert written == SHORT
    assert (summary.records, summary.damaged_bytes, summary.rewritten) == (6, 2, 0)
    assert (region.start, region.stop, region.reason) == (264, 266, "stray-bytes")


def test_a_download_that_stopped(tmp_path):
    """Case C4: 200 records of 44 bytes, cut off in record 137."""
    data = b"".join(part(0, image(i, i, bytes(12))) for i in range(200))
    written, summary, [region] = salvaged(tmp_path, cut_tail(data, 6048))
    assert written == data[:6028]
    assert (summary.records, region.start, region.stop) == (137, 6028, 6048)


def test_files_one_behind_the_other(tmp_path):
    """Case C19: what `cat` makes of two files is whole."""
    written, summary, regions = salvaged(tmp_path, SIX + SIX)
    assert (written, summary.records, regions) == (SIX + SIX, 12, [])


def test_damage_in_the_middle(tmp_path):
    lost = SIX[:88] + SIX[132:]
    for data, bytes_lost in (
        (flip_byte(SIX, 88), 44),
        (zero_block(SIX, 90, 130), 44),
        (insert_bytes(lost, 88, b"12345"), 5),  # those behind it lie at no multiple of 4
        (remove_bytes(SIX, 88, 101), 31),
    ):
        written, summary, _ = salvaged(tmp_path, data)
        assert written == lost
        assert (summary.records, summary.damaged, summary.damaged_bytes) == (5, 1, bytes_lost)
        assert summary.rewritten == 0


ODD = [
    (part(0, MAGIC), record(MAGIC)),
    (part(0, b"abcd" + MAGIC + b"e"), record(b"abcd" + MAGIC + b"e")),
    (part(0, MAGIC * 3), record(MAGIC * 3)),
    (part(1, b"abc") + part(3, b"d"), part(0, b"abc" + MAGIC + b"d")),
    (part(1, b"abc") + part(2, b"d" + MAGIC) + part(3, b""), None),
    (part(0, b"a")[:-1] + b"x", part(0, b"a")),
    (part(1, b"abcd") + part(3, b"ef")[:-2] + b"\0x", record(b"abcd" + MAGIC + b"ef")),
]
TIDY = [part(0, b""), part(0, b"a" + MAGIC), record(MAGIC), record(b"abcd" + MAGIC * 2 + b"x")]


@pytest.mark.parametrize("block", [8, 1 << 19])
@pytest.mark.parametrize("number", range(len(ODD)))
def test_a_record_that_is_laid_out_oddly(tmp_path, monkeypatch, number, block):
    """It alone is written anew, wherever it stands, however it is read."""
    monkeypatch.setattr(rewrite, "LOCAL_BLOCK", block)
    odd, expected = ODD[number]
    expected = expected or record(read(odd)[0][0][1])
    assert odd != expected
    around = b"".join(TIDY)
    for before, after in ((around, around), (b"", around), (around, b"")):
        written, summary, _ = salvaged(tmp_path, before + odd + after)
        assert written == before + expected + after
        assert summary.rewritten == 1


odd_paddings = st.binary(min_size=3, max_size=3)


@st.composite
def odd_records(draw) -> bytes:
    """A record that can be followed, laid out by no matter whom: split or not, with any padding."""
    pieces = draw(
        st.one_of(st.lists(payloads, min_size=1, max_size=5), payloads.map(lambda p: [p]))
    )
    last = len(pieces) - 1
    flags = [0] if last == 0 else [1, *[2] * (last - 1), 3]
    laid_out = []
    for flag, piece in zip(flags, pieces, strict=True):
        padding = draw(odd_paddings) if draw(st.booleans()) else bytes(3)
        laid_out += struct.pack("<4sI", MAGIC, flag << 29 | len(piece)), piece
        laid_out.append(padding[: -len(piece) % 4])
    return b"".join(laid_out)


odd_files = st.lists(st.one_of(odd_records(), payloads.map(record)), min_size=1, max_size=12).map(
    b"".join
)
blocks = st.sampled_from([8, 12, 20, 52, 200, 1 << 19])


@settings(max_examples=200)
@given(data=st.one_of(odd_files, files.filter(len)), block=blocks, jobs=st.sampled_from([1, 2]))
def test_what_a_conforming_writer_would_have_written(tmp_path, data, block, jobs):
    """For files that can be followed to their end, byte for byte."""
    contents = [payload for _, payload in read(data)[0]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "LOCAL_BLOCK", block)
        written, summary, regions = salvaged(tmp_path, data, jobs=jobs)
    assert written == whole_file(contents)
    assert (summary.records, regions) == (len(contents), [])
    starts = [at for at, _ in read(data)[0]] + [len(data)]
    own = [data[start:stop] for start, stop in pairwise(starts)]
    assert summary.rewritten == sum(
        one != record(content) for one, content in zip(own, contents, strict=True)
    )


@given(
    contents=payload_lists,
    start=st.integers(0),
    length=st.integers(0, 30),
    junk=st.binary(max_size=9),
    block=blocks,
)
def test_records_around_damage(tmp_path, contents, start, length, junk, block):
    """What is kept is what `scan` calls whole, as a conforming writer writes it."""
    contents.append(b"a last one")
    data = whole_file(contents)
    start = start % (len(data) - 1) + 1  # a first byte that is missing is put back
    data = data[:start] + junk + data[start + length :]
    (tmp_path / "in.rec").write_bytes(data)
    found = []
    try:
        for batch in rec2idx.scan(tmp_path / "in.rec", salvage=lambda region: None):
            ends = [*batch.offsets[1:], batch.stop]
            for at, end in zip(batch.offsets, ends, strict=True):
                found += [payload for _, payload in read(data[at:end] + bytes(-(end - at) % 4))[0]]
    except rec2idx.RecordIOError:
        pass
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewrite, "LOCAL_BLOCK", block)
        if not found:
            with pytest.raises(rec2idx.RecordIOError):
                salvaged(tmp_path, data)
            return
        written, summary, _ = salvaged(tmp_path, data)
    assert written == whole_file(found)
    assert summary.records == len(found)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", rec2idx.EmptyFileError),
        (b"PK\x03\x04" + bytes(200), rec2idx.NotRecordIOError),
        (bytes(4096), rec2idx.NotRecordIOError),
        (SIX[:30], rec2idx.DamagedRecordError),
        (part(1, b"x") + part(2, b"y"), rec2idx.DamagedRecordError),
    ],
)
def test_nothing_to_keep(tmp_path, data, error):
    (tmp_path / "in.rec").write_bytes(data)
    (tmp_path / "out.idx").write_bytes(SIX_INDEX)
    with pytest.raises(error):
        salvage(tmp_path / "in.rec", tmp_path / "out.rec", tmp_path / "out.idx")
    assert folder_content(tmp_path) == {"in.rec": data, "out.idx": SIX_INDEX}


@pytest.fixture
def cut(folder) -> bytes:
    """a.rec in the folder is SIX, cut off; returns it."""
    data = SIX[:250]
    (folder / "a.rec").write_bytes(data)
    return data


def test_an_index_is_made_only_if_asked_for(folder, cut):
    summary = salvage("a.rec", "b.rec")
    assert summary.index is None
    assert folder_content(folder) == {"a.rec": cut, "b.rec": SIX[:220]}


@pytest.mark.parametrize("link", [None, os.symlink, os.link], ids=["same", "symbolic", "hard"])
@pytest.mark.parametrize("begins", [SIX[:250], flip_byte(SIX, 0), b"not RecordIO"])
def test_the_record_file_itself_is_never_a_target(folder, link, begins):
    """Under no name, also where it begins with damage."""
    (folder / "a.rec").write_bytes(begins)
    name = "a.rec"
    if link is not None:
        name = "x.idx"
        link("a.rec", name)
    with pytest.raises(rec2idx.UnsafeTargetError, match="new file would replace"):
        salvage("a.rec", name)
    with pytest.raises(rec2idx.UnsafeTargetError, match="the index would replace"):
        salvage("a.rec", "b.rec", name)
    assert folder_content(folder) == {"a.rec": begins, name: begins}


@pytest.mark.parametrize("content", [SIX, b"some text\n", b"\0", b""])
def test_no_file_is_replaced(folder, cut, content):
    (folder / "b.rec").write_bytes(content)
    with pytest.raises(rec2idx.UnsafeTargetError, match="replaces none; give it another name"):
        salvage("a.rec", "b.rec")
    with pytest.raises(rec2idx.UnsafeTargetError):
        salvage("a.rec", "c.rec", "a.rec")
    assert folder_content(folder) == {"a.rec": cut, "b.rec": content}


def test_the_index_goes_where_an_index_may_go(folder, cut):
    (folder / "b.rec").write_bytes(SIX)
    (folder / "old.idx").write_bytes(SIX_INDEX)
    with pytest.raises(rec2idx.UnsafeTargetError, match="replace a RecordIO file"):
        salvage("a.rec", "c.rec", "b.rec")
    for index_path in ("c.rec", "./c.rec", folder / "c.rec"):
        with pytest.raises(rec2idx.UnsafeTargetError, match="would be the same file"):
            salvage("a.rec", "c.rec", index_path)
    salvage("a.rec", "c.rec", "old.idx")
    assert (folder / "old.idx").read_bytes() == SIX_INDEX[: SIX_INDEX.index(b"5\t")]


def test_a_pipe_cannot_be_salvaged(folder):
    os.mkfifo("pipe")
    writer = subprocess.Popen(
        [sys.executable, "-c", "open('pipe', 'wb').write(b'x')"], stderr=subprocess.DEVNULL
    )
    with pytest.raises(OSError, match="a file must be readable at any place") as caught:
        salvage("pipe", "b.rec")
    writer.wait(timeout=60)
    assert caught.value.filename == "pipe"
    assert not Path("b.rec").exists()


def test_a_file_that_another_program_makes_meanwhile(folder, cut):
    def make(region):
        Path("b.rec").write_bytes(b"theirs")

    with pytest.raises(rec2idx.UnsafeTargetError):
        salvage("a.rec", "b.rec", "b.idx", damaged=make)
    assert folder_content(folder) == {"a.rec": cut, "b.rec": b"theirs"}


@pytest.mark.parametrize("change", ["grow", "rewrite", "replace"])
def test_a_record_file_that_changes_meanwhile(folder, change):
    data = part(0, b"payload.") * 100_000
    Path("a.rec").write_bytes(data + b"x")

    def spoil(progress):
        if progress.records == 0:
            return
        if change == "replace":
            Path("new").write_bytes(data)
            os.replace("new", "a.rec")
        else:
            with open("a.rec", "r+b") as file:
                file.seek(0, os.SEEK_END if change == "grow" else os.SEEK_SET)
                file.write(b"x" * 40)
            os.utime("a.rec", ns=(1, 1))

    with pytest.raises(rec2idx.FileChangedError):
        salvage("a.rec", "b.rec", "b.idx", progress=spoil)
    assert set(folder_content(folder)) == {"a.rec"}


@pytest.mark.parametrize("failing", ["fsync", "exchange"])
def test_an_index_that_cannot_be_written_takes_the_file_along(folder, cut, monkeypatch, failing):
    """Whether it fails before the new file has appeared, or only after that."""
    (folder / "b.idx").write_bytes(SIX_INDEX)
    if failing == "fsync":

        def refuse(fd):
            assert not Path("b.rec").exists()
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", refuse)
    else:

        def refuse(folder, one, other):
            assert Path("b.rec").read_bytes() == SIX[:220]
            return errno.EIO

        monkeypatch.setattr(new_file, "exchange", refuse)
    with pytest.raises(OSError, match=r"b\.idx"):
        salvage("a.rec", "b.rec", "b.idx")
    assert folder_content(folder) == {"a.rec": cut, "b.idx": SIX_INDEX}


@pytest.mark.parametrize("old", [{}, {"b.idx": SIX_INDEX}], ids=["new", "replaced"])
def test_ctrl_c_between_the_file_and_its_index(folder, cut, monkeypatch, old):
    """It waits until both are there."""
    for name, content in old.items():
        Path(name).write_bytes(content)
    step = "exchange" if old else "rename_new"
    real = getattr(new_file, step)

    calls = []

    def interrupt(*names):
        calls.append(names)
        if len(calls) == 1:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # the main thread would raise it now
        return real(*names)

    monkeypatch.setattr(new_file, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        salvage("a.rec", "b.rec", "b.idx")
    five = SIX_INDEX[: SIX_INDEX.index(b"5\t")]
    assert folder_content(folder) == {"a.rec": cut, "b.rec": SIX[:220], "b.idx": five}


def test_progress(folder, cut):
    seen = []
    salvage("a.rec", "b.rec", progress=seen.append)
    assert [(step.records, step.bytes, step.total) for step in seen] == [(0, 0, 250), (5, 220, 250)]


def test_what_progress_or_damaged_raise_ends_the_run(folder, cut):
    class StopError(Exception):
        pass

    def stop(*_):
        raise StopError

    for options in ({"progress": stop}, {"damaged": stop}):
        with pytest.raises(StopError):
            salvage("a.rec", "b.rec", "b.idx", **options)
    assert folder_content(folder) == {"a.rec": cut}


def test_parts_that_can_become_no_longer_one(tmp_path, monkeypatch):
    """Two of an odd length belong into one part; where that would be too long, they stay two."""
    monkeypatch.setattr(rewrite, "MAX_LENGTH", 60)
    monkeypatch.setattr(rewrite, "LOCAL_BLOCK", 8)
    long = part(1, b"a" * 39) + part(2, b"b" * 39) + part(3, b"c")
    (tmp_path / "in.rec").write_bytes(long)
    salvage(tmp_path / "in.rec", tmp_path / "out.rec")
    written = (tmp_path / "out.rec").read_bytes()
    assert read(written)[0] == read(long)[0]
    assert written == part(1, b"a" * 39) + part(3, b"b" * 39 + MAGIC + b"c")
