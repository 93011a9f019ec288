"""Which storage serves a URL, through fsspec, and how it is set up.

fsspec and what it needs for a protocol are imported by the functions that use them, so that local
files do not wait for them.
"""

from __future__ import annotations

import functools
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

from .errors import CredentialsError, RemoteError
from .faults import TRIES, attempt, missing_extra

HTTP = frozenset({"http", "https"})
S3 = frozenset({"s3", "s3a"})

CONNECT_TIMEOUT = 15  # seconds
READ_TIMEOUT = 60  # seconds without a byte
CONNECTIONS = 64  # at once; S3's own limit is 10


def find(url: str) -> tuple[Any, str, dict[str, Any]]:
    """Return the file system, the name there, and what it says; as nobody if that is needed."""
    system, name = attempt(lambda: connect(url), url)
    try:
        return system, name, attempt(lambda: facts_of(system, name), url, tries(system))
    except CredentialsError as error:
        if not protocols_of(system) & S3:
            raise
        missing = error
    # Outside of the handler, so that what comes now has no cause in what came before.
    anonymous, name = attempt(lambda: connect(url, anonymous=True), url)
    try:
        return anonymous, name, attempt(lambda: facts_of(anonymous, name), url, tries(anonymous))
    except RemoteError:
        raise missing from None


def connect(url: str, anonymous: bool = False) -> tuple[Any, str]:
    """Return the file system for a URL, and the name of the object there."""
    try:
        import fsspec
    except ImportError as error:
        raise missing_extra(error, url) from error
    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(url, **_options(url, anonymous)))
    except (ValueError, TypeError, AttributeError) as error:  # some protocols need more than a URL
        known = url.partition("://")[0]
        if "rotocol not known" not in str(error):
            raise RemoteError(f"not a URL that can be used: {error}", path=url) from error
        raise RemoteError(
            f"the protocol {known!r} is not known",
            path=url,
            advice="known are those of fsspec, such as s3, gs, http, https, hdfs, file",
        ) from error


def _options(url: str, anonymous: bool) -> dict[str, dict[str, Any]]:
    """Return the options of each protocol in a URL, beside those that the user set for fsspec."""
    protocols = {part.partition("://")[0] for part in url.split("::")}
    options: dict[str, dict[str, Any]] = {}
    for protocol in protocols & HTTP:
        options[protocol] = {"client_kwargs": _client(protocol)}
    for protocol in protocols & S3:
        user = _set_by_user(protocol).get("config_kwargs", {})
        options[protocol] = {"config_kwargs": {"max_pool_connections": CONNECTIONS, **user}}
        if anonymous:
            options[protocol]["anon"] = True
    return options


def _set_by_user(protocol: str) -> dict[str, Any]:
    """Return what fsspec's configuration says of a protocol; an option given hides it."""
    from fsspec.config import conf

    return cast("dict[str, Any]", conf.get(protocol, {}))


def _client(protocol: str) -> dict[str, Any]:
    """Return how aiohttp is to be used: no limit to the time that a long answer takes."""
    import aiohttp

    user = _set_by_user(protocol).get("client_kwargs", {})
    return {
        "trust_env": True,  # proxies
        "timeout": aiohttp.ClientTimeout(
            total=None, sock_connect=CONNECT_TIMEOUT, sock_read=READ_TIMEOUT
        ),
        **user,
        "headers": {"Accept-Encoding": "identity", **user.get("headers", {})},
        "trace_configs": [_tracing(), *user.get("trace_configs", [])],
    }


@functools.lru_cache(maxsize=1)
def _tracing() -> Any:
    """Return what has each answer checked before its body is read; see `RemoteFile._check`."""
    import aiohttp

    async def check(session: Any, context: Any, params: Any) -> None:
        if context.trace_request_ctx is not None:
            try:
                context.trace_request_ctx(params.response.status, params.response.headers)
            except BaseException:
                params.response.close()
                raise

    config = aiohttp.TraceConfig()
    config.on_request_end.append(check)
    return config


def facts_of(system: Any, name: str) -> dict[str, Any]:
    """Return what the storage says of an object now, not what it said before."""
    system.invalidate_cache(name)
    return cast("dict[str, Any]", system.info(name))


# What storages call the time of the last change.
_TIMES = (
    "LastModified", "Last-Modified", "last_modified", "updated", "mtime", "modificationTime",
    "modified", "created",
)  # fmt: skip


def modified(info: dict[str, Any]) -> int | None:
    """Return when an object was last changed, in nanoseconds since 1970; None if not known.

    >>> modified({"LastModified": "Thu, 01 Jan 1970 00:00:02 GMT"}), modified({"size": 5})
    (2000000000, None)
    """
    for key in _TIMES:
        if info.get(key):
            seconds = _seconds(info[key])
            return None if seconds is None else round(seconds * 1e9)
    return None


def _seconds(moment: Any) -> float | None:
    """Return a time, in whatever form a storage gives it, as seconds since 1970."""
    if isinstance(moment, (int, float)):
        return moment
    if isinstance(moment, str):
        for parse in (parsedate_to_datetime, _parse_iso):
            try:
                return parse(moment).timestamp()
            except ValueError:
                pass
        return None
    return moment.timestamp() if isinstance(moment, datetime) else None


def _parse_iso(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # as Python 3.10 wants it


def pinned(system: Any, info: dict[str, Any]) -> Any:
    """Return the file system for reading this version of an object, where there is such a thing."""
    if not protocols_of(system) & S3 or not info.get("ETag"):
        return system
    options = {**system.storage_options, "session": system.session, "skip_instance_cache": True}
    more = {**(options.get("s3_additional_kwargs") or {}), "IfMatch": info["ETag"]}
    return type(system)(**{**options, "s3_additional_kwargs": more})


def tries(system: Any) -> int:
    """Return how often to try: once where the package tries again by itself, and says so."""
    return 1 if getattr(system, "retries", 0) else TRIES


def protocols_of(system: Any) -> frozenset[str]:
    """Return the names under which a file system is known."""
    protocol = getattr(system, "protocol", ())
    return frozenset([protocol] if isinstance(protocol, str) else protocol)
