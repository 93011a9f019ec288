"""The installed command, as a process: what it prints, where, and its exit status."""

import errno
import os
import pty
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from conftest import COMMAND, ROOT, folder_content
from damage import cut_tail
from reference import part
from samples import SIX, SIX_INDEX

import rec2idx

only_linux = pytest.mark.skipif(sys.platform != "linux", reason="macOS has none of these")


@pytest.fixture
def six(tmp_path: Path) -> Path:
    path = tmp_path / "six.rec"
    path.write_bytes(SIX)
    return path


LINES = re.compile(r"(time: [0-9.e-]+  count: \d+\n)+")
SUMMARY = re.compile(
    r"rec2idx: six.rec: 6 records, 264 bytes, [0-9.e-]+ s; index written to (.*)\n"
)


def test_index_beside_the_record(six, run):
    done = run("six.rec")
    assert done.returncode == 0
    assert SUMMARY.fullmatch(done.stderr).group(1) == "six.idx"
    assert LINES.fullmatch(done.stdout)
    assert done.stdout.endswith("  count: 0\n")
    assert folder_content(six.parent) == {"six.rec": SIX, "six.idx": SIX_INDEX}


def test_index_elsewhere(six, run):
    (six.parent / "out").mkdir()
    done = run("six.rec", "out/train.index")
    assert (done.returncode, SUMMARY.fullmatch(done.stderr).group(1)) == (0, "out/train.index")
    assert (six.parent / "out/train.index").read_bytes() == SIX_INDEX


def test_as_a_module(six, run):
    done = subprocess.run([sys.executable, "-m", "rec2idx", "-q", six], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


@pytest.mark.parametrize("quiet", [["-q"], ["--quiet"], ["-q", "--progress", "lines"]])
def test_quiet(six, run, quiet):
    done = run("six.rec", *quiet)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_progress_still_says_what_was_done(six, run):
    done = run("six.rec", "--progress", "none")
    assert done.stdout == ""
    assert SUMMARY.fullmatch(done.stderr)


def test_lines_of_a_longer_run(six, run):
    six.write_bytes(part(0, b"") * 30_000)
    done = run("six.rec")
    counts = [int(line.split("  count: ")[1]) for line in done.stdout.splitlines()]
    assert counts == list(range(0, 30_001, 1000))


def test_version(run):
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"rec2idx {rec2idx.__version__}\n")


def test_help_has_two_examples(run):
    done = run("-h")
    assert done.returncode == 0
    assert done.stdout.count("  rec2idx data/train.rec") == 2
    assert len(done.stdout.splitlines()) <= 30
    assert run("--help").stdout == done.stdout


@pytest.mark.parametrize("wrong", [[], ["a", "b", "c"], ["a", "--nonsense"], ["a", "--progress"]])
def test_wrong_usage(six, run, wrong):
    done = run(*wrong)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: rec2idx ")
    assert folder_content(six.parent) == {"six.rec": SIX}


def test_main_takes_no_arguments_and_returns_the_exit_status(six, monkeypatch, capsys):
    """As DALI's script calls it; also where the usage is wrong."""
    monkeypatch.chdir(six.parent)
    for arguments, status in ([["six.rec"], 0], [["none.rec"], 1], [[], 2], [["-h"], 0]):
        monkeypatch.setattr(sys, "argv", ["rec2idx", *arguments])
        assert rec2idx.main() == status


def fails(done: subprocess.CompletedProcess[str], message: str) -> bool:
    """Whether a run failed with exit status 1 and one line that contains `message`."""
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("rec2idx: ")
    assert message in done.stderr
    return done.returncode == 1


def test_options_between_the_paths(run, tmp_path):
    (tmp_path / "a.rec").write_bytes(SIX)
    done = run("a.rec", "-q", "b.idx")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "b.idx").read_bytes() == SIX_INDEX


