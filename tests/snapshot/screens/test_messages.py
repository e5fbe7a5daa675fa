"""The Messages screen: its pictures, what opens a message, and where its rows lead."""

import pytest

from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, text_of
from tests.support.app.queued_runs import queued, silence
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.messages.screen import MessageList, MessagesScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
#: the process has just died
REWOUND = ("$", "3", *["["] * 17)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


def list_of(one: TrunklineApp) -> MessageList:
    return one.screen.query_one(MessageList)


# ---------------------------------------------------------------- pictures


@ALL
def test_messages(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("3", "enter"))


@ALL
def test_messages_rewound(screen_compare, size):
    assert screen_compare(app(run=queued()), terminal_size=size, run_before=pressing(*REWOUND, "enter"))


@ALL
def test_no_message_in_the_run(screen_compare, size):
    assert screen_compare(app(run=silence()), terminal_size=size, run_before=pressing("$", "3"), picture=False)


def test_plain_ascii(screen_compare):
    one = app(run=queued(), ascii_only=True)
    assert screen_compare(one, terminal_size=(80, 24), run_before=pressing("$", "3", "enter"))


# ---------------------------------------------------------------- keys


async def test_the_duplicate_is_selected_and_opened_it_has_an_extra_row():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3")
        assert isinstance(one.screen, MessagesScreen)
        before = list_of(one).count
        await press(pilot, "enter")
        assert list_of(one).count == before + 2
        text = text_of(one)
        assert "1×" in text
        assert "2×" in text
        assert "the same" in text or "a copy" in text
        await press(pilot, "enter")
        assert list_of(one).count == before


async def test_a_row_of_an_opened_message_leads_to_its_event():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3", "enter", "j")
        target = list_of(one).target()
        await press(pilot, "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == target


async def test_the_cursor_selects_the_message_of_its_event():
    one = app(run=queued())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, *REWOUND)
        history = one.workspace.run.histories.of_event(one.workspace.run.view.event(one.workspace.cursor))
        chosen = list_of(one).target()
        if history is not None:
            assert chosen == history.seq
        await press(pilot, "g")
        assert list_of(one).selected == 0
        await press(pilot, "G", "e")
        assert one.screen.query_one("#body").has_class("-zoom")


async def test_the_explanation_is_of_the_selected_row():
    one = app(run=queued())
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "3", "g")
        assert "“all green”" in text_of(one)
        await press(pilot, "j", "l", "j", "enter")
        assert isinstance(one.screen, TimelineScreen)


async def test_with_nothing_open_no_key_fails():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "escape", "3", "j", "k", "enter", "l", "h", "e")
        await press(pilot, "6", "j", "enter", "7", "j", "enter", "l")
        assert one.is_running


async def test_a_click_selects_and_a_second_one_opens():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3")
        rows = list_of(one)
        before = rows.count
        await pilot.click(rows, offset=(20, 2))
        await pilot.pause(0)
        assert rows.selected == 0
        await pilot.click(rows, offset=(20, 2))
        await pilot.pause(0)
        assert rows.count > before
