"""The command ``recordio check``: what is wrong with record files and their index, in words."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import RecordIOError
from ..findings import READERS, USUAL_READERS, Finding, Place, Reader
from ..framing import MAGIC_BYTES
from ..index import default_index_path
from ..lookalikes import HEAD_SIZE, INDEX, looks_like
from ..paths import as_path, is_url
from .arguments import add_workers
from .messages import count, describe, say
from .progress import progress_report
from .run import DONE, FAILED, USAGE, executor, until_reader_leaves
from .standard import bar, stdin, tell

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..checks.check import Check

EXAMPLES = """\
examples:
  recordio check data/train.rec                  and data/train.idx, where that is there
  recordio check data/train.rec /tmp/all.idx
  recordio check a.rec b.rec all.idx             one index over both
  recordio check --full --for dali,rocal data/*.rec
"""


class UsageError(Exception):
    """The arguments do not go together."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run, answers=True)
    parser.usage = "%(prog)s [options] REC... [INDEX]"
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "paths",
        metavar="REC",
        nargs="+",
        type=as_path,
        help="a RecordIO file; - is standard input. One that is called .idx is the INDEX, over "
        "all the files in their order; without it, each is checked with the index beside it",
    )
    parser.add_argument(
        "--for",
        dest="readers",
        type=readers_of,
        default=USUAL_READERS,
        metavar="READERS",
        help=f"who reads the files, of {', '.join(READERS)} (default: {','.join(USUAL_READERS)})",
    )
    parser.add_argument(
        "--full", action="store_true", help="read payloads too, and judge the images"
    )
    parser.add_argument("--strict", action="store_true", help="count warnings as errors")
    parser.add_argument("--json", action="store_true", help="one JSON object for each check")
    add_workers(parser, "parts of a file to walk at once")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors and warnings"
    )


def readers_of(text: str) -> tuple[Reader, ...]:
    """Return the readers that a comma list names.

    >>> readers_of("rocal,dali")
    ('dali', 'rocal')
    """
    names = [name.strip().lower() for name in text.split(",")]
    for name in names:
        if name not in READERS:
            raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(READERS)}")
    return tuple(reader for reader in READERS if reader in names)


def run(args: argparse.Namespace) -> int:
    """Check the files and say what is wrong; return the exit status."""
    try:
        records, index = told_apart(args.paths)
    except UsageError as error:
        say(str(error), "recordio")
        return USAGE
    status = DONE
    with until_reader_leaves(), executor(args) as workers:
        for paths, own in pairs(records, index):
            try:
                found = _check(args, paths, own, workers)
            except (RecordIOError, OSError) as error:
                say(describe(error), "recordio")
                status = FAILED
                continue
            if found.errors or (args.strict and found.warnings):
                status = FAILED
            _show(args, found)
    return status


def told_apart(paths: Sequence[str]) -> tuple[list[str], str | None]:
    """Return the record files and the index among the arguments, in whatever order they stand.

    The index is what is called ``.idx`` and does not begin like RecordIO; or, beside a record
    file, what begins like an index.

    Raises:
        UsageError: there are several indexes, or there is nothing but an index.
    """
    indexes = [path for path in paths if is_called_index(path) and not _begins_like_records(path)]
    if not indexes and len(paths) > 1:
        indexes = [path for path in paths if _begins_like_an_index(path)]
    if len(indexes) > 1:
        some = ", ".join(indexes[:3]) + (", ..." if len(indexes) > 3 else "")
        raise UsageError(
            f"{len(indexes)} indexes ({some}), expected one, over all the files; without any, each "
            "file is checked with the index beside it"
        )
    records = [path for path in paths if path not in indexes]
    if not records:
        raise UsageError(f"{indexes[0]} is an index: give the record file, too, before it")
    return records, indexes[0] if indexes else None


def is_called_index(path: str) -> bool:
    """Return whether a path or URL is called as indexes are.

    >>> is_called_index("a.idx"), is_called_index("https://example.org/a.IDX?v=1")
    (True, True)
    """
    if re.match("https?://", path):
        path = re.split("[?#]", path, maxsplit=1)[0]
    return path.lower().endswith(".idx")


def pairs(records: Sequence[str], index: str | None) -> Iterator[tuple[list[str], str | None]]:
    """Yield what is checked together: all files and the index, or each with the one beside it."""
    if index is not None:
        yield list(records), index
        return
    for record in records:
        own = default_index_path(record)
        beside = record != "-" and not is_url(record) and own != record and os.path.isfile(own)
        yield [record], own if beside else None


def _check(
    args: argparse.Namespace, paths: list[str], index: str | None, workers: Executor | None
) -> Check:
    from ..checks.check import check  # takes longer to import than other commands to start

    with progress_report(bar(args), "recordio" if len(paths) > 1 else paths[0], None) as report:
        return check(
            [stdin() if path == "-" else path for path in paths],
            index,
            readers=args.readers,
            full=args.full,
            jobs=args.jobs,
            executor=workers,
            progress=report,
        )


def _show(args: argparse.Namespace, found: Check) -> None:
    if args.json:
        tell(json.dumps(found.as_dict()), data=True)
        return
    for finding in found.findings:
        if not (args.quiet and finding.severity == "note"):
            tell(line_of(finding))
    if not args.quiet:
        say(summary_of(found), "recordio")


def line_of(finding: Finding) -> str:
    """Return what to print about a finding.

    >>> places = (Place(record=5, key="9", offset=220), Place(record=6), Place(record=7))
    >>> line_of(Finding("odd", "error", "a.rec", "it is odd", "mend it", None, 4, places))
    'error: a.rec: record 5 (key 9) at byte 220: it is odd; mend it (and 3 more: records 6, 7, ...)'
    """
    text = f"{finding.severity}: {finding.path}: "
    first = finding.places[0] if finding.places else Place()
    if where := _where(first):
        text += f"{where}: "
    text += finding.what
    if first.detail is not None:
        text += f" ({first.detail})"
    if finding.advice is not None:
        text += f"; {finding.advice}"
    return text + _more(finding)


def _where(place: Place) -> str:
    key = f" (key {place.key})" if place.key is not None else ""
    at = f" at byte {place.offset}" if place.offset is not None else ""
    if place.line is not None:
        return f"line {place.line}{key}"
    if place.record is not None:
        return f"record {place.record}{key}{at}"
    if place.key is not None:
        return f"key {place.key}"
    return at.removeprefix(" at ")


def _more(finding: Finding) -> str:
    more = finding.count - 1
    if more < 1:
        return ""
    others = finding.places[1:]
    for noun in ("line", "record", "key", "offset"):
        named = [str(value) for place in others if (value := getattr(place, noun)) is not None]
        if named:
            nouns = {"offset": "bytes"}.get(noun, f"{noun}s" if more > 1 else noun)
            dots = ["..."] if len(named) < more else []
            return f" (and {more} more: {nouns} {', '.join(named + dots)})"
    return f" (and {more} more)"


def summary_of(found: Check) -> str:
    """Return the last words about a check."""
    index = f" with {found.index}" if found.index is not None else ""
    files = found.paths[0] if len(found.paths) == 1 else count(len(found.paths), "file")
    numbers = [
        count(len(found.errors), "error"),
        count(len(found.warnings), "warning"),
        count(len(found.notes), "note"),
    ]
    return (
        f"{files}{index}: {count(found.records, 'record')}, {count(found.images, 'image')}, "
        f"{count(found.bytes, 'byte')}, {found.seconds:.3g} s; {', '.join(numbers)}"
    )


def _begins_like_records(path: str) -> bool:
    return _head(path).startswith(MAGIC_BYTES)


def _begins_like_an_index(path: str) -> bool:
    head = _head(path)
    return looks_like(head, len(head)) is INDEX


def _head(path: str) -> bytes:
    """Return the first bytes of a local file; of anything else nothing, since it is read once."""
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read(HEAD_SIZE)
    return b""
