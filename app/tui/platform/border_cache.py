"""The frame around a list, drawn once for a line that stays: Textual draws it anew for every line of every picture.

A line that is the very same strip as in an earlier picture gets the very same framed strip. All that Textual keeps
with a strip (its parts between overlapping widgets, its bytes) is kept too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.segment import Segment
from textual._styles_cache import StylesCache
from textual.color import Color
from textual.css.styles import StylesBase
from textual.filter import LineFilter
from textual.geometry import Size
from textual.strip import Strip

#: framed lines that are kept: some pages of the largest terminal
KEPT = 400


class AcyclicStrip(Strip):
    """A strip that does not refer to itself.

    Textual's own keeps itself as its only part, so each line of each picture stays, with the hundred objects that it
    is made of, until the garbage collector comes round; and that round then takes several frames.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """Its parts; itself, where it is not cut."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class BorderCache(StylesCache):
    """In place of what Textual gives a widget; for those whose style has a border at most around their lines."""

    def __init__(self) -> None:
        super().__init__()
        #: everything that changes how a frame looks, but for its titles
        self._look: tuple[object, ...] = ()
        self._filters: Sequence[LineFilter] = ()
        #: by the identity of the line inside, which is kept with it: an identity is only good as long as its thing
        self._framed: dict[int, tuple[Strip, Strip]] = {}
        #: what stands left and right of every line, once it is known
        self._sides: tuple[list[Segment], list[Segment]] | None = None
        #: top and bottom, by their place, with the title that they have
        self._edges: dict[int, tuple[object, Strip]] = {}

    def render(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        styles: StylesBase,
        size: Size,
        base_background: Color,
        background: Color,
        render_content_line: Callable[[int], Strip],
        filters: Sequence[LineFilter],
        *titles: Any,
        **more: Any,
    ) -> list[Strip]:
        """One picture: what was framed in another way is of no use any more."""
        rest = (more.get("content_size"), more.get("opacity"), more.get("ansi_theme"), *filters)
        look = (size, base_background, background, styles.border, styles.text_opacity, *rest)
        if look != self._look:
            self._look = look
            self._filters = filters
            self._framed.clear()
            self._edges.clear()
            self._sides = None
            # Lines that nobody asked to be drawn anew are looked up here, filtered.
            self.clear()
        # Filters are applied to what is kept, so there are none left for the whole.
        return super().render(styles, size, base_background, background, render_content_line, (), *titles, **more)

    def render_line(  # noqa: PLR0917  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        styles: StylesBase,
        y: int,
        size: Size,
        content_size: Size,
        padding: Any,
        base_background: Color,
        background: Color,
        render_content_line: Callable[[int], Strip],
        border_title: object,
        border_subtitle: object,
        *rest: Any,
    ) -> Strip:
        """One line with its frame."""

        def framed(content: Callable[[int], Strip]) -> Strip:
            before = (styles, y, size, content_size, padding, base_background, background)
            make: Any = super(BorderCache, self).render_line
            return make(*before, content, border_title, border_subtitle, *rest)

        line = y - styles.gutter.top
        if not 0 <= line < content_size.height:
            title = border_subtitle if y else border_title
            known = self._edges.get(y)
            if known is None or known[0] != title:
                edge = framed(render_content_line)
                known = self._edges[y] = title, self._filtered(list(edge), edge.cell_length, background)
            return known[1]
        inside = render_content_line(line)
        found = self._framed.get(id(inside))
        if found is None:
            if len(self._framed) >= KEPT:
                self._framed.clear()
            if self._sides is None or inside.cell_length != content_size.width:
                whole = list(framed(lambda _line: inside))
                self._sides = _sides(list(inside), whole)
            else:
                whole = [*self._sides[0], *inside, *self._sides[1]]
            found = self._framed[id(inside)] = inside, self._filtered(whole, size.width, background)
        return found[1]

    def _filtered(self, segments: list[Segment], width: int, background: Color) -> Strip:
        for one in self._filters:
            segments = one.apply(segments, background)
        return AcyclicStrip(segments, width)


def _sides(inside: list[Segment], whole: list[Segment]) -> tuple[list[Segment], list[Segment]] | None:
    """What stands left and right of a line, where nothing was done to the line itself."""
    for left in range(len(whole) - len(inside) + 1):
        if whole[left : left + len(inside)] == inside:
            return whole[:left], whole[left + len(inside) :]
    return None
