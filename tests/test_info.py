"""What is in a file: `info()` and the command ``recordio info``."""

import io
import json
import os
import struct
import subprocess
from array import array
from collections import Counter
from pathlib import Path

import pytest
from conftest import COMMAND
from hypothesis import given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, image, labelled
from test_select import contents, is_image

import rec2idx
from rec2idx import _tally
from rec2idx.cli.info import lines_of

JPEG = b"\xff\xd8\xff\xe0"
LABELS_64 = "image records with 64-bit labels"
BMP = b"BM" + struct.pack("<IHHI", 80, 0, 0, 54) + b"\x28\0\0\0"
PNG = b"\x89PNG\r\n\x1a\n"


def told(data: bytes, **options) -> rec2idx.Info:
    return rec2idx.info(io.BytesIO(data), **options)


def command(*args: object, cwd: Path, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND.with_name("recordio"), "info", *map(str, args)],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def test_standard_input(tmp_path):
    (tmp_path / "six.rec").write_bytes(SIX)
    with (tmp_path / "six.rec").open() as file:
        done = command("-", cwd=tmp_path, stdin=file)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("<stdin>: 264 bytes\n  records   6 = 6 images\n")


def test_six():
    found = told(SIX)
    assert (found.bytes, found.records, found.images, found.multi_part) == (264, 6, 6, 0)
    assert found.payload == "image records"
    assert found.sizes == rec2idx.Sizes(36, 36, 36.0, 36, 216)
    assert found.label_widths == {1: 6}
    assert found.labels == 6
    assert found.ids == rec2idx.Ids(0, 5, True, True, True)
    assert found.kinds == {"unknown": 6}
    assert found.insightface is None


