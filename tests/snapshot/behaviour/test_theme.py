"""Colours can be read in every theme, and meaning never rests on colour alone."""

import re

import pytest
from rich.color import Color as RichColor
from textual.app import App
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from tests.support.paths import ROOT
from trunkline.app.text.cells import ASCII
from trunkline.app.text.fact import Tone
from trunkline.app.tui.theme import CONTRAST, CYCLE, FAINT_CONTRAST, FILLED, OWN_THEMES, Palette, contrast, palette_of
from trunkline.app.view.rows.lanes import Look

TUI = ROOT / "app" / "tui"
THEMES = {**BUILTIN_THEMES, **{theme.name: theme for theme in OWN_THEMES}}
COLOURED = [name for name, theme in THEMES.items() if not theme.ansi]


def variables(name: str) -> dict[str, str]:
    app = App()
    for theme in OWN_THEMES:
        app.register_theme(theme)
    app.theme = name
    # An app that does not run does not compute them by itself: they would be those of its first theme.
    return app.get_css_variables()


def colour(found: RichColor | None) -> Color:
    assert found is not None
    assert found.triplet is not None
    return Color(*found.triplet)


@pytest.mark.parametrize("name", COLOURED)
def test_text_stands_out_from_its_background(name):
    known = variables(name)
    palette = palette_of(known, ansi=False)
    back = Color.parse(known["surface"])
    cursor = colour(palette.cursor.bgcolor)
    for ink in ("base", "dim", "primary", "good", "bad", "warn", "accent"):
        style = getattr(palette, ink)
        assert contrast(colour(style.color), back) >= CONTRAST, ink
        assert contrast(colour(style.color), cursor) >= CONTRAST - 0.6, ink
    assert contrast(colour(palette.faint.color), back) >= FAINT_CONTRAST
    for fill in ("bar", "bar_key", "tab", "fill_bad", "fill_warn", "fill_good", "fill_plain"):
        style = getattr(palette, fill)
        assert contrast(colour(style.color), colour(style.bgcolor)) >= 4.4, fill


OURS = [name for name in CYCLE if not THEMES[name].ansi]


def test_each_theme_is_looked_at_with_its_own_colours():
    assert len({palette_of(variables(name), ansi=False) for name in OURS}) == len(OURS)


@pytest.mark.parametrize("name", OURS)
def test_in_our_themes_text_stands_out_wherever_it_stands(name):
    """On the pane, on the selected row with the focus and without; on the bars, tabs and chips."""
    known = variables(name)
    palette = palette_of(known, ansi=False)
    grounds = (Color.parse(known["surface"]), colour(palette.cursor.bgcolor), colour(palette.cursor_blurred.bgcolor))
    for ink in ("base", "dim", "primary", "good", "bad", "warn", "accent"):
        for ground in grounds:
            assert contrast(colour(getattr(palette, ink).color), ground) >= 4.495, (ink, ground)
    for fill in ("bar", "bar_key", "tab", "fill_bad", "fill_warn", "fill_good", "fill_plain"):
        style = getattr(palette, fill)
        assert contrast(colour(style.color), colour(style.bgcolor)) >= CONTRAST, fill


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("sheet", sorted(TUI.rglob("*.tcss")), ids=lambda path: path.name)
def test_text_of_the_style_sheets_stands_out(name, sheet):
    """Titles in frames, placeholders and the like: they are text as well."""
    known = variables(name)
    back, fore = Color.parse(known["surface"]), Color.parse(known["foreground"])
    for token, percent in re.findall(r"color: \$([a-z-]+)(?: (\d+)%)?;", sheet.read_text(encoding="utf-8")):
        if token in ("foreground", "text-primary"):
            ink = fore if token == "foreground" else Color.parse(known[token])
            assert contrast(back.blend(ink, int(percent or 100) / 100), back) >= CONTRAST, token


@pytest.mark.parametrize("name", sorted(THEMES))
def test_every_look_and_tone_has_a_style(name):
    palette: Palette = palette_of(variables(name), ansi=THEMES[name].ansi)
    assert all(palette.look(look) for look in Look)
    assert all(palette.tone(tone) for tone in Tone)
    assert all(palette.chip(tone) for tone in Tone)
    assert all(palette.look(look).bgcolor for look in FILLED)


def test_plain_ascii_is_plain_and_keeps_the_width():
    assert all(chr(source) and isinstance(target, str) and len(target) == 1 for source, target in ASCII.items())
    assert all(str(target).isascii() for target in ASCII.values())
