"""The index of a file behind a URL in plain Python, one header a request: the baseline."""

from __future__ import annotations

import http.client
import struct
import sys
from urllib.parse import urlsplit


def main(url: str, index: str) -> None:
    """Index a file whose records all have one part, over one connection that is kept."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc)
    connection.request("HEAD", place.path)
    answer = connection.getresponse()
    answer.read()
    size = int(answer.headers["Content-Length"])
    header = struct.Struct("<II").unpack
    offset = number = 0
    with open(index, "w") as lines:
        while offset < size:
            asked = {"Range": f"bytes={offset}-{offset + 7}"}
            connection.request("GET", place.path, headers=asked)
            magic, lrec = header(connection.getresponse().read())
            if magic != 0xCED7230A or lrec >> 29:
                raise ValueError(f"no whole record starts at byte {offset}")
            lines.write(f"{number}\t{offset}\n")
            number += 1
            offset += 8 + (lrec + 3 & ~3)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
