"""The keys that an old index has, for the records that are still where they were."""

from __future__ import annotations

from array import array
from bisect import bisect_left

from . import _heads
from ._lines import NONE, ONE, SEVERAL, match, sort_entries
from .errors import KeysError
from .framing import MAGIC_BYTES
from .lines import IndexFile, read_index
from .lookalikes import HEAD_SIZE, INDEX, looks_like
from .paths import StrPath, as_path
from .segments import Batch
from .sources import Source, Stream, opened


class OldKeys:
    r"""The keys of an old index, read to its end, by where its records start.

    Keys are handled as numbers of 64 bits, whatever they are: `written` says what they stand for.
    So an entry takes 16 bytes, and, only where keys are texts, the text.

    Args:
        index: path or URL of the old index.

    Attributes:
        path: the old index, as it was named.
        entries: lines of it that have a key and an offset.
        repeats: whether two of them have the same key.
        ADVICE: what to do where these keys will not do.

    Raises:
        KeysError: there are no entries.
        FileChangedError: it changed while it was read.
        OSError: it cannot be read.

    >>> from pathlib import Path
    >>> _ = Path("old.idx").write_text("cat\t0\n7\t44\n")
    >>> old = OldKeys("old.idx")
    >>> found = old.look_up(Batch(0, array("q", [44]), array("q", [36]), 88), array("q", [44]))
    >>> old.written(found), old.entries
    (['7'], 2)
    """

    ADVICE = "use other keys: --keys sequence or --keys id"

    def __init__(self, index: StrPath) -> None:
        self.path = as_path(index)
        found = _read(self.path)
        self._texts: list[str] | None = None
        if isinstance(found.keys, array):
            self._keys = found.keys
            self.repeats = _heads.repeats(self._keys)[0] > 0
        else:
            self._texts = found.keys
            first: dict[str, int] = {}  # equal texts are to be equal numbers
            self._keys = array(
                "Q", (first.setdefault(text, at) for at, text in enumerate(self._texts))
            )
            self.repeats = len(first) < len(self._texts)
        self._offsets = found.offsets
        self.entries = len(self._offsets)
        sort_entries(self._offsets, self._keys)
        self._wrong = {NONE: _Wrong(), SEVERAL: _Wrong()}

    def look_up(
        self, batch: Batch, chosen: array[int], path: str = "", base: int = 0
    ) -> array[int] | None:
        """Return the keys of those records of a batch that are chosen.

        None stands for them from the first record on that has no key, or several: `require_all`
        says so when all such have been counted.

        Args:
            batch: records of a file.
            chosen: offsets of some of them, in order.
            path: the file.
            base: bytes in the files before it.
        """
        keys, marks, _ = match(self._offsets, self._keys, chosen, base)
        text = marks.tobytes()
        if text.count(ONE) < len(text):
            for mark, wrong in self._wrong.items():
                if count := text.count(mark):
                    offset = chosen[text.index(mark)]
                    record = batch.first + bisect_left(batch.offsets, offset)
                    wrong.add(count, path, record, offset, base)
        return None if any(wrong.count for wrong in self._wrong.values()) else keys

    def fitting(self, batch: Batch, base: int = 0) -> int:
        """Return at how many entries a record of the batch starts, chosen or not."""
        return match(self._offsets, self._keys, batch.offsets, base)[2]

    def written(self, keys: array[int]) -> array[int] | list[str]:
        """Return keys as they stand in the old index: numbers, or texts if not all are numbers."""
        return keys if self._texts is None else [self._texts[key] for key in keys]

    def require_all(self, records: int) -> None:
        """Say what was wrong in any of the calls of `look_up`, over so many records.

        Raises:
            KeysError: a record had no key, or several different ones.
        """
        none, several = self._wrong[NONE], self._wrong[SEVERAL]
        if none.count:
            raise none.error(
                f"{self.path} has no key for {none.count} of {records} records, of which this is "
                "the first",
                f"is that the old index of this very file? If it is, {self.ADVICE}",
            )
        if several.count:
            one, other = self._keys_at(several.base + several.offset)
            raise several.error(
                f"{self.path} has several keys, here {one} and {other}, for {several.count} of "
                f"{records} records, of which this is the first",
                f"delete the lines that are not to be kept, or {self.ADVICE}",
            )

    def _keys_at(self, offset: int) -> tuple[int | str, int | str]:
        """Return the first two different keys at an offset that has so many."""
        at = other = bisect_left(self._offsets, offset)
        while self._keys[other] == self._keys[at]:
            other += 1
        one, two = self.written(array("Q", [self._keys[at], self._keys[other]]))
        return one, two


class _Wrong:
    """Records with which the same is wrong: how many, and where the first one is."""

    def __init__(self) -> None:
        self.count = 0
        self.path = ""
        self.record = self.offset = self.base = 0

    def add(self, count: int, path: str, record: int, offset: int, base: int) -> None:
        if self.count == 0:
            self.path, self.record, self.offset, self.base = path, record, offset, base
        self.count += count

    def error(self, what: str, advice: str) -> KeysError:
        return KeysError(
            what, path=self.path, record=self.record, offset=self.offset, advice=advice
        )


def _read(path: str) -> IndexFile:
    """Read an old index, which must have entries."""
    with opened(path) as source:
        if not isinstance(source, Stream):
            # Before all of it is read: where it is not an index, it may be a large file.
            _require_no_other(source)
        index = read_index(source)
        if isinstance(source, Stream):
            _require_no_other(source)
    if len(index.offsets) == 0:
        raise KeysError(
            "the old index is empty" if index.size == 0 else "the old index has no line with a key",
            path=path,
            expected="a key, a tab and an offset on each line",
            found=f"'{index.problems[0].first[0].text}'" if index.size else "no bytes",
            advice=OldKeys.ADVICE,
        )
    return index


def _require_no_other(source: Source | Stream) -> None:
    """Refuse what is something else than an index at first sight."""
    head = source.read(0, HEAD_SIZE)
    if head.startswith(MAGIC_BYTES):
        name = "a RecordIO file"
    elif (thing := looks_like(head, source.size)) is not None and thing is not INDEX:
        name = thing.name
    else:
        return
    raise KeysError(
        f"not an old index, but {name}",
        path=source.path,
        advice="give the index that has the keys: --keys keep=OLD.idx",
    )
