"""Labels, which are float32, as text and as numbers of JSON: with no more digits than they have."""

from __future__ import annotations

import math
import struct

_FLOAT = struct.Struct("<f")
_ENOUGH = 9  # digits that tell any float32 from all others


def as_text(label: float) -> str:
    """Return a label in as few digits as say which float32 it is: six, if that is enough.

    >>> as_text(4.0), as_text(0.30000001192092896), as_text(17672688.0), as_text(float("nan"))
    ('4', '0.3', '17672688', 'nan')
    """
    bits = _FLOAT.pack(label)
    for digits in range(6, _ENOUGH):
        text = f"{label:.{digits}g}"
        if _FLOAT.pack(float(text)) == bits:
            return text
    return f"{label:.{_ENOUGH}g}"


def as_json(label: float) -> int | float | str:
    """Return a label as a number that JSON has, or as text where JSON has none.

    >>> as_json(-4.0), as_json(-0.0), as_json(0.30000001192092896), as_json(float("-inf"))
    (-4, -0.0, 0.3, '-inf')
    """
    text = as_text(label)
    if not math.isfinite(label):
        return text
    return int(text) if text.removeprefix("-").isdecimal() and text != "-0" else float(text)