def test_damage_is_one_line(six, run):
    six.write_bytes(cut_tail(SIX, 250))
    assert fails(
        run("six.rec"),
        "rec2idx: six.rec: record 5 at byte 220: cut off by the end of the file: "
        "expected a part of 44 bytes, found 30; "
        "copy or download the file again; rec2idx --salvage indexes what is whole\n",
    )
    assert folder_content(six.parent) == {"six.rec": six.read_bytes()}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.rec"], "rec2idx: none.rec: No such file or directory\n"),
        (["."], "rec2idx: .: Is a directory\n"),
        (["six.rec", "."], "rec2idx: .: Is a directory\n"),
        (
            ["six.rec", "none/a.idx"],
            "rec2idx: none/a.idx: the folder it should be in does not exist\n",
        ),
        (["six.rec/a.rec"], "rec2idx: six.rec/a.rec: Not a directory\n"),
        (
            ["/dev/zero", "a.idx"],
            "rec2idx: /dev/zero: record 0 at byte 0: not a RecordIO file, but ",
        ),
        (["empty.rec"], "rec2idx: empty.rec: the file is empty"),
        pytest.param(
            *(["six.rec", "/dev/full"], "rec2idx: /dev/full: No space left on device\n"),
            marks=only_linux,
        ),
    ],
)
def test_what_cannot_be_read_or_written(six, run, arguments, message):
    (six.parent / "empty.rec").touch()
    assert fails(run(*arguments), message)
    assert sorted(os.listdir(six.parent)) == ["empty.rec", "six.rec"]


@pytest.mark.parametrize(
    "arguments", [["six.rec", "six.rec"], ["six.idx", "six.rec"], ["six.rec", "hard.idx"]]
)
def test_the_record_file_is_never_overwritten(six, run, arguments):
    six.with_suffix(".idx").write_bytes(SIX_INDEX)
    (six.parent / "hard.idx").hardlink_to(six)
    before = folder_content(six.parent)
    assert fails(run(*arguments), "the index would replace")
    assert folder_content(six.parent) == before


@pytest.mark.parametrize(
    ("locked", "mode", "message"),
    [
        ("six.rec", 0o000, "six.rec: Permission denied"),
        (".", 0o555, "six.idx: no new file can be made in its folder: Permission denied"),
        ("six.idx", 0o444, "six.idx: Permission denied"),
    ],
)
def test_no_permission(locked, mode, message):
    """A record that may not be read, a folder that takes no file, a write-protected index."""
    # Not tmp_path, whose parents only its owner may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "six.rec").write_bytes(SIX)
        (folder / "six.idx").write_bytes(b"0\t0\n")
        folder.chmod(0o777)
        (folder / "six.idx").chmod(0o666)
        (folder / locked).chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY],
            cwd=folder,
            capture_output=True,
            text=True,
        )
        assert fails(done, message)
        folder.chmod(0o755)
        assert sorted(os.listdir(folder)) == ["six.idx", "six.rec"]
        assert (folder / "six.idx").read_bytes() == b"0\t0\n"


# The modules may stand where other users may not go, so they are loaded first.
AS_NOBODY = """\
import os, sys, rec2idx
rec2idx.parse_args(["six.rec"])
rec2idx.create_index("six.rec", "/dev/null")
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.argv = ["rec2idx", "six.rec"]
sys.exit(rec2idx.main())
"""


def test_a_disk_that_is_full(six, run):
    """As a limit on the size of files, which stops a write in its middle as a full disk does."""
    six.write_bytes(part(0, b"") * 100_000)
    six.with_suffix(".idx").write_bytes(SIX_INDEX)
    limit = 400_000
    done = run(
        "six.rec",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert fails(done, f"rec2idx: six.idx: {os.strerror(errno.EFBIG)}\n")
    assert sorted(os.listdir(six.parent)) == ["six.idx", "six.rec"]
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root may mount a small disk"
)
def test_a_small_disk_that_is_full(six, run):
    """A real file system of 64 KB."""
    six.write_bytes(part(0, b"") * 100_000)
    disk = six.parent / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], check=True)
    try:
        (disk / "six.idx").write_bytes(SIX_INDEX)
        assert fails(run("six.rec", "disk/six.idx"), "disk/six.idx: No space left on device\n")
        assert folder_content(disk) == {"six.idx": SIX_INDEX}
    finally:
        subprocess.run(["umount", disk], check=True)


@only_linux
def test_standard_output_that_is_a_full_disk(six, run):
    with open("/dev/full", "w") as full:
        done = run("six.rec", stdout=full, capture_output=False, stderr=subprocess.PIPE)
    assert fails(done, "cannot write to standard output: No space left on device")
    assert folder_content(six.parent) == {"six.rec": SIX}


