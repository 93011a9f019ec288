"""What extract() wrote, packed again: the same records."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from reference import read, record
from samples import labelled, whole_file
from test_extract import JPEG, PNG, contents, floats, made

import rec2idx
from rec2idx import extract, pack_images
from rec2idx.list_files import read_list

# With an id of 0 and two labels of 0, a file of few records looks like one with 64-bit labels.
ids = st.integers(1, 9) | st.integers(1, (1 << 63) - 1)
images = st.sampled_from([JPEG, PNG]).flatmap(
    lambda signature: contents.map(lambda rest: signature + rest)
)


@st.composite
def image_payload(draw, flags) -> bytes:
    """An image record's payload, of which a list can say all."""
    flag = draw(flags)
    label, *labels = draw(
        st.lists(floats.filter(lambda label: label == label), min_size=flag + 1, max_size=flag + 1)
    )
    head = struct.pack("<IfQQ", flag, 0 if flag else label, draw(ids), 0)
    return head + struct.pack(f"<{flag}f", *labels) + draw(images)


def again(folder: Path, **options) -> bytes:
    """The record file that is packed from what is extracted from a.rec."""
    done = extract(folder / "a.rec", folder / "out", to="flat")
    assert done.inexact == 0
    packed = pack_images(folder / "out/images.lst", folder / "b.rec", **options)
    assert (packed.records, packed.failed) == (done.extracted, 0)
    return (folder / "b.rec").read_bytes()


@given(st.lists(image_payload(st.sampled_from([0, 2, 3])), min_size=1, max_size=8))
def test_any_labels(tmp_path, payloads):
    """Byte for byte, whatever the ids: also those that repeat."""
    data = whole_file(payloads)
    folder = made(tmp_path, data)
    assert again(folder, pack_label=True) == data
    expected = [
        (struct.unpack_from("<8xQ", payload)[0], offset) for offset, payload in read(data)[0]
    ]
    index = (folder / "b.idx").read_text().splitlines()
    assert [tuple(map(int, line.split("\t"))) for line in index] == expected


@given(st.lists(image_payload(st.just(0)), min_size=1, max_size=8))
def test_one_label_each(tmp_path, payloads):
    """Without any option."""
    data = whole_file(payloads)
    assert again(made(tmp_path, data)) == data


def test_what_is_of_no_known_kind(folder):
    """Its suffix is .bin; a list names it all the same."""
    data = whole_file([labelled([1, 2], 3, b"\x01\x02\x03"), labelled([1, 2], 4, bytes(100))])
    Path("a.rec").write_bytes(data)
    assert again(folder, pack_label=True) == data


def test_what_a_list_cannot_say(folder):
    """Is counted: what comes back is another header, with the same id and image."""
    heads = [
        struct.pack("<IfQQf", 1, 0, 0, 0, 5),
        struct.pack("<IfQQ", 0, 5, 1, 7),
        struct.pack("<IfQQ2f", 2, 9, 2, 0, 5, 6),
        struct.pack("<IIQQ", 0, 0x7FC00001, 3, 0),
    ]
    Path("a.rec").write_bytes(b"".join(record(head + JPEG) for head in heads))
    assert extract("a.rec", "out", to="flat").inexact == 4
    assert [len(line.labels) for line in read_list("out/images.lst")] == [1, 1, 2, 1]
    pack_images("out/images.lst", "b.rec", pack_label=True)
    with rec2idx.RecordDataset("b.rec") as found:
        assert [(header.id, image) for header, image in found] == [(n, JPEG) for n in range(4)]


def test_folders_of_labels(folder):
    """A label for each folder, where they run on from 0."""
    payloads = [struct.pack("<IfQQ", 0, n % 3, n, 0) + JPEG + bytes(n) for n in range(9)]
    Path("a.rec").write_bytes(whole_file(payloads))
    extract("a.rec", "out")
    pack_images("out", "b.rec")
    found = [payload for _, payload in read(Path("b.rec").read_bytes())[0]]
    assert [(struct.unpack_from("<4xf", payload)[0], payload[24:]) for payload in found] == [
        (label, payloads[n][24:]) for label in range(3) for n in range(label, 9, 3)
    ]
