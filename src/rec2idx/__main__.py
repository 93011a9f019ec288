"""``python -m rec2idx``: the same as the command ``rec2idx``."""

import sys

from .cli import main

sys.exit(main())
