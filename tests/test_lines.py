"""Indexes, line by line: each oddity by its word, and what readers see."""

import io
from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from index_reference import dali_offsets, mxnet_lines, strict, universal_lines
from index_texts import TOP, texts

from rec2idx.lines import IndexFile, dali_entries, mxnet_entries, read_index
from rec2idx.problems import KEPT, LONGEST, MEANINGS, OddLine
from rec2idx.readers import Stop


def index_of(data: bytes) -> IndexFile:
    return read_index(io.BytesIO(data))


class Dripping(io.RawIOBase):
    """A stream that gives its bytes in pieces of given lengths."""

    def __init__(self, data: bytes, lengths: list[int]) -> None:
        self.data, self.lengths = data, lengths

    def read(self, size: int = -1) -> bytes:
        length = self.lengths.pop(0) if self.lengths else size
        piece, self.data = self.data[:length], self.data[length:]
        return piece


def dripped(data: bytes, lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> IndexFile:
    monkeypatch.setattr("rec2idx.sources.Stream.HEAD", 0)
    return read_index(Dripping(data, [length for length in lengths if length]))


def everything(index: IndexFile) -> list:
    """All that can be asked of an index, to compare."""
    dali, mxnet = dali_entries(index), [mxnet_entries(index, kind) for kind in (int, str)]
    places = [index.line_of(entry) for entry in range(len(index.offsets))]
    return [
        (index.size, index.lines, index.keys, index.offsets, index.problems, places),
        (dali.offsets, dali.pairs, dali.stop, dali.failure),
        *((found.keys, found.offsets, found.failure) for found in mxnet),
    ]


@given(texts)
@example(b"")
@example(b"0\t0\r1\t44\r\r\n2\t88")
@example(b"1 2 3\n4\t5\n6\t7\n")
@example(b"\xef\xbb\xbf0\t0\n1\t44\n")
@example(b"1\t-1\n2\t44\n")
def test_readers_are_those_of_the_reference(data):
    """For any text: what DALI reads, and what MXNet reads or where it fails."""
    index = index_of(data)
    assert index.lines == len(universal_lines(data))
    found, expected = dali_entries(index), dali_offsets(data)
    assert list(found.offsets) == sorted(set(expected))
    assert found.pairs == len(expected)
    assert (found.failure is None) == bool(expected)
    for kind in (int, str):
        entries, reference = mxnet_entries(index, kind), mxnet_lines(data, kind)
        if isinstance(reference, int):
            assert entries.failure is not None
            assert entries.failure.line == reference
        else:
            assert entries.failure is None
            assert (list(entries.keys), entries.places()) == reference


@given(texts)
def test_entries_and_problems_go_by_lines(data):
    """A line as it should be is an entry and no problem; any other is a problem."""
    index = index_of(data)
    lines = universal_lines(data)
    places = {index.line_of(entry): entry for entry in range(len(index.offsets))}
    firsts = {odd.line for problem in index.problems for odd in problem.first}
    for number, line in enumerate(lines, 1):
        if (pair := strict(line)) is not None:
            key = index.keys[places[number]]
            assert (int(key), index.offsets[places[number]]) == pair
            assert number not in firsts
    if all(strict(line) for line in lines) and lines:
        assert index.problems == ()
        assert index.keys == array("Q", [strict(line)[0] for line in lines])
    else:
        assert index.problems
    for problem in index.problems:
        assert len(problem.first) == min(problem.count, KEPT)
        for odd in problem.first if lines else ():
            assert odd.position == len(b"".join(lines[: odd.line - 1]))
            assert odd.text.isprintable()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"cat\t88", "no number: 'c'"),
        (b"3.0\t88", "no number: '.'"),
        (b"- 3\t88", "no number: '-'"),
        (b"\xe9\t88", r"no number: '\xe9'"),
        (b"3\t0018446744073709551616", "2^64 or more: '18446744073709551616'"),
        (b"3\t-0184467440737095516160", "2^64 or more: '18446744073709551616'..."),
    ],
)
def test_why_dali_stops(line, reason):
    """In words that are the same where the line is too long to be seen at once."""
    assert dali_entries(index_of(b"0\t0\n" + line + b"\n")).stop == Stop(2, reason)
    # Before it, two numbers and spaces: what comes then is what DALI stops at all the same.
    before = b"1\t44" + b" " * LONGEST
    assert dali_entries(index_of(b"0\t0\n" + before + line + b"\n")).stop == Stop(2, reason)


