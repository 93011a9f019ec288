"""What another program wrote gets its name back, whatever happens between the exchange and that."""

import errno
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Condition, Thread, current_thread

import pytest

from rec2idx import new_file
from rec2idx.new_file import Identity, NewFile, StandingError, open_folder

NEVER_SEEN = Identity(0, 0, 0, 0)  # so whatever stands there came later
real_exchange = new_file.exchange


@contextmanager
def new_index(folder: Path, data: bytes = b"ours") -> Iterator[NewFile]:
    fd = open_folder(str(folder))
    try:
        with closing(NewFile(fd, "x.idx", "x.idx", replaces=True)) as new:
            os.write(new.fd, data)
            yield new
    finally:
        os.close(fd)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "x.idx"
    path.write_bytes(b"theirs")
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_runs_that_exchange_in_turn(theirs: Path, monkeypatch: pytest.MonkeyPatch):
    """Each gets the other's file when it gives back, and must not take it for what was there."""
    turns, condition = ["a", "b", "a", "b"], Condition()
    refused = []

    def exchange(folder: int, one: bytes, other: bytes) -> int:
        with condition:
            assert condition.wait_for(
                lambda: not turns or turns[0] == current_thread().name, timeout=60
            )
            error = real_exchange(folder, one, other)
            del turns[:1]
            condition.notify_all()
            return error

    def run() -> None:
        with new_index(theirs.parent, current_thread().name.encode()) as new:
            with pytest.raises(StandingError):
                new.replace(NEVER_SEEN)
            refused.append(True)

    monkeypatch.setattr(new_file, "exchange", exchange)
    threads = [Thread(target=run, name=name) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [True, True]
    assert content(theirs.parent) == {"x.idx": b"theirs"}


def test_a_name_that_is_gone_when_it_is_given_back(theirs: Path, monkeypatch: pytest.MonkeyPatch):
    def exchange(folder: int, one: bytes, other: bytes) -> int:
        if theirs.read_bytes() == b"ours":
            theirs.unlink()
        return real_exchange(folder, one, other)

    monkeypatch.setattr(new_file, "exchange", exchange)
    with new_index(theirs.parent) as new, pytest.raises(StandingError):
        new.replace(NEVER_SEEN)
    assert content(theirs.parent) == {"x.idx": b"theirs"}


def test_a_name_that_cannot_be_given_back(theirs: Path, monkeypatch: pytest.MonkeyPatch):
    """Then their file is kept, and the error says where."""

    def exchange(folder: int, one: bytes, other: bytes) -> int:
        return errno.EIO if theirs.read_bytes() == b"ours" else real_exchange(folder, one, other)

    monkeypatch.setattr(new_file, "exchange", exchange)
    with new_index(theirs.parent) as new, pytest.raises(OSError, match="is now called") as caught:
        new.replace(NEVER_SEEN)
    found = content(theirs.parent)
    assert found.pop("x.idx") == b"ours"
    [(kept, data)] = found.items()
    assert data == b"theirs"
    assert kept in str(caught.value)
    assert caught.value.filename == "x.idx"
