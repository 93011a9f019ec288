"""What a check finds in a record file as such: damage, what is none, labels."""

import gzip
import io
import json
import re
import struct
from pathlib import Path

import pytest
from checking import checked, placed, the, told
from conftest import ROOT
from damage import cut_tail, flip_byte, insert_bytes, set_lrec
from reference import MAGIC, part, record
from samples import FACE, SIX, SIX_INDEX, A, B, image, labelled

import rec2idx.checks
from rec2idx import findings as words
from rec2idx.checks import labels

# Case C14: the last image has 10 bytes, so that two bytes of padding end the file
PADDED = SIX[:220] + part(0, image(5, 5, b"ten bytes."))
JPEG = b"\xff\xd8\xff\xda\x00\x02 and so on\xff\xd9"


def test_nothing_to_find(tmp_path):
    found = checked(tmp_path, SIX)
    assert found.findings == ()
    assert (found.paths, found.index) == ((f"{tmp_path}/a.rec",), None)
    assert (found.bytes, found.records, found.images) == (264, 6, 6)
    assert found.seconds > 0


def test_any_number_of_jobs_finds_the_same(tmp_path):
    data = flip_byte(SIX * 50, 44 * 70) + b"\n\n"
    found = [checked(tmp_path, data, jobs=jobs).findings for jobs in (None, 1, 3)]
    assert found[0] == found[1] == found[2]
    codes = [finding.code for finding in found[0]]
    assert codes == ["wrong-magic", "stray-bytes", "same-ids"]


# Case C14: three different messages


def test_padding_is_missing(tmp_path):
    found = checked(tmp_path, cut_tail(PADDED, 262))
    assert found.records == 6
    [finding] = found.findings
    assert (finding.code, finding.severity) == ("cut-padding", "error")
    assert finding.what == "the last record is whole, but its padding is missing"
    assert finding.advice == "add it, which MXNet needs and DALI does not: truncate -s 264"
    assert placed(finding) == [(5, 262)]
    assert "expected 2 bytes of padding, found 0" in finding.places[0].detail


def test_a_byte_of_the_last_record_is_missing(tmp_path):
    found = checked(tmp_path, cut_tail(PADDED, 261))
    assert found.records == 5
    [finding] = found.findings
    assert (finding.code, finding.severity) == ("cut-part", "error")
    assert finding.what == "the end of the file cuts off the last record"
    assert "recordio salvage" in finding.advice
    assert "rec2idx --salvage" in finding.advice
    assert placed(finding) == [(5, 220)]
    assert "expected a part of 42 bytes, found 41" in finding.places[0].detail


def test_two_bytes_more(tmp_path):
    found = checked(tmp_path, PADDED + b"\n\n")
    assert found.records == 6
    [finding] = found.findings
    assert (finding.code, finding.severity) == ("stray-bytes", "error")
    assert finding.advice.endswith("truncate -s 264")
    assert placed(finding) == [(6, 264)]
    assert "found 2 bytes (0a 0a)" in finding.places[0].detail


@pytest.mark.parametrize("data", [cut_tail(PADDED, 262), PADDED + b"\n\n"])
def test_where_all_is_whole_it_is_no_error_for_dali(tmp_path, data):
    found = checked(tmp_path, data, readers=["dali"])
    assert [finding.severity for finding in found.findings] == ["warning"]


def test_padding_is_counted_from_the_start_of_the_record(tmp_path):
    """Behind damage of an odd length nothing stands at a multiple of 4."""
    data = insert_bytes(SIX * 9 + cut_tail(PADDED, 262), 44, b"x")
    found = checked(tmp_path, data)
    assert f"truncate -s {len(data) + 2}" in the(found, "cut-padding").advice
    (tmp_path / "a.rec").write_bytes(data + b"\0\0")
    assert not told(rec2idx.check(tmp_path / "a.rec"), "cut-padding", "stray-bytes")


# Damage


