from array import array
from typing import Final, final

NO_IMAGE: Final[int]
CUT_LABELS: Final[int]
NO_HEADER: Final[int]
SHORT_FIRST: Final[int]
LABELS_SPLIT: Final[int]
FLAGGED: Final[int]
MULTI_PART: Final[int]

def traits(sizes: array[int], heads: array[int], stride: int) -> array[int]: ...
def two_labels(sizes: array[int], heads: array[int], stride: int) -> array[float]: ...
def multi_part(heads: array[int], stride: int) -> int: ...
def flag_runs(
    heads: array[int], kinds: array[int], stride: int, most: int
) -> list[tuple[int, int]]: ...
def signatures(
    sizes: array[int], heads: array[int], kinds: array[int], stride: int, wanted: int
) -> tuple[int, int, int, list[bytes], int]: ...
def order(values: array[int]) -> tuple[int, int, int, int]: ...

KNOWN: Final[tuple[bytes, ...]]

@final
class Distinct:
    def __new__(cls) -> Distinct: ...
    def __len__(self) -> int: ...
    def add_labels(
        self, heads: array[int], kinds: array[int], stride: int, wanted: int
    ) -> None: ...
