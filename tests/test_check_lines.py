"""Findings about the lines of an index: `check_lines`."""

import gzip
import io
import random
from pathlib import Path

import pytest
from findings_of import TOP, at, in_lines, index_of, told
from hypothesis import given
from index_texts import texts
from samples import SIX, SIX_INDEX

from rec2idx.checks.lines import check_lines
from rec2idx.findings import Findings
from rec2idx.lines import read_index
from rec2idx.problems import MEANINGS

LINES = SIX_INDEX.splitlines(keepends=True)
DALI_STOPS = ("stops-early", "error", 1)
REFUSED = ("refuses-index", "error", 1)
CRASHES = ("iter-crashes", "error", 1)
OTHERS = ("other-offsets", "error", 1)


def with_line(line: bytes, number: int = 3) -> bytes:
    """The index of SIX with one line in place of another."""
    return b"".join([*LINES[:number], line, *LINES[number + 1 :]])


def by_reader(data: bytes, folder: Path) -> dict[str | None, list[tuple]]:
    """What is told, for each reader that is concerned."""
    found: dict[str | None, list[tuple]] = {}
    for finding in in_lines(folder, data):
        found.setdefault(finding.reader, []).extend(told((finding,)))
    return found


def test_a_good_index(tmp_path):
    assert in_lines(tmp_path, SIX_INDEX) == ()


# What is found: for all readers, for DALI, for MXNet.
CASES = {
    "spaces": (SIX_INDEX.replace(b"\t", b" "), [("spaces-for-tab", "note", 6)], [], [REFUSED]),
    "crlf": (SIX_INDEX.replace(b"\n", b"\r\n"), [("crlf", "note", 6)], [], []),
    "no newline": (SIX_INDEX[:-1], [("no-final-newline", "note", 1)], [], []),
    "blank line": (with_line(b"\n"), [("blank-line", "note", 1)], [], [REFUSED]),
    "blank at the end": (SIX_INDEX + b"\n", [("blank-line", "note", 1)], [], [REFUSED]),
    "comment first": (
        b"# key offset\n" + SIX_INDEX,
        [("comment", "error", 1)],
        [REFUSED],
        [REFUSED, CRASHES],
    ),
    "comment inside": (with_line(b"# 3\n"), [("comment", "error", 1)], [DALI_STOPS], [REFUSED]),
    "comment at the end": (
        SIX_INDEX + b"# end\n",
        [("comment", "error", 1)],
        [("stops-early", "note", 1)],
        [REFUSED],
    ),
    "bom": (
        b"\xef\xbb\xbf" + SIX_INDEX,
        [("bom", "warning", 1)],
        [REFUSED],
        [REFUSED, CRASHES],
    ),
    "text keys": (
        index_of([0, 44, 88], ["a", "b", "c"]),
        [("text-key", "warning", 3)],
        [REFUSED],
        [REFUSED, CRASHES],
    ),
    "text key": (
        with_line(b"cat\t132\n"),
        [("text-key", "warning", 1)],
        [DALI_STOPS],
        [REFUSED],
    ),
    "float keys": (
        index_of([0, 44], ["0.0", "1.0"]),
        [("float-key", "warning", 2)],
        [REFUSED],
        [REFUSED, CRASHES],
    ),
    "large key": (
        with_line(b"%d\t132\n" % TOP),
        [("key-too-large", "warning", 1)],
        [DALI_STOPS],
        [],
    ),
    "third column": (
        SIX_INDEX.replace(b"\n", b"\t7\n"),
        [("third-column", "warning", 6)],
        [OTHERS],
        [OTHERS],
    ),
    "text offset": (
        with_line(b"3\tx\n"),
        [("not-a-number", "error", 1)],
        [DALI_STOPS],
        [REFUSED],
    ),
    "negative offset": (
        with_line(b"3\t-1\n"),
        [("negative-offset", "error", 1)],
        [OTHERS],
        [OTHERS],
    ),
    "negative key": (with_line(b"-3\t132\n"), [("negative-key", "note", 1)], [], []),
    "empty": (b"", [("empty", "error", 1)], [REFUSED], [CRASHES]),
    "same offset": (
        with_line(b"3\t88\n"),
        None,
        [("same-offset", "note", 1)],
        [("same-offset", "error", 1)],
    ),
    "same key": (with_line(b"2\t132\n"), None, None, [("same-key", "error", 1)]),
    "unsorted": (b"".join(reversed(LINES)), [("unsorted", "note", 1)], [], []),
}


@pytest.mark.parametrize("name", CASES)
def test_what_each_reader_makes_of_it(tmp_path, name):
    data, of_all, of_dali, of_mxnet = CASES[name]
    found = by_reader(data, tmp_path)
    assert found.pop(None, []) == (of_all or [])
    assert found.pop("dali", []) == (of_dali or [])
    assert found.pop("mxnet", []) == (of_mxnet or [])
    assert found == {}


def test_only_what_concerns_a_reader(tmp_path):
    """Of an index that is bad for both, each is told its own."""
    index = read_index(io.BytesIO(with_line(b"cat\t88\n") + b"1\t220\n"))
    for reader in ("dali", "mxnet", "rocal"):
        findings = Findings()
        check_lines(findings, index, (reader,))
        assert {found.reader for found in findings.all()} - {None} == {reader} - {"rocal"}


