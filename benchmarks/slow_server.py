"""A web server on slow storage: ``python -m benchmarks.slow_server FOLDER``, a process of its own.

It prints its port, then answers every request after `DELAY`, as many at once as there are: a timer
each, so that nothing but the delay keeps an answer back. `COUNTS` tells what it was asked for.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

DELAY = 0.02  # seconds from a request to its answer
COUNTS = "/.counts"  # answered with JSON and at once; counting then begins anew
RANGE = re.compile(rb"\r\nrange: *bytes=(\d+)-(\d+)\r\n", re.IGNORECASE)
END = b"\r\n\r\n"


class Counts:
    """What was asked for since counting began."""

    def __init__(self) -> None:
        self.requests = 0
        self.sent = 0  # bytes of bodies
        self.waiting = 0  # requests under way now
        self.most = 0  # and at most
        self.processor = time.process_time()

    def begin(self) -> None:
        """Count a request that has come."""
        self.requests += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)

    def end(self, sent: int) -> None:
        """Count its answer."""
        self.waiting -= 1
        self.sent += sent

    def facts(self) -> dict[str, Any]:
        """Return what `COUNTS` is answered with."""
        return {
            "requests": self.requests,
            "sent": self.sent,
            "most": self.most,
            "processor": time.process_time() - self.processor,  # seconds
        }


class Files:
    """The files of a folder, each opened once; and the counts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, tuple[int, int]] = {}
        self.counts = Counts()

    def find(self, name: str) -> tuple[int, int]:
        """Return file descriptor and size."""
        if name not in self._open:
            fd = os.open(self._folder / name, os.O_RDONLY)
            self._open[name] = fd, os.fstat(fd).st_size
        return self._open[name]

    def recount(self) -> bytes:
        """Return the counts as JSON, and begin to count anew."""
        facts = json.dumps(self.counts.facts()).encode()
        self.counts = Counts()
        return facts


class Connection(asyncio.Protocol):
    """One client, who sends a request and waits for its answer before the next."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep where answers go to."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer a request later, once all of it is there."""
        self._received += data
        if not self._received.endswith(END):
            return
        request, self._received = self._received, b""
        method, path = request.split(b" ", 2)[:2]
        if path.decode() == COUNTS:
            self._send("200 OK", self._files.recount())
            return
        self._files.counts.begin()
        asyncio.get_running_loop().call_later(DELAY, self._answer, method, path.decode(), request)

    def _answer(self, method: bytes, path: str, request: bytes) -> None:
        fd, size = self._files.find(path.lstrip("/"))
        start, stop, status = 0, size, "200 OK"
        more = ""
        if match := RANGE.search(request):
            start, stop, status = int(match[1]), min(int(match[2]) + 1, size), "206 Partial Content"
            more = f"Content-Range: bytes {start}-{stop - 1}/{size}\r\n"
        body = b"" if method == b"HEAD" else os.pread(fd, stop - start, start)
        self._send(status, body, stop - start, more)
        self._files.counts.end(len(body))

    def _send(self, status: str, body: bytes, length: int | None = None, more: str = "") -> None:
        length = len(body) if length is None else length
        head = (
            f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n"
            f'Accept-Ranges: bytes\r\nETag: "one"\r\n{more}\r\n'
        )
        self._transport.write(head.encode() + body)


async def serve(folder: Path) -> None:
    """Say the port and serve until this process is ended."""
    files = Files(folder)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(files), "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
