"""Findings about what DALI, MXNet and rocAL make of files and an index.

`tests/peers/test_check_readers.py` has the real ones do it.
"""

import re
import struct
from array import array
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import ROOT
from damage import cut_tail, insert_bytes, zero_block
from findings_of import TOP, at, for_reader, in_lines, in_pair, index_file, index_of, told
from reference import MAGIC, part, record
from samples import FACE, SIX, SIX_INDEX, THREE_INDEX, A, B, image, labelled

import rec2idx.checks
from rec2idx.checks.dali import check_dali
from rec2idx.checks.mxnet import check_mxnet
from rec2idx.checks.rocal import LARGEST, check_rocal
from rec2idx.findings import Findings
from rec2idx.lines import read_index
from rec2idx.problems import MEANINGS
from rec2idx.survey import Survey

FACES = list(range(0, 320, 40))
IMAGES_INDEX = index_of(FACES[1:6], [1, 2, 3, 4, 5])
STARTS = list(range(0, 264, 44))
CUT = struct.pack("<IfQQ", 5, 0, 9, 0) + b"abcd"  # five labels are announced, one is there


def one_more(payload: bytes) -> bytes:
    """SIX and a record; at byte 264."""
    return SIX + record(payload)


SEVEN_INDEX = SIX_INDEX + b"6\t264\n"


def test_good_files_give_no_errors_and_no_warnings(tmp_path):
    """An image file with its im2rec index, or ours, is fine for all of DALI and MXNet."""
    shuffled = b"".join(part(0, image(0, number, bytes(12))) for number in (3, 1, 4, 0, 5, 2))
    several = b"".join(record(image(0, number, MAGIC + b"1234" * 3)) for number in range(4))
    for data, index in (
        (SIX, SIX_INDEX),
        (shuffled, index_of(STARTS, [3, 1, 4, 0, 5, 2])),
        (shuffled, SIX_INDEX),
        (several, index_of([0, 52, 104, 156])),
        (SIX[:44], b"0\t0\n"),
        (SIX, None),
    ):
        for reader in ("dali", "mxnet"):
            found = for_reader(reader, tmp_path, index, data)
            assert {finding.severity for finding in found} <= {"note"}
        if index is not None:
            both = in_lines(tmp_path, index) + in_pair(tmp_path, index, data)
            assert {finding.severity for finding in both} <= {"note"}
    assert for_reader("dali", tmp_path, SIX_INDEX, SIX) == ()
    assert for_reader("mxnet", tmp_path, SIX_INDEX, SIX) == ()
    assert for_reader("dali", tmp_path, IMAGES_INDEX, FACE) == ()


# DALI.


@pytest.mark.parametrize(
    ("payload", "what"),
    [
        (b"", "a record shorter than an IRHeader"),
        (b"twenty-three bytes long", "a record shorter than an IRHeader"),
        (image(0, 0xCED7230A, b"x"), "a record whose first part ends before its IRHeader"),
        (
            labelled([1, 2], 1)[:28] + MAGIC + b"pixels",
            "a record whose first part ends before",
        ),
        (CUT, "a record that ends before as many labels"),
    ],
)
def test_records_that_dali_refuses(tmp_path, payload, what):
    """FACTS: each only when that sample is reached."""
    [found] = for_reader("dali", tmp_path, SEVEN_INDEX, one_more(payload))
    assert told((found,)) == [("refused-record", "error", 1)]
    assert found.what.startswith(f"DALI fails when it comes to {what}")
    assert at(found, "record", "key", "line", "offset") == [(6, "6", 7, 264)]
    # An index without it is the cure.
    assert for_reader("dali", tmp_path, SIX_INDEX, one_more(payload)) == ()
    # Without an index, as if all records were in it.
    [found] = for_reader("dali", tmp_path, None, one_more(payload))
    assert at(found, "record", "key", "line", "offset") == [(6, None, None, 264)]
    assert found.path.endswith("0.rec")


def test_magics_behind_the_labels_are_fine_for_dali(tmp_path):
    for payload in (image(0, 1, MAGIC + b"x"), labelled([1, 2], 1) + MAGIC + b"x"):
        assert for_reader("dali", tmp_path, SEVEN_INDEX, one_more(payload)) == ()


def test_records_without_an_image_before_dalis_decoder(tmp_path):
    [found] = for_reader("dali", tmp_path, index_of(FACES), FACE)
    assert told((found,)) == [("no-image", "warning", 3)]
    assert at(found, "record", "line") == [(0, 1), (6, 7), (7, 8)]


