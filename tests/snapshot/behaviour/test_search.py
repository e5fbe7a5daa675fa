"""Filter, breakpoints, why-not, timers and typed moments: what the keys do, and what it looks like."""

import pytest
from textual.widgets import Input

from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import WIDE_SCREEN, app, press, settle, text_of, until
from trunkline.app.tui.screens.dialogs.search_dialogs import AlternativesDialog, BreakpointsDialog, FilterDialog
from trunkline.app.tui.screens.messages.screen import MessageList
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.view.timeline.filters import BreakpointKind
from trunkline.app.view.timeline.status_line import PlaybackMode

pytestmark = pytest.mark.anyio
ALL = pytest.mark.parametrize("size", [(80, 24), (120, 40), WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")


def typing(*keys: str):
    async def run(pilot) -> None:
        await settle(pilot.app)
        await press(pilot, *keys)

    return run


# ---------------------------------------------------------------- pictures


@ALL
def test_the_filter_overlay(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=typing("slash", *"v:dup"))


@ALL
def test_filtered_rows(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=typing("slash", *"v:dup", "enter"))


def test_a_filter_without_a_match(screen_compare):
    assert screen_compare(app(), terminal_size=(80, 24), run_before=typing("slash", *"zz", "enter"))


@ALL
def test_the_breakpoints(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=typing("b", "down", "enter"))


@ALL
def test_why_not(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=typing("w"))


def test_why_not_at_the_start(screen_compare):
    assert screen_compare(app(), terminal_size=(80, 24), run_before=typing("0", "w"))


def test_why_not_in_ascii(screen_compare):
    assert screen_compare(app(ascii_only=True), terminal_size=(80, 24), run_before=typing("w"))


# ---------------------------------------------------------------- behaviour


async def test_the_cursor_may_go_to_a_message_that_the_filter_hides():
    one = app(ENTRIES[1])
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "3")
        shown, *_, hidden = one.workspace.run.histories
        one.workspace.search.set_filter(f"id:{shown.id}")
        one.sync()
        messages = one.screen.query_one(MessageList)
        assert (messages.count, messages.selected) == (1, 0)
        one.workspace.seek(hidden.seq)
        one.sync()
        assert (messages.count, messages.selected) == (1, 0)
        one.workspace.search.filter = None
        one.workspace.seek(hidden.seq + 1)
        one.sync()
        assert messages.selected == messages.count - 1 > 0


async def test_the_filter_is_shown_followed_and_cleared():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        whole = one.screen.query_one(Swimlane).count
        await press(pilot, "slash", *"v:dup", "enter")
        lane = one.screen.query_one(Swimlane)
        assert lane.count == 2
        assert f"/v:dup  2 of {whole} rows, esc clears" in text_of(one)
        first, second = one.workspace.timeline.seqs
        await press(pilot, "0", "n")
        assert one.workspace.cursor == first
        await press(pilot, "n")
        assert one.workspace.cursor == second
        await press(pilot, "N")
        assert one.workspace.cursor == first
        await press(pilot, "slash")
        assert one.screen.query_one(Input).value == "v:dup"
        await press(pilot, "escape", "escape")
        assert one.screen.query_one(Swimlane).count == whole


async def test_messages_are_filtered_too():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "3")
        whole = one.screen.query_one(MessageList).count
        await press(pilot, "slash", *"v:dup", "enter")
        copies = one.screen.query_one(MessageList).count
        assert 0 < copies < whole
        assert f"/v:dup  {copies} of {whole} messages, esc clears" in text_of(one)
        await press(pilot, "slash", "home", "exclamation_mark", "enter")
        assert one.screen.query_one(MessageList).count == whole - copies
        await press(pilot, "escape")
        assert one.screen.query_one(MessageList).count == whole
        await press(pilot, "slash", *"zz", "enter")
        assert f"/zz: none of {whole} messages, esc clears" in text_of(one)


async def test_a_filter_that_is_none_keeps_the_box_open():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "slash", *"v:purple", "enter")
        assert isinstance(one.screen, FilterDialog)
        assert "no verdict is called purple" in text_of(one)


async def test_a_breakpoint_is_set_stops_and_is_removed():
    one = app(at_violation=False)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "b", *"turn", "enter", "escape")
        (point,) = one.workspace.search.breakpoints.set
        assert point.on is BreakpointKind.FILTER
        await press(pilot, "b", "down", "enter")
        assert one.workspace.search.breakpoints.set == ()
        assert isinstance(one.screen, BreakpointsDialog)
        await press(pilot, "up", "enter", "escape")
        assert not one.workspace.search.breakpoints.on_broken
        one.workspace.run.playback.play()
        for _ in range(3000):
            one.workspace.tick(0.1)
        assert one.workspace.run.playback.mode is PlaybackMode.ENDED


async def test_why_not_leads_to_the_decision():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        before = one.workspace.cursor
        await press(pilot, "w", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor < before
        await press(pilot, "w", *"nowhere at all")
        assert isinstance(one.screen, AlternativesDialog)
        assert "no place of this run has this name" in text_of(one)


async def test_timers_and_the_end():
    one = app(at_violation=False)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "full_stop")
        view = one.workspace.run.view
        assert view.time(one.workspace.cursor) >= 0.5
        await press(pilot, "F")
        assert "FOLLOWING" in text_of(one)
        await press(pilot, "full_stop")
        assert ["no later event" in note.message for note in one._notifications] == [True]


async def test_moments_and_speeds_that_are_typed():
    one = app()
    async with one.run_test(size=(80, 24)):
        await settle(one)
        screen = one.screen
        assert isinstance(screen, TimelineScreen)
        screen.go_to("#14")
        assert one.workspace.cursor == 14
        screen.go_to("t 1.0")
        assert one.workspace.run.view.time(one.workspace.cursor) <= 1.0
        screen.go_to("x8")
        assert one.workspace.run.playback.speed == 8
        screen.go_to("#99999")
        await settle(one)
        assert ["there is no event 99999" in note.message for note in one._notifications] == [True]


async def test_the_palette_goes_to_a_moment():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await press(pilot, "colon", "number_sign", "1", "4")
        await until(one, lambda: "go to this moment: #14" in text_of(one))
        await press(pilot, "enter")
        await until(one, lambda: one.workspace.cursor == 14)


async def test_without_a_run_nothing_is_looked_for():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        screen = TimelineScreen(one.workspace)
        await one.push_screen(screen)
        await press(pilot, "slash", "w", "b", "full_stop", "F")
        assert one.screen is screen
        assert len(one._notifications) >= 1
