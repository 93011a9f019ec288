"""The records of files, one by one, as a data set for training."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Container, Generator, Iterable, Sequence
from typing import Any, overload

from ..closing import Closing
from ..errors import MissingKeyError
from ..image_record import IRHeader
from ..paths import StrPath, as_path
from ..redaction import in_text
from .fetch import Fetcher, Pair
from .items import Bytes
from .loading import Wanted, load
from .open_files import OpenFiles, is_local


class RecordDataset(Closing, Sequence[Any]):
    r"""The records of RecordIO files by number and by key, as a map-style data set.

    An item is ``(header, payload)``: an `IRHeader`, whose label is a float, or, where its flag is
    above 0, a NumPy array of so many float32; and the bytes behind it. A record that is no image
    record, since it is shorter than an IRHeader and its labels, has None for a header, and all of
    it is the payload. That cannot be told of any other payload that does not begin with a header:
    `MXRecordIO` gives records as they are.

    Items are numbered in file order, by offset, whatever the order of the index is; that is also
    how iteration goes, with records read ahead, many at once. So does DALI, while item i of Gluon's
    ``RecordFileDataset`` is the i-th line of the index. ``[dataset.get(key) for key in ...]`` gives
    items in the order of any list of keys. Each line of an index is an item, also where several
    have the same offset. Records that an index does not name are no items.

    A file with a file header of InsightFace gives what InsightFace's loader gives: the images only,
    of whose labels the first one counts, as a float. Of several such files, labels of the later
    ones are moved up by the number of identities in those before, since each counts from 0.
    `left_out` counts all records that are no items though they were there.

    It can be handed to ``torch.utils.data.DataLoader``, with workers too: each process opens the
    files for itself, 128 at once, and forked ones share the entries, of 16 bytes each, or 8 where
    keys are running numbers; others get a copy of them. Threads may read at once. Slices share all
    with the whole. ``docs/dataset.md`` says more.

    Args:
        records: path or URL of a record file, or several of them.
        index: one index over all of them, laid end to end. By default each has its own beside it,
            with the suffix ``.idx``, or is walked, if there is none: then keys are running numbers,
            which go on from file to file.
        images_only: whether to leave out records without bytes after their labels. This and
            `labels` have the headers of all records read once.
        labels: to leave out the records whose first label is not among these, such as
            ``range(10)``, and those without labels; by default there is no such condition. Labels
            of several InsightFace files are those that items have.
        decode: called with each payload; what it returns stands in its place.
        transform: called with header and payload, decoded if that is asked for; what it returns
            is the item.
        mmap: whether to map the files, which must be local, into memory. Payloads are then
            read-only memoryviews of them, but bytes where a record has several parts. Those do not
            pickle: workers of a ``DataLoader`` need a `decode` that makes something else of them,
            such as ``bytes``. A file that becomes shorter meanwhile ends the process with SIGBUS,
            as with any such mapping.

    Raises:
        BadIndexError: an index is none, or names a place where the files have no record. Without
            `images_only` or `labels` only the end of the files is looked at; other such places are
            a `DamagedRecordError` when they are read.
        LabelsError: files of InsightFace whose classes cannot be told apart: of several, some are
            others, or announce no identities; or one is several files laid end to end.
        NoImageError: with `images_only`, no record is left.
        NotRecordIOError: without an index: a file is something else.
        DamagedRecordError: without an index: a file cannot be followed to its end.
        MissingExtraError: a package is missing, for a URL.
        OSError: a file cannot be read.

    Raises, where records are read:
        BadIndexError: several records are read, and they overlap so much that they cannot all
            fit in the files.
        DamagedRecordError: there is no whole record; the attributes ``key``, ``offset``,
            ``expected`` and ``found`` say more.
        NotRecordIOError: the file is another kind of file, which is seen at its first record.
        LabelsError: of several InsightFace files, one has a label that it announces no class for.
        FileChangedError: the file is not the one that was opened.
        MissingExtraError: a record has several labels, and NumPy is missing.
        ValueError: the data set is closed.
        OSError: reading failed.

    >>> with RecordDataset("examples/sample.rec") as dataset:
    ...     header, payload = dataset[-1]
    ...     len(dataset), header.id, len(payload)
    (24, 23, 2640)
    """

    def __init__(
        self,
        records: StrPath | Iterable[StrPath],
        index: StrPath | None = None,
        *,
        images_only: bool = False,
        labels: Container[float] | None = None,
        decode: Callable[[Bytes], Any] | None = None,
        transform: Callable[[IRHeader | None, Any], Any] | None = None,
        mmap: bool = False,
    ) -> None:
        some = [records] if isinstance(records, (str, bytes, os.PathLike)) else records
        paths = [as_path(path) for path in some]
        if not paths:
            raise ValueError("no record files were given")
        self._table = load(paths, index, Wanted(images_only, labels))
        if mmap:
            for file in self._table.files:
                if not is_local(file):
                    raise ValueError(f"{in_text(file.path)}: mmap is for local files only")
        self._files = OpenFiles(self._table.files, mmap)
        self._fetcher = Fetcher(self._table, self._files)
        self._entries = range(len(self._table))
        self._decode = decode
        self._transform = transform

    def __len__(self) -> int:
        return len(self._entries)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> RecordDataset: ...
    def __getitem__(self, index: int | slice) -> Any:
        """Return an item; of a slice, a data set with those items, without reading any.

        Raises:
            IndexError: there are not so many.
        """
        if isinstance(index, slice):
            view = copy.copy(self)
            view._entries = self._entries[index]
            return view
        try:
            entry = self._entries[index]
        except IndexError:
            raise self._no_item(index) from None
        return self._item(self._fetcher.one(entry))

    def get(self, key: int | str) -> Any:
        r"""Return the item with a key.

        Args:
            key: a number, or a text as it stands in the index: 7 and "7" are the same.

        Raises:
            MissingKeyError: there is none.
            KeysError: several records have that key.
        """
        entry = self._table.find(key)
        if entry is None or entry not in self._entries:
            paths = ", ".join(file.path for file in self._table.files[:3])
            raise MissingKeyError(f"no record has the key {key!r}", path=paths)
        return self._item(self._fetcher.one(entry))

    def read_many(self, indices: Iterable[int]) -> list[Any]:
        """Return several items, in the order asked for; those close together are read at once.

        ``torch.utils.data.DataLoader`` reads its batches in this way, by the name
        ``__getitems__``.

        Raises:
            IndexError: there are not so many.
        """
        some = list(indices)
        entries = self._entries
        try:
            wanted = [entries[index] for index in some]
        except IndexError:
            wrong = next(at for at in some if not -len(self) <= at < len(self))
            raise self._no_item(wrong) from None
        return [self._item(pair) for pair in self._fetcher.many(wanted)]

    __getitems__ = read_many

    @property
    def keys(self) -> Sequence[int] | Sequence[str]:
        """The key of each item: numbers, or texts if not all are numbers of 64 bits."""
        keys = self._table.keys
        if len(self._entries) == len(self._table) and self._entries.step == 1:
            return keys
        return [keys[entry] for entry in self._entries]  # type: ignore[return-value] # of one kind

    @property
    def left_out(self) -> int:
        """How many records are no items: lines of the indexes, or records of files without one.

        That is because of `images_only` or `labels`, or since they are no images of InsightFace's
        files. ``len(dataset) + dataset.left_out`` is how many there are. It is the same for slices.
        """
        return self._table.left_out

    @property
    def classes(self) -> int | None:
        """How many classes the labels of InsightFace's files go up to; None for other files.

        So many identity records are announced by their file headers; None where these announce
        none.
        """
        return self._table.classes

    def __iter__(self) -> Generator[Any, None, None]:
        """Yield all items, one after the other."""
        pairs = self._fetcher.all(self._entries)
        if self._decode is None and self._transform is None:
            return pairs
        return (self._item(pair) for pair in pairs)

    def _no_item(self, index: int) -> IndexError:
        return IndexError(f"item {index} of a data set of {len(self)}")

    def _item(self, pair: Pair) -> Any:
        header, payload = pair
        content = payload if self._decode is None else self._decode(payload)
        return (header, content) if self._transform is None else self._transform(header, content)

    def close(self) -> None:
        """Close the files, also for slices; those that a thread is reading, when it is done.

        Closing twice is allowed.
        """
        self._files.close()
