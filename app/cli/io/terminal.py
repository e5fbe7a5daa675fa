"""Is there somebody to draw for, and with which characters?"""

from __future__ import annotations

import os
import sys

from trunkline.app.cli.io.output import speaks_utf8

#: what `trunkline web` has its pages draw with
_WEB_DRIVER = "textual.drivers.web_driver:WebDriver"


def can_draw() -> bool:
    """Whether a person sits at a terminal that can move its cursor, or looks at a page of a browser.

    Standard error counts too: that is what the app draws on.
    """
    if _in_a_page():
        return True
    # What was closed before the start is none.
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return at_terminal and os.environ.get("TERM", "") not in ("", "dumb")


def only_ascii() -> bool:
    """Whether the terminal takes no more than plain characters, as its locale says."""
    return not _in_a_page() and sys.__stderr__ is not None and not speaks_utf8(sys.__stderr__)


def _in_a_page() -> bool:
    return os.environ.get("TEXTUAL_DRIVER") == _WEB_DRIVER
