"""What the figures were measured on: the machine, and the versions of everything involved."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path

from .contenders import DALI_TOOL, MXNET_PYTHON, OURS, REMOTE_PYTHON, ROOT, VENV_PYTHON

MXNET_VERSIONS = (
    "import platform, numpy, mxnet;"
    "print(f'MXNet {mxnet.__version__}, numpy {numpy.__version__}, "
    "Python {platform.python_version()}')"
)
REMOTE_VERSIONS = (
    "import importlib.metadata as m;"
    "print(', '.join(f'{n} {m.version(n)}' for n in ('fsspec', 'aiohttp', 's3fs', 'moto')))"
)


def machine() -> dict[str, str]:
    """Return processor, cores, memory and kernel of this machine."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
    }


def versions() -> dict[str, str]:
    """Return the versions of ours, of the peers and of the compiler."""
    return {
        "ours": f"{_output(OURS, '--version')}, {_output(VENV_PYTHON, '--version')}"
        f", commit {_commit()}",
        "original": f"{_dali()}, {_output(MXNET_PYTHON, '-W', 'ignore', '-c', MXNET_VERSIONS)}",
        "remote": _output(REMOTE_PYTHON, "-c", REMOTE_VERSIONS),
        "floor": _output("cc", "--version").splitlines()[0],
    }


def _dali() -> str:
    """Return the version of the DALI that the script comes from, which `make peers` sets up."""
    version = "import importlib.metadata as m; print(m.version('nvidia-dali-cuda120'))"
    python = DALI_TOOL.parent / "dali/bin/python"
    return f"DALI {_output(python, '-c', version) if python.exists() else 'of unknown version'}"


def _processor() -> str:
    with_names = Path("/proc/cpuinfo")
    if with_names.exists():
        for line in with_names.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    try:
        return _output("git", "-C", ROOT, "describe", "--always", "--dirty")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _output(*command: str | os.PathLike[str]) -> str:
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout.strip()
