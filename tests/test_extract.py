"""extract(): every image byte for byte, in each layout, and a sum that adds up."""

import io
import os
import struct
import tarfile
from pathlib import Path

import pytest
from conftest import ROOT
from extracting import NOT_NAMED, Expected, bits, facts, labels_of, tree
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import MAGIC, part, read, record
from samples import FACE, SIX, image, labelled, whole_file

import rec2idx
from rec2idx import extract
from rec2idx.extraction import extracting
from rec2idx.label_text import as_text
from rec2idx.list_files import read_list

JPEG, PNG = b"\xff\xd8\xff\xe0 a JPEG", b"\x89PNG\r\n\x1a\n a PNG"

# Contents that are recognised, or not; with magics in odd places.
contents = st.tuples(
    st.sampled_from([JPEG, PNG, b"GIF89a", b"", b"\x01\x02\x03"]),
    st.lists(st.sampled_from([MAGIC, b"abc", b"\0"]), max_size=4).map(b"".join),
).map(b"".join)
floats = st.floats(width=32)
headers = st.tuples(floats, st.integers(0, 5) | st.integers(0, (1 << 64) - 1), st.integers(0, 1))


@st.composite
def image_payloads(draw) -> bytes:
    label, identity, id2 = draw(headers)
    labels = draw(st.lists(floats, max_size=3))
    head = struct.pack("<IfQQ", len(labels), label, identity, id2)
    return head + struct.pack(f"<{len(labels)}f", *labels) + draw(contents)


anything = st.one_of(image_payloads(), st.binary(max_size=30))
image_files = st.lists(anything, min_size=1, max_size=12).map(whole_file)


def made(tmp_path: Path, data: bytes) -> Path:
    """A new folder with a.rec; what is extracted goes into another one in it."""
    number = len(list(tmp_path.iterdir()))
    folder = tmp_path / str(number)
    folder.mkdir()
    (folder / "a.rec").write_bytes(data)
    return folder


def extracted(folder: Path, to: str, **options) -> rec2idx.ExtractSummary | None:
    """The summary; None where there is no image at all, or no image records."""
    try:
        return extract(folder / "a.rec", folder / "out", to=to, **options)
    except rec2idx.NoImageError:
        assert not (folder / "out").exists()
        return None
    except rec2idx.PayloadError as error:
        assume("64-bit" not in str(error) and "protobuf" not in str(error))
        raise


def require_sum(done: rec2idx.ExtractSummary, expected: Expected) -> None:
    assert done.records == expected.records
    assert dict(done.left_out) == expected.left_out
    assert done.extracted + done.already_there + sum(done.left_out.values()) == done.records
    names = [image["name"] for image in expected.images]
    assert done.unrecognised == sum(name.endswith(".bin") for name in names)
    assert done.repeated == sum("-" in name for name in names)


@given(image_files, st.sampled_from([1, 2, 3]), st.sampled_from([1, 100, 1 << 20]))
def test_flat_against_the_reference(tmp_path, data, jobs, stretch):
    expected, folder = Expected(data), made(tmp_path, data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extracting, "STRETCH", stretch)
        done = extracted(folder, "flat", jobs=jobs)
    if not expected.images:
        assert done is None
        return
    require_sum(done, expected)
    found = tree(folder / "out")
    lines = list(read_list(folder / "out/images.lst"))
    del found["images.lst"]
    assert found == expected.flat()
    assert done.bytes_written == sum(map(len, found.values()))
    assert [(line.number, line.name, bits(line.labels)) for line in lines] == [
        (image["id"], image["name"], bits(image["labels"])) for image in expected.images
    ]
    assert done.inexact == expected.inexact()


