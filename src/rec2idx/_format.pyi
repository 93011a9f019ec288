from array import array

def format_lines(
    offsets: array[int],
    first: int,
    start: int = ...,
    stop: int = ...,
    base: int = ...,
    keys: array[int] | None = ...,
) -> bytes: ...
