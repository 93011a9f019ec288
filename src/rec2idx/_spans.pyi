from array import array

def tidy(
    data: bytes | bytearray | memoryview,
    base: int,
    offsets: array[int],
    sizes: array[int],
    start: int,
) -> int: ...
def find_magic(data: bytes | bytearray | memoryview, start: int = ...) -> int: ...
