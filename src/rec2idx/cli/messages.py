"""Words for people: one line, on standard error, without secrets."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys

from ..errors import RecordIOError
from ..redaction import in_text


def say(text: str, program: str = "rec2idx") -> None:
    """Print one line on standard error, which begins with the name of the command."""
    # Nothing is left to tell it to if standard error is closed.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{program}: {in_text(text)}\n")
        sys.stderr.flush()


def describe(error: Exception) -> str:
    """Return an error as ``PATH: what is wrong``."""
    if isinstance(error, OSError) and not isinstance(error, RecordIOError):
        what = error.strerror or str(error)
        return what if error.filename is None else f"{os.fsdecode(error.filename)}: {what}"
    return str(error)


def count(number: int, unit: str, units: str | None = None) -> str:
    """Return a number with its unit, in the plural where it is due.

    >>> count(1, "record"), count(2, "record"), count(2, "identity", "identities")
    ('1 record', '2 records', '2 identities')
    """
    return f"{number} {unit}" if number == 1 else f"{number} {units or unit + 's'}"


def how_to_check(record: str, index: str | None, *options: str) -> str:
    """Return how to check new files, nothing if the record file went into a pipe or device.

    >>> how_to_check("new.rec", None)
    '; check it with: recordio check new.rec'
    """
    files = [record, *([index] if index is not None else [])]
    kept = [path for path in files if os.path.isfile(path) or not os.path.exists(path)]  # or a URL
    if record not in kept:
        return ""
    return f"; check it with: {shlex.join(['recordio', 'check', *options, *kept])}"
