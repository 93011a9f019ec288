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
PASSED: Final[int]

# Offsets, sizes, and heads where they are wanted.
_Found = tuple[array[int], array[int], array[int] | None]

@final
class Walk:
    """One walk along the chain of parts, from byte `start` on, in a file of `size` bytes."""

    def __new__(
        cls,
        start: int,
        size: int,
        block: int = ...,
        stop: int = ...,
        heads: int = ...,
        past: bool = ...,
    ) -> Walk: ...
    @property
    def position(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def opened(self) -> int: ...
    @property
    def followed(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def failure(self) -> int: ...
    @property
    def magic(self) -> int: ...
    @property
    def lrec(self) -> int: ...
    @property
    def need(self) -> int: ...
    def records(self, fd: int, most: int) -> _Found: ...
    def feed(self, data: bytes | bytearray | memoryview, at: int, most: int) -> _Found: ...
    def restart(self, at: int) -> None: ...
    def grow(self, size: int) -> None: ...

def find_start(data: bytes | bytearray | memoryview, at: int) -> int: ...
