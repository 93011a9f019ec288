"""The records of files behind URLs, listed and written out: as those of local files."""

import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from reference import MAGIC, part, read, record
from samples import SIX, SIX_INDEX, image, labelled
from servers import Manners, Nginx, OwnServer, S3Server

from rec2idx import list_records

RECORDIO = Path(sys.executable).with_name("recordio")
JPEG = (Path(__file__).parent.parent / "pictures/baseline.jpg").read_bytes()
PAYLOADS = [
    image(0, 0, JPEG),
    labelled([1.0] * 40, 1, JPEG + MAGIC),
    image(2, 2, MAGIC * 3000),
    b"text, and no image",
    image(4, 4, JPEG[:2] + (b"\xff\xfe\x75\x30" + bytes(29_998)) * 2 + JPEG[2:]),
]
DATA = b"".join(map(record, PAYLOADS))
INDEX = "".join(f"k{n}\t{at}\n" for n, (at, _) in reversed(list(enumerate(read(DATA)[0]))))


@pytest.mark.parametrize("index", [None, INDEX.encode()])
def test_the_same_rows_as_of_a_local_file(
    s3: S3Server, nginx: Nginx, web_folder: Path, own: OwnServer, tmp_path: Path, index
):
    local = tmp_path / "a.rec"
    local.write_bytes(DATA)
    url = s3.put("listed" if index is None else "listed-by-index", "a.rec", DATA)
    (web_folder / "listed.rec").write_bytes(DATA)
    (web_folder / "listed.idx").unlink(missing_ok=True)
    web = f"{nginx.url}/listed.rec"
    if index is not None:
        (tmp_path / "a.idx").write_bytes(index)
        s3.put("listed-by-index", "a.idx", index)
        (web_folder / "listed.idx").write_bytes(index)
    expected = list(list_records(local))
    assert [row.width for row in expected] == [21, 21, None, None, 21]
    for place in (url, web):
        assert list(list_records(place)) == expected
    if index is None:
        assert list(list_records(own.put("a.rec", DATA, Manners(ranges=False)))) == expected


def test_small_records_come_once(s3: S3Server):
    """A block of them at a time."""
    data = record(image(1, 1, JPEG)) * 10_000
    url = s3.put("small", "a.rec", data)
    s3.traffic.clear()
    assert sum(row.width == 21 for row in list_records(url)) == 10_000
    assert s3.traffic.sent < 1.1 * len(data)
    assert len(s3.traffic.requests) < 20


@pytest.mark.parametrize("indexed", [False, True])
def test_of_large_records_little_is_read(s3: S3Server, indexed: bool):
    count, size = 20, 8 << 20
    large = part(0, image(7, 7, JPEG) + bytes(size - 24 - len(JPEG)))
    bucket = f"large-{indexed}".lower()
    url = s3.put(bucket, "a.rec", large * count)
    if indexed:
        lines = "".join(f"{n}\t{n * len(large)}\n" for n in range(count))
        s3.put(bucket, "a.idx", lines.encode())
    s3.traffic.clear()
    rows = list(list_records(url))
    assert [(row.key, row.size, row.width) for row in rows] == [(n, size, 21) for n in range(count)]
    assert s3.traffic.sent < len(large) * count / 10
    assert len(s3.traffic.requests) < 3 * count


def test_the_first_rows_do_not_wait_for_the_last(s3: S3Server):
    url = s3.put("first", "a.rec", record(image(1, 1, bytes(1000))) * 40_000)
    s3.traffic.clear()
    assert len(list(islice(list_records(url), 10))) == 10
    assert s3.traffic.sent < 10_000_000


def test_the_commands(s3: S3Server):
    url = s3.put("commands", "a.rec", SIX)
    s3.put("commands", "a.idx", SIX_INDEX)

    def recordio(*args):
        return subprocess.run([RECORDIO, *args], capture_output=True, timeout=60, check=True).stdout

    lines = recordio("ls", url).decode().splitlines()[1:]
    assert [line.split("\t")[:3] for line in lines] == [
        [str(i), str(44 * i), "36"] for i in range(6)
    ]
    payload = read(SIX)[0][3][1]
    assert recordio("cat", url, "3") == payload
    assert recordio("cat", url, "3", "--index", "s3://commands/a.idx", "--image") == payload[24:]
    assert recordio("cat", url, "3", "-o", "s3://commands/3.bin") == b""
    assert s3.get("commands", "3.bin") == payload
