"""Whether a file reads as an index, whatever its name."""

from __future__ import annotations

import re
from collections.abc import Callable

LOOK_BYTES = 1 << 14  # bytes of the beginning and of the end that are looked at

# A line of an index: a key that is a number, or any text before a tab; then an offset. Readers
# differ in whether they take blanks for the tab, so people have such files.
_LINE = re.compile(rb"(?:-?\d+[\t ]+|([^\t\x00-\x1f\x7f]+)\t)(-?\d{1,40})[ \t]*\r?")
# A last line that was cut off.
_CUT = re.compile(rb"[^\t\x00-\x1f\x7f]*(?:\t-?\d{0,40}\r?)?")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def reads_as_index(read: Callable[[int, int], bytes], size: int) -> bool:
    r"""Return whether a file that is not empty reads as an index.

    Each line at its beginning and at its end must be a key and an offset, or empty; the very last
    one may be cut off. No offset may come twice, or a table of names or numbers and their labels
    would read as an index. But where all keys are numbers and all offsets multiples of 4, as those
    of records are, it is an index that something is wrong with.

    Args:
        read: returns bytes of the file, given an offset and a length.
        size: bytes in the file.

    >>> def reads(data): return reads_as_index(lambda at, length: data[at:at + length], len(data))
    >>> reads(b"0\t0\n1\t44\n"), reads(b"cat\t0\ndog\t4"), reads(b"0\t1.0\ta.jpg\n")
    (True, True, False)
    >>> reads(b"0\t0\n1\t1\n2\t0\n"), reads(b"0\t0\n1\t44\n2\t0\n")
    (False, True)
    """
    if size <= 2 * LOOK_BYTES:
        return _has_entries(read(0, size), first=True, last=True)
    head, tail = read(0, LOOK_BYTES), read(size - LOOK_BYTES, LOOK_BYTES)
    return _has_entries(head, first=True, last=False) and _has_entries(tail, first=False, last=True)


def _has_entries(data: bytes, first: bool, last: bool) -> bool:
    """Return whether a piece of a file consists of lines of an index.

    Args:
        data: the piece.
        first: whether the file begins with it; else a line may be cut off at its beginning.
        last: whether the file ends with it.
    """
    lines = data.removeprefix(_BYTE_ORDER_MARK if first else b"").split(b"\n")
    rest = lines.pop()
    if last and rest and not _LINE.fullmatch(rest) and not (lines and _CUT.fullmatch(rest)):
        return False
    entries = [_LINE.fullmatch(line) for line in lines[0 if first else 1 :] if line.strip()]
    if last and (match := _LINE.fullmatch(rest)):
        entries.append(match)
    if not entries or not all(entries):
        return False
    offsets = [match[2] for match in entries if match]
    return len(set(offsets)) == len(offsets) or all(
        match[1] is None and int(match[2][-2:]) % 4 == 0 for match in entries if match
    )
