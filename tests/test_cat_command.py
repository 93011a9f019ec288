"""The installed command `recordio cat`, as a process: what it writes, and its exit status."""

import os
import pty
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT, folder_content
from damage import flip_byte
from hypothesis import given
from reference import MAGIC, part, read, record
from samples import FACE, SIX, SIX_INDEX, files, image, labelled
from test_ls_command import read_terminal

from rec2idx import UnsafeTargetError, one_record
from rec2idx.cli.cat import sink_for
from rec2idx.sources import opened

RECORDIO = COMMAND.with_name("recordio")
JPEG = (ROOT / "tests/pictures/baseline.jpg").read_bytes()

Command = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "six.rec").write_bytes(SIX)
    return tmp_path


@pytest.fixture
def cat(folder: Path) -> Command:
    """Run `recordio cat` in the folder."""

    def cat(*args, **options):
        return subprocess.run(
            [RECORDIO, "cat", *args],
            **{"cwd": folder, "capture_output": True, "timeout": 60, **options},
        )

    return cat


def writes(done: subprocess.CompletedProcess[bytes], payload: bytes) -> None:
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", payload)


def fails(done: subprocess.CompletedProcess[bytes], message: str, status: int = 1) -> None:
    assert (done.returncode, done.stdout) == (status, b"")
    assert done.stderr.decode() == f"recordio: {message}\n"


def test_by_number(cat):
    """Where there is no index."""
    for number, (_, payload) in enumerate(read(SIX)[0]):
        writes(cat("six.rec", str(number)), payload)
        writes(cat("--image", "six.rec", str(number)), payload[24:])


def test_by_key(cat, folder):
    """In the index beside the file, or in the one that is named; of several, the last line."""
    (folder / "six.idx").write_text("9\t0\n5\t44\n9\t88\n")
    (folder / "other.idx").write_text("cat.jpg\t132\n-1\t176\n007\t220\ncat.jpg\t0\n")
    payloads = [payload for _, payload in read(SIX)[0]]
    writes(cat("six.rec", "9"), payloads[2])
    writes(cat("six.rec", "5"), payloads[1])
    for key, number in (("cat.jpg", 0), ("-1", 4), ("007", 5)):
        writes(cat("six.rec", key, "--index", "other.idx"), payloads[number])
    with (folder / "six.rec").open("rb") as file:
        writes(cat("-", "5", stdin=file), payloads[5])


def test_a_face_file(cat, folder):
    """All records have keys, and not all an image."""
    (folder / "face.rec").write_bytes(FACE)
    (folder / "face.idx").write_text("".join(f"{i}\t{40 * i}\n" for i in range(8)))
    writes(cat("face.rec", "0"), labelled([6, 8], 0))
    writes(cat("face.rec", "3", "--image"), b"8 bytes.")
    fails(
        cat("face.rec", "7", "--image"),
        "face.rec: key 7 at byte 280: no image: its labels end where it ends; without --image, all "
        "of its payload is written",
    )
    fails(
        cat("-", "7", "--image", input=FACE),
        "<stdin>: no image in the record with key 7: its labels end where it ends; without "
        "--image, all of its payload is written",
    )


def test_what_is_no_image_record(cat, folder):
    payloads = [b"text", struct.pack("<I", 9) + bytes(50), image(1, 1, b"x")]
    (folder / "a.rec").write_bytes(b"".join(map(record, payloads)))
    for number in (0, 1):
        writes(cat("a.rec", str(number)), payloads[number])
        done = cat("a.rec", str(number), "--image")
        assert (done.returncode, done.stdout) == (1, b"")
        assert b": no image: it is no image record; without" in done.stderr
    writes(cat("a.rec", "2", "--image"), b"x")


SPLIT = labelled([1.0, 2.0, struct.unpack("<f", MAGIC)[0]], 7, MAGIC * 3 + JPEG + MAGIC)


