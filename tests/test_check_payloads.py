"""What a check finds in payloads: magics that are not escaped, and images that are none."""

import random
from array import array
from pathlib import Path

import pytest
from checking import checked, placed, the, told
from conftest import ROOT
from damage import flip_byte
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, files, image, labelled

import rec2idx
from rec2idx.checks import magics, payloads
from rec2idx.segments import Batch
from rec2idx.stretches import stretches

PICTURES = ROOT / "tests/pictures"
JPEG = (PICTURES / "baseline.jpg").read_bytes()
PNG = (PICTURES / "palette.png").read_bytes()
HTML = b"<html><body>404 Not Found</body></html>"
NOISE = random.Random(22).randbytes(300)

# Case C22
C22 = [JPEG, JPEG[: len(JPEG) // 2], PNG, HTML, b"", NOISE]
C22_FILE = b"".join(record(image(n % 2, 10 + n, content)) for n, content in enumerate(C22))
C22_STARTS = [start for start, _ in read(C22_FILE)[0]]

HEAD = MAGIC + bytes(4)  # what looks like a record's start to MXNet
TAIL = MAGIC + b"\0\0\0\xff"  # and what does not


def unescaped(*contents: bytes) -> bytes:
    """A file by a writer that does not escape magics."""
    return b"".join(part(0, image(0, n, content)) for n, content in enumerate(contents, 1))


def magics_in(found: rec2idx.Check) -> list[tuple[str, str, int]]:
    return told(found, "unescaped-magic", "unescaped-magic-alone")


# Magics


def test_an_unescaped_magic(tmp_path):
    data = unescaped(b"fine", b"abcd" + HEAD + b"efgh", b"fine")
    finding = the(checked(tmp_path, data), "unescaped-magic")
    assert (finding.severity, finding.reader, finding.count) == ("warning", "mxnet", 1)
    assert placed(finding) == [(1, data.index(HEAD + b"efgh"))]
    assert "num_parts" in finding.advice


def test_one_that_does_not_look_like_a_record(tmp_path):
    data = unescaped(b"abcd" + TAIL, b"abcd" + MAGIC)
    finding = the(checked(tmp_path, data), "unescaped-magic-alone")
    assert (finding.severity, finding.count) == ("note", 2)
    assert not told(checked(tmp_path, data), "unescaped-magic")


def test_of_several_in_a_record_the_worst_counts(tmp_path):
    data = unescaped(TAIL + MAGIC + TAIL + HEAD + HEAD)
    found = checked(tmp_path, data)
    assert magics_in(found) == [("warning", "unescaped-magic", 1)]
    assert placed(the(found, "unescaped-magic")) == [(0, data.index(HEAD, 8))]


def test_a_first_part_looks_like_a_record_too(tmp_path):
    data = unescaped(MAGIC + b"\0\0\0\x20")
    assert magics_in(checked(tmp_path, data)) == [("warning", "unescaped-magic", 1)]


def test_so_many_that_not_all_are_looked_at(tmp_path):
    data = unescaped(TAIL * (magics.LOOKED_AT + 1) + HEAD)
    assert magics_in(checked(tmp_path, data)) == [("note", "unescaped-magic-alone", 1)]


@pytest.mark.parametrize("content", [b"a" + HEAD, b"ab" + HEAD, b"abc" + HEAD, MAGIC[:3]])
def test_elsewhere_than_at_a_multiple_of_4_it_is_none(tmp_path, content):
    assert not magics_in(checked(tmp_path, unescaped(content)))


def test_an_escaped_magic_is_none(tmp_path):
    data = record(image(0, 1, b"abcd" + HEAD * 3 + b"efgh"))
    assert data.count(MAGIC) == 4
    assert not magics_in(checked(tmp_path, data))


def test_in_a_part_of_a_record_of_several(tmp_path):
    first = part(1, image(0, 1, b"abcd"))
    data = first + part(2, b"efgh" + HEAD + b"ijkl") + part(3, b"")
    assert placed(the(checked(tmp_path, data), "unescaped-magic")) == [(0, len(first) + 12)]


def test_only_mxnet_fails_at_it(tmp_path):
    data = unescaped(HEAD)
    assert not magics_in(checked(tmp_path, data, readers=["dali", "rocal"]))
    assert not magics_in(checked(tmp_path, data, readers=["dali"], full=True))


def test_behind_damage(tmp_path):
    data = SIX + unescaped(HEAD, b"fine", HEAD)
    data = flip_byte(data, 44)
    start = data.index(HEAD, 264 + 8)
    assert placed(the(checked(tmp_path, data), "unescaped-magic"))[0] == (5, start)


@given(files)
def test_as_plain_python_finds_them(tmp_path, data):
    """In files of writers that escape and of such as do not: the records, and only these."""
    found = checked(tmp_path, data)
    parts = [number for number, (start, content) in enumerate(read(data)[0]) if odd(data, start)]
    numbers = sum(finding[2] for finding in magics_in(found))
    assert numbers == len(parts)


def odd(data: bytes, start: int) -> bool:
    """Whether a part of the record at `start` holds the magic at a multiple of 4 bytes."""
    while True:
        cflag, length = divmod(int.from_bytes(data[start + 4 : start + 8], "little"), 1 << 29)
        content = data[start + 8 : start + 8 + length]
        if any(content[at : at + 4] == MAGIC for at in range(0, length - 3, 4)):
            return True
        if cflag in (0, 3):
            return False
        start += 8 + length + -length % 4


# How much is read


def test_the_first_bytes_are_searched(tmp_path, monkeypatch):
    monkeypatch.setattr("rec2idx.checks.file.SEARCHED", 100)
    data = unescaped(b"twelve bytes", b"twelve bytes", HEAD + b"four", HEAD + b"four")
    found = checked(tmp_path, data)
    assert placed(the(found, "unescaped-magic")) == [(2, 88 + 32)]  # the one that starts there
    limit = the(found, "not-searched")
    assert (limit.severity, limit.advice) == ("note", "--full reads them all")
    assert limit.what == "payloads behind byte 100 were not searched for unescaped magics"
    found = checked(tmp_path, data, full=True)
    assert the(found, "unescaped-magic").count == 2
    assert not told(found, "not-searched")
    assert not told(checked(tmp_path, data, readers=["dali"]), "not-searched")


def test_a_stream_is_not_searched(tmp_path):
    (tmp_path / "a.rec").write_bytes(C22_FILE)
    with (tmp_path / "a.rec").open("rb") as file:
        assert not told(rec2idx.check(file), "not-searched", "not-an-image")
    with (tmp_path / "a.rec").open("rb") as file:
        finding = the(rec2idx.check(file, full=True), "not-searched")
    assert finding.severity == "warning"


@pytest.mark.parametrize("jobs", [None, 1, 3])
def test_in_stretches_of_any_length(tmp_path, monkeypatch, jobs):
    data = unescaped(*(b"abcd" + HEAD * (n % 3 == 0) for n in range(200))) + C22_FILE
    expected = checked(tmp_path, data, full=True).findings
    monkeypatch.setattr(payloads, "SEARCHED", 0)  # so that there are threads
    for length in (1, 60, 200, 5000):
        monkeypatch.setattr(payloads, "STRETCH", length)
        assert checked(tmp_path, data, full=True, jobs=jobs).findings == expected


def test_a_record_that_is_too_large_is_read_in_pieces(tmp_path, monkeypatch):
    content = bytes(96) + TAIL + bytes(100) + HEAD + bytes(500)
    data = unescaped(b"fine", content, HEAD) + record(image(0, 9, bytes(400) + MAGIC + bytes(400)))
    expected = checked(tmp_path, data).findings
    assert told(checked(tmp_path, data), "unescaped-magic") == [("warning", "unescaped-magic", 2)]
    monkeypatch.setattr(payloads, "LARGEST", 100)
    for step in (4, 8, 40, 96):
        monkeypatch.setattr(payloads, "STRETCH", step)
        assert checked(tmp_path, data).findings == expected


def test_much_damage_behind_a_record(tmp_path, monkeypatch):
    """What is damaged is not read as if it belonged to the record before it."""
    monkeypatch.setattr(payloads, "LARGEST", 2000)
    monkeypatch.setattr(payloads, "STRETCH", 100)
    page = part(0, image(0, 1, HTML))
    data = SIX[:44] + page + bytes(4000) + SIX[44:]
    assert placed(the_page(checked(tmp_path, data, full=True))) == [(1, 44)]


def the_page(found: rec2idx.Check) -> rec2idx.Finding:
    [finding] = [finding for finding in found.findings if "HTML" in finding.what]
    return finding


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=30), st.integers(0, 300), st.integers(1, 60)
)
def test_stretches_cover_a_batch(lengths, limit, length):
    ends = [sum(lengths[: n + 1]) * 4 for n in range(len(lengths))]
    offsets = array("q", [0, *ends[:-1]])
    batch = Batch(7, offsets, array("q", lengths), ends[-1])
    found = list(stretches(batch, length, limit))
    covered = [offset for stretch in found for offset in stretch.offsets]
    assert covered == [offset for offset in offsets if offset < limit]
    for stretch in found:
        at = list(offsets).index(stretch.offsets[0])
        assert stretch.first == 7 + at
        assert stretch.stop == ends[at + len(stretch.offsets) - 1]
        assert len(stretch.offsets) == 1 or stretch.stop - stretch.offsets[0] <= length


