"""For screens with cards: where Enter on a card leads, and a card that takes the whole body."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from trunkline.app.tui.widgets.cards import CardTarget

if TYPE_CHECKING:
    from trunkline.app.tui.screens.run_screen import RunScreen


def go_to_card_target(screen: RunScreen, card_target: CardTarget) -> None:
    """Show the screen that a card leads to, with the cursor and the thing that was selected there."""
    if card_target.seq:
        screen.workspace.seek(card_target.seq)
    screen.host.show(card_target.screen)
    if card_target.thing:
        screen.host.call_after_refresh(screen.host.select_on_screen, card_target.thing)


def mark_columns(pane: Widget, screen: RunScreen) -> None:
    """The columns that a zoomed card stands in make way too."""
    for column in screen.query(".column"):
        column.set_class(pane.has_class("-zoomed") and column in pane.ancestors, "-zoomed")