def face_file(announced: list[float], identities: list[list[float]], images: int = 5) -> bytes:
    """An InsightFace file of as many images."""
    number = images + 1
    return b"".join(
        part(0, payload)
        for payload in (
            labelled(announced, 0),
            *(image(n // 3, n, b"8 bytes.") for n in range(1, number)),
            *(labelled(labels, number + n) for n, labels in enumerate(identities)),
        )
    )


def test_a_face_file():
    """Case C11: what there is adds up, and nothing is missing."""
    found = told(FACE)
    assert (found.records, found.images, found.without_image) == (8, 5, 3)
    assert found.insightface == rec2idx.InsightFace(5, 2, 5, 2)
    assert found.insightface.complete
    assert found.label_widths == {1: 5, 2: 3}
    assert found.labels == 2
    assert found.ids == rec2idx.Ids(0, 7, True, True, True)


def test_a_face_file_with_an_identity_too_many():
    found = told(face_file([6, 8], [[1, 3], [3, 6], [2, 3]]))
    assert found.insightface == rec2idx.InsightFace(5, 2, 5, 3)
    assert not found.insightface.complete


def test_many_more_records_than_images():
    """Case C11: 20,000 pictures of 9,980 people are 29,981 records."""
    data = face_file([20_001, 29_981], [[1, 2]] * 9_980, images=20_000)
    found = told(data)
    assert (found.records, found.images) == (29_981, 20_000)
    assert found.insightface == rec2idx.InsightFace(20_000, 9_980, 20_000, 9_980)


@pytest.mark.parametrize("label", [float("nan"), float("inf"), float("-inf")])
def test_a_file_header_that_announces_no_numbers(label):
    """It is one of InsightFace by its shape alone, and anybody may have written it."""
    found = told(part(0, labelled([label, 8], 0)) + SIX)
    assert (found.records, found.insightface) == (7, None)
    assert told(part(0, labelled([8, label], 0)) + SIX).insightface is None


def test_label_widths():
    """Case C32: of detection, one record with a single label among arrays of 7, 17 and 9."""
    data = b"".join(
        part(0, payload)
        for payload in (
            image(1, 0, JPEG),
            *(labelled([2, 5] + [0] * (width - 2), 1, JPEG) for width in (7, 17, 9, 7)),
        )
    )
    found = told(data)
    assert found.label_widths == {1: 1, 7: 2, 9: 1, 17: 1}
    assert found.kinds == {"jpeg": 4, "not looked at": 1}
    assert found.labels == 1


def test_one_label_in_an_array_of_one():
    data = b"".join(
        part(0, payload)
        for payload in (image(5, 0, b"x"), labelled([5], 1, b"x"), labelled([-0.0], 2, b"x"))
    )
    found = told(data)
    assert (found.label_widths, found.labels) == ({1: 3}, 2)


def test_kinds_of_images():
    starts = [JPEG, PNG, b"GIF89a", BMP, b"RIFF\x10\0\0\0WEBP", b"<!DOCTYPE html>", b"?", JPEG]
    data = b"".join(part(0, image(0, n, start)) for n, start in enumerate(starts))
    assert told(data).kinds == {
        "jpeg": 2,
        "png": 1,
        "gif": 1,
        "bmp": 1,
        "webp": 1,
        "html": 1,
        "unknown": 1,
    }


@pytest.mark.parametrize("start", _tally.KNOWN)
def test_what_may_be_known_is_looked_at(start):
    data = struct.pack("<IfQQ", 0, 0, 0, 0) + start + bytes(18)
    heads = array("B", struct.pack("<II", len(data), 1) + data.ljust(64, b"\0"))
    found = _tally.signatures(array("q", [len(data)]), heads, array("B", [0]), 72, 0)
    assert found == (0, 0, 0, [(start + bytes(18))[:20]], 0)


def test_a_sample_with_dimensions():
    [first, *_] = rec2idx.info("examples/sample.rec").sample
    assert first == rec2idx.Picture(0, "jpeg", 113, 109)


@pytest.mark.parametrize(
    ("payloads", "what"),
    [
        (
            [struct.pack("<I4xdQQ", 1, 3.5, 7, 0) + bytes(8) + JPEG],
            "image records with 64-bit labels",
        ),
        ([b"\x0a\x05hello\x12\x02hi", b"\x12\x03abc"], "protobuf (SageMaker)"),
        ([b"plain text of any kind that is long enough"], "raw"),
        ([struct.pack("<4f", 1, 2, 3, 4)], "raw"),
        ([image(0, 0, JPEG), labelled([1, 2], 1, JPEG)], "image records"),
        ([image(0, 2**52, JPEG)], "image records"),
        ([b""], "raw"),
    ],
)
def test_what_payloads_are(payloads, what):
    assert told(b"".join(part(0, payload) for payload in payloads)).payload == what


@pytest.mark.parametrize(
    ("ids", "facts"),
    [
        ([3], (3, 3, True, True, False)),
        ([0], (0, 0, True, True, True)),
        ([1, 2, 3], (1, 3, True, True, False)),
        ([0, 2, 1], (0, 2, True, False, False)),
        ([0, 1, 1], (0, 1, False, False, False)),
        ([0, 2**64 - 1], (0, 2**64 - 1, True, True, False)),
    ],
)
def test_ids(ids, facts):
    data = b"".join(part(0, image(0, number, b"x")) for number in ids)
    assert told(data).ids == rec2idx.Ids(*facts)


@given(contents, st.integers(1, 3))
def test_any_file_adds_up(tmp_path, data, jobs):
    """And every count is that of a plain reading of the file."""
    (tmp_path / "a.rec").write_bytes(data)
    found = rec2idx.info(tmp_path / "a.rec", jobs=jobs)
    payloads = [payload for _, payload in read(data)[0]]
    sizes = sorted(map(len, payloads))
    assert found.records == len(payloads)
    assert found.images == sum(map(is_image, payloads)) == sum(found.kinds.values())
    assert found.records == sum(
        (found.images, found.without_image, found.cut_labels, found.without_header)
    )
    assert found.sizes.median == sizes[(len(sizes) - 1) // 2]
    assert (found.sizes.min, found.sizes.max, found.sizes.total) == (
        sizes[0],
        sizes[-1],
        sum(sizes),
    )
    heads = [(len(p), *struct.unpack_from("<If", p)) for p in payloads if len(p) >= 24]
    widths = Counter(flag or 1 for size, flag, _ in heads if 24 + 4 * flag <= size)
    assert found.label_widths == widths
    ids = [struct.unpack_from("<Q", p, 8)[0] for p in payloads if len(p) >= 24]
    if ids:
        assert (found.ids.min, found.ids.max) == (min(ids), max(ids))
        assert found.ids.unique == (len(set(ids)) == len(ids))
        assert found.ids.running == (ids == list(range(len(ids))))
    else:
        assert found.ids is None


@given(st.lists(st.integers(-9, 9), min_size=1))
def test_order(values):
    expected = sorted(values)
    middle = expected[(len(values) - 1) // 2]
    assert _tally.order(array("q", values)) == (expected[0], middle, expected[-1], sum(values))


@given(st.lists(st.integers(0, 2**32 - 1), max_size=3000, unique=True))
def test_distinct_labels(words):
    """Each comes twice; the two zeros of float32 are one label."""
    head = struct.Struct("<IIIIQQ")
    heads = array("B", b"".join(head.pack(24, 1, 0, word, 0, 0) for word in words * 2))
    distinct = _tally.Distinct()
    distinct.add_labels(heads, array("B", bytes(2 * len(words))), 32, 0)
    assert len(distinct) == len({0 if word == 1 << 31 else word for word in words})


@given(st.lists(st.floats(width=32), max_size=300))
def test_distinct_numbers(numbers):
    """As Python compares them, but for what is no number."""
    distinct = _tally.Distinct()
    distinct.add_numbers(array("f", numbers * 2))
    assert len(distinct) == len({number for number in numbers if number == number})


# The command


def test_in_words(tmp_path):
    (tmp_path / "faces.rec").write_bytes(FACE)
    done = command("faces.rec", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "faces.rec: 320 bytes",
        "  records   8 = 5 images + 1 file header + 2 identity records",
        "  payloads  image records, 0 of them in several parts",
        "  sizes     32 to 32 bytes, median 32, mean 32.0, 256 in all",
        "  labels    1 in 5 records, 2 in 3 records; 2 distinct where an image has one",
        "  ids       0 to 7: unique, in order, the running numbers",
        "  images    5 unknown",
        "  sample    record 1 unknown",
        "  layout    InsightFace's; announces 5 images and 2 identities, which are there",
    ]


def test_as_json(tmp_path):
    for name, data in (("faces.rec", FACE), ("six.rec", SIX)):
        (tmp_path / name).write_bytes(data)
    done = command("faces.rec", "six.rec", "--json", cwd=tmp_path)
    faces, six = map(json.loads, done.stdout.splitlines())
    assert faces["insightface"] == {
        "announced_images": 5,
        "announced_identities": 2,
        "images": 5,
        "identities": 2,
    }
    assert six["label_widths"] == {"1": 6}
    assert set(six) == {
        *("path", "bytes", "records", "images", "without_image", "cut_labels", "without_header"),
        *(
            "multi_part",
            "payload",
            "unescaped",
            "sizes",
            "label_widths",
            "labels",
            "ids",
            "kinds",
            "sample",
        ),
        *("insightface", "seconds"),
    }


def test_one_that_is_damaged_does_not_stop_the_others(tmp_path):
    (tmp_path / "cut.rec").write_bytes(SIX[:-1])
    (tmp_path / "six.rec").write_bytes(SIX)
    done = command("cut.rec", "none.rec", "six.rec", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("six.rec: 264 bytes\n")
    first, second = done.stderr.splitlines()
    assert first.startswith("recordio: cut.rec: record 5 at byte 220: cut off by the end")
    assert second == "recordio: none.rec: No such file or directory"


def test_options_between_the_paths(tmp_path):
    (tmp_path / "six.rec").write_bytes(SIX)
    done = command("six.rec", "--json", "six.rec", cwd=tmp_path)
    assert (done.returncode, done.stderr, len(done.stdout.splitlines())) == (0, "", 2)


@pytest.mark.parametrize(("first", "status"), [("six.rec", 0), ("none.rec", 1)])
def test_standard_output_closed_by_its_reader(tmp_path, first, status):
    """As by head: what was wrong before still counts."""
    (tmp_path / "six.rec").write_bytes(SIX)
    reader, writer = os.pipe()
    os.close(reader)
    words = [COMMAND.with_name("recordio"), "info", first, "six.rec", "last.rec"]
    done = subprocess.run(words, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    missing = "recordio: none.rec: No such file or directory\n"
    assert (done.returncode, done.stderr) == (status, missing if status else "")


def test_standard_output_that_is_full(tmp_path):
    """-q would print it there all the same."""
    (tmp_path / "six.rec").write_bytes(SIX)
    words = [COMMAND.with_name("recordio"), "info", "-q", "six.rec"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "recordio: cannot write to standard output: No space left on device\n",
    )


def test_an_empty_file(tmp_path):
    (tmp_path / "a.rec").touch()
    with pytest.raises(rec2idx.NotRecordIOError, match="the file is empty"):
        rec2idx.info(tmp_path / "a.rec")


def test_headers_are_all_that_is_read(tmp_path):
    """Of a gigabyte that is not even on the disk, in records of which only the heads are."""
    size, count = 1 << 22, 256
    with (tmp_path / "a.rec").open("wb") as file:
        for number in range(count):
            file.seek(number * (size + 8))
            file.write(part(0, image(0, number, JPEG))[:40])
            file.seek(number * (size + 8) + 4)
            file.write(struct.pack("<I", size))
        file.truncate(count * (size + 8))
    found = rec2idx.info(tmp_path / "a.rec")
    assert (found.images, found.kinds, found.sizes.total) == (count, {"jpeg": count}, size * count)


def test_records_of_several_parts():
    payload = image(0, 1, b"1234") + bytes.fromhex("0a23d7ce") + b"12345"
    found = told(record(payload) + part(0, image(0, 0, b"1")))
    assert (found.multi_part, found.sizes.max) == (1, len(payload))


@pytest.mark.parametrize("stride", [-1, 0, 1, 7, 11, 31, 33])
def test_heads_that_do_not_fit(stride):
    """What reads heads is told how long they are, and does not take it on trust."""
    heads, kinds, sizes = array("B", bytes(64)), array("B", [0, 0]), array("q", [64, 64])
    distinct = _tally.Distinct()
    with pytest.raises(ValueError, match="2 records have 64 bytes of heads"):
        _tally.signatures(sizes, heads, kinds, stride, 0)
    with pytest.raises(ValueError, match="2 records have 64 bytes of heads"):
        distinct.add_labels(heads, kinds, stride, 0)
    with pytest.raises(ValueError, match="2 records have 64 bytes of heads"):
        _tally.flag_runs(heads, kinds, stride, 1)
    with pytest.raises(ValueError, match="64 bytes of heads"):
        _tally.multi_part(heads, stride)


def test_arrays_of_another_type():
    """They would be read as if they had 8 bytes an item, or one."""
    heads, kinds, sizes = array("B", bytes(64)), array("B", [0, 0]), array("q", [64, 64])
    with pytest.raises(ValueError, match="2 sizes of 'B'"):
        _tally.signatures(kinds, heads, kinds, 32, 0)
    with pytest.raises(TypeError, match="array of 'q', expected 'B'"):
        _tally.flag_runs(heads, sizes, 32, 1)
    with pytest.raises(TypeError, match="array of 'q', expected 'B'"):
        _tally.multi_part(sizes, 8)
    with pytest.raises(TypeError, match="array of 'q', expected 'f'"):
        _tally.Distinct().add_numbers(sizes)


def test_magics_that_are_not_escaped(tmp_path):
    """In the first MiB of the file, at a multiple of 4; a record that is split there is well."""
    data = b"".join(
        (
            part(0, image(0, 0, b"abcd" + MAGIC)),
            record(image(1, 1, b"abcd" + MAGIC)),
            part(0, image(2, 2, b"abc" + MAGIC)),
            part(1, image(3, 3, MAGIC)) + part(3, b""),
        )
    )
    assert told(data).unescaped is None
    (tmp_path / "a.rec").write_bytes(data)
    found = rec2idx.info(tmp_path / "a.rec")
    assert found.unescaped == 2
    (tmp_path / "b.rec").write_bytes(part(0, bytes(1 << 20)) + data)
    assert rec2idx.info(tmp_path / "b.rec").unescaped == 0
    text = list(lines_of(found))[2]
    assert text == (
        "  payloads  image records, 2 of them in several parts; of the first, "
        "2 with a magic that is not escaped"
    )


def test_labels_and_ids_of_what_has_none_are_not_shown():
    found = told(part(0, b"\x0a\x05hello\x12\x02hi, and more than an IRHeader has"))
    assert [line.split()[0] for line in list(lines_of(found))[1:]] == [
        "records",
        "payloads",
        "sizes",
    ]
