"""The command: arguments in, library calls, words and exit status out."""

from .arguments import parse_args
from .command import main

__all__ = ["main", "parse_args"]
