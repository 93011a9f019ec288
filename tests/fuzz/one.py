"""Run one target in this process: python -m fuzz.one TARGET [libFuzzer's options and paths]."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import atheris

from .targets import target

# What does the same whatever the bytes are: telling where it is costs time.
DULL = ["rec2idx.sources", "rec2idx.workers", "rec2idx.errors"]


def require_sanitized() -> None:
    """The kernel runs without the sanitizers, too, and then finds little."""
    kernel = Path(importlib.import_module("rec2idx._walk").__file__ or "").read_bytes()
    missing = [
        name for name in (b"__asan_", b"__ubsan_", b"__sanitizer_cov_") if name not in kernel
    ]
    if missing:
        sys.exit(f"the kernel was built without {missing}: build it as fuzz.mk does")


def main() -> None:
    name, *options = sys.argv[1:]
    # Python tells which inputs reach something new, too.
    with atheris.instrument_imports(include=["rec2idx"], exclude=DULL):
        function = target(name)
    require_sanitized()
    atheris.Setup([sys.argv[0], *options], function)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
