"""Index MXNet RecordIO files (.rec), as DALI's and MXNet's ``rec2idx`` does, without MXNet."""

from ._version import __version__
from .cli import main, parse_args
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
from .index import IndexSummary, create_index
from .progress import Progress
from .recordio import MXRecordIO
from .scan import scan
from .segments import Batch

__all__ = [
    "Batch",
    "DamagedRecordError",
    "EmptyFileError",
    "FileChangedError",
    "IndexCreator",
    "IndexSummary",
    "MXRecordIO",
    "NotRecordIOError",
    "Progress",
    "RecordIOError",
    "TruncatedError",
    "UnsafeTargetError",
    "WorkerError",
    "__version__",
    "create_index",
    "main",
    "parse_args",
    "scan",
]
