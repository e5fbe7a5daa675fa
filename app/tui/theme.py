"""Colours and glyphs. Meaning is in shape, word and colour together, never in colour alone.

Every text colour is moved away from its background until it can be read, so that themes cannot break it.
"""

from collections.abc import Mapping

import msgspec
from rich.style import Style
from textual.color import Color
from textual.theme import Theme

from trunkline.app.text.fact import Tone
from trunkline.app.view.rows.lanes import Look

#: least contrast of text, and of what lies in the future
CONTRAST = 4.5
FAINT_CONTRAST = 2.6

HIGH_CONTRAST = Theme(
    name="high-contrast",
    primary="#5EB1FF",
    secondary="#9AD0FF",
    warning="#FFD500",
    error="#FF4D6A",
    success="#5CFF8F",
    accent="#FFD500",
    foreground="#FFFFFF",
    background="#000000",
    surface="#000000",
    panel="#1A1A1A",
    dark=True,
    variables={"border": "#FFFFFF", "border-blurred": "#B0B0B0"},
)
#: good is blue and wrong is orange: distinguishable with red-green blindness
COLOUR_BLIND = Theme(
    name="colour-blind",
    primary="#56B4E9",
    secondary="#0072B2",
    warning="#F0E442",
    error="#D55E00",
    success="#56B4E9",
    accent="#CC79A7",
    foreground="#E6E6E6",
    background="#101418",
    surface="#171C22",
    panel="#222A33",
    dark=True,
)
OWN_THEMES = (HIGH_CONTRAST, COLOUR_BLIND)
#: what T goes through
CYCLE = ("textual-dark", "textual-light", "high-contrast", "colour-blind", "ansi-dark", "ansi-light")


class Palette(msgspec.Struct, frozen=True, kw_only=True):
    base: Style
    dim: Style
    #: text of events after the cursor or outside the lit chain
    faint: Style
    #: the lines of the lanes
    rail: Style
    #: the gateway's line, titles of groups
    primary: Style
    good: Style
    bad: Style
    warn: Style
    #: keys in the footer, notes
    accent: Style
    #: backgrounds of the selected row, with and without the focus
    cursor: Style
    cursor_blurred: Style
    #: status line and footer
    bar: Style
    bar_key: Style
    tab: Style
    #: filled: white on error, black on warning, ...
    fill_bad: Style
    fill_warn: Style
    fill_good: Style
    fill_plain: Style

    def look(self, look: Look) -> Style:
        """The line and label of a row."""
        return {
            Look.INBOUND: self.base,
            Look.DELIVERED: self.good,
            Look.FIRST: self.bad + Style(underline=True),
            Look.COPY: self.fill_bad,
            Look.FALLBACK: self.warn + Style(bold=True),
            Look.MISPLACED: self.fill_warn,
            Look.UNKNOWN: self.warn + Style(bold=True),
            Look.SUPPRESSED: self.dim,
            Look.RETRY: self.warn,
            Look.DEAD: self.bad + Style(bold=True),
            Look.HAND: self.primary,
            Look.NOTE: self.accent + Style(italic=True),
            Look.ALARM: self.warn + Style(italic=True, bold=True),
            Look.INTERNAL: self.dim,
        }[look]

    def tone(self, tone: Tone) -> Style:
        """A line of an explanation."""
        return {
            Tone.PLAIN: self.base,
            Tone.GOOD: self.good,
            Tone.BAD: self.bad,
            Tone.WARN: self.warn,
            Tone.DIM: self.dim,
        }[tone]

    def chip(self, tone: Tone) -> Style:
        """A verdict in the status line."""
        return {Tone.GOOD: self.fill_good, Tone.BAD: self.fill_bad, Tone.WARN: self.fill_warn}.get(
            tone, self.fill_plain
        )


#: looks that are drawn as a filled bar
FILLED = frozenset({Look.COPY, Look.MISPLACED})


def palette_of(variables: Mapping[str, str], *, ansi: bool) -> Palette:
    """Resolve the styles of a theme from its variables."""
    return _ansi_palette() if ansi else _colour_palette(variables)


def _colour_palette(variables: Mapping[str, str]) -> Palette:
    back, fore, bar, primary, error, warning, success, accent = (
        Color.parse(variables[name])
        for name in ("surface", "foreground", "panel", "primary", "error", "warning", "success", "accent")
    )
    cursor = back.blend(primary, 0.3 if fore.brightness > back.brightness else 0.16)

    def ink(colour: Color, least: float = CONTRAST) -> Style:
        return Style(color=readable(readable(colour, back, least), cursor, least).rich_color)

    def fill(ground: Color) -> Style:
        text = max(Color(255, 255, 255), Color(0, 0, 0), key=lambda colour: contrast(colour, ground))
        return Style(color=text.rich_color, bgcolor=ground.rich_color, bold=True)

    return Palette(
        base=ink(fore),
        dim=ink(fore.blend(back, 0.4)),
        faint=ink(fore.blend(back, 0.7), FAINT_CONTRAST),
        rail=Style(color=fore.blend(back, 0.72).rich_color),
        primary=ink(primary),
        good=ink(success),
        bad=ink(error),
        warn=ink(warning),
        accent=ink(accent),
        cursor=Style(bgcolor=cursor.rich_color),
        cursor_blurred=Style(bgcolor=back.blend(fore, 0.1).rich_color),
        bar=Style(color=readable(fore, bar).rich_color, bgcolor=bar.rich_color),
        bar_key=Style(color=readable(accent, bar).rich_color, bgcolor=bar.rich_color, bold=True),
        tab=fill(primary),
        fill_bad=fill(error),
        fill_warn=fill(warning),
        fill_good=fill(success),
        fill_plain=fill(back.blend(fore, 0.25)),
    )


def _ansi_palette() -> Palette:
    """The terminal's own sixteen colours: attributes carry what shades would."""
    return Palette(
        base=Style(color="default"),
        dim=Style(color="default", dim=True),
        faint=Style(color="default", dim=True),
        rail=Style(color="default", dim=True),
        primary=Style(color="blue"),
        good=Style(color="green"),
        bad=Style(color="red"),
        warn=Style(color="yellow"),
        accent=Style(color="cyan"),
        cursor=Style(reverse=True),
        cursor_blurred=Style(underline=True),
        bar=Style(color="default"),
        bar_key=Style(color="cyan", bold=True),
        tab=Style(color="default", bold=True, reverse=True),
        fill_bad=Style(color="white", bgcolor="red", bold=True, reverse=False),
        fill_warn=Style(color="black", bgcolor="yellow", bold=True, reverse=False),
        fill_good=Style(color="black", bgcolor="green", bold=True, reverse=False),
        fill_plain=Style(color="default", bold=True),
    )


def readable(colour: Color, back: Color, least: float = CONTRAST) -> Color:
    """The colour, moved towards white or black until it is readable on its background."""
    card_target = back.get_contrast_text(1.0)
    for step in range(21):
        found = colour.blend(card_target, step / 20)
        if contrast(found, back) >= least:
            return found
    return card_target


def contrast(color: Color, other: Color) -> float:
    """The contrast ratio of two colours, 1 to 21, as the web's accessibility rules define it."""
    light, dark = sorted((_luminance(color), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (_linear(part) for part in colour.normalized)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4
