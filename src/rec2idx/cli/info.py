"""The command ``recordio info``: what is in a file, in words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..dialects import IMAGE_RECORDS
from ..errors import RecordIOError
from ..paths import as_path
from .arguments import add_workers
from .messages import count, describe, say
from .progress import progress_report
from .run import DONE, FAILED, executor, until_reader_leaves
from .standard import bar, stdin, tell

if TYPE_CHECKING:
    from ..contents import Info


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.set_defaults(run=run, answers=True)
    parser.add_argument(
        "records",
        metavar="REC",
        nargs="+",
        type=as_path,
        help="a RecordIO file; - is standard input",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line for each file")
    add_workers(parser, "parts of a file to walk at once")
    parser.add_argument("-q", "--quiet", action="store_true", help="show no bar")


def run(args: argparse.Namespace) -> int:
    """Say what is in each of the files; return the exit status."""
    from ..contents import info  # takes longer to import than other commands to start

    status = DONE
    with until_reader_leaves(), executor(args) as workers:
        for path in args.records:
            try:
                with progress_report(bar(args), path, None) as report:
                    record = stdin() if path == "-" else path
                    found = info(record, jobs=args.jobs, executor=workers, progress=report)
            except (RecordIOError, OSError) as error:
                say(describe(error), "recordio")
                status = FAILED
            else:
                _show(args, found)
    return status


def _show(args: argparse.Namespace, found: Info) -> None:
    if args.json:
        tell(json.dumps(found.as_dict()), data=True)
    else:
        tell(*lines_of(found))


def lines_of(found: Info) -> Iterator[str]:
    """Yield what to print about a file.

    >>> import rec2idx
    >>> next(lines_of(rec2idx.info("examples/sample.rec")))
    'examples/sample.rec: 58660 bytes'
    """
    yield f"{found.path}: {count(found.bytes, 'byte')}"
    of_images = found.payload == IMAGE_RECORDS  # of others, labels and ids mean nothing
    yield _line("records", f"{found.records} = {_sum(found)}" if of_images else str(found.records))
    yield _line("payloads", _payloads(found))
    sizes = found.sizes
    yield _line(
        "sizes",
        f"{sizes.min} to {count(sizes.max, 'byte')}, median {sizes.median}, mean {sizes.mean:.1f}, "
        f"{sizes.total} in all",
    )
    if not of_images:
        return
    if found.label_widths:
        yield _line("labels", _labels(found))
    if found.ids is not None:
        yield _line("ids", _ids(found))
    if found.kinds:
        yield _line("images", ", ".join(f"{n} {kind}" for kind, n in found.kinds.items()))
    if found.sample:
        yield _line("sample", ", ".join(_pictures(found)))
    if found.insightface is not None:
        yield _line("layout", _layout(found))


def _line(name: str, text: str) -> str:
    return f"  {name:<10}{text}"


def _payloads(found: Info) -> str:
    text = f"{found.payload}, {found.multi_part} of them in several parts"
    if found.unescaped:
        text += f"; of the first, {found.unescaped} with a magic that is not escaped"
    return text


def _sum(found: Info) -> str:
    """Return the kinds of records, which add up."""
    header = found.insightface is not None
    without = found.without_image - header
    parts = [
        (found.images, "image", ""),
        (int(header), "file header", ""),
        (without, "identity record" if header else "record", "" if header else " without an image"),
        (found.cut_labels, "record", " cut off inside its labels"),
        (found.without_header, "record", " shorter than an IRHeader"),
    ]
    return " + ".join(count(number, noun) + more for number, noun, more in parts if number)


def _labels(found: Info) -> str:
    widths = ", ".join(
        f"{width} in {count(number, 'record')}" for width, number in found.label_widths.items()
    )
    return f"{widths}; {found.labels} distinct where an image has one"


def _ids(found: Info) -> str:
    assert found.ids is not None
    ids = found.ids
    words = [
        "unique" if ids.unique else "not unique",
        "in order" if ids.in_order else "not in order",
        "the running numbers" if ids.running else "not the running numbers",
    ]
    return f"{ids.min} to {ids.max}: {', '.join(words)}"


def _pictures(found: Info) -> Iterator[str]:
    for picture in found.sample:
        size = f" {picture.width}x{picture.height}" if picture.width is not None else ""
        yield f"record {picture.record} {picture.kind}{size}"


def _layout(found: Info) -> str:
    layout = found.insightface
    assert layout is not None
    text = (
        f"InsightFace's; announces {count(layout.announced_images, 'image')} and "
        f"{count(layout.announced_identities, 'identity', 'identities')}"
    )
    if layout.complete:
        return f"{text}, which are there"
    return f"{text}; there are {layout.images} and {layout.identities} identity records"
