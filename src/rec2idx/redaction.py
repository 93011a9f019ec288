"""Text without the secrets of URLs: passwords, signatures, tokens and access keys.

Whatever quotes a URL for people goes through `redacted`: the errors of this package, the repr and
the JSON of what it returns, and, once more, all that the commands print. What opens a URL has it
as it is.

A secret is known by where it stands, so any text can be cleaned, also what other packages say.
Its place is taken by ``***``, and all else stays. ``docs/text.md`` says what counts as a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar, cast

from .escaping import printable

HIDDEN = "***"
SHORTEST = 4  # characters of a secret that is looked for wherever it stands

# Without any of these, in small letters, there is nothing to look for.
_MARKS = (
    "=", "@", "%", "akia", "asia", "authori", "credential", "key", "passw", "pwd", "secret",
    "session", "signature", "token", "accessid", "hmac",
)  # fmt: skip

# Names of parameters, headers and fields. The short ones mean other things, too, outside of URLs.
_NAME = (
    r"[\w.-]{0,64}(?:signature|credential|token|secret|passw(?:or)?d|passwd|pwd|api[-_]?key"
    r"|(?:access|account|private|shared)[-_]?key|accessid|key-?pair-?id|authori[sz]ation|hmac"
    r"|session[-_]?id)(?:[-_.]?(?:id|v?\d{1,2}))?s?"
)
_SHORT_NAME = (
    r"key|rlkey|code|pass|passphrase|pw|auth|oauth|bearer|session|sas|sign|jwt|ticket|md5|policy"
    r"|hdnts|hdnea|ak|sk"
)

# The value goes on to what ends it in a URL, or ends a URL in a text.
_PARAMETER = rf"((?:(?:^|[^\w.%/-])(?:{_NAME}|sig)|[?&;](?:{_SHORT_NAME}))=['\"]?)([^&#\s'\"<>]+)"
_QUOTED = rf"((?<![\w.-])(['\"]?)(?:{_NAME})\2\s*[:=]\s*b?(['\"]))((?:(?!\3).)+)"
_ELEMENT = rf"(<(?:{_NAME})>)([^<]+)"
_HEADER = r"(\bauthori[sz]ation['\"]?\s*[:=]\s*['\"]?(?:[a-z]+ )?)([^\s'\",]+)"
_ACCESS_KEY = r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"

# After `user:` comes a password if an @ follows in the host's part. A password may also hold what
# would have to be escaped: then it is none if it could be a port.
_USER = r"(://)([^/?#\s:@\[\]'\"]*)"
_NO_PORT = r"(?!\d*(?:[/?#\s'\")]|$))"
_PASSWORD = rf"(:(?!:)(?:[^/?#\s]*@|{_NO_PORT}(?:(?!::)\S){{,256}}@|{_NO_PORT}[^/?#@\n]{{,256}}@))"
_USERINFO = rf"{_USER}{_PASSWORD}"
_LONE_TOKEN = r"(https?://)[^/?#\s:@'\"]+(?=@)"  # what a server of web pages takes for a user

_ENDS = ":;.,)]}"  # of a sentence, not of a value
_LEVELS = 8  # of escapes in escapes

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)


class WithoutSecretsError(Exception):
    """Stands for an error of another package whose text, or what it holds, has secrets in it."""


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text with ``***`` in place of each secret of a URL in it.

    Args:
        text: the text.
        secrets: those of a URL that it may be about, wherever they stand in it.

    >>> redacted("https://host/train.rec?X-Amz-Expires=60&X-Amz-Signature=0b5c: not found")
    'https://host/train.rec?X-Amz-Expires=60&X-Amz-Signature=***: not found'
    >>> redacted("simplecache::https://me:pw@host/a.rec")
    'simplecache::https://me:***@host/a.rec'
    """
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    small = text.lower()
    if not any(mark in small for mark in _MARKS):
        return text
    text = _plainly(text)
    if "%" in text:
        text = re.sub(r"\S+", lambda run: _unescaped(run[0]), text)
    return text


