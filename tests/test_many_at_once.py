"""Many files by the command, and many processes that want the index of one (case C30)."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMMAND, folder_content
from damage import flip_byte
from reference import index, part
from samples import SIX

import rec2idx


def test_twenty_files_one_of_them_damaged(tmp_path: Path):
    """The others are indexed, in the folder that was asked for, and nothing is put elsewhere."""
    names = [f"{number % 4}/{number % 3}/{number:02}" for number in range(20)]
    contents = {name: SIX[: 44 * (1 + at % 6)] for at, name in enumerate(names)}
    contents[names[17]] = flip_byte(SIX, 132)
    for name, content in contents.items():
        path = tmp_path / f"data/{name}.rec"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    done = subprocess.run(
        [COMMAND.with_name("recordio"), "index", "-r", "data", "--out-dir", "not/yet/there"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (1, "")
    damaged, summary = done.stderr.splitlines()
    assert damaged == (
        f"recordio: data/{names[17]}.rec: record 3 at byte 132: wrong magic: expected 0xced7230a, "
        "found 0xced723f5; copy or download the file again; rec2idx --salvage indexes what is whole"
    )
    expected = {
        f"not/yet/there/{name}.idx": index(content)
        for name, content in contents.items()
        if name != names[17]
    }
    records = sum(made.count(b"\n") for made in expected.values())
    assert summary.startswith(f"recordio: 19 of 20 files indexed, {records} records, ")
    made = {
        str(path.relative_to(tmp_path)): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file() and path.suffix != ".rec"
    }
    assert made == expected


@pytest.mark.parametrize("old", [b"", b"0\t0\n"], ids=["missing", "stale"])
def test_nobody_sees_a_part_of_an_index(tmp_path: Path, old: bytes):
    """Who looks while eight processes make it sees what was there before, or all of it."""
    records = 300_000
    record, target = tmp_path / "a.rec", tmp_path / "a.idx"
    record.write_bytes(part(0, b"") * records)
    if old:
        target.write_bytes(old)
    code = "import sys, rec2idx; sys.stdin.read(1); rec2idx.ensure_index(sys.argv[1])"
    starts, begin = os.pipe()
    command = [sys.executable, "-c", code, record]
    processes = [subprocess.Popen(command, stdin=starts) for _ in range(8)]
    os.close(starts)
    os.write(begin, b"12345678")
    os.close(begin)
    seen = {old}
    while any(process.poll() is None for process in processes):
        seen.add(target.read_bytes() if target.exists() else b"")
    assert [process.returncode for process in processes] == [0] * 8
    whole = "".join(f"{key}\t{8 * key}\n" for key in range(records)).encode()
    assert seen | {target.read_bytes()} == {old, whole}
    assert sorted(folder_content(tmp_path)) == ["a.idx", "a.rec"]
    assert rec2idx.ensure_index(record) == str(target)