# Images: case C22


def test_each_that_is_no_plausible_image(tmp_path):
    (tmp_path / "a.idx").write_text("".join(f"{10 + n}\t{s}\n" for n, s in enumerate(C22_STARTS)))
    found = checked(tmp_path, C22_FILE, index=tmp_path / "a.idx", full=True)
    codes = ("broken-image", "not-an-image", "empty-image", "unknown-image")
    cases = [finding for finding in found.findings if finding.code in codes]
    half = len(JPEG) // 2
    assert [
        (case.severity, case.code, case.what, case.count, case.places[0].detail.split(":")[0])
        for case in cases
    ] == [
        ("error", "broken-image", BROKEN, 1, f"id 11, label 1, {half} bytes of jpeg"),
        ("error", "not-an-image", PAGE, 1, f"id 13, label 1, {len(HTML)} bytes of html"),
        ("error", "empty-image", "no image behind the labels", 1, "id 14, label 0, 0 bytes"),
        ("warning", "unknown-image", UNKNOWN, 1, "id 15, label 1, 300 bytes of unknown kind"),
    ]
    places = [(case.places[0].record, case.places[0].key, case.places[0].offset) for case in cases]
    assert places == [(n, str(10 + n), C22_STARTS[n]) for n in (1, 3, 4, 5)]
    assert "404 Not Found" in cases[1].places[0].detail