def test_offsets_at_which_dali_fails(tmp_path):
    """Not at a record, in damage, past the end: there it may die."""
    [found] = for_reader("dali", tmp_path, b"0\t9\n" + SIX_INDEX[4:], SIX)
    assert told((found,)) == [("fails-at-sample", "error", 1)]
    assert at(found, "key", "line", "offset") == [("0", 1, 9)]
    [found] = for_reader("dali", tmp_path, SIX_INDEX, zero_block(SIX, 88, 96))
    assert told((found,)) == [("fails-at-sample", "error", 1)]
    found = for_reader("dali", tmp_path, SIX_INDEX, cut_tail(SIX, 200))
    assert told(found) == [("fails-at-sample", "error", 1), ("dies-at-sample", "error", 1)]
    assert at(found[1], "line", "offset") == [(6, 220)]
    index = index_of([0, 44, 88, TOP - 1, TOP - 1], [0, 1, 2, 3, 4])
    [found] = for_reader("dali", tmp_path, index, SIX)
    assert told((found,)) == [("dies-at-sample", "error", 1)]  # equal offsets are one sample


def test_an_entry_where_the_file_ends_is_nothing_to_dali(tmp_path):
    assert for_reader("dali", tmp_path, SEVEN_INDEX, SIX) == ()
    [found] = for_reader("dali", tmp_path, b"0\t264\n", SIX)
    assert told((found,)) == [("no-sample", "error", 1)]


def test_what_dali_takes_for_offsets_is_what_counts(tmp_path):
    """A third column makes pairs slip, so that offsets are wrong that are right in the lines."""
    found = for_reader("dali", tmp_path, SIX_INDEX.replace(b"\n", b"\t7\n"), SIX)
    assert told(found) == [("other-offsets", "error", 1), ("fails-at-sample", "error", 4)]
    # What it does not reach is of no matter.
    index = SIX_INDEX.replace(b"3\t132\n", b"cat\t9\n")
    assert told(for_reader("dali", tmp_path, index, SIX)) == [("stops-early", "error", 1)]


ONE = part(0, image(6, 6, bytes(12)))
THREE = b"".join(part(0, image(n, n, bytes(12))) for n in (7, 8, 9))


@pytest.mark.parametrize(
    ("files", "offsets", "expected"),
    [
        ((A, B), STARTS, []),
        ((A, ONE), [0, 44, 88, 132], [("file-before", "note", 1)]),
        ((A, b"", B), STARTS, [("empty-file", "error", 1), ("file-before", "note", 1)]),
        ((A, B, ONE), [0, 44, 88, 264], [("wrong-file", "error", 1)]),
        ((A, B, THREE), [0, 44, 88, 264, 308, 352], [("file-before", "note", 1)]),
        ((A, B), [132, 176, 220], []),
        ((A, B, THREE), [264, 308, 352], [("file-before", "note", 1)]),
        ((A, B, THREE), [308, 352], [("wrong-file", "error", 2)]),
        ((A, B), [0, 44, 88], []),
        ((A, B), [0, 44, 88, 220], [("wrong-file", "error", 1)]),
        ((A, B), [0, 44, 88, 176, 220], []),
        ((A, ONE), [132], [("file-before", "note", 1)]),
        ((A, B), [0, 44, 88, 220, 264], []),
        ((A, B), [0, 44, 88, 220, 220], [("same-offset", "note", 1)]),
        ((A, B, THREE), [0, 264, 264, 308], [("same-offset", "note", 1)]),
    ],
)
def test_dali_and_several_files(tmp_path, files, offsets, expected):
    """PEERS 4.1: it counts files up by one at most for an entry, and not for the last one."""
    assert told(for_reader("dali", tmp_path, index_of(offsets), *files)) == expected


def test_places_in_several_files(tmp_path):
    [found] = for_reader("dali", tmp_path, index_of([0, 44, 88, 264]), A, B, ONE)
    assert at(found, "record", "line", "offset", "detail") == [(0, 4, 264, f"in {tmp_path}/2.rec")]
    found, _ = for_reader("dali", tmp_path, None, A, part(0, b"short"))
    assert found.path == f"{tmp_path}/1.rec"
    assert at(found, "record", "offset", "detail") == [(0, 0, None)]


@pytest.mark.parametrize("reader", ["dali", "mxnet", "rocal"])
def test_several_files_without_an_index(tmp_path, reader):
    """What is found in a file carries its path."""
    empty = part(0, image(9, 9, b""))
    found = for_reader(reader, tmp_path, None, A, B, B + empty + empty, A + empty)
    assert [
        (finding.path, finding.count, at(finding, "record", "offset"))
        for finding in found
        if finding.code == "no-image"
    ] == [
        (f"{tmp_path}/2.rec", 2, [(3, 132), (4, 164)]),
        (f"{tmp_path}/3.rec", 1, [(3, 132)]),
    ]
    found = {finding.code: finding for finding in for_reader(reader, tmp_path, None, A, B, B)}
    assert reader == "dali" or found["same-ids"].path == f"{tmp_path}/2.rec"
    found = {finding.code: finding for finding in for_reader(reader, tmp_path, None, A, B, ONE)}
    assert reader != "dali" or found["file-before"].path == f"{tmp_path}/2.rec"


