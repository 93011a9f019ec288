"""The command ``recordio pack``: pictures into a new file, as they are."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..paths import as_path
from .arguments import file_path, positive
from .messages import count, describe, how_to_check, say
from .progress import above_bar, progress_report
from .run import DONE, FAILED, USAGE
from .standard import bar

if TYPE_CHECKING:
    from ..packing.pack_list import FailedImage
    from ..packing.packing import PackSummary


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run)
    parser.add_argument(
        "images",
        metavar="LIST_OR_FOLDER",
        type=file_path,
        help="a list (.lst) of im2rec, or a folder with a folder of pictures for each label",
    )
    parser.add_argument(
        "record",
        metavar="OUT.rec",
        type=file_path,
        help="the new file, where there is none yet; its index OUT.idx goes beside it, and, "
        "for a folder, the list OUT.lst",
    )
    parser.add_argument(
        "--root",
        metavar="DIR",
        type=as_path,
        help="the folder from which names in the list go (default: that of the list)",
    )
    parser.add_argument(
        "--pack-label", action="store_true", help="pack all labels of a picture, not only the first"
    )
    parser.add_argument(
        "--shuffle", action="store_true", help="shuffle the pictures in a folder, as im2rec does"
    )
    parser.add_argument(
        "-j",
        "--jobs",
        type=positive,
        metavar="N",
        help="pictures to read at once (default: several)",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing but errors and warnings"
    )


def run(args: argparse.Namespace) -> int:
    """Pack the pictures; return the exit status."""
    from ..packing.packing import pack_images  # takes longer to import than other commands to start

    if wrong := _wrong_option(args):
        say(wrong, "recordio")
        return USAGE
    with progress_report(bar(args), args.record, None) as report:
        done = pack_images(
            args.images,
            args.record,
            root=args.root,
            pack_label=args.pack_label,
            shuffle=args.shuffle,
            jobs=args.jobs,
            progress=report,
            failed=_say_failed,
        )
    if done.repeated:
        say(
            f"{done.path}: warning: {count(done.repeated, 'record')} with the number of a record "
            f"before them, such as {done.repeated_number}; by such a key, readers find only one of "
            "them",
            "recordio",
        )
    if not args.quiet:
        say(f"{args.images}: {words(done)}", "recordio")
    return FAILED if done.failed else DONE


def _wrong_option(args: argparse.Namespace) -> str | None:
    if os.path.isdir(args.images):
        if args.root is not None:
            return f"{args.images}: --root is for a list, and this is a folder"
    elif args.shuffle:
        return f"{args.images}: --shuffle is for a folder; a list is packed in its order"
    return None


def _say_failed(failure: FailedImage) -> None:
    with above_bar():
        say(f"{describe(failure.error)}; left out", "recordio")


def words(done: PackSummary) -> str:
    """Return what to say at the end.

    >>> from rec2idx import PackSummary
    >>> done = PackSummary(
    ...     records=2, bytes_written=96, failed=1, empty=0, unrecognised=0, labels_left_out=0,
    ...     repeated=0, repeated_number=None, folders=("cats", "dogs"), others=3, seconds=0.5,
    ...     path="new.rec", index="new.idx", list="new.lst", index_replaced=False,
    ... )
    >>> print(words(done))
    2 records packed, 2 labels, 0.5 s; 1 picture left out; 3 other files passed over; \
96 bytes written to new.rec, with the index new.idx and the list new.lst; check it with: \
recordio check --full new.rec new.idx
    """
    parts = [f"{count(done.records, 'record')} packed"]
    if done.folders:
        parts.append(count(len(done.folders), "label"))
    parts.append(f"{done.seconds:.3g} s")
    files = f"the index {done.index}{' (replaced)' if done.index_replaced else ''}"
    if done.list is not None:
        files += f" and the list {done.list}"
    written = f"{count(done.bytes_written, 'byte')} written to {done.path}, with {files}"
    advice = how_to_check(done.path, done.index, "--full")
    return "; ".join([", ".join(parts), *_remarks(done), written]) + advice


def _remarks(done: PackSummary) -> Iterator[str]:
    if done.failed:
        yield f"{count(done.failed, 'picture')} left out"
    if done.empty:
        yield f"{count(done.empty, 'record')} without an image: the file is empty"
    if done.unrecognised:
        yield f"{count(done.unrecognised, 'record')} with an image of no known kind"
    if done.labels_left_out:
        yield (
            f"of {count(done.labels_left_out, 'record')} only the first of several labels "
            "(--pack-label packs all)"
        )
    if done.others:
        yield f"{count(done.others, 'other file')} passed over"
