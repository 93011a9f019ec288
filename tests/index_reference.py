"""An index and its readers in plain Python: slow, obvious, and written apart from the product."""

import io

SPACES = b" \t\n\v\f\r"
TOP = 1 << 64


def universal_lines(data: bytes) -> list[bytes]:
    """The lines of a text file, each with its end."""
    lines, line, at = [], b"", 0
    while at < len(data):
        end = next((end for end in (b"\r\n", b"\n", b"\r") if data.startswith(end, at)), b"")
        line += end or data[at : at + 1]
        at += len(end) or 1
        if end:
            lines.append(line)
            line = b""
    return [*lines, line] if line else lines


def strict(line: bytes, separator: bytes = b"\t", end: bytes = b"\n") -> tuple[int, int] | None:
    """Key and offset of a line that is written as it should be."""
    key, found, offset = line.removesuffix(end).partition(separator)
    if not line.endswith(end) or not found or not key.isdigit() or not offset.isdigit():
        return None
    if int(key) >= TOP or int(offset) >= TOP or (key[:1] == b"0" and key != b"0"):
        return None
    return int(key), int(offset)


class Numbers:
    """Numbers in text as `std::istream >> size_t` reads them; None for what is none."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def next(self) -> int | None:
        data, at = self.data, self.at
        while data[at : at + 1] and data[at] in SPACES:
            at += 1
        sign = data[at : at + 1] if data[at : at + 1] in (b"+", b"-") else b""
        first = at = at + len(sign)
        while data[at : at + 1].isdigit():
            at += 1
        self.at = at
        if at == first or int(data[first:at]) >= TOP:
            return None
        return -int(data[first:at]) % TOP if sign == b"-" else int(data[first:at])


def dali_offsets(data: bytes) -> list[int]:
    """The offsets that DALI reads, in order of the text."""
    numbers, offsets = Numbers(data), []
    while numbers.next() is not None and (offset := numbers.next()) is not None:
        offsets.append(offset)
    return offsets


def mxnet_lines(data: bytes, key_type: type) -> tuple[list, dict] | int:
    """`keys` and `idx` as MXNet's class fills them, or the line at which it raises."""
    file = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape")
    keys, places = [], {}
    for number, text in enumerate(iter(file.readline, ""), 1):
        columns = text.strip().split("\t")
        try:
            text.encode("utf-8")  # the real one raises as it decodes; here one sees where
            key = key_type(columns[0])
            places[key] = int(columns[1]) % TOP
        except (ValueError, IndexError):
            return number
        keys.append(key)
    return keys, places
