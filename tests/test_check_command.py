"""The command ``recordio check``, run as it is installed: what it prints, and how it ends."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND
from damage import flip_byte
from reference import part
from samples import FACE, SIX, SIX_INDEX, A, B, image

Run = Callable[..., subprocess.CompletedProcess[str]]

DAMAGED = (
    "error: bad.rec: record 2 at byte 88: no record starts where one should (44 bytes to byte 132: "
    "wrong magic: expected 0xced7230a, found 0xced723f5); copy or download the file again; of what "
    "is whole, recordio salvage writes a new file, and rec2idx --salvage an index"
)
# A warning and no error.
UNESCAPED = part(0, image(0, 1, b"abcd" + bytes.fromhex("0a23d7ce 00000000")))


@pytest.fixture
def check(folder: Path) -> Run:
    """Run the command in a folder with a few files."""
    for name, data in {
        "six.rec": SIX,
        "bad.rec": flip_byte(SIX, 88),
        "a.rec": A,
        "b.rec": B,
        "all.idx": SIX_INDEX,
        "odd.rec": UNESCAPED,
    }.items():
        (folder / name).write_bytes(data)

    def check(*args: str, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND.with_name("recordio"), "check", *args],
            **{"cwd": folder, "capture_output": True, "text": True, "timeout": 60, **options},
        )

    return check


def test_nothing_to_find(check, folder):
    (folder / "six.idx").write_bytes(SIX_INDEX)
    done = check("six.rec", "six.idx")
    assert (done.returncode, done.stdout) == (0, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("recordio: six.rec with six.idx: 6 records, 6 images, 264 bytes, ")
    assert line.endswith(" s; 0 errors, 0 warnings, 0 notes")


def test_keys_of_an_index_in_no_order(check, folder):
    """Of two entries for a record, the first one tells its key."""
    (folder / "more.rec").write_bytes(SIX + UNESCAPED)
    lines = reversed(SIX_INDEX.splitlines(keepends=True))
    (folder / "more.idx").write_bytes(b"9\t264\n8\t264\n" + b"".join(lines))
    found = json.loads(check("--json", "more.rec", "more.idx").stdout)["findings"]
    [places] = [one["places"] for one in found if one["code"] == "unescaped-magic"]
    assert [(place["record"], place["key"]) for place in places] == [(6, "9")]


def test_options_between_the_paths(check, folder):
    (folder / "six.idx").write_bytes(SIX_INDEX)
    (folder / "-x.rec").write_bytes(SIX)
    for args in (["six.rec", "-q", "six.idx"], ["a.rec", "-q", "b.rec", "-j", "1", "all.idx"]):
        done = check(*args)
        assert (done.returncode, done.stdout) == (0, "")
    done = check("six.rec", "--full", "six.idx")
    assert done.stderr.startswith("recordio: six.rec with six.idx: 6 records, ")
    done = check("--full", "--", "-x.rec", "six.idx")
    assert done.stderr.startswith("recordio: -x.rec with six.idx: 6 records, ")
    done = check("six.rec", "--ful", "six.idx")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: recordio check [options] REC... [INDEX]\n")


def test_standard_output_that_is_full(check):
    """-q would print it there all the same."""
    with open("/dev/full", "w") as full:
        done = check("-q", "bad.rec", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == ("recordio: cannot write to standard output: No space left on device\n")


@pytest.mark.parametrize(("name", "status"), [("bad.rec", 1), ("odd.rec", 0)])
def test_standard_output_closed_by_its_reader(check, name, status):
    reader, writer = os.pipe()
    os.close(reader)
    done = check(name, "six.rec", stdout=writer, capture_output=False, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (status, "")


def test_an_error(check):
    done = check("bad.rec")
    assert (done.returncode, done.stdout.splitlines()) == (1, [DAMAGED])
    assert done.stderr.endswith(" s; 1 error, 0 warnings, 0 notes\n")


def test_a_warning_is_no_failure(check):
    done = check("odd.rec")
    assert done.returncode == 0
    assert done.stdout.startswith("warning: odd.rec: record 0 at byte 36: a payload holds an un")
    assert check("odd.rec", "--strict").returncode == 1
    assert check("six.rec", "--strict").returncode == 0


def test_equal_findings_are_one_line(check, folder):
    (folder / "odd.rec").write_bytes(UNESCAPED * 5)
    [line] = check("-q", "odd.rec").stdout.splitlines()
    assert line.endswith(" (and 4 more: records 1, 2, ...)")
    (folder / "odd.rec").write_bytes(UNESCAPED * 2)
    [line] = check("-q", "odd.rec").stdout.splitlines()
    assert line.endswith(" (and 1 more: record 1)")


def test_quiet(check, folder):
    (folder / "face.rec").write_bytes(FACE + FACE)
    loud, quiet = check("face.rec"), check("face.rec", "-q")
    assert (loud.returncode, quiet.returncode) == (1, 1)
    kept = [line for line in loud.stdout.splitlines() if not line.startswith("note: ")]
    assert quiet.stdout.splitlines() == kept != loud.stdout.splitlines()
    assert quiet.stderr == ""


# Which argument is the index


def test_the_index_beside_the_file(check, folder):
    (folder / "six.idx").write_bytes(SIX_INDEX[:20])
    done = check("six.rec")
    assert "six.rec with six.idx: " in done.stderr
    assert "six.idx" in done.stdout


def test_several_files_each_with_its_own(check, folder):
    (folder / "b.idx").write_bytes(b"0\t0\n1\t44\n2\t88\n")
    done = check("a.rec", "b.rec", "bad.rec", "-j", "1")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == DAMAGED
    starts = [line.split(": ")[1] for line in done.stderr.splitlines()]
    assert starts == ["a.rec", "b.rec with b.idx", "bad.rec"]


def test_several_files_and_one_index(check):
    done = check("a.rec", "b.rec", "all.idx")
    assert done.returncode == 0
    assert "recordio: 2 files with all.idx: 6 records, 6 images, 264 bytes, " in done.stderr


def test_the_order_does_not_matter(check):
    done = check("all.idx", "six.rec")
    assert "recordio: six.rec with all.idx: 6 records" in done.stderr


def test_an_index_of_another_name(check, folder):
    (folder / "index.txt").write_bytes(SIX_INDEX)
    assert "recordio: six.rec with index.txt: 6 records" in check("six.rec", "index.txt").stderr


def test_an_index_in_place_of_the_record_file(check, folder):
    (folder / "six.rec").write_bytes(SIX_INDEX)
    done = check("six.rec")
    assert done.returncode == 1
    assert done.stdout.startswith("error: six.rec: byte 0: not a RecordIO file, but an index")


def test_names_that_are_swapped(check, folder):
    (folder / "x.idx").write_bytes(SIX)
    (folder / "x.rec").write_bytes(SIX_INDEX)
    assert "recordio: x.idx with x.rec: 6 records" in check("x.rec", "x.idx").stderr


def test_records_in_a_file_that_is_called_an_index(check, folder):
    (folder / "x.idx").write_bytes(SIX)
    assert check("x.idx").stderr.startswith("recordio: x.idx: 6 records")


def test_several_indexes(check, folder):
    (folder / "six.idx").write_bytes(SIX_INDEX)
    done = check("six.rec", "six.idx", "all.idx")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "recordio: 2 indexes (six.idx, all.idx), expected one, over all the files; without any, "
        "each file is checked with the index beside it\n"
    )


def test_nothing_but_an_index(check):
    done = check("all.idx")
    assert done.returncode == 2
    assert done.stderr.startswith("recordio: all.idx is an index: give the record file, too")


# Readers


def test_for_whom(check, folder):
    assert check("odd.rec", "--strict").returncode == 1
    done = check("odd.rec", "--strict", "--for", "dali")
    assert (done.returncode, done.stdout) == (0, "")
    (folder / "six.rec").write_bytes(SIX + b"\n\n")
    assert check("six.rec").returncode == 1
    assert check("six.rec", "--for", "DALI").returncode == 0
    (folder / "six.rec").write_bytes(part(0, image(0, 0, b"x")) * 2)
    usual, rocal = check("six.rec", "-q"), check("six.rec", "-q", "--for", "rocal")
    assert "rocAL" in rocal.stdout
    assert "rocAL" not in usual.stdout


def test_for_somebody_else(check):
    done = check("six.rec", "--for", "dali,tf")
    assert done.returncode == 2
    assert "argument --for: 'tf' is none of dali, mxnet, rocal" in done.stderr


# Everything else


def test_full(check, folder):
    (folder / "page.rec").write_bytes(part(0, image(0, 1, b"<html></html>")))
    assert (check("page.rec").returncode, check("page.rec", "--full").returncode) == (0, 1)


def test_as_json(check):
    done = check("bad.rec", "--json")
    value = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (1, "")
    assert (value["paths"], value["index"], value["records"]) == (["bad.rec"], None, 5)
    assert [finding["code"] for finding in value["findings"]] == ["wrong-magic"]
    lines = check("a.rec", "b.rec", "--json").stdout.splitlines()
    assert [json.loads(line)["paths"] for line in lines] == [["a.rec"], ["b.rec"]]


def test_what_is_not_there_does_not_stop_the_others(check):
    done = check("none.rec", "bad.rec", "folder-of-none/none.rec")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [DAMAGED]
    assert "recordio: none.rec: No such file or directory\n" in done.stderr
    assert check("six.rec", "none.idx").returncode == 1


def test_standard_input(check, folder):
    with (folder / "six.rec").open() as file:
        done = check("-", "all.idx", stdin=file)
    assert done.returncode == 0
    assert "recordio: <stdin> with all.idx: 6 records" in done.stderr
    with (folder / "bad.rec").open() as file:
        done = check("-", stdin=file)
    assert done.returncode == 1
    assert done.stdout.startswith("error: <stdin>: record 2 at byte 88: ")


def test_a_reader_of_its_output_that_stops(check, folder):
    program = COMMAND.with_name("recordio")
    command = f"{program} check bad.rec bad.rec | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "cannot write" not in done.stderr
    assert "Traceback" not in done.stderr


def test_odd_names_are_printed(check, folder):
    name = "数据 'x'\n.rec"
    (folder / name).write_bytes(flip_byte(SIX, 88))
    done = check(name, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) == 1


def test_help(check):
    done = check("--help")
    assert done.returncode == 0
    assert "usage: recordio check [options] REC... [INDEX]" in done.stdout
