"""Names, keys and words from files on a terminal: one line, and nothing that it would obey."""

import ast
import json
import os
import pty
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from conftest import COMMAND
from hypothesis import given
from hypothesis import strategies as st
from reference import part
from samples import SIX, image

import rec2idx
from rec2idx.cli.ls import Tabbed
from rec2idx.escaping import encodable, printable

RECORDIO = COMMAND.with_name("recordio")

# What a terminal, or whoever reads what it shows, would be misled by; and how it is shown.
HOSTILE = [
    ("\x1b[2J", r"\x1b[2J"),
    ("\0", r"\x00"),
    ("\t", r"\t"),
    ("\n", r"\n"),
    ("\r", r"\r"),
    ("\x7f", r"\x7f"),
    ("\x85", r"\u0085"),
    ("\x9b31m", r"\u009b31m"),
    ("\xad", r"\u00ad"),
    ("\u200b", r"\u200b"),
    ("\u200e", r"\u200e"),
    ("\u061c", r"\u061c"),
    ("\u2028", r"\u2028"),
    ("\u2029", r"\u2029"),
    ("\u202e", r"\u202e"),
    ("\u2066", r"\u2066"),
    ("\u2069", r"\u2069"),
    ("\ufeff", r"\ufeff"),
    ("\U000e0041", r"\U000e0041"),
    ("\ue000", r"\ue000"),
    ("\udcff", r"\xff"),
    ("\udc85", r"\x85"),
    ("\ud800", r"\ud800"),
]
ORDINARY = [
    "data/train.rec",
    "é",
    "训练 猫",
    "日本　語",
    "a b",
    "ελλάδα",
    "עברית",
    "नमस्ते",
    "😀",
    "C:\\new",
]
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_what_is_escaped(text, shown):
    assert printable(f"a{text}b") == f"a{shown}b"


@pytest.mark.parametrize("text", ORDINARY)
def test_what_stays(text):
    assert printable(text) == text


def test_bytes_of_utf8_that_the_system_did_not_know():
    """As a path is where the locale has no letters."""
    assert printable("caf\udcc3\udca9\udcff") == r"café\xff"


@given(st.text(st.characters()))
def test_nothing_that_a_terminal_obeys_is_left(text):
    shown = printable(text)
    assert not OBEYED.search(shown)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") for c in shown)
    assert encodable(shown, "ascii").isascii()


def unescaped(shown: str) -> str:
    r"""Undo the escapes of a column: those of Python, where \xNN is a byte."""

    def undo(match: re.Match[str]) -> str:
        code = match[0]
        if code.startswith(r"\x") and int(code[2:], 16) > 0x7F:
            return chr(0xDC00 + int(code[2:], 16))
        return str(ast.literal_eval(f"'{code}'"))

    return re.sub(r"\\(x..|u....|U........|[\\tnr])", undo, shown)


@given(st.text(st.characters(codec="utf-8")))
def test_a_column_can_be_read_back(key):
    """Whatever a key contains, the columns are what they are, and none looks like another key."""
    rows = [rec2idx.ListedRecord(key, 0, problem=key)]
    _, line = Tabbed().lines(rows)
    columns = line.split("\t")
    assert len(columns) == 11
    assert (unescaped(columns[0]), unescaped(columns[10])) == (key, key)
    assert len(line.splitlines()) == 1


def run(folder: Path, *args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [RECORDIO, *args], cwd=folder, capture_output=True, timeout=60, encoding="utf-8"
    )


def test_keys_that_differ_in_what_is_escaped(folder):
    (folder / "six.rec").write_bytes(SIX)
    keys = [rb"a\n", b"a\\", b"a\x1b", rb"a\x1b", b"\xff", b"\xe2\x80\xae"]
    lines = (b"%s\t%d\n" % (key, 44 * at) for at, key in enumerate(keys))
    (folder / "six.idx").write_bytes(b"".join(lines))
    done = run(folder, "ls", "six.rec")
    shown = [line.split("\t")[0] for line in done.stdout.split("\n")[1:-1]]
    assert shown == [r"a\\n", r"a\\", r"a\x1b", r"a\\x1b", r"\xff", r"\u202e"]
    rows = [json.loads(line) for line in run(folder, "ls", "--json", "six.rec").stdout.splitlines()]
    assert [os.fsencode(row["key"]) for row in rows] == keys


NAME = "a\x1b[2J\nb\u202ec\x85\t"


@pytest.fixture
def hostile(folder: Path) -> Path:
    """Files with names, keys and words in them that nobody means well with."""
    (folder / f"{NAME}.rec").write_bytes(SIX)
    (folder / f"{NAME}cut.rec").write_bytes(SIX[:100])
    (folder / f"{NAME}.txt").write_text("no record file")
    (folder / "six.rec").write_bytes(SIX)
    (folder / "keys.idx").write_text(f"{NAME[0]}\x1b[2J\t0\nb\u202e\t44\nc\x85\t45\n\x1b\t9999\n")
    (folder / "names.lst").write_text("0\t0\t../\x1b[2J\u202e.jpg\n1\t0\tno\x1b]0;x\x07.jpg\n")
    (folder / "bad.lst").write_text("\x1b[2J\u202e\n")
    (folder / "in" / NAME).mkdir(parents=True)
    (folder / "in" / NAME / f"{NAME}.jpg").write_bytes(b"")
    (folder / "in" / NAME / f"{NAME}.rec").write_bytes(SIX)
    (folder / "in" / NAME / f"{NAME}2.rec").write_bytes(b"no record")
    (folder / "in" / NAME / f"{NAME}3.rec").write_bytes(SIX[:100])
    (folder / "pictures" / NAME).mkdir(parents=True)
    (folder / "pictures" / NAME / f"{NAME}.jpg").write_bytes(b"1")
    return folder


