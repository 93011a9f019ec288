"""Which records an index names, under which keys: the options, and what is said about them."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import cast

from ..paths import as_path
from ..select import KEYS, KeepKeys, Keys, tells_other_ids
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
        type=keys_of,
        metavar="KEYS",
        default="sequence",
        help="sequence: running numbers (default); id: the records' ids; "
        "keep=OLD.idx: those of an old index",
    )
    parser.add_argument(
        "--images-only", action="store_true", help="leave out records without an image"
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="past damage, index all whole records; exit status 3",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="with --salvage, leave out records in doubt, too",
    )


def keys_of(text: str) -> Keys:
    """Return the keys that a command line asks for.

    >>> keys_of("id"), keys_of("keep=old.idx")
    ('id', KeepKeys(index='old.idx'))
    """
    if text in KEYS:
        return cast("Keys", text)
    kind, _, index = text.partition("=")
    if kind == "keep" and index:
        return KeepKeys(as_path(index))
    # Of another exception, argparse would say that it is about an argument, and name it again.
    expected = f"{', '.join(KEYS)} or keep=OLD.idx"
    raise argparse.ArgumentError(None, f"--keys is {text!r}, expected {expected}")


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


def unused_keys(number: int, keys: Keys) -> str:
    """Return how many keys of an old index fit no record, as the end of a phrase.

    >>> unused_keys(1, KeepKeys("old.idx")), unused_keys(0, KeepKeys("old.idx"))
    ('; 1 key of old.idx fits no record', '')
    """
    if number == 0 or not isinstance(keys, KeepKeys):
        return ""
    index = as_path(keys.index)
    return f"; {count(number, 'key')} of {index} {'fits' if number == 1 else 'fit'} no record"
