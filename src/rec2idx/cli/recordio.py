"""The command ``recordio``: what there is to do with RecordIO files, a subcommand each."""

from __future__ import annotations

import argparse

from .._version import __version__
from ..combine import CombinedSummary, combine_index
from ..errors import KeysError
from ..find import FoundFiles, find_records
from ..many import ManySummary, create_indexes
from .arguments import Parser, add_workers
from .info import add_arguments
from .messages import count, describe, say
from .progress import progress_report
from .run import DONE, FAILED, USAGE, executor, run
from .selection import add_selection, left_out, say_other_ids, unused_keys
from .standard import bar, tell

EXAMPLES = """\
examples:
  recordio index -r data --out-dir indexes          an index for each .rec below data/
  recordio index --combine all.idx a.rec b.rec      one index over both, and how to read them
"""


def main() -> int:
    """Run the command with the arguments of the process; return its exit status."""
    return run(parse_args, lambda args: args.run(args), "recordio")


def parse_args() -> argparse.Namespace:
    """Parse the command line of the process.

    Raises:
        SystemExit: the usage is wrong (status 2), or help or the version was asked for (0).
    """
    parser = Parser(
        prog="recordio",
        description="Work on RecordIO files (.rec).",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"recordio {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    index = commands.add_parser(
        "index",
        help="create the index of each of many files, or one index over all of them",
        description="Create the index of each of many files, or one index over all of them.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    index.set_defaults(run=_index)
    index.add_argument("records", metavar="REC", nargs="+", help="a RecordIO file")
    index.add_argument(
        "-r",
        "--recursive",
        action="store_true",
        help="REC may be a folder: take the *.rec files in it and below, sorted",
    )
    where = index.add_mutually_exclusive_group()
    where.add_argument(
        "--out-dir", metavar="DIR", help="where the indexes go (default: beside the files)"
    )
    where.add_argument(
        "--combine",
        metavar="ALL.idx",
        help="write one index over the files, laid end to end in the given order",
    )
    add_selection(index)
    add_workers(index, "files, and parts of a file, to walk at once")
    index.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors and warnings"
    )
    add_arguments(
        commands.add_parser(
            "info",
            help="say what is in files: records, images, labels, ids, sizes",
            description="Say what is in files: records, images, labels, ids, sizes.",
            allow_abbrev=False,
        )
    )
    return parser.parse_args()


def _index(args: argparse.Namespace) -> int:
    return _separately(args) if args.combine is None else _combined(args)


def _separately(args: argparse.Namespace) -> int:
    try:
        with executor(args) as workers, progress_report(bar(args), "recordio", None) as report:
            done = create_indexes(
                args.records,
                args.out_dir,
                recursive=args.recursive,
                keys=args.keys,
                images_only=args.images_only,
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
    return DONE if done.files and not done.failed else FAILED


def _combined(args: argparse.Namespace) -> int:
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
    return DONE


def _say_passed_over(found: ManySummary | FoundFiles) -> None:
    for repeated in found.repeated:
        _say(f"{repeated.path}: the same file as {repeated.same_as}, so taken once")
    for skipped in found.skipped:
        _say(f"{describe(skipped.reason)}; skipped")


def _amounts(done: ManySummary | CombinedSummary, args: argparse.Namespace) -> str:
    text = f"{count(done.records, 'record')}, {count(done.bytes, 'byte')}, {done.seconds:.3g} s"
    unused = unused_keys(done.unused_keys, args.keys)
    if isinstance(done, CombinedSummary):
        return f"{text}{left_out(done.records_left_out)}{unused}; index written to {done.index}"
    return text + left_out(done.left_out) + unused


def _say(text: str) -> None:
    say(text, "recordio")
