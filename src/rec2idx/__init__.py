"""Index MXNet RecordIO files (.rec), as DALI's and MXNet's ``rec2idx`` does, without MXNet."""

from ._version import __version__
from .cli import main, parse_args
from .combine import CombinedFile, CombinedSummary, combine_index
from .creator import IndexCreator
from .errors import (
    DamagedRecordError,
    EmptyFileError,
    FileChangedError,
    NotRecordIOError,
    RecordIOError,
    TruncatedError,
    UnsafeTargetError,
    WorkerError,
)
from .fresh import ensure_index
from .index import IndexSummary, create_index
from .many import FileResult, ManySummary, RepeatedFile, SkippedFile, create_indexes
from .progress import Progress
from .recordio import MXRecordIO
from .scan import scan
from .segments import Batch

__all__ = [
    "Batch",
    "CombinedFile",
    "CombinedSummary",
    "DamagedRecordError",
    "EmptyFileError",
    "FileChangedError",
    "FileResult",
    "IndexCreator",
    "IndexSummary",
    "MXRecordIO",
    "ManySummary",
    "NotRecordIOError",
    "Progress",
    "RecordIOError",
    "RepeatedFile",
    "SkippedFile",
    "TruncatedError",
    "UnsafeTargetError",
    "WorkerError",
    "__version__",
    "combine_index",
    "create_index",
    "create_indexes",
    "ensure_index",
    "main",
    "parse_args",
    "scan",
]
