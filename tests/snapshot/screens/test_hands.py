"""The Hands screen: its pictures, and where its rows lead."""

import pytest

from tests.support.app.bound_runs import bound_threads
from tests.support.app.hand_runs import many_hands
from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, text_of
from tests.support.app.queued_runs import helpers, silence
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.hands.screen import HandList, HandsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
#: one is told, one is still running
REWOUND = ("$", "7", *["["] * 24)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


def list_of(one: TrunklineApp) -> HandList:
    return one.screen.query_one(HandList)


@ALL
def test_hands(screen_compare, size):
    assert screen_compare(app(run=helpers()), terminal_size=size, run_before=pressing("$", "7"))


@ALL
def test_hands_rewound(screen_compare, size):
    assert screen_compare(app(run=helpers(), at_violation=False), terminal_size=size, run_before=pressing(*REWOUND))


@ALL
def test_two_columns(screen_compare, size):
    one = app(run=many_hands(), at_violation=False)
    assert screen_compare(one, terminal_size=size, run_before=pressing("$", "7", "j", "j", "j"))


@ALL
def test_bars(screen_compare, size):
    one = app(run=many_hands(), at_violation=False)
    assert screen_compare(one, terminal_size=size, run_before=pressing("$", "7", "B", *["["] * 40))


def test_bars_in_plain_ascii(screen_compare):
    one = app(run=many_hands(), at_violation=False, ascii_only=True)
    assert screen_compare(one, terminal_size=(80, 24), run_before=pressing("$", "7", "B"))


@ALL
def test_no_hand_in_the_run(screen_compare, size):
    assert screen_compare(app(run=silence()), terminal_size=size, run_before=pressing("$", "7"), picture=False)


def test_delivered_twice(screen_compare):
    assert screen_compare(app(), terminal_size=(80, 24), run_before=pressing("7"))


def test_plain_ascii(screen_compare):
    one = app(run=helpers(), ascii_only=True)
    assert screen_compare(one, terminal_size=(80, 24), run_before=pressing("$", "7"))


async def test_enter_goes_to_the_record_and_from_there_to_an_event():
    one = app(run=helpers())
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "7", "g")
        assert isinstance(one.screen, HandsScreen)
        await press(pilot, "enter", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.run.view.event(one.workspace.cursor).kind == "delegation.finished"


async def test_an_unreported_result_is_marked():
    one = app(run=helpers())
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "7")
        text = text_of(one)
        assert "not delivered" in text
        assert "╳ LOST" in text
        assert "✗ waiting" in text
        assert "L2" in text
        assert list_of(one).marks() == (2, 3)


async def test_a_run_with_a_session_of_its_own():
    one = app(run=bound_threads(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "7")
        chosen = list_of(one).chosen
        assert chosen is not None
        assert chosen.session == "jeeves:subagent:d1"
        assert "jeeves:subagent:d1" in text_of(one)
