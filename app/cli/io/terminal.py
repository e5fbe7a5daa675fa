"""Whether the app can draw, and with which characters."""

import os
import sys

from trunkline.app.terminal.output import speaks_utf8

#: the Textual driver of an app that `textual serve` shows in a page
_WEB_DRIVER = "textual.drivers.web_driver:WebDriver"


def can_draw() -> bool:
    """Whether all standard streams are a terminal that can move its cursor, or the app runs in a browser page.

    The app draws on standard error.
    """
    if _in_a_page():
        return True
    # A stream that was closed before the start is `None`.
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return at_terminal and os.environ.get("TERM", "") not in ("", "dumb")


def only_ascii() -> bool:
    """Whether the locale limits the terminal to ASCII."""
    return not _in_a_page() and sys.__stderr__ is not None and not speaks_utf8(sys.__stderr__)


def _in_a_page() -> bool:
    return os.environ.get("TEXTUAL_DRIVER") == _WEB_DRIVER
