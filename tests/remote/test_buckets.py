"""What people meet with buckets, by the command: it works, or it says what to change (case C28)."""

from pathlib import Path

import pytest
from samples import SIX, SIX_INDEX
from servers import S3Server, refusal

NO_CREDENTIALS = (
    "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; "
    "public objects need none of them"
)
REGION = (("x-amz-bucket-region", "eu-central-1"),)
REDIRECTS = ["301 Moved Permanently", "307 Temporary Redirect"]


def says(done, message: str) -> bool:
    """Whether the command failed with this one line, and printed nothing else."""
    return (done.returncode, done.stdout, done.stderr) == (1, "", f"rec2idx: {message}\n")


@pytest.mark.parametrize("key", ["val.rec", "a b/ü.rec", "deep/er/x.rec"])
def test_names(s3: S3Server, run, key: str):
    """An object directly in the bucket, and a name with a space and a letter beyond ASCII."""
    done = run(s3.put("names", key, SIX), "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert s3.get("names", key.replace(".rec", ".idx")) == SIX_INDEX


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_bucket_in_another_region(s3: S3Server, run, tmp_path: Path, monkeypatch, status: str):
    """It is asked there, once the server has said where."""
    url = s3.put("region", "val.rec", SIX)
    elsewhere = refusal(status, "PermanentRedirect", "elsewhere", REGION)

    def answer(environ):
        signed_for = "/eu-central-1/s3/" in environ.get("HTTP_AUTHORIZATION", "")
        return None if signed_for else elsewhere(environ)

    monkeypatch.setattr(s3, "answer", answer)
    done = run(url, "a.idx", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX
    assert {request.status for request in s3.traffic.requests} == {int(status[:3]), 200, 206}


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_redirect_that_leads_nowhere(s3: S3Server, run, tmp_path: Path, monkeypatch, status: str):
    """The setting to change is named."""
    url = s3.put("region", "val.rec", SIX)
    monkeypatch.setattr(s3, "answer", refusal(status, "PermanentRedirect", "elsewhere", REGION))
    done = run(url, "a.idx", "-q")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith(f"rec2idx: {url}: the bucket is in another region (")
    assert done.stderr.endswith(
        "; set AWS_DEFAULT_REGION to the region of the bucket, as AWS_REGION is not read, "
        "or `region` in the profile\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", REDIRECTS)
def test_a_redirect_without_a_region(s3: S3Server, run, tmp_path: Path, monkeypatch, status: str):
    url = s3.put("region", "val.rec", SIX)
    monkeypatch.setattr(s3, "answer", refusal(status, "PermanentRedirect", "elsewhere"))
    done = run(url, "a.idx", "-q")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "AWS_DEFAULT_REGION" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_three_things_that_are_missing(s3: S3Server, run, tmp_path: Path, monkeypatch):
    """Credentials, the object and the bucket: three different messages."""
    url = s3.put("missing", "val.rec", SIX)
    none, nowhere = "s3://missing/none.rec", "s3://nobody-has-this/val.rec"
    assert says(run(none, "a.idx", "-q"), f"{none}: No such file or directory")
    assert says(run(nowhere, "a.idx", "-q"), f"{nowhere}: the bucket does not exist")
    s3.use(monkeypatch, anonymous=True)
    assert says(run(url, "a.idx", "-q"), f"{url}: {NO_CREDENTIALS}")
    assert list(tmp_path.iterdir()) == []


def test_a_public_bucket_needs_no_credentials(s3: S3Server, run, tmp_path: Path, monkeypatch):
    """To read from it, that is. Who has no credentials is told so before the file is read."""
    url = s3.put("public", "val.rec", SIX, public=True)
    s3.use(monkeypatch, anonymous=True)
    done = run(url, "a.idx", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "a.idx").read_bytes() == SIX_INDEX
    none = "s3://public/none.rec"
    assert says(run(none, "b.idx", "-q"), f"{none}: No such file or directory")
    assert says(run(url, "-q"), f"s3://public/val.idx: {NO_CREDENTIALS}")
    assert s3.keys("public") == ["val.rec"]
