"""The installed command `recordio ls`, as a process: what it prints, and its exit status."""

import json
import os
import pty
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT
from damage import flip_byte
from reference import MAGIC, record
from samples import FACE, SIX, SIX_INDEX, image, labelled

import rec2idx
from rec2idx.cli.ls import together

RECORDIO = COMMAND.with_name("recordio")
JPEG = (ROOT / "tests/pictures/baseline.jpg").read_bytes()
HEADER = "key\toffset\tsize\tparts\tid\tlabels\tkind\twidth\theight\tname\tproblem\n"
SIX_LINES = [f"{i}\t{44 * i}\t36\t1\t{i}\t{i}\tunknown\t\t\t\t\n" for i in range(6)]

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "six.rec").write_bytes(SIX)
    return tmp_path


@pytest.fixture
def ls(folder: Path) -> Command:
    """Run `recordio ls` in the folder."""

    def ls(*args, **options):
        return subprocess.run(
            [RECORDIO, "ls", *args],
            **{"cwd": folder, "capture_output": True, "text": True, "timeout": 60, **options},
        )

    return ls


@pytest.fixture
def on_terminal(folder: Path) -> Callable[..., list[str]]:
    """Run `recordio ls` in the folder on a terminal; return the lines that it shows."""

    def on_terminal(*args):
        terminal, its_end = pty.openpty()
        process = subprocess.Popen(
            [RECORDIO, "ls", *args], cwd=folder, stdout=its_end, stderr=its_end
        )
        os.close(its_end)
        shown = b""
        while piece := read_terminal(terminal):
            shown += piece
        os.close(terminal)
        on_terminal.status = process.wait(timeout=60)
        return shown.decode().split("\r\n")[:-1]

    return on_terminal


def read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 10_000)
    except OSError:  # how Linux says that the other side has closed it
        return b""


def done_with(done: subprocess.CompletedProcess[str], stdout: str) -> None:
    assert (done.returncode, done.stderr, done.stdout) == (0, "", stdout)


def test_columns_between_tabs(ls):
    done_with(ls("six.rec"), HEADER + "".join(SIX_LINES))