def test_standard_output_closed_by_its_reader(six, run):
    """As by `| head -n 0`: no index, no traceback, not even at the interpreter's exit."""
    six.write_bytes(part(0, b"") * 10_000)
    reader, writer = os.pipe()
    os.close(reader)
    done = run("six.rec", stdout=writer, capture_output=False, stderr=subprocess.PIPE)
    os.close(writer)
    assert fails(done, "cannot write to standard output: Broken pipe; -q prints nothing there")
    assert os.listdir(six.parent) == ["six.rec"]


def test_standard_output_closed_from_the_start(six, run):
    done = run("six.rec", preexec_fn=lambda: os.close(1))
    assert fails(done, "cannot write to standard output: it is closed")
    assert os.listdir(six.parent) == ["six.rec"]
    done = run("six.rec", "-q", preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr) == (0, "")
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


def test_standard_error_closed(six, run):
    """There is nobody to tell, but the exit status still tells."""
    done = run("six.rec", preexec_fn=lambda: os.close(2))
    assert (done.returncode, six.with_suffix(".idx").read_bytes()) == (0, SIX_INDEX)
    assert run("none.rec", preexec_fn=lambda: os.close(2)).returncode == 1


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(b"\xff\xfe.rec", marks=only_linux),
        "训练.rec".encode(),
        b"new\nline\x1b[31m.rec",
    ],
)
def test_names_that_cannot_be_printed(tmp_path, run, locale, name):
    """Case C34: not UTF-8, Chinese under LC_ALL=C, and what would break the one line."""
    record = os.fsencode(tmp_path) + b"/" + name
    environment = {"PATH": os.environ["PATH"], **locale}
    done = run(record, env=environment)
    assert fails(done, "No such file or directory")
    assert "\x1b" not in done.stderr
    with open(record, "wb") as file:
        file.write(SIX)
    done = run(record, env=environment)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    with open(record[:-4] + b".idx", "rb") as file:
        assert file.read() == SIX_INDEX


@pytest.mark.parametrize("delay", [0, 0.8])
def test_a_bar_on_a_terminal_once_a_run_takes_long(six, delay):
    """The index goes into a pipe that is read late, so that the run takes as long as we like."""
    six.write_bytes(part(0, b"") * 200_000)
    pipe = six.parent / "pipe"
    os.mkfifo(pipe)
    terminal, its_end = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "six.rec", "pipe"], cwd=six.parent, stdout=subprocess.PIPE, stderr=its_end
    )
    os.close(its_end)
    lines = []

    def drain():
        with pipe.open("rb") as stream:
            time.sleep(delay)
            lines.extend(stream)

    reader = threading.Thread(target=drain)
    reader.start()
    shown = b""
    while piece := read_terminal(terminal):
        shown += piece
    reader.join()
    os.close(terminal)
    assert process.wait() == 0
    assert process.stdout.read() == b""
    process.stdout.close()
    assert len(lines) == 200_000
    text = shown.decode()
    assert text.rstrip().endswith("index written to pipe")
    assert ("six.rec: " in text.split("rec2idx: six.rec")[0]) == (delay > 0)
    if delay:
        assert re.search(
            r"six.rec: +\d+%\|.*\| \S+/1.60M \[\d+:\d+<\S+, \S+B/s, \d+ records\]", text
        )


def read_terminal(terminal: int) -> bytes:
    try:
        return os.read(terminal, 10_000)
    except OSError:  # how Linux says that the other side has closed it
        return b""


@pytest.mark.parametrize("arguments", [["six.rec"], ["six.rec", "out.idx"]])
def test_tools_rec2idx_as_a_script(six, run, arguments):
    """The path at which DALI and MXNet keep theirs; its own folder is first on sys.path."""
    command = [sys.executable, ROOT / "tools/rec2idx.py", *arguments]
    done = subprocess.run(command, cwd=six.parent, capture_output=True, text=True)
    assert done.returncode == 0
    assert (six.parent / arguments[-1]).with_suffix(".idx").read_bytes() == SIX_INDEX


def test_tools_rec2idx_as_a_module(six):
    """In a checkout."""
    code = (
        "from tools.rec2idx import IndexCreator; import sys;"
        "IndexCreator(sys.argv[1], sys.argv[2]).create_index()"
    )
    index = six.with_suffix(".idx")
    subprocess.run([sys.executable, "-c", code, six, index], cwd=ROOT, check=True)
    assert index.read_bytes() == SIX_INDEX