def test_how_much_dali_keeps(tmp_path):
    """FACTS: it stops without a word at the first pair that is none."""
    [_, dali, mxnet] = in_lines(tmp_path, with_line(b"cat\t132\n"))
    assert dali.what == "DALI stops here without a word, and keeps 3 of 6 entries"
    assert at(dali, "line") == [(4,)]
    assert "ValueError: invalid literal for int()" in mxnet.what
    assert mxnet.advice.startswith("give it key_type=str, or write the index again")
    assert at(mxnet, "line") == [(4,)]


def test_lines_are_shown(tmp_path):
    """The first few of each kind, and how many there are."""
    [found, *_] = in_lines(tmp_path, SIX_INDEX.replace(b"\t", b" "))
    assert at(found, "line", "detail") == [(1, "0 0"), (2, "1 44"), (3, "2 88")]


def test_one_key_for_all(tmp_path):
    """Case C7."""
    [found] = in_lines(tmp_path, index_of(list(range(0, 264, 44)), [0] * 6))
    assert told((found,)) == [("same-key", "error", 5)]
    assert found.what == (
        "6 entries, 1 distinct key; of entries with the same key, MXNet returns the record of the "
        "last one; DALI is not affected"
    )
    assert at(found, "key", "line", "offset") == [("0", 2, 44), ("0", 3, 88), ("0", 4, 132)]


def test_same_keys_that_are_texts(tmp_path):
    """007 and 7 are one key to MXNet; cat is another one twice."""
    found = in_lines(tmp_path, index_of([0, 44, 88], ["007", "7", "8"]))
    assert ("same-key", "error", 1) in told(found)
    found = in_lines(tmp_path, index_of([0, 44, 88], ["cat", "dog", "cat"]))
    assert ("same-key", "error", 1) in told(found)


def test_impossible_offsets(tmp_path):
    """Case C2: the same one on three lines, of which the first is named."""
    index = index_of([0, 44, 88, TOP - 1, TOP - 1, TOP - 1], [0, 1, 2, 3, 4, 6])
    [found] = in_lines(tmp_path, index)
    assert told((found,)) == [("impossible-offset", "error", 3)]
    assert found.what == "the same impossible offset on 3 lines (-1 as a signed number)"
    assert at(found, "key", "line")[0] == ("3", 4)
    [found] = in_lines(tmp_path, index_of([0, TOP - 1, TOP // 2]))
    assert (found.what, found.count) == ("an offset that no file reaches", 2)
    assert in_lines(tmp_path, index_of([0, TOP // 2 - 1])) == ()


def test_places_behind_lines_without_entries(tmp_path):
    """A blank line counts as a line."""
    found = in_lines(tmp_path, b"0\t0\n\n\n1\t44\n1\t88\n")
    assert at(found[-1], "key", "line", "offset") == [("1", 5, 88)]


OTHER_THINGS = {
    "a record file": SIX,
    "a list of images for im2rec (.lst)": b"0\t1.000000\tcats/1.jpg\n1\t0.0\t2.jpg\n",
    "an index of a TFRecord file": b"0 230\n230 100\n330 7\n",
    "gzip data": gzip.compress(SIX),
    "an HTML page": b"<!doctype html>\n<html><body>404</body></html>\n",
    "a Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n",
    "zeros": bytes(5000),
}


@pytest.mark.parametrize("name", OTHER_THINGS)
def test_what_is_no_index(tmp_path, name):
    """It is said once, and nothing about its lines."""
    [found] = in_lines(tmp_path, OTHER_THINGS[name])
    assert told((found,)) == [("not-an-index", "error", 1)]
    assert found.what == f"this is no index but {name}"


def test_a_list_and_an_index_with_names(tmp_path):
    """Both have numbers, numbers, names; labels do not rise, and offsets do."""
    [found] = in_lines(tmp_path, b"0\t1\ta.jpg\n1\t0\tb.jpg\n")
    assert found.code == "not-an-index"
    found, *_ = in_lines(tmp_path, b"0\t0\ta.jpg\n1\t44\tb.jpg\n")
    assert told((found,)) == [("third-column", "warning", 2)]


@given(texts)
def test_any_text(text):
    """Whatever an index says, it is told with codes that are known, and in words."""
    findings = Findings()
    check_lines(findings, read_index(io.BytesIO(text)))
    others = {
        "impossible-offset",
        "iter-crashes",
        "not-an-index",
        "other-offsets",
        "refuses-index",
        "same-key",
        "same-offset",
        "stops-early",
        "unsorted",
    }
    for found in findings.all():
        assert found.code in others | set(MEANINGS)
        assert found.count >= len(found.places)
        assert found.what


def test_millions_of_odd_lines_are_folded(tmp_path):
    """Half a million entries, all of them wrong in three ways, give a few findings."""
    numbers = random.Random(1).choices(range(TOP - 9, TOP), k=500_000)
    found = in_lines(tmp_path, b"".join(b"7\t%d\n" % number for number in numbers))
    assert told(found) == [
        ("impossible-offset", "error", 500_000),
        ("same-key", "error", 499_999),
    ]
