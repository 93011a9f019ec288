"""``python -m rec2idx``: the same as the command ``rec2idx``."""

import sys

from . import _rec2idx

sys.exit(_rec2idx())