def test_the_last_file_on_s3():
    """There, a last file of one record is an error."""
    surveys = [
        Survey(f"s3://bucket/{name}.rec", 44, array("q", [0]), array("Q", [0]), array("B", [0]))
        for name in "ab"
    ]
    findings = Findings()
    check_dali(findings, surveys, None)
    assert told(findings.all()) == [("file-before", "error", 1)]


def test_an_empty_file_alone(tmp_path):
    """Case C12."""
    found = for_reader("dali", tmp_path, b"", b"")
    assert told(found) == [("refuses-index", "error", 1), ("empty-file", "error", 1)]


# MXNet.


def test_sizes_that_mxnet_refuses(tmp_path):
    """Where damage at the end is why (case C14), the finding of the damage says all there is."""
    data = insert_bytes(SIX, 44, b"x")
    found = for_reader("mxnet", tmp_path, b"0\t0\n1\t45\n", data)
    assert told(found)[0] == ("size-not-aligned", "error", 1)
    assert "a file of 265 bytes" in found[0].what
    six = SIX[:-44] + part(0, image(5, 5, bytes(10)))
    for data in (cut_tail(six, 262), cut_tail(six, 261), six + b"\n\n"):
        assert "size-not-aligned" not in str(for_reader("mxnet", tmp_path, SIX_INDEX, data))
    # The padding is nothing to DALI.
    assert for_reader("dali", tmp_path, SIX_INDEX, cut_tail(six, 262)) == ()


def test_image_record_iter_does_not_leave_out(tmp_path):
    """What follows the first entry, it gives; what is before, it does not."""
    [found, _] = for_reader("mxnet", tmp_path, index_of(STARTS[::2], [0, 2, 4]), SIX)
    assert told((found,)) == [("does-not-leave-out", "warning", 3)]
    assert at(found, "record") == [(1,), (3,), (5,)]
    [found, _] = for_reader("mxnet", tmp_path, IMAGES_INDEX, FACE)
    assert at(found, "record") == [(6,), (7,)]
    index = index_of(STARTS[2:], [2, 3, 4, 5])
    assert told(for_reader("mxnet", tmp_path, index, SIX)) == [("gluon-keys", "note", 1)]
    # Where entries are wrong, that is what is told.
    assert "does-not-leave-out" not in {
        found.code for found in for_reader("mxnet", tmp_path, b"0\t9\n" + SIX_INDEX[4:], SIX)
    }


def test_entries_at_which_mxnet_fails(tmp_path):
    [found] = for_reader("mxnet", tmp_path, b"0\t9\n" + SIX_INDEX[4:], SIX)
    assert told((found,)) == [("aborts", "error", 1)]
    [found] = for_reader("mxnet", tmp_path, SEVEN_INDEX, SIX)
    assert told((found,)) == [("crashes-at-end", "error", 1)]
    found = for_reader("mxnet", tmp_path, SIX_INDEX + b"6\t265\n7\t%d\n" % (TOP - 1), SIX)
    assert told(found) == [("fails-at-once", "error", 1), ("returns-nothing", "error", 1)]
    assert at(found[0], "line", "offset") == [(8, TOP - 1)]
    assert at(found[1], "line", "offset") == [(7, 265)]


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (labelled([1, 2], 6), "no-image"),
        (CUT, "cut-labels"),
        (b"", "no-header"),
        (b"short", "no-header"),
    ],
)
def test_records_that_mxnet_fails_at(tmp_path, payload, code):
    [found] = for_reader("mxnet", tmp_path, SEVEN_INDEX, one_more(payload))
    assert told((found,)) == [(code, "warning", 1)]
    assert at(found, "record", "line") == [(6, 7)]


def test_ids_that_repeat(tmp_path):
    """Case C7: ids that are all 0 are of no matter to most readers."""
    data = b"".join(part(0, image(n, 0, bytes(12))) for n in range(6))
    [found] = for_reader("mxnet", tmp_path, SIX_INDEX, data)
    assert told((found,)) == [("same-ids", "note", 5)]
    assert at(found, "record") == [(1,), (2,), (3,)]


def test_what_gluon_needs(tmp_path):
    """An index under another name, and keys that do not run on."""
    [found] = for_reader("mxnet", tmp_path, index_of(STARTS, [5, 1, 2, 3, 4, 0]), SIX)
    assert told((found,)) == [("gluon-keys", "note", 1)]
    (tmp_path / "other.idx").write_bytes(SIX_INDEX)
    findings = Findings()
    survey = Survey(str(tmp_path / "0.rec"), 264)
    check_mxnet(findings, [survey], read_index(tmp_path / "other.idx"))
    assert "gluon-elsewhere" in {found.code for found in findings.all()}


