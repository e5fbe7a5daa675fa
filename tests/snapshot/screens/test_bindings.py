"""The Bindings screen: its pictures, what its keys do, and the question that it answers."""

import pytest
from textual.widgets import Input

from tests.support.app.bound_runs import bound_threads
from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, settle, text_of
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.bindings.screen import BindingList, BindingRecord, BindingsScreen, ResolvePlaceDialog
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")
#: a moment at which three are bound, one of them touched
REWOUND = ("$", "5", *["["] * 39)


def bound(**settings) -> TrunklineApp:
    return app(run=bound_threads(), at_violation=False, **settings)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


# ---------------------------------------------------------------- pictures


@ALL
def test_bindings(screen_compare, size):
    assert screen_compare(bound(), terminal_size=size, run_before=pressing("$", "5"))


@ALL
def test_bindings_rewound(screen_compare, size):
    assert screen_compare(bound(), terminal_size=size, run_before=pressing(*REWOUND))


@ALL
def test_no_binding_in_the_run(screen_compare, size):
    assert screen_compare(app(ENTRIES[1]), terminal_size=size, run_before=pressing("$", "5"), picture=False)


@ALL
def test_asking_where_a_conversation_goes(screen_compare, size):
    keys = ("$", "5", "o", *"random")
    assert screen_compare(bound(), terminal_size=size, run_before=pressing(*keys))


@ALL
def test_timeline_of_bound_threads(screen_compare, size):
    assert screen_compare(bound(), terminal_size=size, run_before=pressing(*REWOUND, "2"))


def test_asking_for_a_place_that_is_none(screen_compare):
    assert screen_compare(bound(), terminal_size=(80, 24), run_before=pressing("$", "5", "o", *"dep"))


def test_explanation_of_a_completion(screen_compare):
    keys = ("$", *["["] * 19, "e")
    assert screen_compare(bound(), terminal_size=(120, 40), run_before=pressing(*keys))


def test_plain_ascii(screen_compare):
    assert screen_compare(bound(ascii_only=True), terminal_size=(80, 24), run_before=pressing(*REWOUND))


# ---------------------------------------------------------------- keys


def list_of(one: TrunklineApp) -> BindingList:
    return one.screen.query_one(BindingList)


def record_of(one: TrunklineApp) -> list[str]:
    return [line.text for line in one.screen.query_one(BindingRecord).lines]


async def test_the_cursor_selects_the_binding_that_an_event_is_about():
    one = bound()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, *REWOUND)
        assert isinstance(one.screen, BindingsScreen)
        chosen = list_of(one).chosen
        assert chosen is not None
        assert (chosen.id, chosen.touches) == ("b1", 1)
        await press(pilot, *["]"] * 3)
        chosen = list_of(one).chosen
        assert chosen is not None
        assert (chosen.id, chosen.status) == ("b2", "ended")


async def test_another_binding_is_chosen_without_moving_the_cursor():
    one = bound()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "5", "j", "j")
        assert one.workspace.cursor == one.workspace.run.view.last
        assert record_of(one)[0].startswith("b3 expired")
        await press(pilot, "G")
        assert record_of(one)[0] == "b5 active"


async def test_a_line_of_the_record_leads_to_its_event():
    one = bound()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "5", "j", "enter", "G", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.run.view.event(one.workspace.cursor).kind == "binding.ended"
        assert one.workspace.run.view.event(one.workspace.cursor).binding == "b2"


async def test_a_click_selects_and_a_second_one_goes_in():
    one = bound()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "5")
        await pilot.click(BindingList, offset=(4, 4))
        await settle(one)
        chosen = list_of(one).chosen
        assert chosen is not None
        assert chosen.id == "b3"
        await pilot.click(BindingList, offset=(4, 4))
        await settle(one)
        assert one.focused is one.screen.query_one(BindingRecord)


async def test_panes_zoom_and_share_again_at_every_size():
    one = bound()
    async with one.run_test(size=(200, 60)) as pilot:
        await press(pilot, "$", "5", "tab", "z")
        assert one.screen.query_one(BindingRecord).size.width > 190
        await press(pilot, "escape", "e")
        assert one.focused is not None
        assert one.focused.id == "why"
        await press(pilot, "escape", "h")
        assert list_of(one).has_focus
        await press(pilot, "l")
        assert one.screen.query_one(BindingRecord).has_focus
        await pilot.resize_terminal(80, 24)
        await settle(one)
        assert list_of(one).size.width > 70
        assert list_of(one).outer_size.height == 8


async def test_the_question_is_answered_and_the_answer_taken_along():
    one = bound()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "5", "o")
        assert isinstance(one.screen, ResolvePlaceDialog)
        assert "resolve discord #random → b5" in text_of(one)
        await press(pilot, *"nowhere")
        assert "no place of this run is named 'nowhere'" in text_of(one)
        await press(pilot, "enter")
        assert isinstance(one.screen, ResolvePlaceDialog), "there is no answer to take along"
        one.screen.query_one(Input).value = "discord:main/502"
        await settle(one)
        await press(pilot, "enter")
        assert isinstance(one.screen, BindingsScreen)
        chosen = list_of(one).chosen
        assert chosen is not None
        assert chosen.id == "b5"
        assert ["resolve discord #random → b5" in note.message for note in one._notifications] == [True]


async def test_an_answer_without_a_binding_selects_nothing_else():
    one = bound()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "5", "j", "o", *"ops/deploy", "enter")
        chosen = list_of(one).chosen
        assert chosen is not None
        assert chosen.id == "b2"
        assert ["default route" in note.message for note in one._notifications] == [True]


async def test_the_question_is_closed_without_an_answer():
    one = bound()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "$", "5", "o", "escape")
        assert isinstance(one.screen, BindingsScreen)
        assert not one._notifications


async def test_without_a_run_there_is_nothing_to_ask():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        screen = BindingsScreen(one.workspace)
        await one.push_screen(screen)
        await press(pilot, "o", "j", "enter")
        assert one.screen is screen
        assert ["no run is open" in note.message for note in one._notifications] == [True]


async def test_lanes_are_marked_while_they_are_bound():
    one = bound()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, *REWOUND, "2")
        assert one.screen.query_one(Swimlane).count
        assert "└◆release 41" in text_of(one)
        assert "◆@bo" in text_of(one)
        await press(pilot, "$")
        assert "└▸release 41" in text_of(one)
        assert "◆#random" in text_of(one)
