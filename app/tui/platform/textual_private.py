"""The private names of Textual that the app builds on. No other module of the app uses one.

Textual may rename them in any release, and a renamed attribute would not always raise: a widget would merely draw with
the wrong cache. So all of them are checked at import; `UnsupportedTextual` names what is missing.
"""
# Private names are what this module is about.
# pyright: reportPrivateUsage=false

import inspect
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from rich.text import Text
from textual._compositor import Compositor
from textual._styles_cache import StylesCache
from textual.app import App
from textual.driver import Driver
from textual.drivers._writer_thread import WriterThread
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from trunkline.app.errors import CRASHED, crash_message

__all__ = [
    "CrashReportApp",
    "StylesCache",
    "UnsupportedTextual",
    "WriterThread",
    "check_textual",
    "driver_of",
    "screen_lines",
    "set_styles_cache",
]

WORKING = "Trunkline's app works with Textual 8"

#: class -> attributes that its __init__ sets
_ATTRIBUTES: dict[type, tuple[str, ...]] = {
    App: ("_driver", "_exception", "_exit_renderables", "_return_code"),
    Screen: ("_compositor",),
    Widget: ("_styles_cache",),
}
#: function -> its parameters, in order
_SIGNATURES: dict[tuple[type, str], str] = {
    (App, "_fatal_error"): "self",
    (App, "_close_messages_no_wait"): "self",
    (Compositor, "render_strips"): "self, size",
    (StylesCache, "clear"): "self",
    (StylesCache, "render"): "self, styles, size, base_background, background, render_content_line, filters, "
    "border_title, border_subtitle, content_size, padding, crop, opacity, ansi_theme, native_ansi",
    (StylesCache, "render_line"): "self, styles, y, size, content_size, padding, base_background, background, "
    "render_content_line, border_title, border_subtitle, opacity, ansi_theme, native_ansi",
}


class UnsupportedTextual(ImportError):
    """The installed Textual lacks a private name that the app needs."""


def check_textual(
    attributes: dict[type, tuple[str, ...]] = _ATTRIBUTES, signatures: dict[tuple[type, str], str] = _SIGNATURES
) -> None:
    """Raises `UnsupportedTextual`, with every name that is missing or has other parameters."""
    problems = [*_missing_attributes(attributes), *_changed_functions(signatures)]
    if problems:
        found = "; ".join(problems)
        raise UnsupportedTextual(f"Textual {version('textual')} is not supported: {found}. {WORKING}")


def _missing_attributes(attributes: dict[type, tuple[str, ...]]) -> Iterator[str]:
    for owner, names in attributes.items():
        known = owner.__init__.__code__.co_names
        yield from (f"{owner.__name__}.{name} is missing" for name in names if name not in known)


def _changed_functions(signatures: dict[tuple[type, str], str]) -> Iterator[str]:
    for (owner, name), expected in signatures.items():
        function = getattr(owner, name, None)
        if function is None:
            yield f"{owner.__name__}.{name} is missing"
        elif (found := ", ".join(inspect.signature(function).parameters)) != expected:
            yield f"{owner.__name__}.{name} takes ({found}) instead of ({expected})"


check_textual()


def set_styles_cache(widget: Widget, cache: StylesCache) -> None:
    """Replace the cache of a widget's drawn lines."""
    widget._styles_cache = cache


def driver_of(app: App[int]) -> Driver | None:
    """The driver of the terminal; none before the app runs."""
    return app._driver


def screen_lines(app: App[int]) -> Sequence[Strip]:
    """The current picture, line by line."""
    return app.screen._compositor.render_strips(app.size)


class CrashReportApp(App[int]):
    """Prints a sentence when an exception ends the app, and the path of the traceback, which would fill the screen."""

    def _fatal_error(self) -> None:
        error = self._exception or sys.exc_info()[1]
        if error is None:
            super()._fatal_error()
            return
        self.bell()
        self._return_code = CRASHED
        self._exit_renderables.append(Text(crash_message(error)))
        self._close_messages_no_wait()
