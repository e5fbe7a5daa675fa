"""Actions that every screen with a row in the key table has: theme, help, command palette, suspend, quit."""

from __future__ import annotations

from typing import ClassVar, cast

from textual.binding import BindingType
from textual.dom import DOMNode

from trunkline.app.tui.host import HostApp, host_of
from trunkline.app.tui.keys import bindings_of


class AppActions:
    """Mixin for screens. `class QueueScreen(..., screen="queue")` binds the keys that the table has for it."""

    #: name of the screen in the key table
    name_in_keys = ""
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init_subclass__(cls, *, screen: str = "") -> None:
        if screen:
            cls.name_in_keys = screen
            cls.BINDINGS = [*bindings_of(screen)]  # pyright: ignore[reportConstantRedefinition]
        super().__init_subclass__()

    @property
    def host(self) -> HostApp:
        return host_of(cast(DOMNode, self))

    def action_theme(self) -> None:
        self.host.next_theme()

    def action_help(self) -> None:
        self.host.open_help(self.name_in_keys)

    def action_palette(self) -> None:
        self.host.action_command_palette()

    def action_suspend_process(self) -> None:
        self.host.action_suspend_process()

    async def action_quit(self) -> None:
        self.host.exit(0)
