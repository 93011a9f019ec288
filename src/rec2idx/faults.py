"""What goes wrong between here and a server: which of it passes, and what to say about the rest.

Each storage package has exceptions of its own, often the cause of one that says less. They are
known by the names of their classes here, so that none of those packages needs to be imported.
"""

from __future__ import annotations

import errno
import functools
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from .errors import (
    CredentialsError,
    FileChangedError,
    MissingExtraError,
    RecordIOError,
    RemoteError,
)
from .redaction import redacted, redacted_error, secrets_of

T = TypeVar("T")
Hide = Callable[[str], str]  # takes secrets out of what others say

TRIES = 5
FIRST_DELAY = 0.25  # seconds; doubles with each try
LONGEST_DELAY = 8.0
LONGEST_TEXT = 300  # characters of what others say; it may quote what a server sent

INSTALL = "pip install 'rec2idx[remote]'"
NO_BUCKET = "the bucket does not exist"

_NO_CREDENTIALS = {
    "NoCredentialsError",
    "PartialCredentialsError",
    "CredentialRetrievalError",
    "ProfileNotFound",
    "TokenRetrievalError",
    "SSOTokenLoadError",
    "UnauthorizedSSOTokenError",
    "DefaultCredentialsError",
}
_REFUSED_CREDENTIALS = {
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
}
_WRONG_REGION = {
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "PermanentRedirect",
    "Redirect",
    "TemporaryRedirect",
}
_UNKNOWN_NAME = {"gaierror", "ClientConnectorDNSError"}
_CERTIFICATE = {"ClientSSLError", "ClientConnectorCertificateError", "SSLError"}
_NO_ANSWER = {"TimeoutError", "ServerTimeoutError", "ConnectTimeoutError", "ReadTimeoutError"}
_NO_CONNECTION = {"ConnectionRefusedError", "ClientConnectorError", "EndpointConnectionError"}
_SENT_AROUND = {"RecursionError", "TooManyRedirects"}
_BROKEN = {
    "ClientConnectionError",
    "ClientPayloadError",
    "ConnectionClosedError",
    "ConnectionError",
    "HTTPClientError",
    "HttpProcessingError",
    "IncompleteRead",
    "ResponseStreamingError",
}
_LASTING = _UNKNOWN_NAME | _CERTIFICATE | _SENT_AROUND  # faults that no next try does better with
# All else they raise; a ValueError is about the URL.
_STORAGE = {"BotoCoreError", "ClientError", "HttpError", "AzureError", "ValueError"}


class Fault(NamedTuple):
    """An error to raise, and whether the next try may do better."""

    error: Exception
    passes: bool = False


def attempt(call: Callable[[], T], url: str, tries: int = TRIES) -> T:
    """Return what `call` returns; try again, later and later, while what it raises may pass.

    A loop of its own is shorter than the set-up of a package that has one.

    Args:
        call: what to do; it must bear being done twice.
        url: what to call the object in messages, where its secrets are hidden.
        tries: how often to try at most; 1 where the storage package tries again by itself.

    Raises:
        FileNotFoundError: there is no such object.
        FileChangedError: it is no longer the object that was opened.
        RemoteError: anything else that a network or a server can do.
    """
    for number in range(1, tries + 1):
        try:
            return call()
        except Exception as error:
            caught = error
        # Outside of the handler: what is raised here would have what was caught as its context,
        # and that may quote the URL with its secrets.
        fault = explain(caught, url)
        if not fault.passes or number == tries:
            cause = redacted_error(caught, secrets_of(url))
            if fault.error is not caught:
                raise fault.error from cause
            if cause is not caught:
                raise RemoteError(str(cause), path=url) from cause
            raise caught
        # Jitter, so that many workers do not come back at the same moment.
        time.sleep(min(FIRST_DELAY * 2 ** (number - 1), LONGEST_DELAY) * random.uniform(0.5, 1.5))
    raise AssertionError("unreachable")


def explain(error: Exception, url: str) -> Fault:
    """Return what to raise in place of `error`: itself, where no network had a part in it."""
    hide = functools.partial(redacted, secrets=secrets_of(url))
    url = redacted(url)
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, RecordIOError):
            return Fault(cause)
    names = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
    if names & _NO_CREDENTIALS:
        return Fault(_no_credentials(url))
    status, code = _answer(causes)
    # aiohttp gives an answer that breaks off a status of its own.
    if (status or code) and "HttpProcessingError" not in names:
        return _explain_answer(status, code, _text(error, hide), url)
    return _explain_silence(error, names, hide, url)


