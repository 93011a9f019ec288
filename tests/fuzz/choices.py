"""What an input says: first how something is called, then the bytes that it is called with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

KNOBS = 16  # bytes of an input that are choices; where it is shorter, the others are zero
LARGEST = (1 << 63) - 1  # of int64


class Choices:
    """Choices, a byte or two for each, so that a fuzzer changes one without the others.

    Attributes:
        rest: the bytes behind them.
    """

    def __init__(self, data: bytes) -> None:
        self._knobs = iter(data[:KNOBS].ljust(KNOBS, b"\0"))
        self.rest = data[KNOBS:]

    def below(self, limit: int) -> int:
        """A number from 0 to `limit` - 1, 255 at most."""
        return next(self._knobs) % limit

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def up_to(self, most: int) -> int:
        """A number from 0 to `most`, 65535 at most."""
        return (next(self._knobs) | next(self._knobs) << 8) % (most + 1)

    def large(self) -> int:
        """A number of any size from 0 to `LARGEST`, often beside a power of two."""
        power, step = 1 << next(self._knobs) % 64, next(self._knobs)
        return min(max(power + (step ^ 0x80) - 0x80 - 1, 0), LARGEST)