@pytest.mark.parametrize("stdin", [False, True])
def test_records_of_several_parts(cat, folder, stdin):
    """The magics between the parts are in the payload, also where the labels end and it begins."""
    payloads = [SPLIT, image(0, struct.unpack("<Q", MAGIC * 2)[0], MAGIC), MAGIC, b""]
    data = b"".join(map(record, payloads))
    (folder / "a.rec").write_bytes(data)
    for number, payload in enumerate(payloads):
        words = ["-", str(number)] if stdin else ["a.rec", str(number)]
        options = {"input": data} if stdin else {}
        writes(cat(*words, **options), payload)
    words = ["-"] if stdin else ["a.rec"]
    writes(cat("--image", *words, "0", **options), SPLIT[36:])
    writes(cat("--image", *words, "1", **options), MAGIC)


@given(files)
def test_any_file(tmp_path, data):
    path = tmp_path / "any.rec"
    path.write_bytes(data)
    for number, (_, payload) in enumerate(read(data)[0]):
        written = bytearray()
        with opened(path) as source:
            one_record.copy_record(source, str(number), None, written.extend)
        assert written == payload


def test_a_large_record_comes_in_blocks(tmp_path):
    payload = image(0, 0, bytes(range(251)) * 20_000)
    (tmp_path / "a.rec").write_bytes(record(payload) + SIX)
    written: list[bytes] = []
    with opened(tmp_path / "a.rec") as source:
        one_record.copy_record(source, "0", None, lambda b: written.append(bytes(b)), image=True)
    assert b"".join(written) == payload[24:]
    assert max(map(len, written)) < len(payload) / 5


def test_into_a_file(cat, folder):
    writes(cat("six.rec", "3", "-o", "3.bin"), b"")
    assert folder_content(folder) == {"six.rec": SIX, "3.bin": read(SIX)[0][3][1]}


def test_no_file_is_replaced(cat, folder):
    """Least of all the record file."""
    (folder / "there.jpg").write_bytes(b"precious")
    (folder / "link.jpg").symlink_to("six.rec")
    (folder / "empty.jpg").touch()
    there = "a file stands there already, and a new file replaces none; give it another name, or "
    fails(cat("six.rec", "3", "-o", "there.jpg"), f"there.jpg: {there}remove that file first")
    itself = "the new file would replace the record file six.rec itself; give the new file another"
    for name in ("six.rec", "link.jpg"):
        fails(cat("six.rec", "3", "-o", name), f"{name}: {itself} name")
    with (folder / "six.rec").open("rb") as file:
        assert cat("-", "3", "-o", "six.rec", stdin=file).returncode == 1
    fails(cat("six.rec", "3", "-o", "empty.jpg"), f"empty.jpg: {there}remove that file first")
    assert folder_content(folder) == {
        "six.rec": SIX,
        "there.jpg": b"precious",
        "link.jpg": SIX,
        "empty.jpg": b"",
    }


def test_a_file_that_appears_meanwhile_is_not_replaced_either(folder):
    def write(source):
        with sink_for(str(folder / "new.bin"), source) as sink:
            sink.write(b"payload")
            (folder / "new.bin").write_bytes(b"other")

    with (
        opened(folder / "six.rec") as source,
        pytest.raises(UnsafeTargetError, match=r"new\.bin: a"),
    ):
        write(source)
    assert folder_content(folder) == {"six.rec": SIX, "new.bin": b"other"}


def test_nothing_is_left_where_it_fails(cat, folder):
    for key in ("9", "cat"):
        assert cat("six.rec", key, "-o", "new.jpg").returncode == 1
    done = cat("six.rec", "0", "-o", "none/new.jpg")
    assert (done.returncode, done.stdout) == (1, b"")
    assert folder_content(folder) == {"six.rec": SIX}


def test_no_payload_on_a_terminal(folder):
    """It may hold what moves the cursor, and worse. With a file to write to it does not matter."""
    refused = (
        b"recordio: a payload is not written to a terminal; give a file with -o FILE, or a pipe: "
        b"recordio cat ... | xxd\r\n"
    )
    for args, status, expected in (([], 2, refused), (["-o", "0.bin"], 0, b"")):
        terminal, its_end = pty.openpty()
        words = [RECORDIO, "cat", "six.rec", "0", *args]
        process = subprocess.Popen(words, cwd=folder, stdout=its_end, stderr=its_end)
        os.close(its_end)
        shown = b""
        while piece := read_terminal(terminal):
            shown += piece
        os.close(terminal)
        assert (process.wait(timeout=60), shown) == (status, expected)


