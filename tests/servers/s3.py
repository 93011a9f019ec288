"""A real S3 server over HTTP: moto's, in threads of this process."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from servers.traffic import Request, Traffic

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
# What answers a request in place of moto: status, headers, body; None to leave it to moto.
Answer = tuple[str, list[tuple[str, str]], bytes] | None


class S3Server:
    """A running S3 server.

    Attributes:
        url: its endpoint.
        environment: variables under which AWS clients find it; they have credentials.
        traffic: what it was asked for.
        delay: seconds before each answer.
        answer: called with each request's WSGI environment; see `Answer`.
    """

    def __init__(self) -> None:
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.traffic = Traffic()
        self.delay = 0.0
        self.answer: Callable[[dict[str, Any]], Answer] = lambda environ: None
        self._moto: Application = DomainDispatcherApplication(create_backend_app)
        self.server = make_server("127.0.0.1", 0, self._serve, threaded=True)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.environment = {
            **anonymous_environment(self.url),
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
        }
        self._client: Any = None

    def put(self, bucket: str, key: str, data: bytes, *, public: bool = False) -> str:
        """Put an object, in a bucket that is made if it is missing; returns its URL.

        What is not public is refused to those without credentials.
        """
        acl = "public-read" if public else "private"
        with suppress(self.client.exceptions.BucketAlreadyOwnedByYou):
            self.client.create_bucket(Bucket=bucket, ACL=acl)
        self.client.put_object(Bucket=bucket, Key=key, Body=data, ACL=acl)
        self.traffic.clear()
        return f"s3://{bucket}/{key}"

    def get(self, bucket: str, key: str) -> bytes:
        """Return what an object holds."""
        body: bytes = self.client.get_object(Bucket=bucket, Key=key)["Body"].read()
        return body

    def keys(self, bucket: str) -> list[str]:
        """Return what is in a bucket."""
        found = self.client.list_objects_v2(Bucket=bucket).get("Contents", [])
        return [item["Key"] for item in found]

    def use(self, monkeypatch: Any, *, anonymous: bool = False) -> None:
        """Let S3 clients in this process use this server, for one test."""
        use_environment(monkeypatch, anonymous_environment(self.url))
        if not anonymous:
            use_environment(monkeypatch, self.environment)

    @property
    def client(self) -> Any:
        """A boto3 client for it."""
        if self._client is None:
            import boto3

            self._client = boto3.client(
                "s3",
                endpoint_url=self.url,
                region_name="us-east-1",
                aws_access_key_id="testing",
                aws_secret_access_key="testing",
            )
        return self._client

    def _serve(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        time.sleep(self.delay)
        status = ""

        def remember(line: str, *more: Any) -> Any:
            nonlocal status
            status = line
            return start(line, *more)

        if answer := self.answer(environ):
            remember(answer[0], answer[1])
            body = answer[2]
        else:
            body = b"".join(self._moto(environ, remember))
        head = environ["REQUEST_METHOD"] == "HEAD"
        self.traffic.add(
            Request(
                environ["REQUEST_METHOD"],
                environ["PATH_INFO"],
                environ.get("HTTP_RANGE", ""),
                int(status.split()[0]),
                0 if head else len(body),
            )
        )
        return [body]


def refusal(
    status: str, code: str, text: str, headers: tuple[tuple[str, str], ...] = ()
) -> Callable[[dict[str, Any]], Answer]:
    """Return what answers as S3 does when it refuses: without a body to HEAD."""

    def answer(environ: dict[str, Any]) -> Answer:
        body = f"<Error><Code>{code}</Code><Message>{text}</Message></Error>".encode()
        kept = b"" if environ["REQUEST_METHOD"] == "HEAD" else body
        length = ("Content-Length", str(len(kept)))
        return status, [("Content-Type", "application/xml"), length, *headers], kept

    return answer


def anonymous_environment(endpoint: str) -> dict[str, str]:
    """Return variables under which AWS clients find an endpoint and no credentials."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }


def use_environment(monkeypatch: Any, environment: dict[str, str]) -> None:
    """Set variables for one test; what they are not part of is unset."""
    from s3fs import S3FileSystem

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    S3FileSystem.clear_instance_cache()  # clients keep the endpoint that they began with


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Run an empty S3 server until the block ends."""
    from moto.core.model_instances import reset_model_data

    server = S3Server()
    thread = threading.Thread(target=server.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.server.shutdown()
        thread.join()
        server.server.server_close()
        reset_model_data()
