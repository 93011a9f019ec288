"""What is said about the damage that a command passes over."""

from __future__ import annotations

from collections.abc import Callable

from ..damage import DamagedRegion
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
        f"({count(region.bytes, 'byte')}), after {count(region.record, 'record')}: {region.what}"
    )


def lost(regions: int, bytes_lost: int) -> str:
    """Return what was passed over as the end of a phrase, nothing if that is nothing.

    >>> lost(2, 44), lost(0, 0)
    ('; lost 44 bytes in 2 damaged regions', '')
    """
    if not regions:
        return ""
    return f"; lost {count(bytes_lost, 'byte')} in {count(regions, 'damaged region')}"