@given(image_files, st.sampled_from([1, 2]), st.integers(1, 4))
def test_shards_against_the_reference(tmp_path, data, jobs, count):
    expected, folder = Expected(data), made(tmp_path, data)
    done = extracted(folder, "wds", jobs=jobs, shard_count=count)
    if not expected.images:
        assert done is None
        return
    require_sum(done, expected)
    found = tree(folder / "out")
    assert done.shards == len(found) == -(-len(expected.images) // count)
    for number, name in enumerate(sorted(found)):
        assert name == f"{number:06}.tar"
        images = expected.images[number * count : (number + 1) * count]
        require_archive(found[name], images)


def require_archive(data: bytes, images: list[dict]) -> None:
    """An archive has an image and its JSON each, and is what tarfile writes."""
    buffer = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(data)) as archive,
        tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as again,
    ):
        members = archive.getmembers()
        assert len(members) == 2 * len(images)
        for at, image in enumerate(images):
            picture, text = members[2 * at : 2 * at + 2]
            assert picture.name == image["name"]
            assert text.name == image["name"].rpartition(".")[0] + ".json"
            assert archive.extractfile(picture).read() == image["image"]
            found = facts(archive.extractfile(text).read())
            assert bits(labels_of(found.pop("label"))) == bits(image["labels"])
            kinds = {"jpg": "jpeg", "bin": found["kind"]}
            suffix = image["name"].rpartition(".")[2]
            assert found.pop("kind") == kinds.get(suffix, suffix)
            assert found == {key: image[key] for key in ("key", "id", "id2", "flag", "offset")}
        for member in members:
            assert (member.mtime, member.uid, member.gid, member.uname) == (0, 0, 0, "")
            plain = tarfile.TarInfo(member.name)
            plain.size = member.size
            again.addfile(plain, archive.extractfile(member))
    assert data == buffer.getvalue()


@given(
    st.lists(st.tuples(st.integers(0, 12).map(float), st.integers(0, 9), contents), min_size=1),
    st.sampled_from([1, 2]),
)
def test_folders_against_the_reference(tmp_path, images, jobs):
    data = whole_file([image(label, number, b"x" + rest) for label, number, rest in images])
    expected, folder = Expected(data), made(tmp_path, data)
    done = extracted(folder, "imagefolder", jobs=jobs)
    require_sum(done, expected)
    assert tree(folder / "out") == expected.by_label()


@given(st.floats(width=32))
def test_a_label_as_text_says_which_it_is(label):
    text = as_text(label)
    assert bits([float(text)]) == bits([label])
    assert len(text) <= 15


def test_classes_are_in_the_order_of_labels(folder):
    """As text, 10 would stand before 9."""
    Path("a.rec").write_bytes(whole_file([image(label, 1, JPEG) for label in (10, 9, 1 << 23)]))
    extract("a.rec", "out")
    assert sorted(os.listdir("out")) == ["00000009", "00000010", "08388608"]


def test_an_insightface_file(folder):
    """Its header and identity records are no images."""
    Path("a.rec").write_bytes(FACE)
    for to in ("imagefolder", "flat", "wds"):
        done = extract("a.rec", to, to=to)
        assert done.left_out == {"file header": 1, "identity record": 2}
        assert (done.records, done.extracted) == (8, 5)
    assert sorted(os.listdir("imagefolder")) == ["00000000", "00000001"]


def test_the_first_label_is_that_of_insightface_images(folder):
    """They may have two; in other files, nobody knows which one is meant."""
    images = [labelled([3, 0], 1, JPEG), labelled([4, 0], 2, JPEG)]
    Path("face.rec").write_bytes(whole_file([labelled([3, 5], 0), *images, labelled([1, 3], 3)]))
    done = extract("face.rec", "out")
    assert sorted(os.listdir("out")) == ["00000003", "00000004"]
    assert (done.extracted, done.left_out) == (2, {"file header": 1, "identity record": 1})
    Path("other.rec").write_bytes(whole_file(images))
    with pytest.raises(rec2idx.PayloadError) as caught:
        extract("other.rec", "none")
    assert str(caught.value) == (
        "other.rec: the image with id 1 has no folder, which is named after its label: expected "
        "one label, found 2 of them; --to flat and --to wds keep any labels"
    )
    assert caught.value.offset == 0
    assert not Path("none").exists()


def test_pictures_with_boxes_are_no_faces(folder):
    """Their labels begin with 2 and 5; where there is no object, nor a picture, that is all."""
    boxes = [labelled([2, 5, 1, 0, 0, 1, 1], at, JPEG) for at in (2, 3, 4)]
    contents = [labelled([2, 5], 0), labelled([2, 5], 1, JPEG), *boxes]
    Path("a.rec").write_bytes(whole_file(contents))
    done = extract("a.rec", "flat", to="flat")
    assert (done.extracted, done.left_out) == (4, {"record without an image": 1})
    with pytest.raises(rec2idx.PayloadError, match="found 2 of them"):
        extract("a.rec", "out")


def test_one_label_in_an_array_is_one(folder):
    Path("a.rec").write_bytes(record(labelled([7], 1, JPEG)))
    extract("a.rec", "out")
    assert os.listdir("out") == ["00000007"]
    assert extract("a.rec", "flat", to="flat").inexact == 1