@pytest.mark.parametrize(
    "path", ["/dev/fd/63", "/dev/stdin", "<stdin>", "the stream", "s3://bucket/a.rec"]
)
def test_gluon_and_what_is_no_file(tmp_path, path):
    """Nobody gives a stream to gluon's data sets, nor a URL."""
    (tmp_path / "other.idx").write_bytes(SIX_INDEX)
    (tmp_path / "a.rec").write_bytes(SIX)
    for file, index in ((path, tmp_path / "other.idx"), (tmp_path / "a.rec", path)):
        findings = Findings()
        read = replace(index_file(tmp_path, SIX_INDEX), path=str(index))
        check_mxnet(findings, [Survey(str(file), 264)], read)
        assert "gluon-elsewhere" not in {found.code for found in findings.all()}


def test_several_files_and_paths_for_mxnet(tmp_path):
    assert told(for_reader("mxnet", tmp_path, SIX_INDEX, A, B)) == [("several-files", "note", 1)]
    folder = tmp_path / "a;b"
    folder.mkdir()
    [found] = for_reader("mxnet", folder, SIX_INDEX, SIX)
    assert told((found,)) == [("path-taken-apart", "warning", 1)]


# rocAL, case C31.


def test_rocal_and_a_good_file(tmp_path):
    assert for_reader("rocal", tmp_path, SIX_INDEX, SIX) == ()


def test_rocal_and_records(tmp_path):
    """Flags, several parts, short ones, ids that repeat."""
    found = for_reader("rocal", tmp_path, index_of(FACES), FACE)
    assert told(found) == [("skipped-record", "error", 3)]
    found = for_reader("rocal", tmp_path, SEVEN_INDEX, one_more(image(6, 6, MAGIC)))
    assert told(found) == [("multi-part", "error", 1)]
    found = for_reader("rocal", tmp_path, SEVEN_INDEX, one_more(image(6, 6, b"")))
    assert told(found) == [("no-image", "error", 1)]
    found = for_reader("rocal", tmp_path, SEVEN_INDEX, one_more(b"short"))
    assert told(found)[0] == ("no-header", "error", 1)
    data = b"".join(part(0, image(n, 0, bytes(12))) for n in range(6))
    [found] = for_reader("rocal", tmp_path, SIX_INDEX, data)
    assert told((found,)) == [("same-ids", "error", 5)]


def test_rocal_and_entries(tmp_path):
    found = for_reader("rocal", tmp_path, b"0\t9\n" + SIX_INDEX[4:], SIX)
    assert told(found) == [("fails-at-entry", "error", 1)]
    found = for_reader("rocal", tmp_path, SEVEN_INDEX + b"7\t44\n", SIX)
    assert told(found) == [("reads-nothing", "error", 2)]
    found = for_reader("rocal", tmp_path, SIX_INDEX.replace(b"3\t", b"x\t"), SIX)
    assert told(found) == [("stops-early", "error", 1)]


def test_rocal_and_files(tmp_path):
    """A folder with two of a kind, several files, a file of 4 GiB."""
    (tmp_path / "train.images.idx").write_bytes(b"")
    [found] = for_reader("rocal", tmp_path, SIX_INDEX, SIX)
    assert told((found,)) == [("folder", "error", 1)]
    assert at(found, "detail") == [("0.idx",), ("train.images.idx",)]
    found = for_reader("rocal", tmp_path, SIX_INDEX, A, B)
    assert [finding.code for finding in found] == ["several-files", "folder", "folder"]
    findings = Findings()
    check_rocal(findings, [Survey("large.rec", LARGEST)], None)
    assert told(findings.all()) == [("too-large", "error", 1)]


def test_a_file_that_grew_is_no_matter_to_rocal(tmp_path):
    """What is not in the index is not read."""
    assert for_reader("rocal", tmp_path, THREE_INDEX, SIX) == ()


def test_the_page_has_every_code():
    """All words that look like codes in these modules, and all codes of odd lines."""
    page = (ROOT / "docs/check.md").read_text()
    listed = set(re.findall(r"`([a-z0-9-]+)`(?=[^|]*\|)", page))
    folder = Path(rec2idx.checks.__file__).parent
    for name in ("lines", "pair", "dali", "mxnet", "rocal"):
        text = (folder / f"{name}.py").read_text()
        codes = set(re.findall(r'"([a-z]+(?:-[a-z0-9]+)+)"', text)) | {"empty", "bom", "aborts"}
        assert codes <= listed, name
    assert set(MEANINGS) <= listed
