#!/usr/bin/env python3
"""DALI's and MXNet's ``tools/rec2idx.py``: the installed package under the old path.

Works as ``python tools/rec2idx.py data/train.rec data/train.idx`` and as
``from tools.rec2idx import IndexCreator``, once the package is installed (``pip install .``).
"""

import os
import sys

# As a script, this file's own folder comes first on the path, and `rec2idx` would be this file.
_HERE = os.path.dirname(os.path.realpath(__file__))
if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if os.path.realpath(path or ".") != _HERE]
    from rec2idx import main

    sys.exit(main())  # before anything else is loaded: it sees to signals

from rec2idx import IndexCreator, create_index, main, parse_args  # noqa: E402 - after the path

__all__ = ["IndexCreator", "create_index", "main", "parse_args"]
