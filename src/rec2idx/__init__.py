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
)
from .index import IndexSummary, create_index
from .progress import Progress
from .recordio import MXRecordIO

__all__ = [
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
    "__version__",
    "create_index",
    "main",
    "parse_args",
]
