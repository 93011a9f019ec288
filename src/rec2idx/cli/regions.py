"""What is said about the damage that a command passes over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from ..damage import DamagedRegion, records_in
from .messages import count, say
from .progress import above_bar


def region_teller(program: str) -> Callable[[DamagedRegion], None]:
    """Return what says one line about a damaged region."""

    def tell_region(region: DamagedRegion) -> None:
        with above_bar():
            say(line_of(region), program)

    return tell_region


def line_of(region: DamagedRegion) -> str:
    """Return what to say about a damaged region.

    >>> line_of(DamagedRegion("a.rec", 44, 88, 1, "wrong-magic", "wrong magic"))
    'a.rec: bytes 44 to 88 lost (44 bytes), after 1 record: wrong magic'
    """
    if region.bytes == 0:
        return f"{region.path}: nothing lost: {region.what}"
    return (
        f"{region.path}: bytes {region.start} to {region.stop} lost "
        f"({count(region.bytes, 'byte')}), after {count(region.record, 'record')}: {region.story}"
    )


def lost(done: Salvaged, records: int, strict: bool = False) -> str:
    """Return what was passed over as the end of a phrase, nothing if that is nothing.

    Args:
        done: a summary.
        records: records that were kept of the file or files.
        strict: whether records in doubt were left out.
    """
    if not done.damaged:
        return ""
    text = f"; lost {count(done.damaged_bytes, 'byte')} in {count(done.damaged, 'damaged region')}"
    if done.damaged_bytes:
        held = records_in(done.damaged_bytes, done.bytes, records)
        number = f"about {count(held, 'record')}" if held else "less than a record"
        text += f", {number}, none of them whole"
    if done.doubtful and strict:
        return f"{text}; left out {count(done.doubtful, 'record')} in doubt"
    if done.doubtful:
        is_are = "is" if done.doubtful == 1 else "are"
        text += f"; {count(done.doubtful, 'record')} of those kept {is_are} in doubt (--strict)"
    return text


class Salvaged(Protocol):
    """A summary that counts what was passed over."""

    @property
    def bytes(self) -> int:
        """Bytes in the file or files."""

    @property
    def damaged(self) -> int:
        """Damaged regions in them."""

    @property
    def damaged_bytes(self) -> int:
        """Bytes in those."""

    @property
    def doubtful(self) -> int:
        """Records in doubt."""
