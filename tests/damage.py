"""A small vocabulary for damage: each verb takes the bytes of a file and returns damaged ones."""


def flip_byte(data: bytes, at: int, mask: int = 0xFF) -> bytes:
    return data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def cut_tail(data: bytes, length: int) -> bytes:
    return data[:length]


def insert_bytes(data: bytes, at: int, extra: bytes) -> bytes:
    return data[:at] + extra + data[at:]


def remove_bytes(data: bytes, start: int, stop: int) -> bytes:
    return data[:start] + data[stop:]


def zero_block(data: bytes, start: int, stop: int) -> bytes:
    return data[:start] + bytes(stop - start) + data[stop:]


def set_lrec(data: bytes, at: int, cflag: int, length: int) -> bytes:
    return data[: at + 4] + (cflag << 29 | length).to_bytes(4, "little") + data[at + 8 :]
