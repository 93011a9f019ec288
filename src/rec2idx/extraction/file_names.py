"""Names for the files that images go into: from their ids, or from a list; harmless ones."""

from __future__ import annotations

import os
from typing import Protocol

from ..errors import BadListError, KeysError
from ..list_files import read_list
from ..paths import StrPath, as_path

ID_WIDTH = 10  # digits of an id in a name: more than any file has records
UNKNOWN = "bin"  # the suffix of what is not recognised as an image
_SUFFIXES = {
    "jpeg": "jpg",
    "tiff": "tif",
    "jpeg2000": "jp2",
    "jpeg-xl": "jxl",
    "heif": "heic",
    **{kind: kind for kind in ("png", "gif", "bmp", "webp", "avif", "ppm", "pgm", "pbm", "npy")},
}
_LONGEST_PART, _LONGEST = 255, 1024  # bytes of what stands between two slashes, and of all
_PAGE = 10  # bits of an id that tell it from others in the same page
_ADVICE = "mend that line of the list"


def suffix_of(kind: str | None) -> str:
    """Return the suffix of a file, by what `pictures.kind_of` says of its bytes.

    >>> suffix_of("jpeg"), suffix_of("html"), suffix_of(None)
    ('jpg', 'bin', 'bin')
    """
    return _SUFFIXES.get(kind or "", UNKNOWN)


class Names(Protocol):
    """Gives each image its name.

    Attributes:
        repeated: images whose id one before them has.
    """

    repeated: int

    def of(self, number: int, offset: int, suffix: str) -> str:
        """Return a name that no other image has, with slashes between folders.

        Args:
            number: the id of the image.
            offset: where its record starts.
            suffix: what its bytes are.

        Raises:
            RecordIOError: there is none.
        """


class IdNames:
    """Names from ids. Where several images have the same one, all but the first get their offset.

    So a name depends on what comes before in the file, and on nothing else.

    >>> names = IdNames()
    >>> names.of(7, 0, "jpg"), names.of(7, 2444, "png"), names.of(8, 4892, "jpg")
    ('0000000007.jpg', '0000000007-2444.png', '0000000008.jpg')
    """

    def __init__(self) -> None:
        self.repeated = 0
        self._seen = _Seen()

    def of(self, number: int, offset: int, suffix: str) -> str:
        """Return the name of an image."""
        if self._seen.add(number):
            return f"{number:0{ID_WIDTH}}.{suffix}"
        self.repeated += 1
        return f"{number:0{ID_WIDTH}}-{offset}.{suffix}"


class ListNames:
    """The names that a list of im2rec's has for ids. All of it is kept in memory.

    Args:
        path: the list.
        samples: whether names without their suffix must differ, and have no other dot, as those of
            the samples of a WebDataset.
        reserved: the name of a file that goes into the same folder; nothing for none.

    Raises:
        BadListError: it is no list; a name in it is no plain path of a file below a folder, or
            takes the reserved one; or two lines have the same number or name.
        OSError: it cannot be read.
    """

    def __init__(self, path: StrPath, samples: bool = False, reserved: str = "") -> None:
        self.repeated = 0
        self._path = as_path(path)
        self._names: dict[bytes, str] = {}
        self._seen = _Seen()
        taken: set[str] = set()
        for line in read_list(self._path):
            name = plain(line.name)
            wrong = None if name is not None else "is no path of a file below a folder"
            key = name or ""
            if samples and wrong is None:
                key, wrong = _sample(key)
            if reserved and key.partition("/")[0] == reserved:
                wrong = f"is not free: {reserved} is the list of the images"
            if _as_key(line.number) in self._names:
                wrong = f"is the second one for the number {line.number}"
            elif key in taken:
                wrong = "stands there twice" if not samples else "has a sample's name that is taken"
            if wrong is not None or name is None:
                raise BadListError(
                    f"the name {line.name[:200]!r} {wrong}", path=self._path, advice=_ADVICE
                )
            taken.add(key)
            self._names[_as_key(line.number)] = name

    def of(self, number: int, offset: int, suffix: str) -> str:
        """Return the name that the list has for an id, whatever the image is.

        Raises:
            BadListError: it has none.
            KeysError: an image before had the same id.
        """
        name = self._names.get(_as_key(number))
        if name is None:
            raise BadListError(
                f"no line of it has the number {number}, which is the id of an image",
                path=self._path,
                offset=offset,
                advice="is that the list of this very file?",
            )
        if not self._seen.add(number):
            raise KeysError(
                f"a second image with the id {number}, for which {self._path} has one name",
                offset=offset,
                advice="without a list, names tell them apart",
            )
        return name


def plain(name: str) -> str | None:
    r"""Return the path of a file below some folder, without needless dots; None if it is none.

    Nor is it one that has control characters or backslashes, begins like a drive, or is too long.

    >>> plain("./cats/a.jpg"), plain("../a.jpg"), plain("/a.jpg"), plain("C:/a.jpg"), plain("a/")
    ('cats/a.jpg', None, None, None, None)
    """
    *folders, last = name.split("/")
    parts = [*(part for part in folders if part not in ("", ".")), last]
    if name.startswith("/") or last in ("", ".") or ".." in parts:
        return None
    if "\\" in name or parts[0][1:2] == ":":
        return None
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
        return None
    lengths = [len(os.fsencode(part)) for part in parts]
    if max(lengths) > _LONGEST_PART or sum(lengths) + len(parts) > _LONGEST:
        return None
    return "/".join(parts)


def _sample(name: str) -> tuple[str, str | None]:
    """Return the key of a sample and what is wrong with it: WebDataset splits at the first dot."""
    folder, slash, file = name.rpartition("/")
    stem, _, suffix = file.partition(".")
    key = folder + slash + stem
    if not stem or not suffix or "." in suffix:
        return key, "has not one dot, as that of a sample needs"
    return key, "is that of the JSON beside an image" if suffix.lower() == "json" else None


def _as_key(number: int) -> bytes:
    """Return an id as the key of a dict: somebody may choose numbers that all want one place."""
    return number.to_bytes(8, "little")


class _Seen:
    """The ids that there were: a bit each, in pages of those that lie close together."""

    def __init__(self) -> None:
        self._pages: dict[bytes, int] = {}

    def add(self, number: int) -> bool:
        """Add an id; return whether it is new."""
        page, bit = _as_key(number >> _PAGE), 1 << (number & (1 << _PAGE) - 1)
        before = self._pages.get(page, 0)
        self._pages[page] = before | bit
        return not before & bit
