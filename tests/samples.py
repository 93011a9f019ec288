"""Payloads and files that several tests use."""

import struct

from hypothesis import strategies as st
from reference import MAGIC, part, record


def image(label: float, identity: int, pixels: bytes) -> bytes:
    """An image record's payload with one label: IRHeader with flag 0, then the image."""
    return struct.pack("<IfQQ", 0, label, identity, 0) + pixels


def labelled(labels: list[float], identity: int, pixels: bytes = b"") -> bytes:
    """An image record's payload with a label array: IRHeader with flag n, n float32, the image."""
    head = struct.pack("<IfQQ", len(labels), 0.0, identity, 0)
    return head + struct.pack(f"<{len(labels)}f", *labels) + pixels


# Six records of 44 bytes.
SIX = b"".join(part(0, image(i, i, bytes([i]) * 12)) for i in range(6))
SIX_INDEX = b"0\t0\n1\t44\n2\t88\n3\t132\n4\t176\n5\t220\n"

# The same in two files; the index of each.
A, B = SIX[:132], SIX[132:]
THREE_INDEX = SIX_INDEX[: SIX_INDEX.index(b"3\t")]

# A miniature InsightFace file: a file header, five images of two people, two identity records.
FACE = b"".join(
    part(0, payload)
    for payload in (
        labelled([6, 8], 0),
        *(image(label, i, b"8 bytes.") for i, label in enumerate([0, 0, 0, 1, 1], 1)),
        labelled([1, 4], 6),
        labelled([4, 6], 7),
    )
)

# Payloads made of what is hard: magics at every alignment, nothing, odd lengths.
chunks = st.one_of(
    st.just(MAGIC), st.just(MAGIC[:2]), st.binary(max_size=9), st.just(bytes(40)), st.just(b"x")
)
payloads = st.lists(chunks, max_size=8).map(b"".join)
payload_lists = st.lists(payloads, min_size=1, max_size=20)


def whole_file(contents: list[bytes]) -> bytes:
    return b"".join(record(payload) for payload in contents)


# Payloads that hold what looks like records: a guess that starts there is wrong. Some of it reaches
# beyond the payload, into a record behind it, and may go on there.
lies = [part(0, bytes(size))[:8] for size in (0, 12, 20, 28, 44)]
false_starts = st.lists(
    st.sampled_from([part(0, b"abcd"), *lies, part(1, b""), b"abcd", bytes(12), MAGIC]), max_size=8
).map(b"".join)
# Written by somebody who does not escape the magic, so that they stay aligned in the file.
unescaped_files = st.lists(false_starts.map(lambda payload: part(0, payload)), max_size=12).map(
    b"".join
)
files = st.one_of(payload_lists.map(whole_file), unescaped_files)


@st.composite
def damaged_files(draw) -> bytes:
    data = draw(files)
    start = draw(st.integers(0, len(data)))
    stop = draw(st.integers(start, min(len(data), start + 30)))
    junk = draw(st.one_of(st.binary(max_size=9), st.just(MAGIC), st.just(part(0, b"")[:6])))
    return MAGIC + data[4:start] + junk + data[stop:]
