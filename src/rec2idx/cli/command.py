"""The command ``rec2idx``."""

from __future__ import annotations

import argparse
import sys

from ..index import create_index
from .arguments import parse_args
from .messages import count, say
from .progress import progress_report
from .regions import lost, region_teller
from .run import DONE, SALVAGED, executor, run
from .selection import left_out, say_other_ids, unused_keys
from .standard import stdin, stdout


def main() -> int:
    """Run the command with the arguments of the process; return its exit status."""
    return run(parse_args, _index, "rec2idx")


def _index(args: argparse.Namespace) -> int:
    kind = "none" if args.quiet else args.progress
    record = stdin() if args.record == "-" else args.record
    index = stdout() if args.index == "-" else args.index
    lines = sys.stderr if args.index == "-" else sys.stdout
    name = "<stdin>" if args.record == "-" else args.record
    with executor(args) as workers, progress_report(kind, name, lines) as report:
        done = create_index(
            record,
            index,
            keys=args.keys,
            images_only=args.images_only,
            salvage=region_teller("rec2idx") if args.salvage else None,
            strict=args.strict,
            jobs=args.jobs,
            executor=workers,
            progress=report,
        )
    if not args.quiet:
        kept = done.records + sum(done.left_out.values())
        say(
            f"{name}: {count(done.records, 'record')}, {count(done.bytes, 'byte')}, "
            f"{done.seconds:.3g} s{left_out(done.left_out)}"
            f"{unused_keys(done.unused_keys, args.keys)}"
            f"{lost(done, kept, args.strict)}; index written to {done.index}"
        )
        say_other_ids([name], args, "rec2idx")
    return SALVAGED if done.damaged else DONE
