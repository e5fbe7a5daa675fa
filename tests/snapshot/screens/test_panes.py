"""All panes at once; lanes and marks."""

import pytest
from textual.containers import Container

from tests.support.app.front import WIDE, columns_of, notes
from tests.support.app.pilot import app as open_app
from tests.support.app.pilot import press, settle, text_of
from trunkline.app.tui.screens.dialogs.search_dialogs import BookmarksDialog, LanesDialog
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.screens.sessions.screen import SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TwoConversations
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.widgets.cards import QueueCard, SessionsCard

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- all panes at once


async def test_the_side_column_is_there_where_there_is_room_and_follows_the_cursor():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        chats = one.screen.query_one(TwoConversations)
        assert [row.tag for row in chats.rows if row.tag] == ["1×", "2×"]
        assert {row.side for row in chats.rows if row.tag} == {0, 1}
        assert chats.rows[chats.selected].seen.seq == 57
        await press(pilot, "0")
        assert chats.selected == -1
        await pilot.resize_terminal(120, 40)
        await settle(one)
        assert not one.screen.query_one("#side", Container).display
        await press(pilot, "backslash")
        assert notes(one) == ["the side column needs 150x40, this terminal has 120x40"]


async def test_nothing_of_the_side_column_is_made_in_a_small_terminal():
    one = open_app()
    async with one.run_test(size=(120, 40)):
        await settle(one)
        assert not one.screen.query(TwoConversations)


async def test_backslash_hides_the_side_column_and_the_focus_does_not_get_lost():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        one.screen.query_one(QueueCard).focus()
        await settle(one)
        await press(pilot, "backslash")
        assert not one.screen.query_one("#side", Container).display
        assert one.focused is one.screen.query_one(Swimlane)
        await press(pilot, "backslash")
        assert one.screen.query_one("#side", Container).display


async def test_a_card_beside_the_timeline_leads_to_its_screen():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        one.screen.query_one(SessionsCard).focus()
        await settle(one)
        await press(pilot, "j", "enter")
        assert isinstance(one.screen, SessionsScreen)


async def test_a_pane_of_the_side_column_can_be_zoomed():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        chats = one.screen.query_one(TwoConversations)
        small = chats.size
        chats.focus()
        await press(pilot, "z")
        assert chats.size.width > 190
        assert chats.size.height > small.height
        await press(pilot, "escape")
        assert chats.size == small


@pytest.mark.parametrize("screen", ["1", "2", "8"])
async def test_any_size_keeps_the_selected_event_in_view(screen):
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, screen)
        for size in ((200, 60), (60, 16), (176, 40), (120, 40), (100, 20), (80, 24)):
            await pilot.resize_terminal(*size)
            await settle(one)
            assert isinstance(one.screen, RunScreen)
            pane = one.screen.pane
            assert pane.top <= max(pane.selected, 0) < pane.top + pane.page, size
            assert one.workspace.cursor == 57


# ---------------------------------------------------------------- lanes and marks


async def test_lanes_are_hidden_and_shown_and_rows_stay():
    one = open_app()
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        lane = one.screen.query_one(Swimlane)
        rows, columns = lane.count, columns_of(lane)
        await press(pilot, "L", *"deploy", "enter")
        assert isinstance(one.screen, LanesDialog)
        await press(pilot, "escape")
        assert lane.count == rows
        assert len(columns_of(lane)) == len(columns) - 1
        assert "1 hidden (L)" in text_of(one)
        await press(pilot, "L", "enter", "escape")
        assert [column.index for column in columns_of(lane)] == [column.index for column in columns]


async def test_the_timeline_can_be_drawn_without_any_lane():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "L")
        for _ in range(len(one.workspace.run.lanes.all) - 1):
            await press(pilot, "down", "enter")
        await press(pilot, "escape")
        assert len(columns_of(one.screen.query_one(Swimlane))) == 1
        assert "GATEWAY" in text_of(one)


async def test_marks_are_set_gone_to_and_removed():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "apostrophe", *"dup", "enter")
        assert one.workspace.view_options.marks(one.workspace.run) == {57: "dup"}
        assert "57'" in text_of(one)
        await press(pilot, "g", "apostrophe", "enter")
        assert one.workspace.cursor == 57, "the mark is what Enter takes where there is none here"
        await press(pilot, "apostrophe", "enter")
        assert one.workspace.view_options.marks(one.workspace.run) == {}
        await press(pilot, "r", "apostrophe")
        assert isinstance(one.screen, BookmarksDialog)
