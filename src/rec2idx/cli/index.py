"""The command ``recordio index``: an index for each of many files, or one over all of them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import KeysError
from ..paths import as_path
from .arguments import add_workers
from .messages import count, describe, say
from .progress import progress_report
from .regions import lost, region_teller
from .run import DONE, FAILED, SALVAGED, USAGE, executor
from .selection import add_selection, left_out, say_other_ids, unused_keys
from .standard import bar, tell

if TYPE_CHECKING:
    from ..combine import CombinedSummary
    from ..find import FoundFiles
    from ..many import ManySummary

EXAMPLES = """\
examples:
  recordio index -r data --out-dir indexes          an index for each .rec below data/
  recordio index --combine all.idx a.rec b.rec      one index over both, and how to read them
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run)
    parser.epilog = EXAMPLES
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("records", metavar="REC", nargs="+", type=as_path, help="a RecordIO file")
    parser.add_argument(
        "-r",
        "--recursive",
        action="store_true",
        help="REC may be a folder: take the *.rec files in it and below, sorted",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--out-dir",
        metavar="DIR",
        type=as_path,
        help="where the indexes go (default: beside the files)",
    )
    where.add_argument(
        "--combine",
        metavar="ALL.idx",
        type=as_path,
        help="write one index over the files, laid end to end in the given order",
    )
    add_selection(parser)
    add_workers(parser, "files, and parts of a file, to walk at once")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors and warnings"
    )


def run(args: argparse.Namespace) -> int:
    """Index the files; return the exit status."""
    return _separately(args) if args.combine is None else _combined(args)


# What does the work is imported where it is done: that takes longer than other commands to start.


def _separately(args: argparse.Namespace) -> int:
    from ..many import create_indexes

    try:
        with executor(args) as workers, progress_report(bar(args), "recordio", None) as report:
            done = create_indexes(
                args.records,
                args.out_dir,
                recursive=args.recursive,
                keys=args.keys,
                images_only=args.images_only,
                salvage=region_teller("recordio") if args.salvage else None,
                strict=args.strict,
                jobs=args.jobs,
                executor=workers,
                progress=report,
            )
    except KeysError as error:  # what is wrong with a file alone is in the summary
        _say(describe(error))
        return USAGE
    _say_passed_over(done)
    for file in done.failed:
        text = describe(file.error) if file.error is not None else ""
        if isinstance(file.error, IsADirectoryError) and not args.recursive:
            text += "; -r indexes the files in it"
        _say(text)
    if not done.files:
        _say(f"{', '.join(args.records)}: no RecordIO file there")
    elif not args.quiet:
        number = f"{len(done.done)} of {count(len(done.files), 'file')}"
        _say(f"{number} indexed, {_amounts(done, args)}")
        say_other_ids([file.record for file in done.files if file.summary], args, "recordio")
    if not done.files or done.failed:
        return FAILED
    return SALVAGED if done.damaged else DONE


def _combined(args: argparse.Namespace) -> int:
    from ..combine import combine_index
    from ..find import find_records

    paths = args.records
    if args.recursive:
        found = find_records(paths, recursive=True)
        _say_passed_over(found)
        for folder in found.unread:
            raise folder.error
        paths = [file.path for file in found.files]
        if not paths:
            _say(f"{', '.join(args.records)}: no RecordIO file there")
            return FAILED
    with executor(args) as workers, progress_report(bar(args), "recordio", None) as report:
        done = combine_index(
            paths,
            args.combine,
            keys=args.keys,
            images_only=args.images_only,
            salvage=region_teller("recordio") if args.salvage else None,
            strict=args.strict,
            jobs=args.jobs,
            executor=workers,
            progress=report,
        )
    for warning in done.warnings:
        _say(warning)
    if not args.quiet:
        _say(f"{count(len(done.files), 'file')} in one index, {_amounts(done, args)}")
        say_other_ids(done.path[:1], args, "recordio")
        tell(done.dali_call)
        if done.mxnet_call is not None:
            tell(done.mxnet_call)
    return SALVAGED if done.damaged else DONE


def _say_passed_over(found: ManySummary | FoundFiles) -> None:
    for repeated in found.repeated:
        _say(f"{repeated.path}: the same file as {repeated.same_as}, so taken once")
    for skipped in found.skipped:
        _say(f"{describe(skipped.reason)}; skipped")


def _amounts(done: ManySummary | CombinedSummary, args: argparse.Namespace) -> str:
    from ..combine import CombinedSummary

    text = f"{count(done.records, 'record')}, {count(done.bytes, 'byte')}, {done.seconds:.3g} s"
    others = done.records_left_out if isinstance(done, CombinedSummary) else done.left_out
    more = unused_keys(done.unused_keys, args.keys)
    more += lost(done, done.records + sum(others.values()), args.strict)
    if isinstance(done, CombinedSummary):
        return f"{text}{left_out(done.records_left_out)}{more}; index written to {done.index}"
    return text + left_out(done.left_out) + more


def _say(text: str) -> None:
    say(text, "recordio")