def test_damage_in_the_middle(tmp_path):
    found = checked(tmp_path, flip_byte(SIX, 88))
    assert found.records == 5
    [finding] = found.findings
    assert (finding.code, finding.severity) == ("wrong-magic", "error")
    assert placed(finding) == [(2, 88)]
    assert finding.places[0].detail == (
        "44 bytes to byte 132: wrong magic: expected 0xced7230a, found 0xced723f5"
    )


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (set_lrec(SIX, 88, 5, 36), "wrong-cflag"),
        (set_lrec(SIX, 88, 3, 36), "no-first-part"),
        (set_lrec(SIX, 88, 1, 36), "record-not-ended"),
        (set_lrec(SIX, 88, 0, 40), "wrong-length"),
        (SIX + MAGIC, "cut-header"),
        (SIX + part(1, b"abcd"), "ends-inside-record"),
    ],
)
def test_every_kind_of_damage_is_told_by_its_code(tmp_path, data, code):
    found = checked(tmp_path, data)
    assert told(found, code) == [("error", code, 1)]
    assert found.records in (5, 6)


def test_equal_damage_is_folded(tmp_path):
    data = SIX * 3
    for at in (44, 176, 308, 440):
        data = flip_byte(data, at)
    finding = the(checked(tmp_path, data), "wrong-magic")
    assert finding.count == 4
    assert placed(finding) == [(1, 44), (3, 176), (5, 308)]


def test_more_damage_than_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("rec2idx.survey.REGIONS", 2)
    data = SIX * 3
    for at in (44, 176, 308, 440):
        data = flip_byte(data, at)
    found = checked(tmp_path, data)
    expected = [("error", "wrong-magic", 2), ("error", "more-damage", 2)]
    assert told(found, "wrong-magic", "more-damage") == expected


def test_a_download_that_broke_off(tmp_path):
    """Case C4."""
    data = b"".join(part(0, image(0, n, bytes(12))) for n in range(200))[:6048]
    found = checked(tmp_path, data)
    assert found.records == 137
    [finding] = found.findings
    assert placed(finding) == [(137, 6028)]
    assert "expected a part of 44 bytes, found 20" in finding.places[0].detail


def test_nothing_is_whole(tmp_path):
    found = checked(tmp_path, SIX[:20])
    assert found.records == 0
    assert told(found) == [("error", "cut-part", 1)]
    assert placed(found.findings[0]) == [(0, 0)]


def test_a_stream_is_followed_to_the_first_damage():
    found = rec2idx.check(io.BytesIO(flip_byte(SIX, 88)))
    assert (found.paths, found.records) == (("the stream",), 2)
    [finding] = found.findings
    assert finding.code == "wrong-magic"
    assert placed(finding) == [(2, 88)]


# What is no record file: cases C6 and C12


@pytest.mark.parametrize(
    ("data", "what", "advice"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "not a RecordIO file, but a Git LFS pointer",
            "git lfs pull",
        ),
        (b"<!DOCTYPE html><html></html>", "not a RecordIO file, but an HTML page", "browser"),
        (gzip.compress(SIX), "not a RecordIO file, but gzip data", "gzip -d"),
        (bytes(1 << 20), "not a RecordIO file, but zeros", "start it again"),
        (b"anything else", "not a RecordIO file", "check that this is the .rec file"),
    ],
)
def test_what_is_no_record_file(tmp_path, data, what, advice):
    found = checked(tmp_path, data)
    assert (found.records, found.bytes) == (0, len(data))
    [finding] = found.findings
    assert (finding.code, finding.severity, finding.what) == ("not-recordio", "error", what)
    assert advice in finding.advice
    assert finding.places[0].offset == 0


def test_an_empty_file(tmp_path):
    found = checked(tmp_path, b"")
    assert told(found) == [("error", "empty-file", 1)]


def test_one_file_of_several_that_is_none(tmp_path):
    """The others are checked, and nothing is said of an index that cannot fit."""
    for name, data in (("a.rec", A), ("b.rec", b"PK\x03\x04"), ("c.rec", B + b"\n\n")):
        (tmp_path / name).write_bytes(data)
    (tmp_path / "all.idx").write_bytes(SIX_INDEX)
    paths = [tmp_path / name for name in ("a.rec", "b.rec", "c.rec")]
    found = rec2idx.check(paths, tmp_path / "all.idx")
    assert found.records == 6
    assert told(found) == [("error", "not-recordio", 1), ("error", "stray-bytes", 1)]


def test_what_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        rec2idx.check(tmp_path / "none.rec")
    (tmp_path / "a.rec").write_bytes(SIX)
    with pytest.raises(FileNotFoundError):
        rec2idx.check(tmp_path / "a.rec", tmp_path / "none.idx")


