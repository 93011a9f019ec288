"""Servers that the tests of this folder share. All of them run on this machine."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from servers import Nginx, OwnServer, S3Server, nginx_server, own_server, s3_server

from rec2idx import faults


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again at once, so that tests do not wait."""
    monkeypatch.setattr(faults, "FIRST_DELAY", 0.001)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "2")


@pytest.fixture(scope="session")
def web_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that nginx serves."""
    folder = tmp_path_factory.mktemp("web")
    folder.parent.parent.chmod(0o755)
    return folder


@pytest.fixture(scope="session")
def nginx(web_folder: Path) -> Iterator[Nginx]:
    with nginx_server(web_folder) as server:
        yield server


@pytest.fixture
def own() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3_running() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_running: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The S3 server, with credentials for it in the environment."""
    s3_running.use(monkeypatch)
    s3_running.traffic.clear()
    return s3_running
