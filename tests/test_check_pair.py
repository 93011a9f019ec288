"""Findings between an index and its files: `check_pair`, and the kernel of it."""

import bisect
import random
from array import array

import pytest
from damage import cut_tail, zero_block
from findings_of import TOP, at, in_pair, index_file, index_of, surveys_of, told
from hypothesis import given
from hypothesis import strategies as st
from reference import part
from samples import FACE, SIX, SIX_INDEX, THREE_INDEX, A, B, image

from rec2idx import _pairs
from rec2idx.checks.pair import check_pair
from rec2idx.checks.pairing import pairing_of
from rec2idx.findings import Findings

STARTS = list(range(0, 264, 44))
FACES = list(range(0, 320, 40))
IMAGES_INDEX = index_of(FACES[1:6], [1, 2, 3, 4, 5])


def test_good_pairs(tmp_path):
    assert in_pair(tmp_path, SIX_INDEX, SIX) == ()
    assert in_pair(tmp_path, index_of(FACES), FACE) == ()
    assert in_pair(tmp_path, SIX_INDEX, A, B) == ()
    assert in_pair(tmp_path, SIX_INDEX, A, b"", B) == ()
    assert in_pair(tmp_path, index_of([0]), SIX[:44]) == ()


def test_without_an_index_nothing_is_found(tmp_path):
    findings = Findings()
    check_pair(findings, surveys_of(tmp_path, SIX), None)
    check_pair(findings, [], index_file(tmp_path, SIX_INDEX))
    check_pair(findings, surveys_of(tmp_path, SIX), index_file(tmp_path, SIX))  # no index at all
    assert findings.all() == ()


def test_one_wrong_entry(tmp_path):
    """Case C23: 1 of 6 wrong, line 1, nearest start 0."""
    wrong, unnamed = in_pair(tmp_path, b"0\t9\n" + SIX_INDEX[4:], SIX)
    assert told((wrong,)) == [("no-record-there", "error", 1)]
    assert wrong.what == "1 of 6 entries wrong: there is no start of a record"
    assert at(wrong, "key", "line", "offset", "detail") == [
        ("0", 1, 9, "nearest start 0, record 0")
    ]
    assert told((unnamed,)) == [("unnamed-records", "warning", 1)]
    assert at(unnamed, "record", "offset") == [(0, 0)]


@pytest.mark.parametrize(
    ("offsets", "count", "what"),
    [
        (
            [45 * n for n in range(6)],
            5,
            "entry n, counted from 0, is n bytes too far, as if line ends were counted twice",
        ),
        ([44 * n + 8 for n in range(6)], 6, "each entry is 8 bytes too far"),
        ([44 * n - n for n in range(6)], 5, "entry n, counted from 0, is n times 1 byte too near"),
        ([44 * n + 3 + 2 * n for n in range(6)], 6, "entry n, counted from 0, is 3 + n times 2"),
    ],
)
def test_offsets_that_are_shifted(tmp_path, offsets, count, what):
    """Case C23: offsets as if LF had been counted as CRLF, and other even shifts."""
    [found] = in_pair(tmp_path, index_of(offsets), SIX)
    assert told((found,)) == [("shifted-offsets", "error", count)]
    assert found.what.startswith(what)
    assert at(found, "line")[0] == (7 - count,)


def test_what_only_looks_shifted(tmp_path):
    """Every second record is a choice; records of 48 bytes are those of another file."""
    [found] = in_pair(tmp_path, index_of(STARTS[::2], [0, 2, 4]), SIX)
    assert told((found,)) == [("unnamed-records", "warning", 3)]
    found = in_pair(tmp_path, index_of(list(range(0, 288, 48))), SIX)
    assert told(found) == [("no-record-there", "error", 5), ("other-file", "error", 1)]


def test_entries_of_a_file_that_was_cut(tmp_path):
    """Four records are whole, one is cut, one is away."""
    found = in_pair(tmp_path, SIX_INDEX, cut_tail(SIX, 200))
    assert told(found) == [("in-damage", "error", 1), ("past-end", "error", 1)]
    assert at(found[0], "key", "line", "offset") == [("4", 5, 176)]
    assert at(found[1], "key", "line", "offset") == [("5", 6, 220)]
    assert found[1].what == (
        "1 of 6 entries past the end at byte 200: the file was cut off, or the index is that of a "
        "longer one"
    )


