"""The command ``recordio``: what there is to do with RecordIO files, a subcommand each."""

from __future__ import annotations

import argparse
import sys

from .._version import __version__
from . import cat, check, extract, index, info, ls, pack, salvage
from .arguments import Parser
from .run import run

EXAMPLES = """\
examples:
  recordio index -r data --out-dir indexes          an index for each .rec below data/
  recordio index --combine all.idx a.rec b.rec      one index over both, and how to read them
  recordio ls data/train.rec                        its records, a line each
  recordio check data/train.rec data/train.idx      what is wrong with them
  recordio pack pictures/ data/new.rec              the pictures in there, a folder a label
"""

# Each module has the arguments of its command, and runs it.
COMMANDS = {
    "index": (index, "create the index of each of many files, or one index over all of them"),
    "info": (info, "say what is in files: records, images, labels, ids, sizes"),
    "ls": (ls, "list the records of a file: keys, offsets, sizes, ids, labels, images"),
    "cat": (cat, "write the payload of one record, or its image"),
    "check": (check, "say what is wrong with files and their index, and who will fail at it"),
    "extract": (extract, "write the images of a file into a folder, byte for byte"),
    "pack": (pack, "write pictures, of a list or in a folder, to a new file, as im2rec does"),
    "salvage": (salvage, "write the whole records of a damaged file to a new one"),
}


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
    for name, (module, what) in COMMANDS.items():
        description = f"{what[0].upper()}{what[1:]}."
        module.add_arguments(
            commands.add_parser(name, help=what, description=description, allow_abbrev=False)
        )
    argv = sys.argv[1:]
    if not argv or argv[0] not in COMMANDS:
        return parser.parse_args(argv)
    # A parser with subparsers takes no options between paths; that of the command does. Behind a
    # `--`, which it forgets, there are none to take.
    own = commands.choices[argv[0]]
    parse = own.parse_args if "--" in argv else own.parse_intermixed_args
    return parse(argv[1:])
