"""Lists of images, as im2rec reads them."""

import os
from pathlib import Path

import pytest

import rec2idx
from rec2idx.list_files import read_list
from rec2idx.lists import ListLine, written


def lines(folder: Path, text: bytes) -> list[ListLine]:
    path = folder / "a.lst"
    path.write_bytes(text)
    return list(read_list(path))


def test_numbers_labels_and_names(tmp_path):
    assert lines(tmp_path, b"5\t1.000000\tb/x y.jpg\n0\t-2\t3e-1\tinf\ta.png") == [
        (5, (1.0,), "b/x y.jpg"),
        (0, (-2.0, 0.3, float("inf")), "a.png"),
    ]


@pytest.mark.parametrize("text", [b"", b"\n", b" \t \n\r\n"])
def test_nothing(tmp_path, text):
    assert lines(tmp_path, text) == []


def test_white_space_around_columns_and_line_ends_of_windows(tmp_path):
    assert lines(tmp_path, b" 1 \t 2 \t a b.jpg \r\n") == [(1, (2.0,), "a b.jpg")]


def test_names_of_any_bytes(tmp_path):
    assert os.fsencode(lines(tmp_path, b"1\t2\t\xff\xc3\xbc.jpg\n")[0].name) == b"\xff\xc3\xbc.jpg"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (b"1\t2\ta\n1 2 b\n", 2, "1 column: '1 2 b'"),
        (b"\n\n1\ta.jpg\n", 3, r"2 columns: '1\ta.jpg'"),
        (b"1.5\t0\ta.jpg", 1, "'1.5' as number"),
        (b"1\tcat\ta.jpg", 1, "labels ['cat']"),
        (b"-1\t0\ta.jpg", 1, "-1 as number, which no id can be"),
        (
            b"18446744073709551616\t0\ta.jpg",
            1,
            "18446744073709551616 as number, which no id can be",
        ),
    ],
)
def test_a_line_that_says_nothing(tmp_path, text, line, found):
    with pytest.raises(rec2idx.BadListError) as raised:
        lines(tmp_path, text)
    assert (raised.value.line, raised.value.found) == (line, found)
    assert str(raised.value) == (
        f"{tmp_path}/a.lst: line {line} is not one of an im2rec list: expected a whole "
        "number from 0 to 2^64 - 1, one label or more, and a file name, with tabs between them, "
        f"found {found}; mend the line"
    )


def test_a_line_that_never_ends(tmp_path):
    """As those of another file may be: it is not read to its end."""
    path = tmp_path / "a.lst"
    with path.open("wb") as file:
        file.write(b"1\t2\ta.jpg\n")
        file.truncate(1 << 32)
    found = read_list(path)
    assert next(found).name == "a.jpg"
    with pytest.raises(rec2idx.BadListError, match="found 16777216 characters or more: ") as raised:
        next(found)
    assert raised.value.line == 2


def test_lines_as_im2rec_writes_them():
    assert written(ListLine(7, (1.0, -0.25), "ä b.jpg")) == "7\t1.000000\t-0.250000\tä b.jpg\n"
