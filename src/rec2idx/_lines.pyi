from array import array
from typing import Final

ONE: Final[int]
NONE: Final[int]
SEVERAL: Final[int]
UNORDERED: Final[int]
RISING: Final[int]
RUNNING: Final[int]

def parse_lines(
    data: bytes | bytearray | memoryview,
    start: int,
    keys: array[int],
    offsets: array[int],
    separator: int = ...,
    returns: bool = ...,
) -> tuple[int, int]: ...
def parse_running(
    data: bytes | bytearray | memoryview, key: int, offsets: array[int]
) -> tuple[int, int]: ...
def order_of(numbers: array[int]) -> int: ...
def sort_distinct(numbers: array[int]) -> None: ...
def sort_entries(offsets: array[int], keys: array[int]) -> None: ...
def match(
    offsets: array[int], keys: array[int], records: array[int], base: int = ...
) -> tuple[array[int], array[int], int]: ...