def test_json(ls, folder):
    (folder / "face.rec").write_bytes(FACE)
    done = ls("face.rec", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows == [row.as_dict() for row in rec2idx.list_records(folder / "face.rec")]
    assert rows[0]["labels"] == [6, 8]


def test_labels_that_are_no_numbers(ls, folder):
    """JSON has none of them."""
    labels = [float("nan"), float("inf"), 0.1, 1e30]
    (folder / "odd.rec").write_bytes(record(labelled(labels, 1)))
    assert json.loads(ls("--json", "odd.rec").stdout)["labels"] == ["nan", "inf", 0.1, 1e30]
    assert ls("odd.rec").stdout.splitlines()[1].split("\t")[5] == "nan,inf,0.1,1e+30"


def test_a_table_on_a_terminal(on_terminal, folder):
    """Case C35: with names."""
    payloads = [
        image(0, 7, JPEG),
        labelled([0.5, 12], 1234567, MAGIC * 2),
        labelled([2, 5, *[0.25] * 15], 1, b"<html><body>"),
        b"text, and no image record",
    ]
    (folder / "a.rec").write_bytes(b"".join(map(record, payloads)))
    (folder / "a.lst").write_text("7\t0\tcats/7.jpg\n1\t2\t5\tdogs/1.png\n")
    size = len(payloads[0])
    starts = [0, 8 + size + -size % 4]
    starts += [starts[1] + 8 + 32 + 8 + 8]
    starts += [starts[2] + 8 + 104]
    pad = " " * 6
    assert on_terminal("a.rec", "--lst", "a.lst") == [
        f"key  offset  size  parts       id  labels                      {pad}image       name",
        f"  0       0  {size: 4}      1        7  0                           {pad}jpeg 21x13"
        "  cats/7.jpg",
        f"  1  {starts[1]: 6}    40      3  1234567  0.5,12                      {pad}unknown",
        f"  2  {starts[2]: 6}   104      1        1  2,5,0.25,0.25,0.25,0.25,... (17)  html"
        "        dogs/1.png",
        f"  3  {starts[3]: 6}    25      1           {pad}{' ' * 28}text",
    ]
    assert on_terminal.status == 0
    full = on_terminal("a.rec", "--labels")
    assert full[3].split()[5:] == ["2,5," + ",".join(["0.25"] * 15), "html"]


def test_a_table_grows_with_its_rows(on_terminal, folder):
    """Columns get wider where they must, and the header stands there once."""
    (folder / "many.rec").write_bytes(SIX * 200)
    lines = on_terminal("many.rec")
    assert len(lines) == 1201
    assert lines[0] == "key  offset  size  parts  id  labels  image"
    assert lines[1] == "  0       0    36      1   0  0       unknown"
    assert lines[1200] == "1199   52756    36      1   5  5       unknown"


def test_label_arrays_of_any_width(ls, folder, on_terminal):
    """Case C32: 1, 7, 17 and 9; in full where a program reads them, or on request."""
    arrays = [[2, 5, *(0.125 * n for n in range(width - 2))] for width in (7, 17, 9)]
    data = record(image(1, 0, JPEG)) + b"".join(record(labelled(a, 1, JPEG)) for a in arrays)
    (folder / "a.rec").write_bytes(data)
    texts = ["1", *(",".join(f"{label:g}" for label in array) for array in arrays)]
    assert [line.split("\t")[5] for line in ls("a.rec").stdout.splitlines()[1:]] == texts
    assert [line.split()[5] for line in on_terminal("a.rec", "--labels")[1:]] == texts
    short = [line.split("jpeg")[0].split()[5:] for line in on_terminal("a.rec")[1:]]
    assert short == [
        ["1"],
        ["2,5,0,0.125,0.25,0.375,0.5"],
        ["2,5,0,0.125,0.25,0.375,...", "(17)"],
        ["2,5,0,0.125,0.25,0.375,...", "(9)"],
    ]


def test_an_index(ls, folder):
    """That beside the file, or the one that is named; of standard input there is none."""
    (folder / "six.idx").write_text("b\t44\na\t220\n")
    (folder / "other.idx").write_text("9\t88\n")
    beside = [line.replace(f"{i}\t", f"{key}\t", 1) for i, key, line in
              ((1, "b", SIX_LINES[1]), (5, "a", SIX_LINES[5]))]  # fmt: skip
    done_with(ls("six.rec"), HEADER + "".join(beside))
    done_with(ls("six.rec", "other.idx"), HEADER + SIX_LINES[2].replace("2\t", "9\t", 1))
    with (folder / "six.rec").open() as file:
        done_with(ls("-", stdin=file), HEADER + "".join(SIX_LINES))


def test_entries_that_name_no_record(ls, folder, on_terminal):
    """Rows that say so; all others are there, and the status is that of a failure."""
    (folder / "six.idx").write_text("0\t0\n1\t45\n2\t88\n3\t264\n")
    wrong = "wrong magic: expected 0xced7230a, found 0x24ced723"
    end = "no record can start there: the file ends at byte 264"
    done = ls("six.rec")
    assert done.stdout == (
        f"{HEADER}{SIX_LINES[0]}1\t45\t\t\t\t\t\t\t\t\t{wrong}\n"
        f"{SIX_LINES[2]}3\t264\t\t\t\t\t\t\t\t\t{end}\n"
    )
    assert done.returncode == 1
    message = (
        "recordio: six.rec: 2 of 4 entries of the index name no whole record; is that the index "
        "of this very file? recordio check says more"
    )
    assert done.stderr == f"{message}\n"
    assert on_terminal("six.rec") == [
        "key  offset  size  parts  id  labels  image",
        "  0       0    36      1   0  0       unknown",
        f"  1      45                           no record  {wrong}",
        "  2      88    36      1   2  2       unknown",
        f"  3     264                           no record  {end}",
        message,
    ]
    assert on_terminal.status == 1


def test_damage_comes_after_the_rows_before_it(ls, folder, on_terminal):
    (folder / "a.rec").write_bytes(flip_byte(SIX, 88))
    done = ls("a.rec")
    assert (done.returncode, done.stdout) == (1, HEADER + "".join(SIX_LINES[:2]))
    assert done.stderr.startswith("recordio: a.rec: record 2 at byte 88: wrong magic: expected 0x")
    assert done.stderr.count("\n") == 1
    assert len(on_terminal("a.rec")) == 4


def test_what_is_no_record_file(ls, folder):
    (folder / "a.rec").write_bytes(b"\x1f\x8b\x08 and so on")
    (folder / "empty.rec").touch()
    for name, message in (
        ("a.rec", "a.rec: record 0 at byte 0: not a RecordIO file, but gzip data: "),
        ("empty.rec", "empty.rec: the file is empty; "),
        ("none.rec", "none.rec: No such file or directory"),
    ):
        done = ls(name)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"recordio: {message}")
        assert done.stderr.count("\n") == 1


