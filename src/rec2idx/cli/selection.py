"""Which records an index names, under which keys: the options, and what is said about them."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Mapping, Sequence

from ..select import KEYS, tells_other_ids
from .messages import count, say

LOOK = 3  # files
OTHER_IDS = (
    "its records have ids other than the running numbers; if im2rec wrote it, --keys id "
    "gives the keys that its index had"
)


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which records an index names, and under which keys."""
    parser.add_argument(
        "--keys",
        choices=KEYS,
        default="sequence",
        help="running numbers (default), or the records' ids",
    )
    parser.add_argument(
        "--images-only", action="store_true", help="leave out records without an image"
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="go on past damage: say what is lost, index all whole records, exit with status 3",
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
