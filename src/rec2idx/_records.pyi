from array import array
from typing import Any, Final, final

SMALL: Final[int]

def read_record(fd: int, offset: int, guess: int, size: int) -> tuple[bytes, int] | None: ...

@final
class Running:
    def __new__(cls, first: int, offsets: array[int]) -> Running: ...
    def read(self, fd: int, key: Any) -> tuple[bytes, int] | None: ...