def test_rows_with_many_labels_do_not_wait_for_each_other():
    """They may have a million each; so many rows are not kept."""
    rows = [rec2idx.ListedRecord(n, 0, labels=(1.0,) * 40_000) for n in range(5)]
    assert list(map(len, together(iter(rows)))) == [2, 2, 1]
    rows = [rec2idx.ListedRecord(n, 0) for n in range(150)]
    assert list(map(len, together(iter(rows)))) == [64, 64, 22]


def test_wrong_usage(ls):
    for args in ([], ["six.rec", "-"], ["six.rec", "--lst"], ["a", "b", "c"], ["six.rec", "--js"]):
        done = ls(*args)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("usage: recordio ls ")


def test_an_index_for_standard_input(ls, folder):
    (folder / "six.idx").write_bytes(SIX_INDEX)
    with (folder / "six.rec").open() as file:
        done = ls("-", "six.idx", stdin=file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "recordio: <stdin>: with an index, a file must be readable at any place; this one is not\n"
    )


def test_standard_input_that_is_a_pipe(ls, folder):
    """Case C26."""
    done = ls("-", input=SIX, text=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == HEADER + "".join(SIX_LINES)


def test_standard_output_closed_by_its_reader(ls, folder):
    (folder / "many.rec").write_bytes(SIX * 5000)
    for args in (["many.rec"], ["--json", "many.rec"]):
        process = subprocess.Popen(
            [RECORDIO, "ls", *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
        process.stderr.close()


def test_standard_output_that_is_full(ls):
    with open("/dev/full", "w") as full:
        done = ls("six.rec", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == "recordio: cannot write to standard output: No space left on device\n"


def test_text_from_files_is_made_visible(ls, folder, on_terminal):
    """Names and keys that would move the cursor, or are not UTF-8, do nothing."""
    name = b"a\x1b[2Jb\x07\x85\xff\xe2\x80\xaec"
    (folder / "six.lst").write_bytes(b"0\t0\t" + name + b".jpg\n")
    (folder / "six.idx").write_bytes(b"k\x1b]0;x\x07\t0\n")
    key, shown = r"k\x1b]0;x\x07", r"a\x1b[2Jb\x07\x85\xff\u202ec.jpg"
    done = ls("six.rec", "--lst", "six.lst")
    assert (done.returncode, done.stderr) == (0, "")
    line = SIX_LINES[0].replace("0\t", f"{key}\t", 1).replace("\t\t\n", f"\t{shown}\t\n")
    assert done.stdout == HEADER + line
    assert on_terminal("six.rec", "--lst", "six.lst")[1].split()[::7] == [key, shown]
    row = json.loads(ls("--json", "six.rec", "--lst", "six.lst").stdout)
    assert os.fsencode(row["name"]) == name + b".jpg"
    assert row["key"] == "k\x1b]0;x\x07"


def test_names_where_the_locale_has_no_letters(ls, folder):
    """Case C34."""
    (folder / "训练.rec").write_bytes(SIX)
    (folder / "a.lst").write_text("0\t0\t猫.jpg\n", encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = ls("训练.rec", "--lst", "a.lst", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split("\t")[9] in ("猫.jpg", r"\u732b.jpg")


def test_a_list_that_is_none(ls, folder):
    (folder / "bad.lst").write_text("0\t0\n")
    done = ls("six.rec", "--lst", "bad.lst")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("recordio: bad.lst: line 1 is not one of an im2rec list: ")


def test_large_numbers(ls, folder):
    top = (1 << 64) - 1
    (folder / "top.rec").write_bytes(record(image(0, top, struct.pack("<I", 1))))
    (folder / "top.idx").write_text(f"{top}\t0\n")
    [line] = ls("top.rec").stdout.splitlines()[1:]
    assert line.startswith(f"{top}\t0\t28\t1\t{top}\t0\tunknown")
    assert json.loads(ls("top.rec", "--json").stdout)["id"] == top
