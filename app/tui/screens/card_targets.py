"""For screens with cards: where Enter on a card leads, and zooming a card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

from trunkline.app.tui.widgets.cards import CardTarget

if TYPE_CHECKING:
    from trunkline.app.tui.screens.run_screen import RunScreen


def go_to_card_target(screen: RunScreen, card_target: CardTarget) -> None:
    """Show the screen of a card, with its cursor and selection."""
    if card_target.seq:
        screen.workspace.seek(card_target.seq)
    screen.host.show(card_target.screen)
    if card_target.thing:
        screen.host.call_after_refresh(screen.host.select_on_screen, card_target.thing)


def mark_columns(pane: Widget, screen: RunScreen) -> None:
    """Show only the columns that contain the zoomed card."""
    for column in screen.query(".column"):
        column.set_class(pane.has_class("-zoomed") and column in pane.ancestors, "-zoomed")