BROKEN = "JPEG cut inside a segment"
PAGE = "HTML page in place of an image"
UNKNOWN = "an image of no known kind"


def test_without_full_no_image_is_judged(tmp_path):
    assert not checked(tmp_path, C22_FILE, readers=["dali"]).errors


@pytest.mark.parametrize(
    ("content", "severity", "code", "what"),
    [
        (PNG[:-20], "error", "broken-image", "PNG"),
        (bytes(40), "error", "not-an-image", "zeros only"),
        (b'{"error": "no such picture"}', "error", "not-an-image", "JSON in place of an image"),
        (b"No such file or directory", "error", "not-an-image", "text in place of an image"),
        (JPEG + b"\0\0", "note", "bytes-after-image", "bytes after the end of an image"),
    ],
)
def test_what_is_said_of_an_image(tmp_path, content, severity, code, what):
    finding = the(checked(tmp_path, record(image(0, 1, content)), full=True), code)
    assert finding.severity == severity
    assert finding.what.startswith(what)


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.*")), ids=lambda path: path.name)
def test_real_images_are_fine(tmp_path, path: Path):
    if path.suffix == ".py":
        return
    data = record(image(0, 1, path.read_bytes()))
    found = checked(tmp_path, data, full=True)
    assert not found.errors
    assert not found.warnings


def test_labels_are_told(tmp_path):
    contents = [
        labelled([2.5], 1, HTML),
        labelled([1, 2], 2, HTML),
        labelled([1, 2, 3, 4], 3, HTML),
    ]
    finding = the(checked(tmp_path, b"".join(map(record, contents)), full=True), "not-an-image")
    assert finding.count == 3
    assert [place.detail.split(", 3")[0] for place in finding.places] == [
        "id 1, label 2.5",
        "id 2, labels 1 2",
        "id 3, labels 1 2 3 ...",
    ]


def test_an_image_in_several_parts(tmp_path):
    payload = image(0, 1, b"<html>" + b"x" * 6 + MAGIC + b"</html>")
    assert record(payload).count(MAGIC) == 2
    finding = the(checked(tmp_path, record(payload), full=True), "not-an-image")
    assert "id 1, label 0, 23 bytes of html" in finding.places[0].detail


def test_parts_that_are_padded(tmp_path):
    """No writer ends a first part elsewhere than at a multiple of 4, but a file may say so."""
    data = part(1, image(0, 1, b"<html>abc")) + part(3, b"</html>")
    finding = the(checked(tmp_path, data, full=True), "not-an-image")
    assert "id 1, label 0, 20 bytes of html" in finding.places[0].detail


def test_records_of_insightface_without_an_image_are_no_finding(tmp_path):
    found = checked(tmp_path, FACE, full=True)
    assert not told(found, "empty-image")
    assert told(found, "not-an-image") == [("error", "not-an-image", 5)]  # eight bytes of text


def test_where_payloads_are_no_image_records_there_are_no_images(tmp_path):
    found = checked(tmp_path, part(0, b"plain text that is long enough for a header"), full=True)
    assert told(found, "not-an-image", "unknown-image") == []


def test_a_read_that_fails_ends_the_check(tmp_path, monkeypatch):
    def fail(self, offset, length):
        raise OSError(5, "Input/output error", self.path)

    (tmp_path / "a.rec").write_bytes(SIX)
    monkeypatch.setattr("rec2idx.sources.LocalFile.read", fail)
    with pytest.raises(OSError, match="Input/output error"):
        rec2idx.check(tmp_path / "a.rec")
