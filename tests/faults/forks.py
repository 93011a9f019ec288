"""Runs commands in forks, as lines of JSON on standard input ask for: `Commands` starts this.

    python forks.py [SHIM]

The answer to a request is a line with the status that the system gives to the parent.
"""

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import traceback
from importlib.metadata import entry_points
from typing import Any

import rec2idx

PROGRAMS = {
    name: entry_points(group="console_scripts")[name].load() for name in ("rec2idx", "recordio")
}
DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


def main(shim: str) -> None:
    library = ctypes.CDLL(shim) if shim else None
    for module in pkgutil.walk_packages(rec2idx.__path__, "rec2idx."):
        if not module.name.endswith("__main__"):  # so that no run imports any
            importlib.import_module(module.name)
    gc.freeze()  # so that forks share what is there
    requests, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    for line in requests:
        child = os.fork()
        if child == 0:
            run(json.loads(line), library)
        print(os.waitpid(child, 0)[1], file=answers, flush=True)


def run(request: dict[str, Any], library: Any) -> None:
    """Run a command in this process, and end it."""
    status = 1
    try:
        for number, handler in DEFAULTS.items():
            signal.signal(number, handler)
        signal.alarm(request["seconds"])
        os.chdir(request["cwd"])
        _redirect(0, os.devnull, os.O_RDONLY)
        _redirect(1, request["stdout"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        _redirect(2, request["stderr"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        sys.argv = request["argv"]
        if most := request["files"]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        if request["plan"] is not None:
            library.fault_arm(os.fsencode(request["plan"]))
        status = PROGRAMS[sys.argv[0]]()
        sys.stdout.flush()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _redirect(fd: int, path: str, flags: int) -> None:
    opened = os.open(path, flags, 0o666)
    os.dup2(opened, fd)
    os.close(opened)


if __name__ == "__main__":
    main(sys.argv[1])
