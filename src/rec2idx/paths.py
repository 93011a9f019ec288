"""What a path stands for: a file on this machine, or an object behind a URL."""

from __future__ import annotations

import os
import re

StrPath = str | bytes | os.PathLike[str]

_FILE_URL = re.compile(r"(?:file|local):(?://(?:localhost(?=/))?|(?=/))(.*)", re.I | re.S)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[A-Za-z][A-Za-z0-9+.-]*)*://")


def as_path(path: StrPath) -> str:
    """Return a path or URL as text; of a ``file:`` URL, the local path that it stands for.

    Everything that a caller names goes through here first, so that a local file is treated as one
    however it is written. ``local:`` is another word of fsspec's for ``file:``.

    >>> as_path("data/a.rec"), as_path(b"/data/a.rec"), as_path("s3://bucket/a%20b.rec")
    ('data/a.rec', '/data/a.rec', 's3://bucket/a%20b.rec')
    >>> as_path("file:///data/a%20b.rec"), as_path("file:/a.rec"), as_path("file://./a.rec")
    ('/data/a b.rec', '/a.rec', './a.rec')
    """
    text = os.fsdecode(path)
    match = _FILE_URL.fullmatch(text)
    if match is None:
        return text
    if "%" not in match[1]:
        return match[1]
    from urllib.parse import unquote_to_bytes  # slow to import, and rarely needed

    plain = unquote_to_bytes(os.fsencode(match[1]))
    return match[1] if b"\0" in plain else os.fsdecode(plain)


def is_url(path: str) -> bool:
    """Return whether `path` is a URL, or several joined as fsspec does.

    >>> is_url("s3://bucket/a.rec"), is_url("simplecache::gs://bucket/a.rec"), is_url("/data/a.rec")
    (True, True, False)
    """
    return _URL.match(path) is not None
