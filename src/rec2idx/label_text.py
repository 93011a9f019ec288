"""Labels, which are float32, as text and as numbers of JSON: with no more digits than they have."""

from __future__ import annotations

import math
import struct

_FLOAT = struct.Struct("<f")
_ENOUGH = 9  # digits that tell any float32 from all others


def as_text(label: float) -> str:
    """Return a label in the fewest digits from which the same float32 is read again.

    >>> as_text(4.0), as_text(0.30000001192092896), as_text(17672688.0), as_text(float("nan"))
    ('4', '0.3', '17672688', 'nan')
    """
    bits = _FLOAT.pack(label)
    for digits in range(6, _ENOUGH):
        text = f"{label:.{digits}g}"
        try:
            if _FLOAT.pack(float(text)) == bits:
                return text
        except OverflowError:  # rounded up to what no float32 can be
            continue
    return f"{label:.{_ENOUGH}g}"


def as_json(label: float) -> int | float | str:
    """Return a label as a number that JSON has, or as text where JSON has none.

    >>> as_json(4.0), as_json(0.30000001192092896), as_json(float("-inf"))
    (4, 0.3, '-inf')
    """
    text = as_text(label)
    if not math.isfinite(label):
        return text
    number = float(text)
    # A whole number in exponents would have more digits than were read.
    return int(number) if number.is_integer() and text.lstrip("-").isdecimal() else number
