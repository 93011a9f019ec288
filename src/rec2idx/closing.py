"""What is closed at the end of a `with` block."""

from __future__ import annotations

from typing import TypeVar

_Own = TypeVar("_Own", bound="Closing")


class Closing:
    """Something that can be closed, and is at the end of a ``with`` block."""

    def close(self) -> None:
        """Close it. Closing twice is allowed."""

    def __enter__(self: _Own) -> _Own:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
