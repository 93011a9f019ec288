"""pack_images() to URLs: the same files, and none where it fails."""

from pathlib import Path

import pytest
from packs import expected
from samples import SIX_INDEX, image
from servers import S3Server

from rec2idx import UnsafeTargetError, pack_images
from rec2idx.errors import RemoteError


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A folder with a picture in each of two."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.jpg").write_bytes(name.encode())
    return tmp_path


RECORD, INDEX = expected(image(0, 0, b"a"), image(1, 1, b"b"))


def test_to_a_bucket(s3: S3Server, pictures: Path):
    s3.put("pack", "out.idx", SIX_INDEX)
    summary = pack_images(pictures, "s3://pack/out.rec")
    assert (summary.index, summary.list) == ("s3://pack/out.idx", "s3://pack/out.lst")
    assert summary.index_replaced
    assert s3.keys("pack") == ["out.idx", "out.lst", "out.rec"]
    assert (s3.get("pack", "out.rec"), s3.get("pack", "out.idx")) == (RECORD, INDEX)
    assert s3.get("pack", "out.lst") == b"0\t0.000000\ta/x.jpg\n1\t1.000000\tb/x.jpg\n"


@pytest.mark.parametrize("name", ["out.rec", "out.lst"])
def test_no_object_is_replaced(s3: S3Server, pictures: Path, name: str):
    bucket = f"pack-taken-{name}"
    s3.put(bucket, name, b"theirs")
    with pytest.raises(UnsafeTargetError):
        pack_images(pictures, f"s3://{bucket}/out.rec")
    assert s3.keys(bucket) == [name]
    assert s3.get(bucket, name) == b"theirs"


@pytest.mark.parametrize("refused", [".rec", ".lst", ".idx"])
def test_one_that_is_refused_takes_the_others_along(
    s3: S3Server, pictures: Path, monkeypatch: pytest.MonkeyPatch, refused: str
):
    bucket = f"pack-without{refused}"
    s3.put(bucket, "out.idx", SIX_INDEX)

    def refuse(environ):
        no = ("403 Forbidden", [("Content-Length", "0")], b"")
        meant = environ["PATH_INFO"].endswith(refused)
        return no if meant and environ["REQUEST_METHOD"] in ("PUT", "POST") else None

    monkeypatch.setattr(s3, "answer", refuse)
    with pytest.raises(RemoteError, match="access is denied"):
        pack_images(pictures, f"s3://{bucket}/out.rec")
    assert s3.keys(bucket) == ["out.idx"]
    assert s3.get(bucket, "out.idx") == SIX_INDEX
