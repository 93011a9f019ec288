from array import array

def parse_lines(
    data: bytes | bytearray | memoryview,
    start: int,
    keys: array[int],
    offsets: array[int],
    separator: int = ...,
    returns: bool = ...,
) -> tuple[int, int]: ...
def sort_distinct(numbers: array[int]) -> None: ...
