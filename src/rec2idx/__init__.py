"""Index MXNet RecordIO files (.rec), as DALI's and MXNet's ``rec2idx`` does, without MXNet."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .cli import main, parse_args
from .creator import IndexCreator
from .errors import (
    DamagedRecordError,
    EmptyFileError,
    FileChangedError,
    KeysError,
    NoImageError,
    NotRecordIOError,
    RecordIOError,
    TruncatedError,
    UnsafeTargetError,
    WorkerError,
)
from .index import IndexSummary, create_index
from .progress import Progress
from .recordio import MXRecordIO
from .scan import scan
from .segments import Batch
from .select import KeepKeys

if TYPE_CHECKING:
    from .combine import CombinedFile, CombinedSummary, combine_index
    from .contents import Ids, Info, InsightFace, Picture, Sizes, info
    from .find import RepeatedFile, SkippedFile
    from .fresh import ensure_index
    from .many import FileResult, ManySummary, create_indexes

# Imported when they are asked for: a run over one small file takes less time than that.
_LATER = {
    "CombinedFile": "combine",
    "CombinedSummary": "combine",
    "FileResult": "many",
    "ManySummary": "many",
    "RepeatedFile": "find",
    "SkippedFile": "find",
    "combine_index": "combine",
    "create_indexes": "many",
    "ensure_index": "fresh",
    "Ids": "contents",
    "Info": "contents",
    "InsightFace": "contents",
    "Picture": "contents",
    "Sizes": "contents",
    "info": "contents",
}

__all__ = [
    "Batch",
    "CombinedFile",
    "CombinedSummary",
    "DamagedRecordError",
    "EmptyFileError",
    "FileChangedError",
    "FileResult",
    "Ids",
    "IndexCreator",
    "IndexSummary",
    "Info",
    "InsightFace",
    "KeepKeys",
    "KeysError",
    "MXRecordIO",
    "ManySummary",
    "NoImageError",
    "NotRecordIOError",
    "Picture",
    "Progress",
    "RecordIOError",
    "RepeatedFile",
    "Sizes",
    "SkippedFile",
    "TruncatedError",
    "UnsafeTargetError",
    "WorkerError",
    "__version__",
    "combine_index",
    "create_index",
    "create_indexes",
    "ensure_index",
    "info",
    "main",
    "parse_args",
    "scan",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_LATER[name]}", __name__), name)
