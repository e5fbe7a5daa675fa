"""Caches the framed lines of a list. Textual draws the frame again for every line of every picture.

A line that is the same strip as in the previous picture gives the same framed strip, so that what Textual keeps with a
strip (its parts between overlapping widgets, its bytes) is reused too.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.segment import Segment
from textual.color import Color
from textual.css.styles import StylesBase
from textual.filter import LineFilter
from textual.geometry import Size
from textual.strip import Strip

from trunkline.app.tui.platform.textual_private import StylesCache

#: framed lines that are kept: some pages of the largest terminal
CAPACITY = 400


class AcyclicStrip(Strip):
    """A Strip whose `divide` does not cache itself, which would create a reference cycle.

    With the cycle, every line of every picture stays until a full round of the garbage collector, and that round takes
    several frames.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        """The parts of the strip; the strip itself if it is not cut."""
        cuts = list(cuts)
        return [self] if cuts == [self.cell_length] else super().divide(cuts)


class BorderCache(StylesCache):
    """A `StylesCache` for widgets whose style adds nothing but a border and padding to their lines."""

    def __init__(self) -> None:
        super().__init__()
        #: everything that changes how a frame looks, except its titles
        self._look: tuple[object, ...] = ()
        self._filters: Sequence[LineFilter] = ()
        #: id of a line -> the line, kept alive so that the id stays valid, and its framed strip
        self._framed: dict[int, tuple[Strip, Strip]] = {}
        #: the segments left and right of every line, once known
        self._sides: tuple[list[Segment], list[Segment]] | None = None
        #: y of the top or bottom edge -> its title, and the drawn strip
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
        """Draw one picture; drops what was framed in another look."""
        rest = (more.get("content_size"), more.get("opacity"), more.get("ansi_theme"), *filters)
        look = (size, base_background, background, styles.border, styles.text_opacity, *rest)
        if look != self._look:
            self._look = look
            self._filters = filters
            self._framed.clear()
            self._edges.clear()
            self._sides = None
            self.clear()
        # Cached strips are filtered already.
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
        def framed(content: Callable[[int], Strip]) -> Strip:
            before = (styles, y, size, content_size, padding, base_background, background)
            render: Any = super(BorderCache, self).render_line
            return render(*before, content, border_title, border_subtitle, *rest)

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
            if len(self._framed) >= CAPACITY:
                self._framed.clear()
            if self._sides is None or inside.cell_length != content_size.width:
                whole = list(framed(lambda _line: inside))
                self._sides = _sides(list(inside), whole)
            else:
                whole = [*self._sides[0], *inside, *self._sides[1]]
            found = self._framed[id(inside)] = inside, self._filtered(whole, size.width, background)
        return found[1]

    def _filtered(self, segments: list[Segment], width: int, background: Color) -> Strip:
        for filter_ in self._filters:
            segments = filter_.apply(segments, background)
        return AcyclicStrip(segments, width)


def _sides(inside: list[Segment], whole: list[Segment]) -> tuple[list[Segment], list[Segment]] | None:
    """The segments before and after `inside` in a framed line; none if the style changed the line itself."""
    for left in range(len(whole) - len(inside) + 1):
        if whole[left : left + len(inside)] == inside:
            return whole[:left], whole[left + len(inside) :]
    return None
