from array import array
from typing import Any, Final

SMALL: Final[int]

def read_record(fd: int, offset: int, guess: int, size: int) -> tuple[bytes, int] | None: ...

class Running:
    def __init__(self, first: int, offsets: array[int]) -> None: ...
    def read(self, fd: int, key: Any) -> tuple[bytes, int] | None: ...
