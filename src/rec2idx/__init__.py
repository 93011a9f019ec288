"""Index MXNet RecordIO files (.rec), as DALI's and MXNet's ``rec2idx`` does, without MXNet."""

# Nothing is imported here: each name is when it is asked for. So a command sees to signals before
# anything else is loaded, and a run over one small file waits for nothing that it does not use.
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from ._version import __version__
    from .causes import Cause
    from .checks.check import Check, check
    from .cli.arguments import parse_args
    from .combine import CombinedFile, CombinedSummary, combine_index
    from .contents import Ids, Info, InsightFace, Picture, Sizes, info
    from .creator import IndexCreator
    from .damage import DamagedRegion
    from .datasets.dataset import RecordDataset
    from .errors import (
        BadIndexError,
        BadListError,
        DamagedRecordError,
        EmptyFileError,
        FileChangedError,
        KeysError,
        LabelsError,
        MissingExtraError,
        MissingIndexError,
        MissingKeyError,
        NoImageError,
        NotRecordIOError,
        OtherProcessError,
        PayloadError,
        RecordIOError,
        TruncatedError,
        UnsafeTargetError,
        WorkerError,
        WrongFlagError,
    )
    from .extraction.extracting import ExtractSummary, extract
    from .find import RepeatedFile, SkippedFile
    from .findings import Finding, Place
    from .fresh import ensure_index
    from .image_record import IRHeader
    from .index import IndexSummary, create_index
    from .indexed import MXIndexedRecordIO
    from .many import FileResult, ManySummary, create_indexes
    from .packing.pack_list import FailedImage
    from .packing.packing import PackSummary, pack_images
    from .progress import Progress
    from .record_listing import ListedRecord, list_records
    from .salvaging import SalvageSummary, salvage
    from .scan import scan
    from .segments import Batch
    from .select import KeepKeys
    from .sequential import MXRecordIO
    from .streaming import read_records, write_records

else:
    ModuleType = type(sys)

_MODULES = ("mx", "recordio")
_WHERE = {
    "__version__": "_version",
    "BadIndexError": "errors",
    "BadListError": "errors",
    "Batch": "segments",
    "Cause": "causes",
    "Check": "checks.check",
    "check": "checks.check",
    "combine_index": "combine",
    "CombinedFile": "combine",
    "CombinedSummary": "combine",
    "create_index": "index",
    "create_indexes": "many",
    "DamagedRecordError": "errors",
    "DamagedRegion": "damage",
    "EmptyFileError": "errors",
    "ensure_index": "fresh",
    "extract": "extraction.extracting",
    "ExtractSummary": "extraction.extracting",
    "FailedImage": "packing.pack_list",
    "FileChangedError": "errors",
    "FileResult": "many",
    "Finding": "findings",
    "Ids": "contents",
    "IndexCreator": "creator",
    "IndexSummary": "index",
    "Info": "contents",
    "info": "contents",
    "InsightFace": "contents",
    "IRHeader": "image_record",
    "KeepKeys": "select",
    "KeysError": "errors",
    "LabelsError": "errors",
    "list_records": "record_listing",
    "ListedRecord": "record_listing",
    "ManySummary": "many",
    "MissingExtraError": "errors",
    "MissingIndexError": "errors",
    "MissingKeyError": "errors",
    "MXIndexedRecordIO": "indexed",
    "MXRecordIO": "sequential",
    "NoImageError": "errors",
    "NotRecordIOError": "errors",
    "OtherProcessError": "errors",
    "pack_images": "packing.packing",
    "PackSummary": "packing.packing",
    "parse_args": "cli.command",  # and all that the command needs
    "PayloadError": "errors",
    "Picture": "contents",
    "Place": "findings",
    "Progress": "progress",
    "read_records": "streaming",
    "RecordDataset": "datasets.dataset",
    "RecordIOError": "errors",
    "RepeatedFile": "find",
    "salvage": "salvaging",
    "SalvageSummary": "salvaging",
    "scan": "scan",
    "Sizes": "contents",
    "SkippedFile": "find",
    "TruncatedError": "errors",
    "UnsafeTargetError": "errors",
    "WorkerError": "errors",
    "write_records": "streaming",
    "WrongFlagError": "errors",
}

__all__ = [
    "BadIndexError",
    "BadListError",
    "Batch",
    "Cause",
    "Check",
    "CombinedFile",
    "CombinedSummary",
    "DamagedRecordError",
    "DamagedRegion",
    "EmptyFileError",
    "ExtractSummary",
    "FailedImage",
    "FileChangedError",
    "FileResult",
    "Finding",
    "IRHeader",
    "Ids",
    "IndexCreator",
    "IndexSummary",
    "Info",
    "InsightFace",
    "KeepKeys",
    "KeysError",
    "ListedRecord",
    "LabelsError",
    "MXIndexedRecordIO",
    "MXRecordIO",
    "ManySummary",
    "MissingExtraError",
    "MissingIndexError",
    "MissingKeyError",
    "NoImageError",
    "NotRecordIOError",
    "OtherProcessError",
    "PackSummary",
    "Picture",
    "PayloadError",
    "Place",
    "Progress",
    "RecordDataset",
    "RecordIOError",
    "RepeatedFile",
    "SalvageSummary",
    "Sizes",
    "SkippedFile",
    "TruncatedError",
    "UnsafeTargetError",
    "WorkerError",
    "WrongFlagError",
    "__version__",
    "check",
    "combine_index",
    "create_index",
    "create_indexes",
    "ensure_index",
    "extract",
    "info",
    "list_records",
    "main",
    "pack_images",
    "parse_args",
    "read_records",
    "salvage",
    "scan",
    "write_records",
]


def main() -> int:
    """Run the command ``rec2idx`` with the arguments of the process; return its exit status.

    Raises:
        SystemExit: a signal ended the run (130): a script that goes on after `main` ends, too.
    """
    return _run("rec2idx")


def _rec2idx() -> int:
    """Run the command ``rec2idx`` as the last thing that this process does."""
    return _run("rec2idx", last=True)


def _recordio() -> int:
    """Run the command ``recordio`` as the last thing that this process does."""
    return _run("recordio", last=True)


def _run(program: str, last: bool = False) -> int:
    import _signal  # type: ignore[import-not-found] # always loaded; `signal` takes a while

    try:
        # Signals wait until there is something to handle them.
        waiting = (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP)
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, waiting)
        from .cli.interrupts import run

        return run(program, mask, last)
    except KeyboardInterrupt:  # came before that
        raise SystemExit(130) from None


class _Package(ModuleType):
    """The package. A module of it does not take the place of a function of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _WHERE and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_WHERE[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


sys.modules[__name__].__class__ = _Package
