"""The command palette: everything that keys do on the screen below, and every scenario."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

from trunkline.app.text.cells import clean
from trunkline.app.tui.host import host_of
from trunkline.app.tui.keys import keys_of, show
from trunkline.app.view.timeline.seek_syntax import read_speed

#: moments and speeds in the syntax of `trunkline.app.view.timeline.seek_syntax`
_TYPED = re.compile(r"(?:(?:t|speed|[x×#])\s*)?\d*\.?\d+\.?\s*s?", re.IGNORECASE)
#: score above every other match
FIRST = 1e6
_HOW = "t 1.27 is a time in seconds, #14 an event, x8 a speed"
#: the group of keys that are no commands
_MOVES = "move"


class KeyTableCommands(Provider):
    """Commands made from the key table. The palette reads its texts as markup, and titles are from strangers."""

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], Any]]]:
        screen = self.screen
        app = host_of(screen)
        name = getattr(screen, "name_in_keys", "")
        for key in keys_of(name):
            if key.group != _MOVES and key.id != "palette":
                yield key.help, show(key.keys[0]), partial(screen.run_action, key.action)
        for entry in app.workspace.source.scenarios() if name else ():
            yield clean(f"scenario {entry.title}"), clean(entry.id), partial(app.open_entry, entry)

    async def discover(self) -> Hits:
        if hasattr(self.screen, "go_to"):
            yield DiscoveryHit(
                "t 1.27  #14  x8: type a moment to go to, or a speed", partial(self.screen.notify, _HOW), help=_HOW
            )
        for title, extra, run in self._commands():
            yield DiscoveryHit(escape(title), run, text=title, help=escape(extra))

    async def search(self, query: str) -> Hits:
        """The commands that match the query; a moment (``t 1.27``, ``#14``) or a speed (``x8``) comes first."""
        go = getattr(self.screen, "go_to", None)
        if go is not None and _TYPED.fullmatch(query.strip()):
            what = "play at this speed" if read_speed(query) is not None else "go to this moment"
            yield Hit(FIRST, escape(f"{what}: {query.strip()}"), partial(go, query), help=_HOW)
        matcher = self.matcher(query)
        for title, extra, run in self._commands():
            score = matcher.match(f"{title} {extra}")
            if score > 0:
                # What is highlighted is read as markup too.
                shown = Content(title) if "[" in title else matcher.highlight(title)
                yield Hit(score, shown, run, text=title, help=escape(extra))
