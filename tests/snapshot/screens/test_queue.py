"""The Queue screen: its pictures, its sum, and where its rows lead."""

import pytest

from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, text_of
from tests.support.app.queued_runs import queued, silence
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.messages.screen import MessageList
from trunkline.app.tui.screens.queue.screen import QueueList, QueueScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
#: the process has just died with a message in its hands
REWOUND = ("$", "6", *["["] * 17)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


def list_of(one: TrunklineApp) -> QueueList:
    return one.screen.query_one(QueueList)


@ALL
def test_queue(screen_compare, size):
    assert screen_compare(app(run=queued(), at_violation=False), terminal_size=size, run_before=pressing("$", "6"))


@ALL
def test_queue_rewound(screen_compare, size):
    assert screen_compare(app(run=queued(), at_violation=False), terminal_size=size, run_before=pressing(*REWOUND))


@ALL
def test_queue_that_was_never_used(screen_compare, size):
    assert screen_compare(app(run=silence()), terminal_size=size, run_before=pressing("$", "6"), picture=False)


def test_plain_ascii(screen_compare):
    one = app(run=queued(), ascii_only=True)
    assert screen_compare(one, terminal_size=(80, 24), run_before=pressing("$", "6"))


async def test_the_sum_names_what_is_missing():
    one = app(run=queued())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "6")
        assert isinstance(one.screen, QueueScreen)
        text = text_of(one)
        assert "✗ prepared 7 ≠ delivered 3 + open 0 + retry 0 + dead 1 + unknown 1" in text
        assert "2 without an ending: i6 i7" in text
        await press(pilot, "[")
        assert "✓ prepared 7 = delivered 3 + open 1 + retry 1 + dead 1 + unknown 1" in text_of(one)


async def test_a_crash_is_a_row_and_what_it_left_shows_who_had_it():
    one = app(run=queued())
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, *REWOUND)
        text = text_of(one)
        assert "CRASH" in text
        assert "ORPHANED" in text
        assert "p1 ╳" in text


async def test_enter_leads_to_the_event_of_a_row():
    one = app(run=queued())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "6", "g", "j")
        target = list_of(one).target()
        await press(pilot, "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == target
        assert one.workspace.run.view.event(one.workspace.cursor).kind == "intent.settled"


async def test_the_selected_message_is_selected_on_the_other_screens_and_the_moment_stays():
    one = app(run=queued())
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "6", "g", "j")
        cursor, queue = one.workspace.cursor, one.workspace.run.queue
        row = queue.rows[list_of(one).selected]
        sums = [line for line in text_of(one).splitlines() if "prepared " in line]
        await press(pilot, "3")
        messages = one.screen.query_one(MessageList)
        assert (
            one.workspace.run.messages.histories.of_event(one.workspace.run.view.event(messages.target() or 0)) is row
        )
        assert one.workspace.cursor == cursor
        await press(pilot, "6", "j")
        assert [line for line in text_of(one).splitlines() if "prepared " in line] == sums
        # The cursor moves: what is selected is what it stands on.
        await press(pilot, "[")
        assert one.workspace.subject == one.workspace.cursor == cursor - 1
