"""Files that real MXNet writes: indexed and read by us as by DALI's tool under MXNet."""

import hashlib
from pathlib import Path

import pytest
from corpus import CORPUS
from environments import ROOT, encode, in_mxnet, mask_seconds, ours

from rec2idx import IndexCreator, MXRecordIO, create_index

SAMPLE = ROOT / "examples/sample.rec"
# Files are written by turns with the class that writes a file and with that which also indexes it.
WITH_WRITTEN_INDEX = list(CORPUS)[1::2]


class Corpus:
    """Files that MXNet wrote, one for each name in `CORPUS`, and what its tools say of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        steps = []
        for name, payloads in CORPUS.items():
            record = self.path(name, "rec")
            write = {"do": "write", "record": record, "payloads": encode(payloads)}
            if name in WITH_WRITTEN_INDEX:
                write["index"] = self.path(name, "written.idx")
            index = {"do": "rec2idx", "record": record, "index": self.path(name, "original.idx")}
            steps += [write, index, {"do": "read", "record": record}]
        results = in_mxnet(*steps)
        self.printed = dict(zip(CORPUS, results[1::3], strict=True))
        self.reads = dict(zip(CORPUS, results[2::3], strict=True))

    def path(self, name: str, suffix: str) -> Path:
        return self.folder / f"{name}.{suffix}"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return Corpus(tmp_path_factory.mktemp("corpus"))


every_file = pytest.mark.parametrize("name", CORPUS)


def sha256(payload: bytes) -> str:
    return hashlib.sha256(payload).hexdigest()


@every_file
def test_index_is_the_originals_byte_for_byte(corpus: Corpus, name: str, tmp_path: Path) -> None:
    """Our command writes the bytes that DALI's tool writes, and prints the same lines."""
    index = tmp_path / "made.idx"
    done = ours(corpus.path(name, "rec"), index, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert index.read_bytes() == corpus.path(name, "original.idx").read_bytes()
    assert index.read_bytes().count(b"\n") == len(CORPUS[name])
    assert mask_seconds(done.stdout) == mask_seconds(corpus.printed[name])


@pytest.mark.parametrize("name", WITH_WRITTEN_INDEX)
def test_index_is_the_one_that_mxnet_wrote_along(corpus: Corpus, name: str, tmp_path: Path) -> None:
    """Where MXNet wrote an index with running numbers while it wrote the file, ours equals it."""
    create_index(corpus.path(name, "rec"), tmp_path / "made.idx")
    assert (tmp_path / "made.idx").read_bytes() == corpus.path(name, "written.idx").read_bytes()


@every_file
def test_reader_gives_what_mxnet_gives(corpus: Corpus, name: str) -> None:
    """Our MXRecordIO reads the payloads that went in, and stands where MXNet's reader stands."""
    reads = []
    with MXRecordIO(corpus.path(name, "rec"), "r") as reader:
        payloads = [None]
        while not reads or payloads[-1] is not None:
            position = reader.tell()
            payloads.append(reader.read())
            reads.append([position, None if payloads[-1] is None else sha256(payloads[-1])])
        reads.append([reader.tell(), None])
    assert payloads[1:-1] == CORPUS[name]
    assert reads == corpus.reads[name]


def test_mxnet_reads_every_record_through_our_index(corpus: Corpus, tmp_path: Path) -> None:
    """MXNet's MXIndexedRecordIO gives the payload of each key, in any order, by our index."""
    steps = []
    for name in CORPUS:
        record, index = corpus.path(name, "rec"), tmp_path / f"{name}.idx"
        create_index(record, index)
        steps.append({"do": "read_indexed", "record": record, "index": index})
    for name, found in zip(CORPUS, in_mxnet(*steps), strict=True):
        expected = [[key, sha256(payload)] for key, payload in enumerate(CORPUS[name])]
        assert found == expected[::-1], name


@pytest.mark.parametrize("key_type", [int, str, float])
def test_key_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], corpus: Corpus, key_type: type
) -> None:
    """IndexCreator writes and prints what the class of DALI does, for any type of keys."""
    names = ("magics", "records_1001")
    steps = [
        {
            "do": "create_index",
            "record": corpus.path(name, "rec"),
            "index": tmp_path / f"{name}.original.idx",
            "key_type": key_type.__name__,
        }
        for name in names
    ]
    for name, printed in zip(names, in_mxnet(*steps), strict=True):
        index = tmp_path / f"{name}.idx"
        with IndexCreator(corpus.path(name, "rec"), index, key_type=key_type) as creator:
            creator.create_index()
        assert index.read_bytes() == (tmp_path / f"{name}.original.idx").read_bytes()
        assert index.read_bytes().startswith(f"{key_type(0)}\t0\n{key_type(1)}\t".encode())
        assert mask_seconds(capsys.readouterr().out) == mask_seconds(printed)


def test_sample(tmp_path: Path) -> None:
    """The sample is what its script makes, and its index is the one that DALI's tool makes."""
    made = tmp_path / "made.rec"
    script = {"do": "run", "script": ROOT / "examples/make_sample.py", "arguments": [made]}
    in_mxnet(script, {"do": "rec2idx", "record": SAMPLE, "index": tmp_path / "original.idx"})
    assert made.read_bytes() == SAMPLE.read_bytes()
    assert ours(SAMPLE, tmp_path / "ours.idx", cwd=tmp_path).returncode == 0
    index = (tmp_path / "ours.idx").read_bytes()
    assert index == (tmp_path / "original.idx").read_bytes()
    assert index == SAMPLE.with_name("sample.mxnet.idx").read_bytes()