def test_wrong_arguments(tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    with pytest.raises(ValueError, match=r"readers has \['tf'\], expected some of dali, mxnet"):
        rec2idx.check(tmp_path / "a.rec", readers=["tf"])
    with pytest.raises(ValueError, match="records is empty"):
        rec2idx.check([])


# With an index


def test_a_file_and_its_index(tmp_path):
    (tmp_path / "a.idx").write_bytes(SIX_INDEX)
    found = checked(tmp_path, SIX, index=tmp_path / "a.idx")
    assert (found.index, found.findings) == (f"{tmp_path}/a.idx", ())


def test_several_files_and_their_index(tmp_path):
    """Case C9."""
    (tmp_path / "a.rec").write_bytes(A)
    (tmp_path / "b.rec").write_bytes(B)
    (tmp_path / "all.idx").write_bytes(SIX_INDEX)
    found = rec2idx.check([tmp_path / "a.rec", tmp_path / "b.rec"], tmp_path / "all.idx")
    assert (found.records, found.errors, found.warnings) == (6, (), ())


def test_findings_name_the_keys_of_records(tmp_path):
    """Also in the second of two files, and where the lines are in another order."""
    payloads = [labelled([1, 2], 7, b"x"), image(1, 8, b"<html></html>")]
    (tmp_path / "a.rec").write_bytes(A)
    (tmp_path / "b.rec").write_bytes(b"".join(part(0, payload) for payload in payloads))
    (tmp_path / "all.idx").write_bytes(b"cat\t176\n3\t132\n0\t0\n1\t44\n2\t88\n")
    paths = [tmp_path / "a.rec", tmp_path / "b.rec"]
    found = rec2idx.check(paths, tmp_path / "all.idx", full=True)
    [zeros, page] = [finding for finding in found.findings if finding.code == "not-an-image"]
    assert (zeros.path, zeros.places[0].key) == (f"{tmp_path}/a.rec", "0")
    [place] = page.places
    assert page.path == f"{tmp_path}/b.rec"
    assert (place.record, place.key, place.offset) == (1, "cat", 44)


# Labels: case C32


def detection(*widths: int) -> list[bytes]:
    return [labelled([2, 5] + [0.5] * (width - 2), n, JPEG) for n, width in enumerate(widths, 1)]


def test_labels_of_a_detection(tmp_path):
    payloads = [image(1, 0, JPEG), *detection(7, 17, 9)]
    found = checked(tmp_path, b"".join(map(record, payloads)))
    assert told(found) == [
        ("warning", "single-label", 1),
        ("warning", "label-misfit", 1),
        ("note", "label-widths", 1),
    ]
    single, misfit, widths = found.findings
    assert placed(single) == [(0, 0)]
    assert misfit.places[0].record == 3
    assert misfit.places[0].detail == "9 labels, a header of 2 and boxes of 5"
    assert widths.what == (
        "the images have different numbers of labels: 1 (1 image), 7 (1 image), 9 (1 image), "
        "17 (1 image)"
    )
    assert "17 or more" in widths.advice


@pytest.mark.parametrize(("readers", "kept"), [(("mxnet",), 6), (("dali", "rocal"), 0)])
def test_of_many_labels_the_first_places_are_kept(tmp_path, monkeypatch, readers, kept):
    """Three of each kind; none where nobody is told of them."""
    places = []
    monkeypatch.setattr(labels, "Place", lambda **of: places.append(of) or words.Place(**of))
    payloads = detection(*[7] * 30, *[9] * 10) + [image(1, n, JPEG) for n in range(10)]
    found = checked(tmp_path, b"".join(map(record, payloads)), readers=readers)
    expected = [("warning", "single-label", 10), ("warning", "label-misfit", 10)]
    assert told(found, "single-label", "label-misfit") == (expected if kept else [])
    assert [place["record"] for place in places] == [30, 31, 32, 40, 41, 42][:kept]
    assert told(found, "label-widths") == [("note", "label-widths", 1)]


def test_labels_of_a_detection_that_fit(tmp_path):
    found = checked(tmp_path, b"".join(map(record, detection(7, 7, 7))))
    assert found.findings == ()


def test_a_header_without_a_box(tmp_path):
    data = b"".join(map(record, [*detection(7, 12), labelled([2, 5], 9, JPEG)]))
    assert placed(the(checked(tmp_path, data), "label-misfit"))[0][0] == 2


def test_a_batch_of_single_labels_in_a_detection(tmp_path):
    data = b"".join(map(record, detection(7, 7))) + bytes(44) + SIX
    assert the(checked(tmp_path, data), "single-label").count == 6


def test_boxes_of_another_width(tmp_path):
    payloads = [labelled([4, 6, 1, 2] + [0.5] * 12, n, JPEG) for n in range(3)]
    assert checked(tmp_path, b"".join(map(record, payloads))).findings == ()


def test_labels_of_another_kind(tmp_path):
    """A reader that takes any number of labels is not told what another one fails at."""
    payloads = [image(1, 0, JPEG), labelled([3.5, 9.25], 1, JPEG)]
    data = b"".join(map(record, payloads))
    assert told(checked(tmp_path, data)) == [("warning", "label-widths", 1)]
    assert told(checked(tmp_path, data, readers=["dali"])) == [("note", "label-widths", 1)]


def test_what_payloads_are(tmp_path):
    found = checked(tmp_path, part(0, b"plain text that is long enough for a header"))
    finding = the(found, "no-image-records")
    assert (finding.severity, finding.what) == ("note", "the payloads are raw, no image records")


def test_one_odd_record_among_image_records(tmp_path):
    """What most records are, the file is: the odd one is what a check is for."""
    found = checked(tmp_path, SIX + part(0, b"no header"))
    assert not told(found, "no-image-records")
    assert told(found, "refused-record") == [("error", "refused-record", 1)]


# The value


def test_errors_come_first(tmp_path):
    payloads = [image(1, 0, JPEG), *detection(7, 17, 9)]
    found = checked(tmp_path, b"".join(map(record, payloads)) + b"\n\n")
    severities = [finding.severity for finding in found.findings]
    assert severities == ["error", "warning", "warning", "note"]
    assert found.errors + found.warnings + found.notes == found.findings


def test_as_json(tmp_path):
    found = checked(tmp_path, flip_byte(SIX, 88))
    value = json.loads(json.dumps(found.as_dict()))
    assert set(value) == {"paths", "index", "bytes", "records", "images", "findings", "seconds"}
    assert set(value["findings"][0]) == {
        *("code", "severity", "path", "what", "advice", "reader", "count", "places"),
    }
    assert set(value["findings"][0]["places"][0]) == {"record", "key", "line", "offset", "detail"}


def test_progress(tmp_path):
    seen = []
    for name in ("a.rec", "b.rec"):
        (tmp_path / name).write_bytes(SIX)
    rec2idx.check([tmp_path / "a.rec", tmp_path / "b.rec"], progress=seen.append)
    assert [(step.records, step.bytes, step.total) for step in seen] == [
        (6, 264, 528),
        (12, 528, 528),
    ]
    rec2idx.check(io.BytesIO(SIX), progress=seen.append)
    assert seen[-1].total is None


def test_what_progress_raises_ends_the_run(tmp_path):
    def stop(progress):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        checked(tmp_path, SIX, progress=stop)


def test_the_page_has_every_code():
    """All words that look like codes where record files are checked."""
    page = (ROOT / "docs/check.md").read_text()
    folder = Path(rec2idx.checks.__file__).parent
    for name in ("regions", "magics", "images", "labels", "insightface", "file"):
        codes = set(re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', (folder / f"{name}.py").read_text()))
        assert codes
        assert [code for code in codes if f"`{code}`" not in page] == []


def test_images_are_counted(tmp_path):
    assert checked(tmp_path, FACE).images == 5
    short = struct.pack("<IfQQ", 9, 0, 0, 0)
    assert checked(tmp_path, part(0, short) + SIX + part(0, b"")).images == 6


def test_findings_of_two_are_joined():
    one, other = words.Findings(), words.Findings()
    for findings, numbers in ((one, (1, 2)), (other, (3, 4))):
        for number in numbers:
            findings.add("odd", "note", "a", "odd", place=words.Place(record=number))
    other.add("even", "note", "a", "even")
    one.add_all(other)
    odd, even = one.all()
    assert (odd.count, [place.record for place in odd.places]) == (4, [1, 2, 3])
    assert (even.count, even.places) == (1, ())
    one.add_places("none", "note", "a", "none", None, [], 0)
    assert len(one.all()) == 2
