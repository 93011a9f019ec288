r"""Text on its way to a terminal: one line, and nothing in it that a terminal obeys or hides.

Names, keys and words come from files, and whoever wrote the file chose them. ``docs/text.md``
describes the escapes:

- ``\t``, ``\n``, ``\r``: tab, line feed, carriage return;
- ``\x1b``: a byte; another control character of ASCII, or a byte that is not UTF-8;
- ``\u202e``, ``\U000e0001``: any other character that is not shown.
"""

from __future__ import annotations

_SHORT = {"\t": r"\t", "\n": r"\n", "\r": r"\r"}


def printable(text: str) -> str:
    r"""Return a text as one line of visible characters.

    Escaped are control characters, line and paragraph separators, bytes that are not UTF-8, lone
    surrogates, and characters that are invisible, unassigned or private, such as those that turn
    the direction of writing. All else stays, spaces of any width too, and backslashes: in what is
    to be read back, they are doubled first.

    >>> printable("new\nline.rec"), printable("\udcff.rec"), printable("a\u202egpj.exe")
    ('new\\nline.rec', '\\xff.rec', 'a\\u202egpj.exe')
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or _is_space(c) else _escaped(c) for c in _decoded(text))


def encodable(text: str, encoding: str) -> str:
    r"""Return a text with those characters escaped that an encoding does not have.

    >>> encodable("caf\u00e9", "ascii")
    'caf\\u00e9'
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(c if _has(encoding, c) else _escaped(c) for c in text)
    return text


def _has(encoding: str, character: str) -> bool:
    return character.encode(encoding, "ignore") != b""


def _decoded(text: str) -> str:
    """Decode what the system's encoding of paths did not know: names are UTF-8 wherever this is."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # surrogates that stand for no byte
        return text


def _is_space(character: str) -> bool:
    import unicodedata  # rarely needed

    return unicodedata.category(character) == "Zs"


def _escaped(character: str) -> str:
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:
        return f"\\x{number - 0xDC00:02x}"
    if number < 0x80:
        return _SHORT.get(character, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
