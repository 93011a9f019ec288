"""A small HTTP server that knows ranges, and misbehaves as it is told to."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote, unquote

from servers.traffic import Request, Traffic


@dataclass
class Manners:
    """How a file is served; what is not set is done well.

    Attributes:
        delay: seconds before each answer.
        ranges: False to answer with the whole file, whatever is asked for.
        length: False to leave out Content-Length, and to close the connection at the end.
        status: an error to answer with...
        failures: ...so many times; -1 for ever.
        breaks: answers to GET that are broken off in their middle; -1 for all.
        most: bytes of an answer, even if more are asked for.
        shift: bytes by which the answer lies behind what was asked for, and says so.
        silent: answers with a range do not say which one it is.
        extra: bytes more than was asked for.
        claim: bytes by which Content-Length of a GET is wrong.
        head_claim: the same for a HEAD.
        refuses_head: answers HEAD with 403, as links that are signed for GET do.
        authorization: what the header of that name must say.
        changes_after: answers after which the file has another ETag.
    """

    delay: float = 0.0
    ranges: bool = True
    length: bool = True
    status: int = 503
    failures: int = 0
    breaks: int = 0
    most: int | None = None
    shift: int = 0
    silent: bool = False
    extra: int = 0
    claim: int = 0
    head_claim: int = 0
    refuses_head: bool = False
    authorization: str | None = None
    changes_after: int | None = None
    answers: int = field(default=0, init=False)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16
    server: "OwnServer"

    def do_HEAD(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        found = self.server.files.get(unquote(self.path).lstrip("/"))
        if found is None:
            self._send(404, {}, b"")
            return
        data, manners = found
        with self.server.under_way():
            time.sleep(manners.delay)
        if self.server.takes(manners, "failures"):
            self._send(manners.status, {}, b"no")
            return
        if manners.authorization not in (None, self.headers.get("Authorization")):
            self._send(401, {}, b"")
            return
        if self.command == "HEAD" and manners.refuses_head:
            self._send(403, {}, b"")
            return
        with self.server.lock:
            changed = manners.changes_after is not None and manners.answers >= manners.changes_after
            manners.answers += 1
        headers = {"ETag": '"second"' if changed else '"first"'}
        start, stop, status = 0, len(data), 200
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if match and manners.ranges:
            status = 206
            start = int(match[1])
            stop = min(int(match[2] or len(data)) + 1, len(data))
            if manners.most is not None:
                stop = min(stop, start + manners.most)
            start, stop = start + manners.shift, stop + manners.shift + manners.extra
            if not manners.silent:
                last = stop - 1 - manners.extra
                headers["Content-Range"] = f"bytes {start}-{last}/{len(data)}"
        if manners.ranges:
            headers["Accept-Ranges"] = "bytes"
        self._send(status, headers, data[start:stop], manners)

    def _send(
        self, status: int, headers: dict[str, str], body: bytes, manners: Manners | None = None
    ) -> None:
        manners = manners or Manners()
        head = self.command == "HEAD"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if manners.length:
            claim = manners.head_claim if head else manners.claim
            self.send_header("Content-Length", str(len(body) + claim))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if not head and self.server.takes(manners, "breaks"):
            body = body[: len(body) // 2]
            self.close_connection = True
        if manners.claim or not manners.length:
            self.close_connection = True
        if not head:
            self.wfile.write(body)
        asked = self.headers.get("Range", "")
        sent = 0 if head else len(body)
        self.server.traffic.add(Request(self.command, self.path, asked, status, sent))

    def log_message(self, *_: object) -> None:
        pass


class OwnServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        url: where it answers, with a slash at the end.
        files: what it serves: by name, the bytes and how they are served.
        traffic: what it was asked for.
        most_at_once: most requests that it was about to answer at the same time.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.files: dict[str, tuple[bytes, Manners]] = {}
        self.traffic = Traffic()
        self.lock = threading.Lock()
        self.most_at_once = 0
        self._at_once = 0

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Count a request that is about to be answered."""
        with self.lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        yield
        with self.lock:
            self._at_once -= 1

    def put(self, name: str, data: bytes, manners: Manners | None = None) -> str:
        """Serve `data`; returns the URL."""
        self.files[name] = (data, manners or Manners())
        return self.url + quote(name)

    def takes(self, manners: Manners, name: str) -> bool:
        """Return whether one more of what is counted is due, and count it."""
        with self.lock:
            left: int = getattr(manners, name)
            setattr(manners, name, left - (left > 0))
            return left != 0

    def handle_error(self, *_: object) -> None:
        pass  # clients go away in the middle of what they do not want


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """Run the server until the block ends."""
    server = OwnServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
