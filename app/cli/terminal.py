"""Is there somebody to draw for?"""

from __future__ import annotations

import os
import sys


def can_draw() -> bool:
    """Whether a person sits at both ends of a terminal that can move its cursor."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
