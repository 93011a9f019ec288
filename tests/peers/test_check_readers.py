"""Real DALI 2.4 and real MXNet 1.9.1 do what findings say of them, and read what has none."""

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from environments import DALI, MXNET, require

sys.path.insert(0, str(Path(__file__).parents[1]))

from damage import cut_tail, zero_block
from findings_of import TOP, for_reader, index_of
from reference import MAGIC, part, record
from samples import SIX, SIX_INDEX, A, B, image, labelled

JPEG = (Path(__file__).parents[1] / "pictures/baseline.jpg").read_bytes()
RECORDS = [part(0, image(number, number, JPEG)) for number in range(6)]
STARTS = [len(b"".join(RECORDS[:number])) for number in range(6)]
DATA = b"".join(RECORDS)
INDEX = index_of(STARTS)
SIZE = len(DATA)
ONE_MORE = INDEX + b"6\t%d\n" % SIZE  # where what is appended to DATA begins
LINES = INDEX.splitlines(keepends=True)
CUT = struct.pack("<IfQQ", 5, 0, 9, 0) + b"abcd"
IMAGELESS = labelled([6, 8], 6)


def with_line(line: bytes, number: int = 3) -> bytes:
    return b"".join([*LINES[:number], line, *LINES[number + 1 :]])


def run(environment: Path, script: str, tasks: object) -> subprocess.CompletedProcess[str]:
    require(environment)
    return subprocess.run(
        [environment / "bin/python", "-W", "ignore", Path(__file__).with_name(script)],
        input=json.dumps(tasks, default=str),
        capture_output=True,
        text=True,
        timeout=300,
    )


def codes(reader: str, folder: Path, index: bytes | None, *files: bytes) -> list[str]:
    """What we find: only errors and warnings."""
    found = for_reader(reader, folder, index, *files)
    return [finding.code for finding in found if finding.severity != "note"]


def dali(folder: Path, files: int = 1, nommap: bool = False, decode: bool = False) -> list:
    """What DALI does with 0.rec and so on, and 0.idx."""
    paths = [folder / f"{number}.rec" for number in range(files)]
    done = run(DALI, "in_dali_check.py", [[paths, folder / "0.idx", nommap, decode]])
    if done.returncode < 0:
        return ["died"]
    assert done.returncode == 0, done.stderr
    [result] = json.loads(done.stdout)
    return result


ALL = [0, 1, 2, 3, 4, 5]

# An index, what is appended to the six records, what we find, and which labels DALI gives before it
# fails; None where it gives all of them.
DALI_CASES = {
    "good": (INDEX, b"", [], None),
    "several parts": (ONE_MORE, record(image(6, 6, MAGIC + b"x")), [], None),
    "left out": (INDEX, record(b"short"), [], None),
    "short": (ONE_MORE, record(b"short"), ["refused-record"], ALL),
    "nothing": (ONE_MORE, record(b""), ["refused-record"], ALL),
    "magic in header": (
        ONE_MORE,
        record(image(6, 0xCED7230A, JPEG)),
        ["refused-record"],
        ALL,
    ),
    "magic in labels": (
        ONE_MORE,
        record(labelled([1, 2], 6)[:28] + MAGIC + JPEG),
        ["refused-record"],
        ALL,
    ),
    "cut labels": (ONE_MORE, record(CUT), ["refused-record"], ALL),
    "no record there": (with_line(b"0\t9\n", 0), b"", ["fails-at-sample"], []),
    "cut": (ONE_MORE, RECORDS[0][:-40], ["fails-at-sample"], ALL),
    "not ended": (ONE_MORE, part(1, image(6, 6, JPEG)), ["fails-at-sample"], ALL),
    "at the end": (ONE_MORE, b"", [], None),
    "only the end": (b"0\t%d\n" % SIZE, b"", ["no-sample"], []),
    "empty": (b"", b"", ["refuses-index"], []),
    "comment first": (b"# c\n" + INDEX, b"", ["refuses-index"], []),
    "same offset": (with_line(b"3\t%d\n" % STARTS[2]), b"", [], None),
    "stray bytes": (INDEX, b"\n\n", [], None),
}


