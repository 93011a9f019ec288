"""Secrets of URLs are taken out of any text; all else in it stays as it is."""

import dataclasses
import pickle
import traceback

import pytest

import rec2idx
from rec2idx.redaction import redacted, redacted_error

# What is hidden in each is the word s3cr3t, with whatever stands around it.
SIGNED = (
    "https://host/train.rec?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=s3cr3t%2F2026&"
    "X-Amz-Date=20261207T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&"
    "X-Amz-Security-Token=s3cr3t%2B%2F%3D%3D&X-Amz-Signature=s3cr3t"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://me:s3cr3t@host/a.rec", "https://me:***@host/a.rec"),
        ("https://me:s3c@r3ts3cr3t@host/a@b.rec", "https://me:***@host/a@b.rec"),
        ("https://me:a/s3cr3t@host/a.rec", "https://me:***@host/a.rec"),
        ("https://me:a?s3cr3t@host/a.rec", "https://me:***@host/a.rec"),
        ("https://me:a s3cr3t@host/a.rec: gone", "https://me:***@host/a.rec: gone"),
        ("https://:s3cr3t@host:80/a.rec", "https://:***@host:80/a.rec"),
        ("https://s3cr3t@host/a.rec", "https://***@host/a.rec"),
        ("https://s3cr3t:x-oauth-basic@host/a.rec", "https://***@host/a.rec"),
        ("ftp://me:%73s3cr3t@host/a%20b.rec", "ftp://me:***@host/a%20b.rec"),
        ("simplecache::https://me:s3cr3t@host/a.rec", "simplecache::https://me:***@host/a.rec"),
        ("zip://in.rec::ftp://me:s3cr3t@host/a.zip", "zip://in.rec::ftp://me:***@host/a.zip"),
        ("https://host/a.rec?sig=s3cr3t", "https://host/a.rec?sig=***"),
        ("https://host/a.rec?sv=1&sig=s3cr3t%3D&se=2", "https://host/a.rec?sv=1&sig=***&se=2"),
        ("https://host/a.rec?token=s3cr3t#top", "https://host/a.rec?token=***#top"),
        ("https://host/a.rec#access_token=s3cr3t", "https://host/a.rec#access_token=***"),
        ("https://host/a.rec?v=1;key=s3cr3t", "https://host/a.rec?v=1;key=***"),
        (
            "s3://b/a?AWSAccessKeyId=s3cr3t&Expires=1&Signature=s3cr3t%3D",
            "s3://b/a?AWSAccessKeyId=***&Expires=1&Signature=***",
        ),
        (
            "https://h/a?GoogleAccessId=s3cr3t%40x&x-goog-signature=s3cr3t&X-GOOG-Credential=s3cr3t",
            "https://h/a?GoogleAccessId=***&x-goog-signature=***&X-GOOG-Credential=***",
        ),
        (
            "https%3A%2F%2Fme%3As3cr3t%40host%2Fa.rec%3Fsig%3Ds3cr3t%26v%3D1",
            "https://me:***@host/a.rec?sig=***&v=1",
        ),
        (
            "https://host/?to=https%253A%252F%252Fhost%252Fa.rec%253Fsig%253Ds3cr3t gone",
            "https://host/?to=https://host/a.rec?sig=*** gone",
        ),
        ("https://host/a.rec?X%2DAmz-Signature=s3cr3t", "https://host/a.rec?X-Amz-Signature=***"),
        ("404, url='https://host/a?sig=s3cr3t', gone", "404, url='https://host/a?sig=***', gone"),
        ("URL('https://host/a.rec?sig=s3cr3t')", "URL('https://host/a.rec?sig=***')"),
        ("(see https://host/a.rec?sig=s3cr3t): no", "(see https://host/a.rec?sig=***): no"),
        ("{'Authorization': 'Basic s3cr3t=='}", "{'Authorization': '***'}"),
        ("Authorization: Bearer s3cr3t", "Authorization: Bearer ***"),
        ("BasicAuth(login='me', password='s3cr3t x')", "BasicAuth(login='me', password='***')"),
        ("<AWSAccessKeyId>s3cr3t</AWSAccessKeyId>", "<AWSAccessKeyId>***</AWSAccessKeyId>"),
        ("no key AKIAIOSFODNN7EXAMPLE there", "no key *** there"),
    ],
)  # fmt: skip
def test_secrets_are_hidden_and_the_rest_stays(text, expected):
    assert redacted(text) == expected
    assert redacted(expected) == expected


def test_a_signed_url_can_be_recognised():
    assert redacted(SIGNED) == (
        "https://host/train.rec?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=***&"
        "X-Amz-Date=20261207T000000Z&X-Amz-Expires=60&X-Amz-SignedHeaders=host&"
        "X-Amz-Security-Token=***&X-Amz-Signature=***"
    )


