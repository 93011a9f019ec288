"""The command ``recordio extract``: the images of a file as files again."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..paths import as_path, is_url
from .arguments import file_path, positive
from .messages import count, say
from .progress import progress_report
from .run import DONE, USAGE
from .selection import left_out
from .standard import bar

if TYPE_CHECKING:
    from ..extraction.extracting import ExtractSummary

LAYOUTS = ("imagefolder", "flat", "wds")  # as in `extracting`, which takes longer to import
_UNITS = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run)
    parser.add_argument("record", metavar="REC", type=file_path, help="the RecordIO file")
    parser.add_argument(
        "folder",
        metavar="OUT",
        type=_folder,
        help="the folder, on this machine; files that are there stay",
    )
    parser.add_argument(
        "--to",
        choices=LAYOUTS,
        default=LAYOUTS[0],
        help="imagefolder (default): a folder for each label; flat: one folder and a list, as "
        "im2rec takes it; wds: WebDataset shards",
    )
    parser.add_argument(
        "--index",
        metavar="IDX",
        type=file_path,
        help="leave out records that this index does not name",
    )
    parser.add_argument(
        "--lst",
        metavar="LST",
        type=file_path,
        help="take names from this list of im2rec's (default: from ids)",
    )
    parser.add_argument(
        "--shard-count",
        type=positive,
        metavar="N",
        help="images of a shard at most (default: 10000, without --shard-bytes)",
    )
    parser.add_argument(
        "--shard-bytes",
        type=size,
        metavar="SIZE",
        help="bytes of a shard at most, such as 500MB or 1GB",
    )
    parser.add_argument(
        "-j", "--jobs", type=positive, metavar="N", help="threads that write (default: several)"
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors")


def run(args: argparse.Namespace) -> int:
    """Extract the images; return the exit status."""
    from ..extraction.extracting import extract  # takes long to import

    if args.to != "wds" and (args.shard_count or args.shard_bytes):
        say(f"--shard-count and --shard-bytes are for --to wds, not for {args.to}", "recordio")
        return USAGE
    with progress_report(bar(args), args.record, None) as report:
        done = extract(
            args.record,
            args.folder,
            to=args.to,
            index=args.index,
            names=args.lst,
            shard_count=args.shard_count,
            shard_bytes=args.shard_bytes,
            jobs=args.jobs,
            progress=report,
        )
    if not args.quiet:
        say(f"{args.record}: {words(done)}", "recordio")
    return DONE


def _folder(text: str) -> str:
    """Return the path of a folder given on a command line."""
    text = as_path(text)
    if is_url(text):
        raise argparse.ArgumentTypeError(f"{text} is a URL; give a folder on this machine")
    return file_path(text)


def size(text: str) -> int:
    """Return a number of bytes given on a command line, of 1 or more.

    >>> size("500"), size("1.5GB")
    (500, 1500000000)
    """
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([kMG]B|)", text, re.ASCII)
    number = int(float(match[1]) * _UNITS[match[2]]) if match else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500MB or 1GB")
    return number


def words(done: ExtractSummary) -> str:
    """Return what to say at the end.

    >>> from rec2idx import ExtractSummary
    >>> print(words(ExtractSummary(8, 5, 0, {"file header": 1, "identity record": 2}, 1, 0, 0, 0,
    ...                            900, 500000, 0.5, "out")))
    8 records: 5 images extracted; left out 1 file header, 2 identity records; 1 of unknown kind \
(.bin); 500000 bytes written to out, 0.5 s, 1.0 MB/s
    """
    parts = [f"{count(done.records, 'record')}: {count(done.extracted, 'image')} extracted"]
    if done.already_there:
        parts[0] += f", {done.already_there} already there"
    parts[0] += left_out(done.left_out)
    if done.unrecognised:
        parts.append(f"{done.unrecognised} of unknown kind (.bin)")
    if done.repeated:
        parts.append(f"{done.repeated} with an id that was there before, named by offset, too")
    if done.inexact:
        parts.append(f"{done.inexact} of whose header the list does not say all")
    speed = done.bytes_written / max(done.seconds, 1e-9) / 1e6
    shards = f" in {count(done.shards, 'shard')}" if done.shards else ""
    parts.append(
        f"{count(done.bytes_written, 'byte')} written to {done.path}{shards}, "
        f"{done.seconds:.3g} s, {speed:.1f} MB/s"
    )
    return "; ".join(parts)
