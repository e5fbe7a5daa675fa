"""A Textual without the private names that the app builds on is refused with a message that names them."""

import pytest
from textual._styles_cache import StylesCache
from textual.app import App
from textual.widget import Widget

from trunkline.app.tui.platform.textual_private import UnsupportedTextual, check_textual


def test_the_installed_textual_has_every_name():
    check_textual()


def test_a_missing_attribute_is_named():
    with pytest.raises(UnsupportedTextual, match=r"Widget\._gone is missing.*works with Textual 8"):
        check_textual({Widget: ("_styles_cache", "_gone")}, {})


def test_a_missing_function_is_named():
    with pytest.raises(UnsupportedTextual, match=r"App\._gone is missing"):
        check_textual({}, {(App, "_gone"): "self"})


def test_other_parameters_are_named():
    with pytest.raises(UnsupportedTextual, match=r"StylesCache\.clear takes \(self\) instead of \(self, deep\)"):
        check_textual({}, {(StylesCache, "clear"): "self, deep"})