def secrets_of(url: str) -> list[str]:
    """Return the secrets of a URL, as they stand in it and unescaped, the longest first.

    Those that are so short that they stand in any text are not among them, but a password has its
    marks around it then.

    >>> secrets_of("https://me:pass%41@host/a.rec?sig=word"), secrets_of("s3://me:pw@bucket/a.rec")
    (['pass%41', 'passA', 'word'], [':pw@'])
    """
    from urllib.parse import unquote, unquote_plus

    shown = redacted(url)
    if shown == url:
        return []
    # What stands between what stays; where escapes were undone to find it, in that form.
    kept = [re.escape(part) for part in shown.split(HIDDEN)]
    found: set[str] = set()
    for form in (url, unquote(url), unquote(unquote(url))):
        if match := re.fullmatch("(.*)".join(kept), form, re.DOTALL):
            for number, secret in enumerate(match.groups(), 1):
                plain = {secret, unquote(secret), unquote_plus(secret)}
                found |= {one for one in plain if len(one) >= SHORTEST}
                around = form[match.start(number) - 1 : match.end(number) + 1]
                if 0 < len(secret) < SHORTEST and around == f":{secret}@":
                    found.add(around)
    return sorted(found, key=lambda s: (-len(s), s))


def _plainly(text: str) -> str:
    """Replace secrets in URLs that are not escaped."""
    if "@" in text:
        text = re.sub(_USERINFO, _without_password, text)
        text = re.sub(_LONE_TOKEN, rf"\1{HIDDEN}", text, flags=re.IGNORECASE)
    if "=" in text:
        text = re.sub(_PARAMETER, _without_value, text, flags=re.IGNORECASE)
    text = re.sub(_QUOTED, rf"\1{HIDDEN}", text, flags=re.IGNORECASE)
    text = re.sub(_ELEMENT, rf"\1{HIDDEN}", text, flags=re.IGNORECASE)
    text = re.sub(_HEADER, rf"\1{HIDDEN}", text, flags=re.IGNORECASE)
    return re.sub(_ACCESS_KEY, HIDDEN, text)


def _without_password(match: re.Match[str]) -> str:
    scheme, user, password = match.groups()
    if password in (":@", ":x-oauth-basic@"):  # then the user is the token
        return f"{scheme}{HIDDEN}@"
    return f"{scheme}{user}:{HIDDEN}@"


def _without_value(match: re.Match[str]) -> str:
    value = match[2]
    return f"{match[1]}{HIDDEN}{value[len(value.rstrip(_ENDS)) :]}"


def _unescaped(run: str) -> str:
    """Return a run of characters as it is; or unescaped, where only that shows its secrets."""
    from urllib.parse import unquote  # rarely needed

    plain = run
    for _ in range(_LEVELS):
        before, plain = plain, unquote(plain, errors="surrogateescape")
        if plain == before:
            break
        if (clean := _plainly(plain)) != plain:
            return _unescaped(clean)
    return run


def in_text(name: str) -> str:
    """Return a path, URL or line as it stands in a text for people: in one line, no secrets."""
    return printable(redacted(name))


def shown(value: Any) -> Any:
    """Return what JSON has, with each text in it redacted."""
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return value


def redacted_repr(kind: type[T]) -> type[T]:
    """Let the repr of a data class, which has URLs among its fields, show no secrets."""
    with_secrets = kind.__repr__

    def __repr__(self: T) -> str:  # noqa: N807 # as it is called
        return redacted(with_secrets(self))

    kind.__repr__ = __repr__  # type: ignore[assignment, method-assign] # it is one
    return kind


def redacted_error(error: E, secrets: Iterable[str] = ()) -> E | WithoutSecretsError:
    """Return an error that may be shown: itself, or another one that says the same.

    The same goes for what caused it, and what caused that. `secrets` are as for `redacted`.
    """
    return cast("E | WithoutSecretsError", _redacted_error(error, secrets, {}))


def _redacted_error(error: Any, secrets: Iterable[str], done: dict[int, Any]) -> Any:
    if error is None or id(error) in done:
        return done.get(id(error))
    held = [str(error), repr(error), repr(error.args), repr(vars(error))]
    secret = any(redacted(text, secrets) != text for text in held)
    kind = type(error)
    what = f"{kind.__module__}.{kind.__qualname__}: {redacted(str(error), secrets)}"
    clean = WithoutSecretsError(what) if secret else error
    done[id(error)] = clean
    cause = _redacted_error(error.__cause__, secrets, done)
    context = _redacted_error(error.__context__, secrets, done)
    if (clean, cause, context) != (error, error.__cause__, error.__context__):
        hides = error.__suppress_context__
        clean.__cause__, clean.__context__ = cause, context
        clean.__suppress_context__ = hides
        clean.__traceback__ = error.__traceback__
    return clean
