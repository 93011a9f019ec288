"""What the parts of the report share: names, and how a figure is written."""

from __future__ import annotations

from statistics import median

NAMES = {
    "original": "DALI's tool under MXNet",
    "plain": "plain Python over mmap",
    "one": "rec2idx -j 1",
    "ours": "rec2idx",
    "info": "recordio info",
    "check": "recordio check",
    "blocks": "C loop, blocks",
    "headers": "C loop, headers",
}


def spread(values: list[float], digits: int) -> str:
    """Return median, smallest and largest."""
    return f"{median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def target(value: float, limit: float, unit: str, *, at_least: bool = False) -> str:
    """Return what was to be reached, and whether it was."""
    met = value >= limit if at_least else value <= limit
    return f"[{'at least' if at_least else 'at most'} {limit}{unit}: {'met' if met else 'MISSED'}]"