def test_an_entry_where_the_file_ends(tmp_path):
    [found] = in_pair(tmp_path, SIX_INDEX + b"6\t264\n", SIX)
    assert told((found,)) == [("at-end", "warning", 1)]
    assert at(found, "line", "offset") == [(7, 264)]


def test_entries_in_damage(tmp_path):
    """A record in the middle is damaged; its entry is named, and no other."""
    [found] = in_pair(tmp_path, SIX_INDEX, zero_block(SIX, 88, 96))
    assert told((found,)) == [("in-damage", "error", 1)]
    assert at(found, "line", "offset") == [(3, 88)]
    # Without that entry, all is as it should be.
    index = index_of([*STARTS[:2], *STARTS[3:]], [0, 1, 3, 4, 5])
    assert in_pair(tmp_path, index, zero_block(SIX, 88, 96)) == ()


def test_impossible_offsets_are_not_told_again(tmp_path):
    """Case C2: `check_lines` tells them; here, the records that they should name."""
    index = index_of([0, 44, 88, TOP - 1, TOP - 1, TOP - 1], [0, 1, 2, 3, 4, 6])
    [found] = in_pair(tmp_path, index, SIX)
    assert told((found,)) == [("unnamed-records", "warning", 3)]
    assert at(found, "record") == [(3,), (4,), (5,)]


def test_an_empty_index(tmp_path):
    """Case C12: while the file has 6 records."""
    [found] = in_pair(tmp_path, b"", SIX)
    assert told((found,)) == [("unnamed-records", "warning", 6)]
    assert found.what == "6 of 6 records are not in the index"


def test_a_file_that_grew(tmp_path):
    [found] = in_pair(tmp_path, THREE_INDEX, SIX)
    assert told((found,)) == [("file-grew", "warning", 3)]
    assert found.what == (
        "the index ends with the first 3 of 6 records: the file grew, or the index was cut off"
    )
    assert at(found, "record") == [(3,), (4,), (5,)]


@pytest.mark.parametrize(
    ("named", "files", "why"),
    [
        (3, (A, B), "it is that of the first of 2 files"),
        (6, (A, B, A), "it is that of the first 2 of 3 files"),
        (2, (A, B), "it was cut off, or is older than the files"),
        (4, (A, B), "the last file grew, or the index was cut off"),
    ],
)
def test_an_index_of_the_first_of_several_files(tmp_path, named, files, why):
    found = in_pair(tmp_path, index_of([44 * n for n in range(named)]), *files)[-1]
    assert found.code == "file-grew"
    total = 3 * len(files)
    assert found.what == f"the index ends with the first {named} of {total} records: {why}"


def test_an_index_of_images_only(tmp_path):
    """Case C17: what has no image is left out, and nothing is wrong."""
    [found] = in_pair(tmp_path, IMAGES_INDEX, FACE)
    assert told((found,)) == [("images-only", "note", 3)]
    assert found.what == ("the index leaves out 3 records without an image, and has all others")
    assert at(found, "record") == [(0,), (6,), (7,)]
    # The same without the file header alone; and without an image, too.
    [found] = in_pair(tmp_path, index_of(FACES[1:], range(1, 8)), FACE)
    assert told((found,)) == [("images-only", "note", 1)]
    assert found.what.endswith("and has 2 others without one")
    [found] = in_pair(tmp_path, index_of(FACES[2:6], [2, 3, 4, 5]), FACE)
    assert told((found,)) == [("unnamed-records", "warning", 4)]
    # Where no record has an image, none is left out for that.
    [found] = in_pair(tmp_path, index_of([0, 12]), 3 * part(0, b"abc"))
    assert told((found,)) == [("file-grew", "warning", 1)]


def test_the_index_of_another_file(tmp_path):
    """An index of FACE with SIX: its first entry fits, as it fits any file."""
    found = in_pair(tmp_path, index_of(FACES), SIX)
    assert told(found) == [
        ("no-record-there", "error", 6),
        ("past-end", "error", 1),
        ("other-file", "error", 1),
    ]
    assert found[2].what == (
        "6 of 8 entries where no record starts: this is probably the index of another file"
    )


