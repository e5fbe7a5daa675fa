"""What the tests of front share."""

from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.view.rows.lanes import LaneColumn

WIDE = (200, 60)


def notes(one: TrunklineApp) -> list[str]:
    return [note.message for note in one._notifications]


def columns_of(lane: Swimlane) -> tuple[LaneColumn, ...]:
    """The lanes as they are drawn now."""
    assert lane.layout_now is not None
    return lane.layout_now.columns
