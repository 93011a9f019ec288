"""Words for people: one line, on standard error."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Mapping, Sequence

from ..errors import RecordIOError
from ..select import tells_other_ids


def printable(text: str) -> str:
    r"""Return a path or text as one line of visible characters, whatever bytes it came from.

    >>> printable("new\nline.rec"), printable(os.fsdecode(b"\xff.rec"))
    ('new\\nline.rec', '\\xff.rec')
    """
    whole = os.fsencode(text).decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in whole)


def say(text: str, program: str = "rec2idx") -> None:
    """Print one line on standard error, which begins with the name of the command."""
    # Nothing is left to tell it to if standard error is closed.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"{program}: {printable(text)}\n")
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


LOOK = 3  # files
OTHER_IDS = (
    "its records have ids other than the running numbers; if im2rec wrote it, --keys id "
    "gives the keys that its index had"
)


def say_other_ids(paths: Sequence[str], args: argparse.Namespace, program: str) -> None:
    """Say if the ids in local files, of which the first few are looked at, are worth a word."""
    if args.keys != "sequence":
        return
    for path in paths[:LOOK]:
        # Once more opening a pipe, or what has gone since, is not worth an error.
        with contextlib.suppress(OSError):
            if os.path.isfile(path) and tells_other_ids(path, args.images_only):
                say(f"{path}: {OTHER_IDS}", program)
                return


def left_out(records: Mapping[str, int]) -> str:
    """Return what was left out as the end of a phrase, nothing if that is nothing.

    >>> left_out({"file header": 1, "identity record": 20, "record without an image": 2})
    '; left out 1 file header, 20 identity records, 2 records without an image'
    """
    parts = []
    for what, number in records.items():
        noun, more = re.split(r"(?<=record)\b|(?<=header)\b", what, maxsplit=1)
        parts.append(count(number, noun) + more)
    return f"; left out {', '.join(parts)}" if parts else ""
