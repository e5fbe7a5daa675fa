"""The list screens where they are hard to read: near keys, overlapping claims, parts, deadlines; and their use."""

import pytest

from tests.support.app.bound_runs import bound_threads
from tests.support.app.claimed_runs import claimed, near_keys
from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, settle, text_of
from tests.support.app.queued_runs import helpers, silence
from trunkline.app.tui.screens.bindings.screen import BindingsScreen
from trunkline.app.tui.screens.hands.screen import HandList
from trunkline.app.tui.screens.queue.screen import QueueList, QueueRecord
from trunkline.app.tui.screens.sessions.screen import Alignment, SessionList, SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
WIDE = (200, 60)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


# ---------------------------------------------------------------- pictures


@ALL
def test_sessions_rewound(screen_compare, size):
    before = pressing("$", "4", *["["] * 30)
    assert screen_compare(app(ENTRIES[1], at_violation=False), terminal_size=size, run_before=before)


@ALL
def test_no_session_in_the_run(screen_compare, size):
    assert screen_compare(app(run=silence()), terminal_size=size, run_before=pressing("$", "4"), picture=False)


@ALL
def test_keys_that_are_almost_the_same(screen_compare, size):
    assert screen_compare(app(run=near_keys()), terminal_size=size, run_before=pressing("$", "4"), picture=False)


def test_sessions_wide(screen_compare):
    assert screen_compare(app(ENTRIES[1]), terminal_size=WIDE, run_before=pressing("$", "4"))


@ALL
def test_queue_with_claims_that_overlap_and_parts(screen_compare, size):
    assert screen_compare(app(run=claimed()), terminal_size=size, run_before=pressing("$", "6"))


@ALL
def test_queue_of_a_text_in_parts(screen_compare, size):
    assert screen_compare(app(run=claimed()), terminal_size=size, run_before=pressing("$", "6", "g", "j"))


@ALL
def test_messages_in_parts(screen_compare, size):
    assert screen_compare(app(run=claimed()), terminal_size=size, run_before=pressing("$", "3", "G", "enter"))


def test_lists_without_colour(screen_compare, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen_compare(app(run=claimed()), terminal_size=(80, 24), run_before=pressing("$", "6"), picture=True)


def test_sessions_in_plain_ascii(screen_compare):
    one = app(run=near_keys(), ascii_only=True)
    assert screen_compare(one, terminal_size=(80, 24), run_before=pressing("$", "4"))


# ---------------------------------------------------------------- what is told


@pytest.mark.parametrize("size", [*SIZES, WIDE], ids=str)
async def test_near_keys_stand_together_and_say_so(size):
    one = app(run=near_keys())
    async with one.run_test(size=size) as pilot:
        await press(pilot, "$", "4")
        keys = [row.name for row in one.screen.query_one(SessionList).rows]
        assert [key.split(":", 2)[2] for key in keys] == [
            "*:direct:970312941",
            "main:direct:970312941",
            "main:channel:OPS",
            "main:channel:ops",
            "main:direct:77",
        ]
        assert "keys almost the same: what differs is reversed" in text_of(one)


@pytest.mark.parametrize("size", [*SIZES, WIDE], ids=str)
async def test_the_queue_shows_both_owners_and_the_strip_of_parts_at_any_size(size):
    one = app(run=claimed())
    async with one.run_test(size=size) as pilot:
        await press(pilot, "$", "6")
        text = text_of(one)
        assert "p1+p2" in text
        assert "■2□■" in text
        assert "D5" in text and "D4" in text
        record = one.screen.query_one(QueueRecord)
        told = {line.fact.text for line in record.lines}
        assert sum("while another process had it too" in line for line in told) == 2


@pytest.mark.parametrize("size", [*SIZES, WIDE], ids=str)
async def test_a_hand_past_its_deadline_turns_wrong_by_itself(size):
    one = app(run=helpers())
    async with one.run_test(size=size) as pilot:
        await press(pilot, "$", "7")
        rows = one.screen.query_one(HandList).rows
        assert [row.body.hand for row in rows if row.overdue] == ["cook"]
        (cook,) = (line for line in text_of(one).splitlines() if "✗ ORPHAN" in line)
        assert "cook" in cook
        assert "✗ L2" in cook
        await press(pilot, *["["] * 3)
        assert not any(row.overdue for row in one.screen.query_one(HandList).rows)


@pytest.mark.parametrize("key", ["3", "4", "5", "6", "7"])
async def test_an_empty_list_says_why_and_keys_do_no_harm(key):
    one = app(run=silence())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", key)
        assert "in this run" in text_of(one)
        await press(pilot, "j", "k", "g", "G", "enter", "l", "h", "tab", "e", "escape")
        assert one.is_running


# ---------------------------------------------------------------- the mouse


async def test_a_click_selects_a_session_and_a_click_on_its_transcript_moves_the_cursor():
    one = app(run=near_keys())
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "4")
        cursor = one.workspace.cursor
        sessions, sides = one.screen.query_one(SessionList), one.screen.query_one(Alignment)
        await pilot.click(sessions, offset=(20, 4))
        await settle(one)
        assert (sessions.selected, one.workspace.cursor) == (2, cursor)
        assert "channel:OPS" in str(sides.border_title)
        await pilot.click(sides, offset=(20, 2))
        await settle(one)
        assert one.workspace.cursor == sides.pairs[0].seq < cursor
        await pilot.click(sides, offset=(20, 2))
        await settle(one)
        assert isinstance(one.screen, TimelineScreen)


async def test_the_wheel_scrolls_a_record_and_the_selection_stays():
    one = app(run=claimed())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "6")
        rows, record = one.screen.query_one(QueueList), one.screen.query_one(QueueRecord)
        selected = rows.selected
        record.post_message(_wheel(record))
        await settle(one)
        assert (record.top > 0, rows.selected) == (True, selected)


def _wheel(widget):
    from textual import events

    return events.MouseScrollDown(widget, 1, 1, 0, 0, 0, False, False, False)


async def test_the_selected_binding_stays_selected_on_the_way_over_another_screen():
    one = app(run=bound_threads())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "5", "G")
        assert isinstance(one.screen, BindingsScreen)
        chosen = one.screen.list.chosen
        await press(pilot, "6", "5")
        assert isinstance(one.screen, BindingsScreen)
        assert one.screen.list.chosen == chosen


async def test_the_sessions_of_a_run_begin_with_the_one_in_which_something_is_wrong():
    one = app(ENTRIES[1], at_violation=False)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "4")
        assert isinstance(one.screen, SessionsScreen)
        rows = one.screen.list
        assert rows.selected in rows.marks()


async def test_differences_that_are_ahead_are_marked_as_such():
    one = app(ENTRIES[1], at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "0", "4")
        assert "both sides agree, 2 ≠ ahead" in text_of(one)
        await press(pilot, "$")
        assert "≠ ahead" not in text_of(one)