def test_indexing_imports_nothing_heavy(six):
    """Neither numpy nor a progress bar, nor asyncio, multiprocessing and the like."""
    code = (
        "import sys, rec2idx; rec2idx.create_index(sys.argv[1]);"
        "print([m for m in ('numpy', 'tqdm', 'asyncio', 'multiprocessing', 'concurrent.futures',"
        "'importlib.metadata', 'hashlib', 'fsspec', 'mxnet', 'rec2idx.keep', 'rec2idx.lines')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, six], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_standard_input_to_standard_output(six, run):
    """Case C26: a pipe in, a pipe out; the lines about progress go to stderr then."""
    command = f"cat six.rec | {COMMAND} - - | cat"
    done = subprocess.run(command, shell=True, cwd=six.parent, capture_output=True)
    assert done.stdout == SIX_INDEX
    lines = done.stderr.decode().splitlines()
    assert lines[0].endswith("  count: 0")
    assert re.fullmatch(
        r"rec2idx: <stdin>: 6 records, 264 bytes, \S+ s; index written to <stdout>", lines[1]
    )
    assert len(lines) == 2


def test_standard_input_to_a_file(six, run):
    with six.open("rb") as file:
        done = run("-", "six.idx", "-q", stdin=file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX
    assert run("-").returncode == 2
    assert fails(
        run("-", "six.idx", input=SIX[:100].decode("latin1"), encoding="latin1"),
        "<stdin>: record 2 at byte 88",
    )
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


def test_a_named_pipe_is_read_as_a_stream(six, run):
    """As bash makes it for `rec2idx <(zcat six.rec.gz) six.idx`."""
    command = ["bash", "-c", f"{COMMAND} -q <(cat six.rec) six.idx"]
    assert subprocess.run(command, cwd=six.parent).returncode == 0
    assert six.with_suffix(".idx").read_bytes() == SIX_INDEX


def test_standard_output_that_nobody_reads(six, run):
    reader, writer = os.pipe()
    os.close(reader)
    done = run("six.rec", "-", stdout=writer, capture_output=False, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.stderr.splitlines()[-1] == "rec2idx: <stdout>: Broken pipe"
    assert done.returncode == 1


def test_jobs(six, run):
    """The same index for any number, of a file that is large enough to be cut."""
    count = 3_000_000
    six.write_bytes(part(0, b"12345678") * count)
    expected = "".join(f"{key}\t{key * 16}\n" for key in range(count)).encode()
    for jobs in ("1", "2", "9"):
        assert run("six.rec", "-j", jobs, "-q").returncode == 0
        assert six.with_suffix(".idx").read_bytes() == expected


@pytest.mark.parametrize("number", ["0", "-1", "x", "\x1b[31m"])
def test_jobs_has_to_be_a_number(six, run, number):
    done = run("six.rec", f"--jobs={number}")
    assert done.returncode == 2
    assert "is not a number of 1 or more" in done.stderr
    assert "\x1b" not in done.stderr


def test_standard_output_is_the_record_file(six, run):
    """`rec2idx six.rec - >> six.rec` would append to what it reads."""
    with six.open("ab") as out:
        done = run("six.rec", "-", stdout=out, capture_output=False, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "the index would replace the record file six.rec itself" in done.stderr
    assert six.read_bytes() == SIX


def test_standard_input_that_does_not_block(six):
    """A moment without bytes is not the end; nor is one without room in the output."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    process = subprocess.Popen(
        [COMMAND, "-q", "-", "-"], stdin=reader, stdout=subprocess.PIPE, cwd=six.parent
    )
    os.close(reader)
    for half in (SIX[:150], SIX[150:]):
        time.sleep(0.2)
        os.write(writer, half)
    os.close(writer)
    assert (process.communicate()[0], process.returncode) == (SIX_INDEX, 0)


def test_standard_output_that_does_not_block(six):
    six.write_bytes(part(0, b"") * 50_000)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    process = subprocess.Popen([COMMAND, "-q", "six.rec", "-"], stdout=writer, cwd=six.parent)
    os.close(writer)
    time.sleep(0.2)
    with open(reader, "rb") as stream:
        assert stream.read().count(b"\n") == 50_000
    assert process.wait() == 0


@pytest.mark.parametrize("target", ["/dev/stdout", ">(cat)"])
def test_pipes_that_have_a_path(six, target):
    """Where the path leads to a pipe, not to a file."""
    command = ["bash", "-c", f"{COMMAND} -q six.rec {target} | cat"]
    done = subprocess.run(command, cwd=six.parent, capture_output=True)
    assert (done.stdout, done.stderr) == (SIX_INDEX, b"")