def test_several_files(tmp_path):
    """Case C9: offsets run on; places say which file."""
    index = index_of([0, 44, 88, 140, 176, 220])
    wrong, unnamed = in_pair(tmp_path, index, A, B)
    assert told((wrong,)) == [("no-record-there", "error", 1)]
    [(detail,)] = at(wrong, "detail")
    assert detail == f"nearest start 132, record 0 of {tmp_path}/1.rec"
    assert at(unnamed, "record", "offset", "detail") == [(0, 0, f"in {tmp_path}/1.rec")]
    # In the wrong order of files nearly nothing fits; here, records are of other lengths.
    swapped = in_pair(tmp_path, index_of([0, 44, 88, 132, 172, 212]), FACE[:120], A)
    assert told(swapped)[-1] == ("other-file", "error", 1)


def test_a_file_that_no_entry_names(tmp_path):
    found = in_pair(tmp_path, index_of([0, 44, 88], [0, 1, 2]), A, B)
    assert told(found) == [("unnamed-file", "warning", 1), ("file-grew", "warning", 3)]
    assert found[0].path.endswith("1.rec")
    assert found[0].what == "none of the 3 records of the file is in the index"
    found = in_pair(tmp_path, index_of([132, 176, 220], [3, 4, 5]), A, B)
    assert told(found) == [("unnamed-file", "warning", 1), ("unnamed-records", "warning", 3)]
    assert found[0].path.endswith("0.rec")


def records_of(ids: list[int]) -> bytes:
    return b"".join(part(0, image(0, number, bytes(12))) for number in ids)


def test_keys_and_ids(tmp_path):
    """Keys that are ids or, as here, running numbers; those that are neither; ids that repeat."""
    shuffled = records_of([3, 1, 4, 0, 5, 2])
    assert in_pair(tmp_path, index_of(STARTS, [3, 1, 4, 0, 5, 2]), shuffled) == ()
    [found] = in_pair(tmp_path, SIX_INDEX, shuffled)
    assert told((found,)) == [("keys-are-numbers", "note", 1)]
    [found] = in_pair(tmp_path, index_of(STARTS, [9, 8, 7, 6, 5, 4]), shuffled)
    assert told((found,)) == [("keys-unknown", "note", 1)]
    # Nobody could look up these; and texts are no ids.
    assert in_pair(tmp_path, SIX_INDEX, records_of([7] * 6)) == ()
    assert in_pair(tmp_path, index_of(STARTS, "abcdef"), shuffled) == ()
    # Of some of the records, the keys are the ids of these.
    [found] = in_pair(tmp_path, index_of(STARTS[1:5], [1, 4, 0, 5]), shuffled)
    assert found.code == "unnamed-records"


def test_an_index_in_another_order(tmp_path):
    """The order of lines does not matter here."""
    order = [5, 0, 3, 1, 4, 2]
    index = index_of([STARTS[number] for number in order], order)
    assert in_pair(tmp_path, index, SIX) == ()


