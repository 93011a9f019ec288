"""Fixtures and settings shared by the quick tests."""

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).with_name("rec2idx")

# The tests send signals, which shells let their background processes ignore, and nohup too.
for _number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        _default = signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL
        signal.signal(_number, _default)

# Files are written anew by each example, so the folder may serve all examples of a test.
settings.register_profile(
    "default", deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("default")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the installed command in `tmp_path`; returns what it printed and its exit status."""

    def run(*args, **options):
        return subprocess.run(
            [COMMAND, *args],
            **{"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 60, **options},
        )

    return run


def folder_content(folder: Path) -> dict[str, bytes]:
    """All files in a folder, hidden ones too, with their bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