def _explain_answer(status: int, code: str, text: str, url: str) -> Fault:
    """Return what to raise where a server answered, but not with what was asked for."""
    if status == 412:
        return Fault(changed(url))
    if code in _WRONG_REGION or status in (301, 307, 308):
        return Fault(
            RemoteError(
                f"the bucket is in another region ({text})",
                path=url,
                advice="set AWS_DEFAULT_REGION to the region of the bucket, as AWS_REGION is not "
                "read, or `region` in the profile",
            )
        )
    if code in _REFUSED_CREDENTIALS:
        return Fault(
            CredentialsError(
                f"the credentials are refused ({text})",
                path=url,
                advice="renew them, or unset them if the object is public",
            )
        )
    if status in (401, 403):
        return Fault(_denied(text, url))
    if code == "NoSuchBucket":
        return Fault(FileNotFoundError(errno.ENOENT, NO_BUCKET, url))
    if status in (404, 410):
        return Fault(_missing(url))
    what = f"the server answers {' '.join(filter(None, (str(status or ''), code)))}: {text}"
    if status == 429 or status >= 500:
        return Fault(RemoteError(what, path=url, advice="run again later"), passes=True)
    return Fault(RemoteError(what, path=url))


def _explain_silence(error: Exception, names: set[str], hide: Hide, url: str) -> Fault:
    """Return what to raise where there was no answer, or one that broke off."""
    if names & _UNKNOWN_NAME:
        what, advice = "the server's name is not known", "check the URL, and the network"
    elif names & _CERTIFICATE:
        what, advice = "the server's certificate is not trusted", "check the URL"
    elif names & _NO_CONNECTION:
        what, advice = "the server cannot be reached", "check the URL, the network, and the proxy"
    elif names & _NO_ANSWER:
        what, advice = "the server does not answer in time", "run again later"
    elif names & _SENT_AROUND:
        what = "the server sends from one place to the next without end"
        advice = "check the URL; for S3, set AWS_DEFAULT_REGION to the region of the bucket"
    elif names & _BROKEN:
        what, advice = "the connection broke again and again", "run again later"
    elif isinstance(error, FileNotFoundError):
        return Fault(_missing(url))
    elif isinstance(error, ImportError):
        return Fault(missing_extra(hide(str(error)), url))
    elif isinstance(error, PermissionError) and not error.errno:
        return Fault(_denied(hide(str(error)), url))
    elif names & _STORAGE:
        return Fault(RemoteError(f"{type(error).__name__}: {hide(str(error))}", path=url))
    elif isinstance(error, OSError):
        what = hide(error.strerror or str(error))
        return Fault(OSError(error.errno or errno.EIO, what, url))
    else:
        return Fault(error)
    # The URL of an endpoint may stand in the text, which the variables of the environment set.
    error = RemoteError(f"{what} ({_text(error, hide)})", path=url, advice=advice)
    return Fault(error, passes=not names & _LASTING)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it, the nearest first."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _answer(causes: list[BaseException]) -> tuple[int, str]:
    """Return the HTTP status and the storage's own code that stand in the errors; 0, "" if none."""
    for cause in causes:
        response: Any = getattr(cause, "response", None)
        if isinstance(response, dict):  # botocore
            code = str(response.get("Error", {}).get("Code", ""))
            status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            return int(code) if code.isdecimal() else status, "" if code.isdecimal() else code
        for holder in (cause, response):  # aiohttp, Azure; gcsfs; requests
            for name in ("status", "status_code", "code"):
                found = getattr(holder, name, None)
                if isinstance(found, (int, str)) and str(found).isdecimal() and int(found) >= 300:
                    return int(found), ""
    return 0, ""


def status_of(error: Exception) -> int:
    """Return the HTTP status that led to an error; 0 if there was none."""
    return _answer(list(_causes(error)))[0]


def _text(error: Exception, hide: Hide) -> str:
    """Return what an error says, in one line; its cause, where it says no more than the URL."""
    if isinstance(error, FileNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    text = " ".join(hide(str(error)).split()) or type(error).__name__
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _missing(url: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)


def _denied(text: str, url: str) -> RemoteError:
    return RemoteError(
        f"access is denied ({text})",
        path=url,
        advice="it may be private to others, or missing where you may not list what is there",
    )


def _no_credentials(url: str) -> CredentialsError:
    if url.rpartition("::")[2].startswith(("gs:", "gcs:")):
        advice = "set GOOGLE_APPLICATION_CREDENTIALS, or run: gcloud auth application-default login"
    else:
        advice = (
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; "
            "public objects need none of them"
        )
    return CredentialsError("no credentials were found", path=url, advice=advice)


def missing_extra(error: ImportError | str, url: str) -> MissingExtraError:
    """Return the error that names the extra to install."""
    return MissingExtraError(
        f"a package for this kind of URL is not installed ({error})",
        path=url,
        advice=f"run: {INSTALL}, or install the package that is named",
    )


def changed(url: str, expected: str | None = None, found: str | None = None) -> FileChangedError:
    """Return the error that says that an object is not the one it was."""
    return FileChangedError(
        "the object changed while it was read",
        path=url,
        expected=expected,
        found=found,
        advice="run again when nothing writes to it",
    )