@pytest.mark.parametrize(
    ("label", "text"),
    [(0.5, "0.5"), (-1, "-1"), (1 << 24, "16777216"), (float("nan"), "nan"), (1e30, "1e+30")],
)
def test_labels_that_name_no_folder(folder, label, text):
    Path("a.rec").write_bytes(SIX + record(image(label, 9, JPEG)))
    with pytest.raises(rec2idx.PayloadError, match="a whole number from 0 to 16777215") as caught:
        extract("a.rec", "out")
    assert f"found {text};".replace("+", "\\+") in str(caught.value).replace("+", "\\+")


def test_what_is_no_image_record(folder):
    sixty_four = struct.pack("<I4xdQQ", 0, 3.0, 7, 0) + JPEG
    protobuf = bytes([10, 3]) + b"abc" + bytes([18, 20]) + b"x" * 20
    for payload, what in ((sixty_four, "64-bit labels"), (protobuf, "protobuf")):
        Path("a.rec").write_bytes(record(payload) * 3)
        with pytest.raises(rec2idx.PayloadError, match=what):
            extract("a.rec", "out")
    assert not Path("out").exists()


def test_nothing_to_extract(folder):
    Path("a.rec").write_bytes(record(labelled([1], 0)) + record(b"short"))
    for to in ("imagefolder", "flat", "wds"):
        with pytest.raises(rec2idx.NoImageError):
            extract("a.rec", "out", to=to)
        assert not Path("out").exists()
    Path("a.rec").write_bytes(b"")
    with pytest.raises(rec2idx.EmptyFileError):
        extract("a.rec", "out")
    os.mkdir("out")  # one that was there stays
    with pytest.raises(rec2idx.EmptyFileError):
        extract("a.rec", "out")
    assert os.listdir("out") == []


def test_more_labels_than_any_image_has(folder, monkeypatch):
    monkeypatch.setattr(extracting, "MOST_LABELS", 2)
    Path("a.rec").write_bytes(
        record(labelled([1, 2], 0, JPEG)) + record(labelled([1, 2, 3], 1, JPEG))
    )
    done = extract("a.rec", "out", to="flat")
    assert (done.extracted, list(done.left_out.values())) == (1, [1])


def test_a_record_longer_than_the_format_allows_is_not_read(folder, monkeypatch):
    monkeypatch.setattr(extracting, "MAX_LENGTH", 60)
    Path("a.rec").write_bytes(SIX + record(image(0, 9, JPEG + bytes(100))))
    done = extract("a.rec", "out", to="flat")
    assert (done.extracted, done.left_out) == (6, {extracting.TOO_LONG: 1})


# Which records, by an index


@given(image_files, st.data())
def test_records_that_an_index_names(tmp_path, data, draw):
    """In any order, some twice."""
    folder = made(tmp_path, data)
    starts = [offset for offset, _ in read(data)[0]]
    named = draw.draw(st.lists(st.sampled_from(starts), min_size=1, max_size=8))
    lines = [f"{key}\t{offset}\n" for key, offset in enumerate(named)]
    (folder / "a.idx").write_text("".join(lines))
    expected = Expected(data, set(named))
    done = extracted(folder, "flat", index=folder / "a.idx")
    if done is None:
        assert expected.images == []
        return
    require_sum(done, expected)
    found = tree(folder / "out")
    del found["images.lst"]
    assert found == expected.flat()


def test_keys_of_the_index(folder):
    """In the JSON of a sample; texts, too."""
    Path("a.rec").write_bytes(SIX)
    Path("a.idx").write_text("cat\t88\n7\t0\n")
    done = extract("a.rec", "out", to="wds", index="a.idx")
    assert done.left_out == {NOT_NAMED: 4}
    with tarfile.open("out/000000.tar") as archive:
        texts = [archive.extractfile(f"000000000{number}.json").read() for number in (0, 2)]
    assert [facts(text)["key"] for text in texts] == ["7", "cat"]


@pytest.mark.parametrize("offset", [4, 45, 263, 264, 1 << 40])
def test_an_index_of_another_file(folder, offset):
    Path("a.rec").write_bytes(SIX)
    Path("a.idx").write_text(f"0\t0\n1\t{offset}\n")
    with pytest.raises(rec2idx.BadIndexError) as caught:
        extract("a.rec", "out", to="flat", index="a.idx")
    assert str(caught.value).startswith(
        f"a.idx: line 2 has key 1 and offset {offset}, where a.rec has no record; "
    )


