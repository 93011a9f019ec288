"""The targets by name. Each takes any bytes, and raises where something is wrong.

They are imported only where they run: the kernel that they import may need the fuzzer around it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

_MODULES = {
    "walks": ("records", "shrunk", "feed", "find_start"),
    "columns": ("heads", "tally", "misfits"),
    "single": ("one_record", "layouts"),
    "lines": ("formats",),
    "indexes": ("parses", "runs", "entries", "indexes"),
    "files": ("scans", "streams", "infos", "reads"),
    "images": ("images",),
}
NAMES = [name for names in _MODULES.values() for name in names]


def target(name: str) -> Callable[[bytes], None]:
    """The target of this name."""
    module = next(module for module, names in _MODULES.items() if name in names)
    function: Callable[[bytes], None] = getattr(importlib.import_module(f"fuzz.{module}"), name)
    return function
