"""pack and unpack: what MXNet 1.9.1 made of the same values is pinned here, odd ones too."""

import struct
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from rec2idx.errors import PayloadError
from rec2idx.recordio import IRHeader, pack, unpack

floats32 = st.floats(width=32, allow_nan=False)
numbers64 = st.integers(0, 2**64 - 1)


@pytest.mark.parametrize(
    ("header", "flag", "label"),
    [
        ((2, 17672687.0, 0, 0), 0, 17672688.0),
        ((0, 25130987, 0, 0), 0, 25130988.0),
        ((0, [], 0, 0), 0, 0.0),
        ((0, True, 0, 0), 0, 1.0),
        ((0, 2**70, 0, 0), 0, float(2**70)),
        ((0, 1e40, 0, 0), 0, float("inf")),
        ((0, -1e40, 0, 0), 0, -float("inf")),
        ((-1, 1, 0, 0), 0, 1.0),
        (("z", np.float64(3), 0, 0), 0, 3.0),
        ((0, np.int64(3), 0, 0), 0, 3.0),
    ],
)
def test_one_label(header, flag, label):
    """The flag that is given is not used; labels are rounded to float32."""
    payload = pack(header, b"image")
    assert len(payload) == 29
    assert unpack(payload) == (IRHeader(flag, label, 0, 0), b"image")


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        ([1, 2, 3], [1, 2, 3]),
        ((1.5,), [1.5]),
        (range(3), [0, 1, 2]),
        (np.array(3.0), [3]),
        (np.arange(6.0).reshape(2, 3), range(6)),
        (np.arange(10)[::2], [0, 2, 4, 6, 8]),
        ([16777217], [16777216]),
        ("3", [3]),
        ([[1, 2], [3, 4]], [1, 2, 3, 4]),
    ],
)
@pytest.mark.parametrize("flag", [0, 5, -1])
def test_label_arrays(label, labels, flag):
    payload = pack(IRHeader(flag, label, 7, 8), b"image")
    count = len(labels)
    head = struct.pack(f"<IfQQ{count}f", count, 0, 7, 8, *labels)
    assert payload == head + b"image"
    header, rest = unpack(payload)
    assert (header.flag, header.id, header.id2, rest) == (count, 7, 8, b"image")
    assert header.label.dtype == np.float32
    assert header.label.tolist() == list(labels)


def test_labels_beyond_float32():
    with np.errstate(over="ignore"):
        assert unpack(pack((0, [1e40, -1e40], 0, 0), b""))[0].label.tolist() == [
            float("inf"),
            -float("inf"),
        ]


def test_none_is_a_label_that_is_no_number():
    assert np.isnan(unpack(pack((0, None, 0, 0), b""))[0].label).tolist() == [True]


@given(st.one_of(floats32, st.lists(floats32, min_size=1)), numbers64, numbers64, st.binary())
def test_unpack_gives_what_was_packed(label, number, number2, image):
    header, rest = unpack(pack(IRHeader(0, label, number, number2), image))
    found = header.label if header.flag == 0 else header.label.tolist()
    assert (found, header.id, header.id2, rest) == (label, number, number2, image)
    assert header.flag == (0 if isinstance(label, float) else len(label))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_kinds_of_bytes(kind):
    payload = pack((0, [1], 0, 0), kind(b"xy"))
    assert (type(payload), payload[28:]) == (bytes, b"xy")
    rest = unpack(kind(payload))[1]
    assert (type(rest), rest) == (kind, b"xy")


@pytest.mark.parametrize(
    ("header", "payload", "error"),
    [
        ((0, 1, 0, 0), "text", TypeError),
        ((0, [1], 0, 0), "text", TypeError),
        ((0, 1, 0, 0), None, TypeError),
        ((0, 1, 0, 0), np.zeros(2, np.uint8), TypeError),
        ((0, 1, -1, 0), b"", struct.error),
        ((0, 1, 2**64, 0), b"", struct.error),
        ((0, 1, 1.0, 0), b"", struct.error),
        ((0, 1j, 0, 0), b"", struct.error),
        ((0, 2**2000, 0, 0), b"", struct.error),
        ((0, 1, 0), b"", TypeError),
        ((0, 1, 0, 0, 0), b"", TypeError),
        ((0, "x", 0, 0), b"", ValueError),
        ((0, [[1], [2, 3]], 0, 0), b"", ValueError),
        ((0, {1, 2}, 0, 0), b"", TypeError),
    ],
)
def test_refused_as_mxnet_refuses_it(header, payload, error):
    with pytest.raises(error):
        pack(header, payload)


def test_too_short_for_a_header():
    with pytest.raises(PayloadError, match="expected a header of 24 bytes, found 3 in all") as got:
        unpack(b"abc")
    assert isinstance(got.value, struct.error)


@pytest.mark.parametrize("flag", [10, 3, 2**32 - 1])
def test_too_short_for_its_labels(flag):
    """Nothing is allocated because a flag says so."""
    with pytest.raises(PayloadError, match=f"{4 * flag} bytes behind the header, found 8"):
        unpack(struct.pack("<IfQQ", flag, 0, 0, 0) + b"12345678")


@pytest.mark.parametrize("payload", ["text" * 10, None])
def test_unpack_wants_bytes(payload):
    with pytest.raises(TypeError):
        unpack(payload)


def test_the_header_is_mxnet_s():
    header = IRHeader(0, 1.0, 2, 3)
    assert repr(header) == "HEADER(flag=0, label=1.0, id=2, id2=3)"
    assert header == (0, 1.0, 2, 3)
    assert header._replace(label=5).label == 5


WITHOUT = """
import sys
for name in ("numpy", "cv2", "PIL"):
    sys.modules[name] = None
from rec2idx.recordio import *
reader = MXRecordIO(sys.argv[1], "r")
header, image = unpack(reader.read())
print(header.label, pack(IRHeader(0, 1, 2, 3), image)[24:] == image)
for call in (lambda: pack((0, [1], 0, 0), b""), lambda: unpack(pack((0, 0, 0, 0), b"")[::-1]),
             lambda: unpack(b"\\1" + bytes(31)), lambda: unpack_img(pack((0, 1, 0, 0), b"x")),
             lambda: pack_img((0, 1, 0, 0), None)):
    try:
        call()
    except ImportError as error:
        print(error)
"""


def test_without_numpy_and_codecs():
    """All that needs neither works; else the error says what to install."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, ROOT / "examples/sample.rec"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    first, *errors = done.stdout.splitlines()
    assert (first, done.stderr) == ("0.0 True", "")
    assert [error.partition("run: ")[2] for error in errors] == [
        "pip install numpy",
        "pip install numpy",
        "pip install 'rec2idx[images]', or: pip install pillow numpy",
        "pip install 'rec2idx[images]', or: pip install pillow numpy",
    ]
