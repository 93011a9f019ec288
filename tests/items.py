"""What the items of a data set should be, from the format in plain Python."""

import struct
from pathlib import Path


def split(payload: bytes) -> tuple[tuple | None, bytes]:
    """What an item is: flag, labels, id and id2, or None; and what follows them."""
    if len(payload) >= 24:
        flag, label, number, number2 = struct.unpack_from("<IfQQ", payload)
        if 24 + 4 * flag <= len(payload):
            labels = payload[24 : 24 + 4 * flag] if flag else struct.pack("<f", label)
            return (flag, labels, number, number2), payload[24 + 4 * flag :]
    return None, payload


def plain(item) -> tuple[tuple | None, bytes]:
    """An item in the same shape."""
    header, payload = item
    if header is None:
        return None, bytes(payload)
    flag, label, number, number2 = header
    if flag:
        assert label.dtype == "float32"
        return (flag, label.tobytes(), number, number2), bytes(payload)
    assert type(label) is float
    return (flag, struct.pack("<f", label), number, number2), bytes(payload)


def written(folder: Path, data: bytes, index: bytes | None = None, name: str = "a") -> str:
    path = folder / f"{name}.rec"
    path.write_bytes(data)
    path.with_suffix(".idx").unlink(missing_ok=True)
    if index is not None:
        path.with_suffix(".idx").write_bytes(index)
    return str(path)
