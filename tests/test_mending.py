"""Damage to a whole file that salvage undoes, and what the commands call it."""

import random

import pytest
from damaged_files import jpeg, png
from reference import MAGIC, part, record
from samples import SIX, image

import rec2idx
from rec2idx import mending
from rec2idx.sources import LocalFile

RNG = random.Random(3)
JPEGS = b"".join(record(image(at, at, jpeg(RNG, bytes(range(40))))) for at in range(6))
PNGS = b"".join(record(image(at, at, png(RNG, b"some data"))) for at in range(6))
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n"


def salvaged(tmp_path, data: bytes) -> tuple[bytes, rec2idx.SalvageSummary]:
    (tmp_path / "a.rec").write_bytes(data)
    (tmp_path / "b.rec").unlink(missing_ok=True)
    done = rec2idx.salvage(tmp_path / "a.rec", tmp_path / "b.rec", tmp_path / "b.idx")
    return (tmp_path / "b.rec").read_bytes(), done


@pytest.mark.parametrize("missing", [1, 2, 3, 4])
@pytest.mark.parametrize("whole", [SIX, part(0, b"one"), record(b"1234" + MAGIC + b"56")])
def test_first_bytes_that_are_missing_are_put_back(tmp_path, missing, whole):
    written, done = salvaged(tmp_path, whole[missing:])
    assert written == whole
    assert (done.damaged, done.damaged_bytes) == (0, 0)
    number = "byte was" if missing == 1 else f"{missing} bytes were"
    assert done.repaired == f"the first {number} missing"


@pytest.mark.parametrize(
    ("front", "kind"),
    [(b"\xef\xbb\xbf", "byte order mark"), (HTTP, "HTTP header"), (b"\r\n", "white space")],
)
def test_bytes_in_front_are_left_out(tmp_path, front, kind):
    written, done = salvaged(tmp_path, front + SIX)
    assert (written, done.records, done.damaged_bytes) == (SIX, 6, len(front))
    with pytest.raises(rec2idx.NotRecordIOError) as error:
        rec2idx.create_index(tmp_path / "a.rec")
    assert error.value.looks_like == f"RecordIO after {len(front)} other bytes ({kind})"
    regions = []
    rec2idx.create_index(tmp_path / "a.rec", salvage=regions.append)
    assert [region.cause for region in regions] == [rec2idx.Cause(kind, 0, len(front), len(front))]


@pytest.mark.parametrize("block", [16, 17, 64, 1 << 20])
@pytest.mark.parametrize("whole", [SIX, JPEGS, PNGS, record(b"\r\n\n\r" * 9)])
def test_each_line_feed_became_two_bytes(tmp_path, monkeypatch, whole, block):
    monkeypatch.setattr(mending, "BLOCK", block)
    written, done = salvaged(tmp_path, whole.replace(b"\n", b"\r\n"))
    assert written == whole
    assert done.repaired == "each 0a had become 0d 0a (copied in text mode)"


@pytest.mark.parametrize("length", [1, 3, 100])
def test_a_mended_file_is_read_anywhere(tmp_path, monkeypatch, length):
    monkeypatch.setattr(mending, "BLOCK", 32)
    for damaged, whole in (
        (JPEGS.replace(b"\n", b"\r\n"), JPEGS),
        (PNGS.replace(b"\r\n", b"\n"), PNGS),
        (SIX[3:], SIX),
    ):
        (tmp_path / "a.rec").write_bytes(damaged)
        monkeypatch.setattr(mending, "BLOCK", 32 if damaged[:1] == b"\r" else 1 << 20)
        with LocalFile(str(tmp_path / "a.rec")) as source:
            mended, what = mending.mended(source)
            assert what is not None
            assert mended.size == len(whole)
            for at in range(len(whole)):
                assert mended.read(at, length) == whole[at : at + length]


def test_line_feeds_that_lost_their_carriage_return(tmp_path):
    written, done = salvaged(tmp_path, PNGS.replace(b"\r\n", b"\n"))
    assert written == PNGS
    assert done.repaired == "each 0d 0a had become 0a (copied in text mode)"
    texts = b"".join(record(b"a\r\nline\r\n" * (3 + at % 2)) for at in range(9))
    assert salvaged(tmp_path, texts.replace(b"\r\n", b"\n"))[0] == texts


def test_what_cannot_be_undone_is_refused(tmp_path):
    """A line feed by itself; lengths that do not fit; line feeds of which nothing is known."""
    for data, reason in (
        (SIX.replace(b"\n", b"\r\n") + b"\n", "line feeds without a carriage return"),
        (SIX[:-4].replace(b"\n", b"\r\n"), "lengths do not fit: record 5 at byte 220"),
        (
            (record(image(0, 0, png(RNG, b"a\r\nb\nc"))) + PNGS).replace(b"\r\n", b"\n"),
            "the record at byte 0 lacks",
        ),
    ):
        with pytest.raises(rec2idx.DamagedRecordError, match=reason) as error:
            salvaged(tmp_path, data)
        assert "that cannot be undone" in str(error.value)
        assert not (tmp_path / "b.rec").exists()


def test_a_byte_that_is_missing_is_no_carriage_return(tmp_path):
    """Though the record has as many line feeds as it lacks bytes."""
    records = [record(image(at, at, b"12345678" * at)) for at in range(9)]
    data = b"".join(records)
    records[5] = record(image(5, 5, b"1234567\n" * 1 + b"1234567812345678123456781234567"))[:-1]
    written, done = salvaged(tmp_path, b"".join(records))
    assert done.repaired is None
    assert len(written) < len(data)


def test_the_command_names_what_it_has_undone(tmp_path):
    import subprocess

    from conftest import COMMAND

    (tmp_path / "a.rec").write_bytes(SIX[1:])
    done = subprocess.run(
        [COMMAND.with_name("recordio"), "salvage", "a.rec", "b.rec"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stderr.startswith(
        "recordio: a.rec: the first byte was missing, which is undone; 6 records kept, none "
        "rewritten, "
    )