COMMANDS = [
    ["index", f"{NAME}.rec"],
    ["index", "--salvage", f"{NAME}cut.rec", f"{NAME}.txt", f"{NAME}none.rec"],
    ["index", "-r", "in"],
    ["index", "--combine", f"{NAME}.idx", f"{NAME}.rec", f"{NAME}.rec"],
    ["index", "--keys", "keep=keys.idx", "six.rec"],
    ["info", f"{NAME}.rec", f"{NAME}.txt"],
    ["ls", f"{NAME}.rec"],
    ["ls", f"{NAME}.txt"],
    ["ls", "six.rec", "keys.idx", "--lst", "names.lst"],
    ["ls", "six.rec", "--lst", "bad.lst"],
    ["cat", "six.rec", NAME, "--index", "keys.idx"],
    ["cat", f"{NAME}.txt", "0"],
    ["check", f"{NAME}.rec", f"{NAME}cut.rec", f"{NAME}.txt"],
    ["check", "six.rec", "keys.idx"],
    ["check", "--json", "six.rec", "keys.idx"],
    ["extract", "six.rec", "out", "--lst", "names.lst"],
    ["extract", "six.rec", "out2", "--index", "keys.idx"],
    ["extract", f"{NAME}.rec", f"{NAME}out"],
    ["pack", "pictures", f"{NAME}packed.rec"],
    ["pack", "names.lst", "packed.rec"],
    ["pack", "bad.lst", "packed.rec"],
    ["salvage", f"{NAME}cut.rec", f"{NAME}kept.rec"],
    ["salvage", f"{NAME}.txt", f"{NAME}kept2.rec"],
    [NAME],
    ["ls", NAME, NAME, NAME],
]


@pytest.mark.parametrize("args", COMMANDS, ids=range(len(COMMANDS)))
def test_commands(hostile, args):
    done = run(hostile, *args)
    for text in (done.stdout, done.stderr):
        assert not OBEYED.search(text)
    assert "Traceback" not in done.stderr
    for line in done.stderr.splitlines():
        assert line.startswith(("recordio: ", "usage: ", "recordio ", "  "))


def test_the_command_and_its_lines(hostile):
    done = subprocess.run(
        [COMMAND, "--progress", "lines", f"{NAME}.rec"], cwd=hostile, capture_output=True, text=True
    )
    assert re.fullmatch(r"(time: \S+  count: \d+\n)+", done.stdout)
    assert r"rec2idx: a\x1b[2J\nb\u202ec\u0085\t.rec: 6 records" in done.stderr


def test_a_bar(hostile):
    script = (
        "import sys; from rec2idx.cli import progress; import rec2idx; progress.Bar.DELAY = 0;"
        "sys.argv[0] = 'rec2idx'; sys.exit(rec2idx.main())"
    )
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script, f"{NAME}.rec"], cwd=hostile, stderr=its_end
    )
    os.close(its_end)
    shown = b""
    try:
        while piece := os.read(terminal, 10_000):
            shown += piece
    except OSError:  # how Linux says that the other side has closed it
        pass
    assert process.wait(timeout=60) == 0
    assert rb"a\x1b[2J\nb\u202ec\u0085\t.rec:" in shown
    assert b"\x1b[2J" not in shown


def test_errors_are_one_line(hostile):
    """Also for those who print them without the command."""
    for call in (
        lambda: rec2idx.create_index(f"{NAME}cut.rec"),
        lambda: rec2idx.create_index(f"{NAME}.txt", "a.idx"),
        lambda: rec2idx.create_index(f"{NAME}none.rec"),
        lambda: rec2idx.create_index("six.rec", f"{NAME}.txt"),
        lambda: rec2idx.create_index("six.rec", "a.idx", keys=rec2idx.KeepKeys("keys.idx")),
        lambda: list(rec2idx.list_records("six.rec", names="bad.lst")),
        lambda: rec2idx.RecordDataset("six.rec", "keys.idx"),
        lambda: rec2idx.RecordDataset(f"{NAME}.rec").get(NAME),
        lambda: rec2idx.MXIndexedRecordIO("bad.lst", "six.rec", "r"),
        lambda: rec2idx.extract("six.rec", f"memory://{NAME}"),
        lambda: rec2idx.pack_images("bad.lst", "new.rec"),
    ):
        with pytest.raises((rec2idx.RecordIOError, OSError, ValueError)) as raised:
            call()
        text = str(raised.value)
        assert len(text.splitlines()) == 1
        assert not OBEYED.search(text)


def test_attributes_have_the_text_itself(hostile):
    with pytest.raises(rec2idx.TruncatedError) as raised:
        rec2idx.create_index(f"{NAME}cut.rec")
    assert raised.value.path == f"{NAME}cut.rec"
    assert str(raised.value).startswith(r"a\x1b[2J\nb\u202ec\u0085\tcut.rec: record 2 at byte 88: ")


def test_payloads_are_data(folder):
    """They are written as they are, whatever is in them."""
    payload = image(0, 0, b"\x1b[2J\n\r\t\xff")
    (folder / "a.rec").write_bytes(part(0, payload))
    done = subprocess.run([RECORDIO, "cat", "a.rec", "0"], capture_output=True)
    assert done.stdout == payload