numbers = st.one_of(st.integers(0, 300), st.integers(0, TOP - 1), st.sampled_from([TOP // 2]))


@given(
    st.lists(numbers, max_size=40),
    st.sets(st.integers(0, 290), max_size=40),
    st.lists(st.integers(0, 299), max_size=8, unique=True),
)
def test_entries_are_matched_as_by_looking_at_each(entries, starts, borders):
    """In any order, with any numbers, as the obvious way has it."""
    ordered = sorted(starts)
    spans = list(zip(*[iter(sorted(borders))] * 2, strict=False))
    regions = array("q", [start for start, _ in spans]), array("q", [stop for _, stop in spans])

    def kind(offset: int) -> int:
        if offset >= TOP // 2:
            return _pairs.IMPOSSIBLE
        if offset in starts:
            return ordered.index(offset)
        if offset >= 300:
            return _pairs.AT_END if offset == 300 else _pairs.PAST_END
        inside = any(start <= offset < stop for start, stop in spans)
        return _pairs.DAMAGED if inside else _pairs.BETWEEN

    found, named = _pairs.match(array("Q", entries), array("q", ordered), 300, *regions)
    assert list(found) == [kind(entry) for entry in entries]
    assert list(named) == [start in entries for start in ordered]
    for code, (count, first) in zip(range(-1, -6, -1), _pairs.misses(found), strict=True):
        places = [at for at, value in enumerate(found) if value == code]
        assert (count, first) == (len(places), places[:3])


@pytest.mark.parametrize("order", ["as it is", "backwards", "shuffled", "every tenth"])
def test_many_entries(order):
    """As bisection finds them, wherever the search begins."""
    rng = random.Random(7)
    starts = sorted(rng.sample(range(10_000_000), 20_000))
    entries = [start + rng.choice([0, 0, 0, 1]) for start in starts]
    if order == "backwards":
        entries.reverse()
    elif order == "shuffled":
        rng.shuffle(entries)
    elif order == "every tenth":
        entries = entries[::10]
    nothing = array("q")
    found, _ = _pairs.match(array("Q", entries), array("q", starts), 10_000_001, nothing, nothing)
    for entry, record in zip(entries, found, strict=True):
        place = bisect.bisect_right(starts, entry) - 1
        assert record == (place if place >= 0 and starts[place] == entry else _pairs.BETWEEN)


@given(
    st.lists(st.one_of(numbers, st.integers(0, 5)), max_size=60),
    st.sampled_from([TOP, TOP // 2, 4, 1]),
)
def test_repeats_are_counted(values, limit):
    """Close together or far apart; what is passed over does not count."""
    kept = [value for value in values if value < limit]
    count, first = _pairs.repeated(array("Q", values), limit)
    assert count == len(kept) - len(set(kept))
    assert len(first) <= min(count, 3)
    assert bool(first) == bool(count)
    for place in first:
        assert values[place] < limit
        assert values[place] in values[:place]


@given(st.lists(st.integers(0, 127), max_size=50), st.integers(0, 127), st.integers(0, 127))
def test_records_of_some_traits(traits, wanted, unwanted):
    named = array("B", (trait % 2 for trait in traits))
    for names, is_named in ((None, 1), (named, 0), (named, 1)):
        places = [
            at
            for at, trait in enumerate(traits)
            if (not wanted or trait & wanted)
            and not trait & unwanted
            and (names is None or names[at] == is_named)
        ]
        found = _pairs.having(array("B", traits), wanted, unwanted, names, is_named)
        assert found == (len(places), places[:3])


def test_the_kernel_refuses_other_arrays():
    """No array is read as what it is not, nor beyond its end."""
    unsigned, signed, text = array("Q", [1]), array("q", [1]), array("B", [1])
    nothing = array("q")
    for call in (
        lambda: _pairs.same(unsigned, text),
        lambda: _pairs.shifted(unsigned, 1),
        lambda: _pairs.match(signed, signed, 9, nothing, nothing),
        lambda: _pairs.match(unsigned, unsigned, 9, nothing, nothing),
        lambda: _pairs.misses(unsigned),
        lambda: _pairs.impossible(signed),
        lambda: _pairs.having(signed, 1),
        lambda: _pairs.having(text, 1, 0, signed),
        lambda: _pairs.drift(unsigned, unsigned),
        lambda: _pairs.runs_on(signed),
        lambda: _pairs.are_ids(unsigned, unsigned, unsigned),
        lambda: _pairs.repeated(signed),
        lambda: _pairs.place_of(text, 1),
    ):
        with pytest.raises(TypeError):
            call()
    for call in (
        lambda: _pairs.match(unsigned, signed, 0, nothing, nothing),
        lambda: _pairs.match(unsigned, signed, 9, signed, nothing),
        lambda: _pairs.having(text, 1, 0, array("B")),
        lambda: _pairs.are_ids(unsigned, nothing, unsigned),
        lambda: _pairs.are_ids(unsigned, signed, unsigned),
    ):
        with pytest.raises(ValueError, match=r"records|regions|keys|entry|start"):
            call()


def test_a_pairing_of_all_records_takes_no_look(tmp_path):
    """Where offsets are those of the records, nothing is matched."""
    pairing = pairing_of(surveys_of(tmp_path, SIX), index_file(tmp_path, SIX_INDEX))
    assert pairing.exact
    assert pairing.named is None
    assert pairing.fits == 6
    assert "_match" not in vars(pairing)
