"""The command ``recordio salvage``: a new file with the whole records of a damaged one."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .arguments import add_workers, file_path
from .messages import count, how_to_check, say
from .progress import progress_report
from .regions import lost, region_teller
from .run import DONE, SALVAGED, executor
from .standard import bar

if TYPE_CHECKING:
    from ..salvaging import SalvageSummary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run)
    parser.add_argument("record", metavar="REC", type=file_path, help="the RecordIO file")
    parser.add_argument(
        "target", metavar="OUT.rec", type=file_path, help="the new file, where there is none yet"
    )
    parser.add_argument(
        "--index",
        metavar="OUT.idx",
        type=file_path,
        help="write its index, too; one that stands there is replaced",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="leave out records next to damage that may have changed them",
    )
    add_workers(parser, "parts of the file to walk at once")
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors and what is lost"
    )


def run(args: argparse.Namespace) -> int:
    """Salvage the file; return the exit status."""
    from ..salvaging import salvage  # takes longer to import than other commands to start

    with executor(args) as workers, progress_report(bar(args), args.record, None) as report:
        done = salvage(
            args.record,
            args.target,
            args.index,
            jobs=args.jobs,
            executor=workers,
            progress=report,
            strict=args.strict,
            damaged=region_teller("recordio"),
        )
    if not args.quiet:
        say(f"{args.record}: {words(done, args.strict)}", "recordio")
    return SALVAGED if done.damaged or done.repaired else DONE


def words(done: SalvageSummary, strict: bool = False) -> str:
    """Return what to say at the end.

    >>> from rec2idx import SalvageSummary
    >>> print(words(SalvageSummary(6, 264, 264, 0, 0, 0, 0.5, "new.rec", None)))
    6 records kept, none rewritten, 0.5 s; nothing was damaged; 264 bytes written to new.rec; \
check it with: recordio check new.rec
    """
    undone = f"{done.repaired}, which is undone; " if done.repaired else ""
    nothing = "" if done.repaired else "; nothing was damaged"
    replaced = f"; index {done.index} replaced" if done.index_replaced else ""
    return (
        f"{undone}{count(done.records, 'record')} kept, {done.rewritten or 'none'} rewritten, "
        f"{done.seconds:.3g} s{lost(done, done.records, strict) or nothing}; "
        f"{count(done.bytes_written, 'byte')} written to {done.path}{replaced}"
        f"{how_to_check(done.path, done.index)}"
    )
