"""The option --salvage of the installed commands: what they say, and their exit status."""

import re
import subprocess

from conftest import COMMAND, folder_content
from damage import cut_tail, flip_byte
from samples import SIX

RECORDIO = COMMAND.with_name("recordio")
KEPT = b"0\t0\n1\t44\n2\t132\n3\t176\n4\t220\n"  # without record 2
LINE = "bytes 88 to 132 lost (44 bytes), after 2 records: wrong magic: "
LINE += "expected 0xced7230a, found 0xced723f5"


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    return re.sub(r"[0-9.e-]+ s;", "S s;", done.stderr).splitlines()


def test_the_index_of_what_is_whole(run, tmp_path):
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    done = run("--salvage", "a.rec", "--progress", "none")
    assert (done.returncode, done.stdout) == (3, "")
    assert said(done) == [
        f"rec2idx: a.rec: {LINE}",
        "rec2idx: a.rec: 5 records, 264 bytes, S s; lost 44 bytes in 1 damaged region, "
        "about 1 record, none of them whole; index written to a.idx",
    ]
    assert (tmp_path / "a.idx").read_bytes() == KEPT


def test_quiet_says_what_is_lost(run, tmp_path):
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    assert said(run("--salvage", "-q", "a.rec")) == [f"rec2idx: a.rec: {LINE}"]


def test_a_whole_file_is_no_different(run, tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    done = run("-q", "--salvage", "a.rec")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_padding_costs_no_bytes(run, tmp_path):
    (tmp_path / "a.rec").write_bytes(cut_tail(SIX[:224] + b"\x22\0\0\0" + SIX[228:], 262))
    done = run("-q", "--salvage", "a.rec")
    assert done.returncode == 3
    assert said(done) == [
        "rec2idx: a.rec: nothing lost: at byte 220, the record is whole, but its padding is cut "
        "off by the end of the file: expected 2 bytes of padding, found 0"
    ]
    assert (tmp_path / "a.idx").read_bytes().count(b"\n") == 6


def test_without_it_the_error_names_it(run, tmp_path):
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    done = run("-q", "a.rec")
    assert done.returncode == 1
    assert done.stderr.endswith("; rec2idx --salvage indexes what is whole\n")
    assert list(folder_content(tmp_path)) == ["a.rec"]


def test_standard_input_cannot_be_read_again(run):
    done = run("--salvage", "-", "a.idx", input=SIX.decode("latin-1"))
    assert done.returncode == 2
    assert done.stderr.endswith("RECORD cannot be standard input\n")


def test_a_pipe_neither(run, tmp_path):
    """Its damage is an error, as without the option."""
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    done = subprocess.run(
        f"'{COMMAND}' -q --salvage <(cat a.rec) a.idx",
        shell=True,
        executable="/bin/bash",
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "record 2 at byte 88: wrong magic" in done.stderr


def test_many_files(tmp_path):
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    (tmp_path / "b.rec").write_bytes(SIX)
    done = subprocess.run(
        [RECORDIO, "index", "--salvage", "a.rec", "b.rec"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert re.sub(r"[0-9.e-]+ s;", "S s;", done.stderr).splitlines() == [
        f"recordio: a.rec: {LINE}",
        "recordio: 2 of 2 files indexed, 11 records, 528 bytes, S s; "
        "lost 44 bytes in 1 damaged region, about 1 record, none of them whole",
    ]
    assert (tmp_path / "a.idx").read_bytes() == KEPT
    (tmp_path / "b.rec").write_bytes(b"<html>")
    done = subprocess.run([RECORDIO, "index", "-q", "--salvage", "a.rec", "b.rec"], cwd=tmp_path)
    assert done.returncode == 1  # b.rec is no record file at all


def test_one_index_over_many(tmp_path):
    (tmp_path / "a.rec").write_bytes(flip_byte(SIX, 88))
    done = subprocess.run(
        [RECORDIO, "index", "--salvage", "--combine", "all.idx", "a.rec", "a.rec"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 3
    assert done.stderr.count(LINE) == 2
    assert "10 records, 528 bytes" in done.stderr
    lost = "; lost 88 bytes in 2 damaged regions, about 2 records, none of them whole; index "
    assert lost + "written to all.idx" in done.stderr
