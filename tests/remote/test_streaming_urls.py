"""Payloads one after the other, of a file behind a URL."""

import random

import pytest
from reference import record

import rec2idx

PAYLOADS = [random.Random(i).randbytes(200_000) for i in range(50)]


def test_a_file_is_read_in_few_requests(s3):
    url = s3.put("data", "a.rec", b"".join(map(record, PAYLOADS)))
    s3.traffic.clear()
    assert list(rec2idx.read_records(url)) == PAYLOADS
    assert len(s3.traffic.requests) <= 5  # 10 MB in blocks of 4


def test_the_body_of_a_response(nginx, web_folder):
    from urllib.request import urlopen

    (web_folder / "a.rec").write_bytes(b"".join(map(record, PAYLOADS[:20])))
    with urlopen(f"{nginx.url}/a.rec") as response:
        assert list(rec2idx.read_records(response)) == PAYLOADS[:20]


def test_a_file_that_is_not_there(s3):
    s3.put("data", "a.rec", b"")
    with pytest.raises(FileNotFoundError):
        list(rec2idx.read_records("s3://data/b.rec"))
