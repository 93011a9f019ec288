"""The real im2rec beside `recordio pack`: the same lists, the same bytes; and who reads them."""

import hashlib
import random
import subprocess
from pathlib import Path

import pytest
from environments import COMMAND, MXNET, in_dali, in_mxnet, require
from reference import MAGIC

RECORDIO = COMMAND.with_name("recordio")


def im2rec(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run MXNet's tool."""
    require(MXNET)
    [tool] = MXNET.glob("lib/python3*/site-packages/mxnet/tools/im2rec.py")
    command = [MXNET / "bin/python", tool, *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


def pack(*words: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run our command."""
    command = [RECORDIO, "pack", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder with 300 files of many makes in folders, names of all kinds, and odd things."""
    rng = random.Random(36)
    folder = tmp_path / "pics"
    below = ["", "b", "B", "b/in", "b/in/deep", "a b", "ä", "no pictures", "10", "9"]
    for name in below:
        (folder / name).mkdir(parents=True)
        (folder / name / "notes.txt").write_text("none")
    for number in range(300):
        place = below[number % 7 if number % 3 else 8 + number % 2]
        pieces = [rng.randbytes(rng.randrange(300)), MAGIC * rng.randrange(3)]
        suffix = rng.choice([".jpg", ".JPG", ".jpeg", ".png", ".Png", ".gif", ".jpg.txt"])
        (folder / place / f"{rng.choice(['x', 'y z', 'Ä', 'é', ','])}{number}{suffix}").write_bytes(
            b"".join(pieces) + rng.randbytes(rng.randrange(3000))
        )
    (folder / "b/empty.jpg").write_bytes(b"")
    (folder / "ä/only a name.jpg").symlink_to("nowhere")
    (folder / "9/link.jpg").symlink_to("../b/empty.jpg")
    (folder / "z").symlink_to("b/in")
    return folder


def same_files(ours: Path, theirs: Path, suffixes: str) -> None:
    for suffix in suffixes.split():
        assert ours.with_suffix(suffix).read_bytes() == theirs.with_suffix(suffix).read_bytes()


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("shuffle", [False, True])
def test_a_folder(tmp_path: Path, pictures: Path, threads: int, shuffle: bool) -> None:
    """The list, and what is packed of it."""
    (tmp_path / "theirs").mkdir()
    theirs = tmp_path / "theirs/out"
    order = [] if shuffle else ["--no-shuffle"]
    im2rec("--list", "--recursive", *order, theirs, pictures, cwd=tmp_path)
    im2rec("--pass-through", "--num-thread", threads, theirs, pictures, cwd=tmp_path)
    done = pack(pictures, "out.rec", *(["--shuffle"] if shuffle else []), cwd=tmp_path)
    # What only has a name that is one of a picture's is none for im2rec, which does not say so.
    assert done.returncode == 1
    assert done.stderr.splitlines()[0].endswith("only a name.jpg: not a regular file; left out")
    assert len(done.stderr.splitlines()) == 2
    assert theirs.with_suffix(".rec").stat().st_size > 100_000
    same_files(tmp_path / "out", theirs, ".lst .idx .rec")


def test_a_folder_of_one_label(tmp_path: Path, pictures: Path) -> None:
    """Which im2rec lists without --recursive, too."""
    (tmp_path / "theirs").mkdir()
    theirs = tmp_path / "theirs/out"
    im2rec("--list", "--no-shuffle", theirs, pictures / "10", cwd=tmp_path)
    im2rec("--pass-through", theirs, pictures / "10", cwd=tmp_path)
    assert pack(pictures / "10", "out.rec", cwd=tmp_path).returncode == 0
    same_files(tmp_path / "out", theirs, ".lst .idx .rec")


def some_list(folder: Path, missing: bool) -> str:
    """A list of the files in a folder, as odd as one can be that im2rec reads."""
    rng = random.Random(7)
    lines = []
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    for number, path in enumerate(rng.choices(paths, k=200)):
        name = path if number % 50 == 7 else path.relative_to(folder)
        some = ["0.000000", "-1", "3.5", "1e40", "nan", "-inf", "16777217", "1_0", " 7 ", "٣"]
        labels = rng.choices(some, k=rng.choice([1, 1, 2, 5]))
        key = rng.choice([number, number * 7919 % 1009, 2**40 + number, 2**64 - 1])
        lines.append("\t".join([str(key), *labels, str(name)]))
        if missing and number % 20 == 3:
            lines += [f"{number}\t0\tnone.jpg", f"{number}\t0\tb", f"{number}\t1\t2\ta\0b"]
    return "".join(line + rng.choice(["\n", "\r\n", " \n"]) for line in lines)


@pytest.mark.parametrize("labels", [[], ["--pack-label"]])
@pytest.mark.parametrize(("threads", "missing"), [(1, False), (4, False), (4, True)])
def test_a_list(
    tmp_path: Path, pictures: Path, labels: list[str], threads: int, missing: bool
) -> None:
    """With several labels, keys of any size, some twice, and with pictures that cannot be read.

    At these, im2rec with one thread ends, and leaves two files that do not fit each other.
    """
    (tmp_path / "all.lst").write_text(some_list(pictures, missing), newline="")
    options = ["--pass-through", "--num-thread", threads, *labels]
    im2rec(*options, tmp_path / "all", pictures, cwd=tmp_path)
    done = pack("all.lst", "out.rec", "--root", pictures, *labels, cwd=tmp_path)
    assert done.returncode == int(missing)
    assert done.stderr.count("; left out\n") == (30 if missing else 0)
    assert (tmp_path / "all.idx").read_text().count("\n") == 200
    same_files(tmp_path / "out", tmp_path / "all", ".idx .rec")


def test_what_one_thread_leaves_of_a_missing_picture(tmp_path: Path, pictures: Path) -> None:
    """The documented reason to leave it out: im2rec's files end there."""
    (tmp_path / "all.lst").write_text("0\t0\tb/empty.jpg\n1\t0\tnone.jpg\n2\t0\tb/empty.jpg\n")
    done = im2rec("--pass-through", tmp_path / "all", pictures, cwd=tmp_path)
    assert done.returncode == 1
    assert pack("all.lst", "out.rec", "--root", pictures, cwd=tmp_path).returncode == 1
    assert (tmp_path / "out.idx").read_text() == "0\t0\n2\t32\n"


@pytest.fixture
def packed(tmp_path: Path, pictures: Path) -> tuple[dict, list[tuple[int, list[float], bytes]]]:
    """A file that we packed, with two labels for every third picture; what is in it."""
    rng = random.Random(9)
    paths = sorted(path for path in pictures.rglob("*") if path.is_file() and path.stat().st_size)
    numbers = rng.sample(range(10_000), len(paths))
    content = []
    with (tmp_path / "all.lst").open("w") as file:
        for at, (number, path) in enumerate(zip(numbers, paths, strict=True)):
            labels = [at / 4, -at] if at % 3 == 0 else [at / 4]
            print(number, *labels, path.relative_to(pictures), sep="\t", file=file)
            content.append((number, labels, path.read_bytes()))
    words = ("--pack-label", "--root", pictures)
    assert pack("all.lst", "out.rec", *words, cwd=tmp_path).returncode == 0
    return {"record": tmp_path / "out.rec", "index": tmp_path / "out.idx"}, content


def test_dali_reads_what_was_packed(packed: tuple[dict, list]) -> None:
    files, content = packed
    [found] = in_dali({"do": "read", **files})
    assert found == [[hashlib.sha256(image).hexdigest(), labels] for _, labels, image in content]


def test_mxnet_reads_what_was_packed(packed: tuple[dict, list]) -> None:
    """By key, as its own reader unpacks it."""
    files, content = packed
    [found] = in_mxnet({"do": "unpack", **files, "keys": [number for number, _, _ in content]})
    assert found == [
        [labels if len(labels) > 1 else labels[0], number, hashlib.sha256(image).hexdigest()]
        for number, labels, image in content
    ]