@pytest.mark.parametrize("name", DALI_CASES)
def test_dali(tmp_path: Path, name: str) -> None:
    index, more, expected, labels = DALI_CASES[name]
    assert codes("dali", tmp_path, index, DATA + more) == expected
    _, found, error = dali(tmp_path)
    assert (error is None) == (labels is None)
    if labels is not None:
        # What it was preparing when the next one failed may be lost.
        assert found == labels[: len(found)]
        assert len(labels) - len(found) <= 1


def test_dali_without_the_last_padding(tmp_path: Path) -> None:
    data = DATA + cut_tail(part(0, image(6, 6, bytes(10))), 42)
    assert codes("dali", tmp_path, ONE_MORE, data) == []
    assert dali(tmp_path) == [7, [*ALL, 6], None]


def test_dali_in_damage(tmp_path: Path) -> None:
    """A record in the middle, named and not."""
    damaged = zero_block(DATA, STARTS[2], STARTS[2] + 8)
    assert codes("dali", tmp_path, INDEX, damaged) == ["fails-at-sample"]
    _, found, error = dali(tmp_path)
    assert found == [0, 1][: len(found)]
    assert error is not None
    index = index_of([*STARTS[:2], *STARTS[3:]])
    assert codes("dali", tmp_path, index, damaged) == []
    assert dali(tmp_path) == [5, [0, 1, 3, 4, 5], None]


@pytest.mark.parametrize("last", [SIZE + 4, SIZE + 300_000, TOP - 1])
def test_dali_past_the_end(tmp_path: Path, last: int) -> None:
    """It fails, or it dies."""
    assert codes("dali", tmp_path, INDEX + b"6\t%d\n" % last, DATA) == ["dies-at-sample"]
    result = dali(tmp_path)
    assert result == ["died"] or result[2] is not None


def test_dali_decodes_no_record_without_an_image(tmp_path: Path) -> None:
    """It reads it, and the decoder fails; left out of the index, all is well."""
    data = DATA + record(IMAGELESS)
    assert codes("dali", tmp_path, ONE_MORE, data) == ["no-image"]
    assert dali(tmp_path) == [7, [*ALL, 6], None]
    assert dali(tmp_path, decode=True)[2] is not None
    assert codes("dali", tmp_path, INDEX, data) == []
    assert dali(tmp_path, decode=True) == [6, ALL, None]


ONE = part(0, image(6, 6, bytes(12)))
THREE = b"".join(part(0, image(n, n, bytes(12))) for n in (7, 8, 9))
SIX_STARTS = list(range(0, 264, 44))
FILES = [
    ((A, B), SIX_STARTS),
    ((A, ONE), [0, 44, 88, 132]),
    ((A, b"", B), SIX_STARTS),
    ((A, B, ONE), [0, 44, 88, 264]),
    ((A, B, THREE), [0, 44, 88, 264, 308, 352]),
    ((A, B), [132, 176, 220]),
    ((A, B, THREE), [264, 308, 352]),
    ((A, B, THREE), [308, 352]),
    ((A, B), [0, 44, 88]),
    ((A, B), [0, 44, 88, 220]),
    ((A, B), [0, 44, 88, 176, 220]),
    ((A, ONE), [132]),
    ((A, B), [0, 44, 88, 220, 264]),
    ((A, B), [0, 44, 88, 220, 220]),
    ((A, B, THREE), [0, 264, 264, 308]),
    ((A, B, THREE), [0, 308, 308, 352]),
    ((A, B, THREE), [308, 308, 308, 352]),
]