MIXED = (
    b"\xef\xbb\xbf0\t0\r\n1\t44\r\n2 88\n3\t132\t7\n\n4\t176\r5\t220\rcat\t264\n"
    b"-1\t5\n1\t-5\n18446744073709551616\t1\n1\t18446744073709551615\n+1\t2\n \t\n# end\r\n9\t9"
)


def test_blocks_cut_at_every_position(monkeypatch):
    """Wherever a stream is cut, all that is found is the same."""
    for text in (MIXED, MIXED.replace(b"cat", b"6").replace(b"# end", b"7\t1")):
        expected = everything(index_of(text))
        for cut in range(len(text) + 1):
            assert everything(dripped(text, [cut], monkeypatch)) == expected, cut
        assert everything(dripped(text, [1] * len(text), monkeypatch)) == expected


@given(texts, st.lists(st.integers(1, 9)))
def test_any_text_in_any_pieces(data, lengths):
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert everything(dripped(data, lengths, monkeypatch)) == everything(index_of(data))


LONG = b"0" * 60  # of a line too long to be kept where 48 bytes are


@given(texts, st.lists(st.integers(1, 9)))
@example(b"0009999999999999999999-31.50\t1000" + LONG + b"\n0\t0\n1\t44\n", [1] * 120)
@example(b"1\t" + LONG + b"99999999999999999999999\n", [1] * 120)
@example(b"1\t2" + LONG + b" cat and mouse and more than twenty\n", [1] * 120)
@example(b"1 2 " + LONG + b"\xe9\xff\n", [1] * 120)
@example(b"1 2 " + LONG + b"1 -", [1] * 120)
def test_long_lines_in_any_pieces(data, lengths):
    """Lines of more than so many bytes, here 48: DALI's numbers go on through them."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("rec2idx.lines.LONGEST", "rec2idx.problems.LONGEST"):
            monkeypatch.setattr(name, 48)
        monkeypatch.setattr("rec2idx.problems.SHOWN", 8)  # of a long line less is shown than kept
        whole = index_of(data)
        assert everything(dripped(data, lengths, monkeypatch)) == everything(whole)
        assert dali_entries(whole).pairs == len(dali_offsets(data))


@pytest.mark.parametrize(
    ("line", "codes", "entry"),
    [
        (b"3 108\n", ["spaces-for-tab"], ("3", 108)),
        (b"3   108\n", ["spaces-for-tab"], ("3", 108)),
        (b"3\t108\t5\n", ["third-column"], ("3", 108)),
        (b"3 108 5\n", ["spaces-for-tab", "third-column"], ("3", 108)),
        (b"3 \t108\n", ["extra-spaces"], ("3", 108)),
        (b" 3\t108\n", ["extra-spaces"], ("3", 108)),
        (b"3\t\t108\n", ["extra-spaces"], ("3", 108)),
        (b"# x\n", ["comment"], None),
        (b"\n", ["blank-line"], None),
        (b" \t\n", ["blank-line"], None),
        (b"3\t108\r\n", ["crlf"], ("3", 108)),
        (b"3\t108\r", ["cr"], ("3", 108)),
        (b"cat\t108\n", ["text-key"], ("cat", 108)),
        (b"1_0\t108\n", ["text-key"], ("1_0", 108)),
        (b"3.0\t108\n", ["float-key"], ("3.0", 108)),
        (b"1e3\t108\n", ["float-key"], ("1e3", 108)),
        (b"-3\t108\n", ["negative-key"], ("-3", 108)),
        (b"+3\t108\n", ["plus-sign"], ("+3", 108)),
        (b"003\t108\n", ["leading-zeros"], ("003", 108)),
        (b"%d\t108\n" % TOP, ["key-too-large"], (str(TOP), 108)),
        (b"3\t%d\n" % TOP, ["offset-too-large"], None),
        (b"3\t-1\n", ["negative-offset"], None),
        (b"3\n", ["no-offset"], None),
        (b"3\t\n", ["extra-spaces", "no-offset"], None),
        (b"<html>\n", ["not-a-number"], None),
        (b"3,108\n", ["not-a-number"], None),
        (b"3\t108.0\n", ["not-a-number"], None),
        (b"3\t1_0\n", ["not-a-number"], None),
        (b"\0\0\0\n", ["nul-bytes"], None),
        (b"c\xe9\t108\n", ["not-utf-8", "text-key"], ("c\udce9", 108)),
        (b"5\t" + b"0" * LONGEST + b"1\t\n", ["long-line"], None),
        (b"\xef\xbb\xbf3\t108\n", ["text-key"], ("\ufeff3", 108)),
    ],
)
def test_every_oddity(line, codes, entry):
    """Between two lines as they should be: its words, where it is, and what it is taken for."""
    index = index_of(b"0\t0\n" + line + b"9\t900\n")
    assert [problem.code for problem in index.problems] == codes
    for problem in index.problems:
        assert problem.count == 1
        [odd] = problem.first
        assert (odd.line, odd.position) == (2, 4)
    assert list(index.offsets) == [0, *([entry[1]] if entry else []), 900]
    assert (entry is None) or str(index.keys[1]) == entry[0]
    assert index.line_of(len(index.offsets) - 1) == 3


def test_oddities_of_a_whole_file():
    """The words that need the beginning or the end; and all words have a meaning."""

    def codes(data):
        return [problem.code for problem in index_of(data).problems]

    assert codes(b"") == ["empty"]
    assert codes(b"0\t0") == ["no-final-newline"]
    assert codes(b"\xef\xbb\xbf0\t0\n") == ["bom"]
    assert codes("0\t0\n".encode("utf-16")) == ["bom", "nul-bytes", "no-final-newline"]
    assert codes(b"0\t0\n" * 3) == []
    rows = test_every_oddity.pytestmark[0].args[1]
    others = {"bom", "empty", "no-final-newline"}
    assert {code for row in rows for code in row[1]} | others == set(MEANINGS)


def test_an_index_of_one_line():
    """C37: also without its newline."""
    for data in (b"0\t0\n", b"0\t0"):
        index = index_of(data)
        assert (index.keys, index.offsets) == (array("Q", [0]), array("Q", [0]))
        assert list(dali_entries(index, 36).offsets) == [0]
        assert mxnet_entries(index).places() == {0: 0}


def test_one_impossible_offset_on_many_lines():
    """C2: it is a number of 64 bits, and so no problem of a line; it stands there exactly."""
    index = index_of(
        b"0\t0\n1\t44\n2\t88\n" + b"".join(b"%d\t%d\n" % (k, TOP - 1) for k in (3, 4, 6))
    )
    assert index.problems == ()
    assert list(index.offsets) == [0, 44, 88] + [TOP - 1] * 3
    assert list(dali_entries(index).offsets) == [0, 44, 88, TOP - 1]


def test_all_keys_equal():
    """C7: MXNet has six keys and one record; to DALI keys are nothing."""
    index = index_of(b"".join(b"0\t%d\n" % (44 * number) for number in range(6)))
    entries = mxnet_entries(index)
    assert list(entries.keys) == [0] * 6
    assert entries.places() == {0: 220}
    assert len(dali_entries(index).offsets) == 6


@pytest.mark.parametrize(("size", "samples"), [(None, 3), (88, 2), (87, 3), (1000, 3)])
def test_an_offset_at_the_end_of_the_records(size, samples):
    """DALI has no sample of no bytes."""
    assert len(dali_entries(index_of(b"0\t0\n1\t44\n2\t88\n"), size).offsets) == samples


def test_no_samples_for_dali():
    assert dali_entries(index_of(b"0\t88\n"), 88).failure == (
        "Content of index files should not be empty"
    )
    assert "any indices" in dali_entries(index_of(b"cat\t0\n"), 88).failure


def test_many_odd_lines_are_kept_as_a_count():
    """The first three of a kind, exactly, and how many there are; also where the kernel helps."""
    for manner, code in ((b"%d\t%d\r\n", "crlf"), (b"%d %d\n", "spaces-for-tab")):
        lines = [manner % (number, 44 * number) for number in range(10_000)]
        index = index_of(b"0\t0\n" + b"".join(lines) + b"1\t1\n" + lines[7])
        [problem] = index.problems
        assert (problem.code, problem.count) == (code, 10_001)
        assert [odd.line for odd in problem.first] == [2, 3, 4]
        assert problem.first[2] == OddLine(
            4, 4 + len(lines[0] + lines[1]), lines[2].decode().rstrip().replace("\t", "\\t")
        )
        assert index.lines == 10_003
        assert index.offsets[-1] == 44 * 7


def test_a_key_that_is_no_number_makes_all_of_them_texts():
    """Those before it and those behind it; what has been read as numbers is not read anew."""
    index = index_of(b"0\t0\n1\t44\ncat\t88\n3\t132\n")
    assert index.keys == ["0", "1", "cat", "3"]
    assert mxnet_entries(index, str).places() == {"0": 0, "1": 44, "cat": 88, "3": 132}
    assert mxnet_entries(index).failure.line == 3


@pytest.mark.parametrize(
    "odd", [b"7\t1\n", b"#a\t1\n", b"1e5\t1\n", b"a b\t1\n", b"c\t1\r\n", b"-\t1\n"]
)
def test_names_by_the_thousand(odd):
    """Taken many at once or one by one, with any other line between them, they say the same."""
    names = [b"%d.jpg\t%d\n" % (number, 44 * number) for number in range(2500)]
    lines = [*names[:1500], odd, *names[1500:]]
    index = index_of(b"".join(lines))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr("rec2idx.lines._Reader._names", lambda self, data, at: at)
        assert everything(index_of(b"".join(lines))) == everything(index)
    assert index.lines == 2501
    expected = mxnet_lines(b"".join(lines), str)
    assert (mxnet_entries(index, str).keys, mxnet_entries(index, str).places()) == expected


def test_names_behind_what_is_a_number_to_mxnet():
    """So the first name is where it fails."""
    index = index_of(b"1_0\t0\n" * 5 + b"cat\t1\n" * 5)
    assert mxnet_entries(index).failure.line == 6
    assert mxnet_entries(index, str).keys == ["1_0"] * 5 + ["cat"] * 5


def test_kinds_of_source(tmp_path):
    """A path, a file object and a file that ends inside a piece say the same."""
    path = tmp_path / "a.idx"
    path.write_bytes(MIXED)
    with path.open("rb") as file:
        assert everything(read_index(file)) == everything(read_index(path))
    assert read_index(path).path == str(path)
    with pytest.raises(FileNotFoundError):
        read_index(tmp_path / "none.idx")


def test_a_long_line_takes_little_memory():
    """A file of records taken for an index, with no newline: 64 MB leave a few."""
    import tracemalloc

    class Endless(io.RawIOBase):
        left = 64

        def read(self, size: int = -1) -> bytes:
            self.left -= 1
            return bytes(1 << 20) if self.left >= 0 else b""

    tracemalloc.start()
    index = read_index(Endless())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert index.size == 64 << 20
    assert [(problem.code, problem.count) for problem in index.problems] == [("long-line", 1)]
    assert peak < 16 << 20