def test_keys_that_there_are_not(cat, folder):
    numbers = "without an index, keys are numbers, here from 0 to 5"
    fails(cat("six.rec", "6"), f"six.rec: no record has the key 6: {numbers}")
    fails(cat("-", "6", input=SIX), f"<stdin>: no record has the key 6: {numbers}")
    fails(
        cat("six.rec", "cat"),
        "six.rec: no record has the key 'cat': without an index, keys are numbers, from 0",
    )
    (folder / "six.idx").write_text("7\t0\n5\t44\n18446744073709551615\t88\n")
    some = "six.idx has 3 keys, numbers from 5 to 18446744073709551615"
    for key in ("0", "-7", "007", "cat", "18446744073709551616"):
        fails(cat("six.rec", key), f"six.rec: no record has the key '{key}': {some}")
    (folder / "six.idx").write_text("a.jpg\t0\nc\x1b.jpg\t44\nb.jpg\t88\n")
    fails(
        cat("six.rec", "0"),
        "six.rec: no record has the key '0': six.idx has 3 keys, from 'a.jpg' on its first line to "
        "'b.jpg' on its last one",
    )


def test_entries_that_name_no_record(cat, folder):
    (folder / "six.idx").write_text("0\t0\n1\t45\n2\t264\n3\t18446744073709551615\n")
    done = cat("six.rec", "1")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"recordio: six.rec: key 1 at byte 45: wrong magic: expected 0x")
    for key, offset in ((2, 264), (3, 18446744073709551615)):
        fails(
            cat("six.rec", str(key)),
            f"six.idx: the key {key} has the offset {offset}, where six.rec has ended: expected an "
            f"offset below 264, found {offset}; is that the index of this very file? recordio "
            "check says what is wrong",
        )


def test_damage(cat, folder):
    """Without an index it is met on the way; with one, only in the record itself."""
    (folder / "a.rec").write_bytes(flip_byte(SIX, 88))
    writes(cat("a.rec", "1"), read(SIX)[0][1][1])
    done = cat("a.rec", "3")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"recordio: a.rec: record 2 at byte 88: wrong magic: expected")
    (folder / "a.idx").write_bytes(SIX_INDEX)
    writes(cat("a.rec", "3"), read(SIX)[0][3][1])
    assert cat("a.rec", "2").stderr.startswith(b"recordio: a.rec: key 2 at byte 88: wrong magic: ")


def test_nothing_is_written_of_a_record_that_is_not_whole(cat, folder):
    (folder / "a.rec").write_bytes(SIX + part(1, bytes(1 << 20)) + part(2, b"abcd"))
    (folder / "a.idx").write_text("0\t264\n")
    done = cat("a.rec", "0")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"the file ends between the parts of a record" in done.stderr


def test_what_is_no_record_file(cat, folder):
    (folder / "a.rec").write_bytes(b"PK\x03\x04 and so on")
    for index in (None, "0\t0\n"):
        if index:
            (folder / "a.idx").write_text(index)
        done = cat("a.rec", "0")
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"a.rec: record 0 at byte 0: not a RecordIO file, but a zip archive" in done.stderr


def test_an_empty_file(cat):
    fails(
        cat("-", "0", input=b""),
        "<stdin>: no record has the key 0: without an index, keys are numbers, and the file is "
        "empty",
    )


def test_wrong_usage(cat):
    for args in ([], ["six.rec"], ["six.rec", "0", "1"], ["six.rec", "0", "-o", "-"]):
        done = cat(*args)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"usage: recordio cat ")


def test_an_index_for_standard_input(cat, folder):
    (folder / "six.idx").write_bytes(SIX_INDEX)
    fails(
        cat("-", "0", "--index", "six.idx", input=SIX),
        "<stdin>: with an index, a file must be readable at any place; this one is not",
    )


def test_standard_output_closed_by_its_reader(folder):
    (folder / "a.rec").write_bytes(record(bytes(10_000_000)))
    process = subprocess.Popen(
        [RECORDIO, "cat", "a.rec", "0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.read(10) == bytes(10)
    process.stdout.close()
    assert process.stderr is not None
    assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")
    process.stderr.close()


def test_standard_output_that_is_full(cat):
    with open("/dev/full", "w") as full:
        done = cat("six.rec", "0", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr == b"recordio: <stdout>: No space left on device\n"
