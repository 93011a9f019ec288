"""What a server was asked for, and what it sent."""

import threading
from typing import NamedTuple


class Request(NamedTuple):
    """One request.

    Attributes:
        method: such as GET.
        path: as it was asked for.
        range: its Range header, or "".
        status: of the answer.
        sent: bytes of the answer's body.
    """

    method: str
    path: str
    range: str
    status: int
    sent: int


class Traffic:
    """The requests of a server, counted by its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[Request] = []

    def add(self, request: Request) -> None:
        with self._lock:
            self._requests.append(request)

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in the order in which they were answered."""
        with self._lock:
            return list(self._requests)

    @property
    def sent(self) -> int:
        """Bytes of all bodies so far."""
        return sum(request.sent for request in self.requests)

    def ranges(self) -> list[str]:
        """Return the ranges that were asked for."""
        return [request.range for request in self.requests if request.range]

    def clear(self) -> None:
        """Forget what was counted."""
        with self._lock:
            self._requests.clear()