@pytest.mark.parametrize(("files", "offsets"), FILES)
def test_dali_and_several_files(tmp_path: Path, files: tuple, offsets: list) -> None:
    """It reads the right records in both ways just where we find nothing."""
    found = codes("dali", tmp_path, index_of(offsets), *files)
    joined = b"".join(files)
    samples = sorted({*offsets} - {len(joined)})
    labels = [struct.unpack_from("<f", joined, offset + 12)[0] for offset in samples]
    right = [len(samples), labels, None]
    mapped, not_mapped = (dali(tmp_path, len(files), nommap) for nommap in (False, True))
    if found == []:
        assert mapped == not_mapped == right
    elif found == ["empty-file"]:
        assert "File mapping failed" in mapped[2]
        assert not_mapped == right
    else:
        assert found == ["wrong-file"]
        assert "Invalid seek" in mapped[2]
        assert not_mapped != right


def mxnet(folder: Path, **arguments: object) -> list | int:
    """What MXNet does; its exit status where the process dies."""
    done = run(MXNET, "in_mxnet_check.py", arguments)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    if "Segmentation fault" in done.stderr + done.stdout:
        return ["segmentation fault"]
    return ["aborted" if done.returncode < 0 else "error"]


def iterator(folder: Path, **more: object) -> list:
    record_file, index = folder / "0.rec", folder / "0.idx"
    return mxnet(folder, path_imgrec=record_file, path_imgidx=index, **more)


def looked_up(folder: Path) -> list:
    return mxnet(folder, record=folder / "0.rec", index=folder / "0.idx")


CRASH, ERROR, ABORT = ["segmentation fault"], ["error"], ["aborted"]

# As above; what ImageRecordIter gives, and MXIndexedRecordIO, if that is worth a look.
MXNET_CASES = {
    "good": (INDEX, b"", [], ALL, ALL),
    "several parts": (ONE_MORE, record(image(6, 0xCED7230A, JPEG)), [], [*ALL, 6], [*ALL, 6]),
    "spaces": (INDEX.replace(b"\t", b" "), b"", ["refuses-index"], ALL, ERROR),
    "crlf": (INDEX.replace(b"\n", b"\r\n"), b"", [], ALL, ALL),
    "blank line": (INDEX + b"\n", b"", ["refuses-index"], ALL, ERROR),
    "comment first": (b"# c\n" + INDEX, b"", ["refuses-index", "iter-crashes"], CRASH, ERROR),
    "bom": (b"\xef\xbb\xbf" + INDEX, b"", ["refuses-index", "iter-crashes"], CRASH, ERROR),
    "text keys": (
        index_of(STARTS, "abcdef"),
        b"",
        ["refuses-index", "iter-crashes"],
        CRASH,
        ERROR,
    ),
    "text key": (with_line(b"cat\t%d\n" % STARTS[3]), b"", ["refuses-index"], ALL, ERROR),
    "large key": (with_line(b"%d\t%d\n" % (TOP, STARTS[3])), b"", [], ALL, ALL),
    "third column": (INDEX.replace(b"\n", b"\t7\n"), b"", ["other-offsets"], ERROR, ALL),
    "empty": (b"", b"", ["iter-crashes"], CRASH, []),
    "unsorted": (b"".join(reversed(LINES)), b"", [], ALL, ALL[::-1]),
    "same offset": (
        with_line(b"3\t%d\n" % STARTS[2]),
        b"",
        ["same-offset"],
        [0, 1],
        [0, 1, 2, 2, 4, 5],
    ),
    "same key": (
        with_line(b"2\t%d\n" % STARTS[3]),
        b"",
        ["same-key"],
        ALL,
        [0, 1, 3, 3, 4, 5],
    ),
    "at the end": (ONE_MORE, b"", ["crashes-at-end"], ALL, [*ALL, None]),
    "past the end": (
        INDEX + b"6\t%d\n" % (SIZE + 4),
        b"",
        ["returns-nothing"],
        ERROR,
        [*ALL, None],
    ),
    "impossible": (
        INDEX + b"6\t%d\n" % (TOP - 1),
        b"",
        ["fails-at-once"],
        ERROR,
        [*ALL, "MXNetError"],
    ),
    "no record there": (
        with_line(b"3\t%d\n" % (STARTS[3] + 4)),
        b"",
        ["aborts"],
        ABORT,
        [0, 1, 2, "MXNetError", 4, 5],
    ),
    "left out": (
        index_of([STARTS[0], STARTS[2], STARTS[4]]),
        b"",
        ["does-not-leave-out"],
        ALL,
        [0, 2, 4],
    ),
    "left out before": (index_of(STARTS[2:]), b"", [], ALL[2:], ALL[2:]),
    # The check of the file has `stray-bytes`, which says why: see test_checks_of_files.py.
    "size": (INDEX, b"abc", [], ERROR, ALL),
    "no image": (ONE_MORE, record(IMAGELESS), ["no-image"], ERROR, [*ALL, 6]),
    "no image left out": (INDEX, record(IMAGELESS), ["does-not-leave-out"], ERROR, ALL),
    "short": (ONE_MORE, record(b"short"), ["no-header"], ERROR, [*ALL, "error"]),
    "cut labels": (ONE_MORE, record(CUT), ["cut-labels"], ERROR, None),
    "nothing": (ONE_MORE, record(b""), ["no-header"], ERROR, [*ALL, "error"]),
}