@pytest.mark.parametrize(
    "text",
    [
        "data/train.rec",
        "/data/token=5/key=7/a.rec",
        "s3://bucket/token=5/a@b.rec",
        "https://host:8080/a@b.rec",
        "http://[::1]:8080/a@b.rec?v=1",
        "https://host/a%20b%41.rec?versionId=a%3Db&partNumber=2",
        "sftp://me@host/a.rec",
        "see http://host:80 or write to me@host",
        "key 7 at byte 44: wrong magic: expected 0xced7230a, found 0x00000000",
        "--keys is 'token', expected sequence, id or keep=OLD.idx",
        "100% of a=b, c==d and %s",
        "",
    ],
)
def test_text_without_secrets_stays(text):
    assert redacted(text) == text


def test_hostile_text_takes_no_longer_the_longer_it_is():
    """Not measured, but a square of these sizes would not end."""
    for text in ("://u:x", "://a:", "a=b", "%25", "&token=", "'token':", "?a", "<token>", "u:p@"):
        redacted(text * 20_000 + " @%=")
        redacted("=@% " + text * 20_000)


def test_errors_of_the_package():
    error = rec2idx.RecordIOError(
        f"it is not {SIGNED}", path=SIGNED, record=1, offset=2,
        expected=SIGNED, found=SIGNED, advice=SIGNED,
    )  # fmt: skip
    error.path = SIGNED
    again = pickle.loads(pickle.dumps(error))
    for one in (error, again):
        assert "s3cr3t" not in f"{one!s} {one!r} {one.args} {vars(one)} {one.describe()}"
        assert one.path == redacted(SIGNED)


def test_causes_of_errors():
    """Whatever they are, and however they refer to each other."""
    first = KeyError(SIGNED)
    second = OSError(5, "it broke", SIGNED)
    second.__cause__ = first
    third = ValueError("harmless")
    third.__context__ = second
    first.__context__ = third  # a ring
    plain = redacted_error(third)
    assert plain is third
    shown = "".join(traceback.format_exception(plain))
    assert "s3cr3t" not in shown
    assert "builtins.OSError: [Errno 5] it broke: 'https://host/train.rec?" in shown
    assert "builtins.KeyError: " in shown


def test_an_error_without_secrets_keeps_its_causes():
    cause = OSError(5, "it broke", "https://host/a.rec")
    error = ValueError("no")
    error.__cause__ = cause
    assert redacted_error(error) is error
    assert error.__cause__ is cause
    assert error.__suppress_context__


def test_values_keep_urls_and_do_not_show_them():
    """What callers open again is the URL itself; how it looks is another matter."""
    done = rec2idx.IndexSummary(1, 44, 0.5, SIGNED)
    file = rec2idx.FileResult(SIGNED, done)
    assert (done.index, file.record) == (SIGNED, SIGNED)
    for value in (
        done,
        file,
        rec2idx.ManySummary((file,), (), (rec2idx.RepeatedFile(SIGNED, SIGNED),), 0.5),
        rec2idx.KeepKeys(SIGNED),
        rec2idx.DamagedRegion(SIGNED, 0, 4, 0, "wrong-magic", "wrong magic"),
        rec2idx.Finding("odd", "error", SIGNED, "it is odd", None, None, 1, ()),
    ):
        assert "s3cr3t" not in f"{value} {value!r}"
        assert "https://host/train.rec?X-Amz-Algorithm=" in repr(value)
        assert dataclasses.is_dataclass(value)


def test_a_combined_index():
    file = rec2idx.CombinedFile(SIGNED, 1, 44, 0, 0, 0)
    done = rec2idx.CombinedSummary("all.idx", (file, file), (SIGNED,), 0.5, (SIGNED,))
    assert done.path == [SIGNED, SIGNED]
    assert done.mxnet_call is None
    assert len(done.warnings) == 5
    assert "s3cr3t" not in f"{done} {done.dali_call} {done.warnings}"


def test_json():
    finding = rec2idx.Finding("odd", "error", SIGNED, f"not {SIGNED}", SIGNED, None, 1, ())
    check = rec2idx.Check((SIGNED,), SIGNED, 44, 1, 1, (finding,), 0.5)
    assert check.paths == (SIGNED,)
    assert "s3cr3t" not in str(check.as_dict())
    assert check.as_dict()["paths"] == [redacted(SIGNED)]


def test_commands_say_no_secrets_of_their_arguments(run, folder):
    """Wrong usage quotes arguments; the extra that URLs need is not installed here."""
    for arguments in ([SIGNED], ["a", "b", SIGNED], ["--keys", SIGNED, "a"], ["-j", SIGNED, "a"]):
        done = run(*arguments)
        assert done.returncode in (1, 2)
        assert "s3cr3t" not in done.stdout + done.stderr
        assert "X-Amz-Signature=***" in done.stderr
