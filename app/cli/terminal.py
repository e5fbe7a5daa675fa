"""Is there somebody to draw for?"""

from __future__ import annotations

import os
import sys

#: what `trunkline web` has its pages draw with
_WEB_DRIVER = "textual.drivers.web_driver:WebDriver"


def can_draw() -> bool:
    """Whether a person sits at both ends of a terminal that can move its cursor, or looks at a page of a browser."""
    if os.environ.get("TEXTUAL_DRIVER") == _WEB_DRIVER:
        return True
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
