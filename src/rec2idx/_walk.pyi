from array import array
from typing import Final, final

WALKING: Final[int]
END: Final[int]
BAD_MAGIC: Final[int]
BAD_CFLAG: Final[int]
NO_FIRST: Final[int]
NOT_ENDED: Final[int]
CUT_HEADER: Final[int]
CUT_PART: Final[int]
ENDS_INSIDE: Final[int]
SHRUNK: Final[int]
FAILED: Final[int]

@final
class Walk:
    """One walk along the chain of parts, from byte `start` to byte `size`, where the file ends."""

    def __new__(cls, start: int, size: int, block: int = ...) -> Walk: ...
    @property
    def position(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def opened(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def failure(self) -> int: ...
    @property
    def magic(self) -> int: ...
    @property
    def lrec(self) -> int: ...
    def records(self, fd: int, most: int) -> tuple[array[int], array[int]]: ...

def format_lines(offsets: array[int], first: int) -> bytes: ...