def test_the_last_record_of_an_index_is_behind_all_that_are_walked(folder):
    """A record inside of the last one."""
    Path("a.rec").write_bytes(SIX + part(0, image(0, 6, part(0, b"inside"))))
    Path("a.idx").write_text("0\t0\n1\t296\n")
    with pytest.raises(rec2idx.BadIndexError, match="line 2 has key 1 and offset 296"):
        extract("a.rec", "out", to="flat", index="a.idx")


# Reading


def test_the_sample(folder):
    path = ROOT / "examples/sample.rec"
    done = extract(path, "out", to="flat")
    expected = Expected(path.read_bytes())
    found = tree(Path("out"))
    del found["images.lst"]
    assert found == expected.flat()
    assert (done.extracted, done.unrecognised, done.bytes) == (24, 0, 58660)


def test_a_damaged_file(folder):
    """What stands before the damage is extracted, and stays."""
    Path("a.rec").write_bytes(SIX[:132] + b"!" + SIX[133:])
    with pytest.raises(rec2idx.DamagedRecordError) as caught:
        extract("a.rec", "out")
    assert caught.value.offset == 132
    assert tree(Path("out")) == Expected(SIX[:132]).by_label()
    rec2idx.salvage("a.rec", "b.rec")
    done = extract("b.rec", "out")
    assert (done.extracted, done.already_there) == (2, 3)
    assert tree(Path("out")) == Expected(SIX[:132] + SIX[176:]).by_label()


def test_a_damaged_file_has_no_list_and_only_whole_shards(folder):
    Path("a.rec").write_bytes(SIX[:132] + b"!" + SIX[133:])
    for to, files in (("flat", 3), ("wds", 1)):
        options = {"shard_count": 2} if to == "wds" else {}
        with pytest.raises(rec2idx.DamagedRecordError):
            extract("a.rec", to, to=to, jobs=1, **options)
        found = tree(Path(to))
        assert len(found) == files
        assert "images.lst" not in found


def test_a_file_that_changes_while_it_is_read(folder):
    """Between the walk and the reading: a record of two parts becomes one."""
    Path("a.rec").write_bytes(SIX)

    def change(progress):
        with open("a.rec", "r+b") as file:
            file.truncate(100)

    with pytest.raises(rec2idx.FileChangedError):
        extract("a.rec", "out", progress=change)


def test_a_pipe(folder):
    os.mkfifo("pipe")
    both = os.open("pipe", os.O_RDWR)  # or opening it would wait for somebody who writes
    os.write(both, SIX)
    with pytest.raises(OSError, match="must be readable at any place"):
        extract("pipe", "out")
    os.close(both)
    assert os.listdir() == ["pipe"]


def test_progress(folder, monkeypatch):
    monkeypatch.setattr(extracting, "STRETCH", 88)
    Path("a.rec").write_bytes(SIX)
    seen = []
    extract("a.rec", "out", progress=seen.append)
    assert [(one.records, one.bytes, one.total) for one in seen] == [
        (0, 0, 264), (2, 88, 264), (4, 176, 264), (6, 264, 264)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"to": "tar"}, "to is 'tar', expected one of imagefolder, flat, wds"),
        ({"shard_count": 5}, "shard_count is for wds, not for imagefolder"),
        ({"to": "wds", "shard_bytes": 0}, "shard_bytes is 0, expected at least 1"),
        ({"jobs": 0}, "jobs is 0, expected at least 1"),
    ],
)
def test_arguments_without_a_meaning(folder, options, what):
    Path("a.rec").write_bytes(SIX)
    with pytest.raises(ValueError, match=f"^{what}"):
        extract("a.rec", "out", **options)
    with pytest.raises(ValueError, match="s3://b/out is a URL"):
        extract("a.rec", "s3://b/out")
    assert os.listdir() == ["a.rec"]


def test_shards_by_bytes(folder):
    """None is larger, unless it is of one image."""
    sizes = [10, 3000, 20_000, 5, 5, 5, 8000, 100]
    data = whole_file([image(0, n, JPEG + bytes(size)) for n, size in enumerate(sizes)])
    Path("a.rec").write_bytes(data)
    extract("a.rec", "out", to="wds", shard_bytes=10_240)
    found = tree(Path("out"))
    images = Expected(data).images
    counts = [2, 1, 3, 1, 1]
    kilobytes = [len(found[name]) / 1024 for name in sorted(found)]
    assert kilobytes == [10, 30, 10, 20, 10]
    for name, count in zip(sorted(found), counts, strict=True):
        require_archive(found[name], images[:count])
        del images[:count]
