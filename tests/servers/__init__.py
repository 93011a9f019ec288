"""Servers for tests, on this machine, as context managers; each counts what it is asked for.

>>> with s3_server() as server:                           # moto, over HTTP
...     url = server.put("bucket", "a.rec", data)         # s3://bucket/a.rec
...     run("rec2idx", url, env=server.environment)       # or server.use(monkeypatch)
...     server.traffic.requests, server.traffic.sent      # and server.traffic.clear()
>>> with nginx_server(folder) as server:                  # server.url + "a.rec"
>>> with own_server() as server:                          # one that misbehaves as it is told to
...     url = server.put("a.rec", data, Manners(delay=0.02))
"""

from servers.nginx import Nginx, nginx_server
from servers.own import Manners, OwnServer, own_server
from servers.s3 import S3Server, refusal, s3_server
from servers.traffic import Request, Traffic

__all__ = [
    "Manners",
    "Nginx",
    "OwnServer",
    "Request",
    "S3Server",
    "Traffic",
    "nginx_server",
    "own_server",
    "refusal",
    "s3_server",
]
