"""Index MXNet RecordIO files (.rec), as DALI's and MXNet's ``rec2idx`` does, without MXNet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .cli import main, parse_args
from .creator import IndexCreator
from .damage import DamagedRegion
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
from .index import IndexSummary, create_index
from .progress import Progress
from .scan import scan
from .segments import Batch
from .select import KeepKeys
from .sequential import MXRecordIO

if TYPE_CHECKING:
    from .causes import Cause
    from .checks.check import Check, check
    from .combine import CombinedFile, CombinedSummary, combine_index
    from .contents import Ids, Info, InsightFace, Picture, Sizes, info
    from .datasets.dataset import RecordDataset
    from .extraction.extracting import ExtractSummary, extract
    from .find import RepeatedFile, SkippedFile
    from .findings import Finding, Place
    from .fresh import ensure_index
    from .image_record import IRHeader
    from .indexed import MXIndexedRecordIO
    from .many import FileResult, ManySummary, create_indexes
    from .packing.pack_list import FailedImage
    from .packing.packing import PackSummary, pack_images
    from .record_listing import ListedRecord, list_records
    from .salvaging import SalvageSummary, salvage
    from .streaming import read_records, write_records

# Imported when they are asked for: a run over one small file takes less time than that.
_LATER = {
    "Cause": "causes",
    "Check": "checks.check",
    "check": "checks.check",
    "Finding": "findings",
    "Place": "findings",
    "CombinedFile": "combine",
    "CombinedSummary": "combine",
    "FailedImage": "packing.pack_list",
    "FileResult": "many",
    "ManySummary": "many",
    "RepeatedFile": "find",
    "SkippedFile": "find",
    "combine_index": "combine",
    "create_indexes": "many",
    "ensure_index": "fresh",
    "ExtractSummary": "extraction.extracting",
    "extract": "extraction.extracting",
    "MXIndexedRecordIO": "indexed",
    "Ids": "contents",
    "Info": "contents",
    "InsightFace": "contents",
    "Picture": "contents",
    "Sizes": "contents",
    "info": "contents",
    "IRHeader": "image_record",
    "RecordDataset": "datasets.dataset",
    "PackSummary": "packing.packing",
    "pack_images": "packing.packing",
    "ListedRecord": "record_listing",
    "list_records": "record_listing",
    "SalvageSummary": "salvaging",
    "salvage": "salvaging",
    "read_records": "streaming",
    "write_records": "streaming",
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


_MODULES = ("mx", "recordio")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)
