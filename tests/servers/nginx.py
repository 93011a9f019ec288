"""A real nginx, for ranges over HTTP."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from servers.traffic import Request

CONFIGURATION = """
daemon off;
worker_processes 2;
pid {state}/pid;
error_log {state}/error.log;
{user}
events {{ worker_connections 512; }}
http {{
    log_format counted '$request_method $request_uri $status $body_bytes_sent $http_range';
    access_log {state}/access.log counted;
    client_body_temp_path {state}/body;
    proxy_temp_path {state}/proxy;
    fastcgi_temp_path {state}/fastcgi;
    uwsgi_temp_path {state}/uwsgi;
    scgi_temp_path {state}/scgi;
    default_type application/octet-stream;
    gzip on;
    gzip_types *;
    gzip_min_length 1;
    server {{
        listen 127.0.0.1:{port};
        location / {{ root {folder}; autoindex on; }}
        location /moved/ {{ rewrite ^/moved/(.*)$ /$1 redirect; }}
        location /private/ {{ return 403; }}
    }}
}}
"""


class Nginx:
    """A running nginx.

    Attributes:
        url: where it answers, with a slash at the end. What lies below ``moved/`` is redirected to
            the same name without it; ``private/`` is forbidden.
    """

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self._log = log

    @property
    def requests(self) -> list[Request]:
        """All requests so far."""
        fields = [line.split(" ") for line in self._log.read_text().splitlines()]
        return [
            Request(method, path, "" if asked == "-" else asked, int(status), int(sent))
            for method, path, status, sent, asked in fields
        ]


@contextmanager
def nginx_server(folder: Path) -> Iterator[Nginx]:
    """Serve a folder until the block ends."""
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        raise RuntimeError("nginx is not installed: apt-get install nginx-light")
    with TemporaryDirectory(prefix="nginx-") as state:
        port = _free_port()
        as_root = Path("/").owner() == Path(state).owner()
        configuration = CONFIGURATION.format(
            state=state, folder=folder, port=port, user="user root;" if as_root else ""
        )
        (Path(state) / "nginx.conf").write_text(configuration)
        log = Path(state) / "error.log"
        with subprocess.Popen(
            [program, "-p", state, "-e", log, "-c", f"{state}/nginx.conf"]
        ) as process:
            try:
                _wait_for(port, process, log)
                yield Nginx(f"http://127.0.0.1:{port}/", Path(state) / "access.log")
            finally:
                process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"nginx did not start: {log.read_text() if log.exists() else ''}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("nginx does not answer")
