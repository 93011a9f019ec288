"""The peers and ourselves, each run in an environment of its own."""

import base64
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = ROOT / ".envs"
MXNET = ENVIRONMENTS / "mxnet"
DALI = ENVIRONMENTS / "dali"
DALI_SECOND = ENVIRONMENTS / "dali_second"
DALI_REC2IDX = ENVIRONMENTS / "dali_rec2idx.py"
COMMAND = Path(sys.executable).with_name("rec2idx")


def require(environment: Path) -> None:
    """Fail where an environment is not there: a comparison that did not happen proves nothing."""
    for needed in (environment / "ready", DALI_REC2IDX):
        if not needed.exists():
            pytest.fail(f"{needed} is missing; `make peers` sets it up", pytrace=False)


def in_mxnet(*steps: dict) -> list:
    """Do the steps one after the other in one process of the MXNet environment.

    One process serves many files because importing MXNet takes longer than most of the work.
    """
    return _run_script(MXNET, "in_mxnet.py", steps)


def in_dali(*steps: dict) -> list:
    """Do the steps one after the other in one process of the DALI environment."""
    return _run_script(DALI, "in_dali.py", steps)


def original(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run DALI's own rec2idx, under MXNet, as a command."""
    require(MXNET)
    return _run([MXNET / "bin/python", DALI_REC2IDX, *arguments], cwd)


def ours(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run our installed command."""
    return _run([COMMAND, *arguments], cwd)


def mask_seconds(printed: str) -> str:
    """Return progress lines without what differs from run to run."""
    return re.sub(r"^time: \d\S*  count: ", "time: SECONDS  count: ", printed, flags=re.MULTILINE)


def encode(payloads: list[bytes]) -> list[str]:
    """Payloads as they go to a peer's script."""
    return [base64.b64encode(payload).decode() for payload in payloads]


def _run_script(environment: Path, name: str, steps: tuple[dict, ...]) -> list:
    require(environment)
    done = subprocess.run(
        [environment / "bin/python", Path(__file__).with_name(name)],
        input=json.dumps(steps, default=str),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert len(results) == len(steps)
    return results


def _run(command: list, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=300
    )