@pytest.mark.parametrize("name", MXNET_CASES)
def test_mxnet(tmp_path: Path, name: str) -> None:
    index, more, expected, iterated, by_key = MXNET_CASES[name]
    assert codes("mxnet", tmp_path, index, DATA + more) == expected
    assert iterator(tmp_path) == iterated
    if by_key is not None:
        assert looked_up(tmp_path) == by_key


def test_mxnet_shuffles_where_an_entry_is_at_the_end(tmp_path: Path) -> None:
    assert codes("mxnet", tmp_path, ONE_MORE, DATA) == ["crashes-at-end"]
    assert iterator(tmp_path, shuffle=True) == CRASH


def test_mxnet_and_equal_ids(tmp_path: Path) -> None:
    """With a list of images, ImageRecordIter takes the one label of the one id for all."""
    data = b"".join(part(0, image(n, 0, JPEG)) for n in range(6))
    assert "same-ids" in {found.code for found in for_reader("mxnet", tmp_path, INDEX, data)}
    assert iterator(tmp_path) == looked_up(tmp_path) == ALL
    (tmp_path / "0.lst").write_text("0\t7.0\ta.jpg\n")
    assert iterator(tmp_path, path_imglist=tmp_path / "0.lst") == [7] * 6


def test_mxnet_and_several_files(tmp_path: Path) -> None:
    """One index over both, and a semicolon; so a path with a semicolon is taken apart."""
    data = (b"".join(RECORDS[:3]), b"".join(RECORDS[3:]))
    assert codes("mxnet", tmp_path, INDEX, *data) == []
    both = f"{tmp_path}/0.rec;{tmp_path}/1.rec"
    assert mxnet(tmp_path, path_imgrec=both, path_imgidx=tmp_path / "0.idx") == ALL
    folder = tmp_path / "a;b"
    folder.mkdir()
    assert codes("mxnet", folder, INDEX, DATA) == ["path-taken-apart"]
    assert iterator(folder) == ERROR


def test_gluon(tmp_path: Path) -> None:
    """Samples go by lines; the index is looked for beside the file, under its name."""
    index = b"".join(reversed(LINES))
    assert codes("mxnet", tmp_path, index, DATA) == []
    assert mxnet(tmp_path, gluon=True, record=tmp_path / "0.rec") == ALL[::-1]
    (tmp_path / "0.idx").rename(tmp_path / "other.idx")
    assert mxnet(tmp_path, gluon=True, record=tmp_path / "0.rec") == ERROR
    assert codes("mxnet", tmp_path, ONE_MORE, DATA + record(IMAGELESS)) == ["no-image"]
    *labels, last = mxnet(tmp_path, gluon=True, record=tmp_path / "0.rec")
    assert labels == ALL
    assert isinstance(last, str)


def test_six_is_what_the_quick_tests_take_for_good(tmp_path: Path) -> None:
    assert codes("dali", tmp_path, SIX_INDEX, SIX) == []
    assert dali(tmp_path) == [6, ALL, None]
