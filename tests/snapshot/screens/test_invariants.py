"""The Invariants screen: its pictures, what its keys do, and where the evidence leads."""

import pytest

from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, settle, text_of
from tests.support.app.traces import bound_completion
from trunkline.app.runs.model import Run
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.invariants.screen import InvariantsScreen, VerdictDetail, VerdictList
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.core.events import Trace

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


def chosen(one: TrunklineApp) -> str:
    row = one.screen.query_one(VerdictList).chosen
    assert row is not None
    return row.id


def detail(one: TrunklineApp) -> VerdictDetail:
    return one.screen.query_one(VerdictDetail)


# ---------------------------------------------------------------- pictures


@ALL
def test_invariants_at_the_violation(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("8"))


@ALL
def test_invariants_rewound(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("8", *["["] * 8))


def test_the_evidence_has_the_focus(screen_compare):
    assert screen_compare(app(ENTRIES[1]), terminal_size=(120, 40), run_before=pressing("$", "8", "enter", "G"))


def test_an_invariant_that_was_not_exercised(screen_compare):
    assert screen_compare(app(), terminal_size=(80, 24), run_before=pressing("8", "G"))


def test_a_trace_that_nobody_judged(screen_compare):
    run = Run(trace=Trace(header=bound_completion().trace.header, events=bound_completion().trace.events), verdicts=())
    assert screen_compare(app(run=run), terminal_size=(80, 24), run_before=pressing("8"))


def test_plain_ascii(screen_compare):
    assert screen_compare(app(ascii_only=True), terminal_size=(80, 24), run_before=pressing("8"))


# ---------------------------------------------------------------- keys


async def test_the_broken_one_is_selected_and_its_evidence_leads_to_the_timeline():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "8")
        assert isinstance(one.screen, InvariantsScreen)
        assert chosen(one) == "D2"
        await press(pilot, "enter")
        assert one.focused is detail(one)
        assert detail(one).target() == 57, "the violation itself is selected"
        await press(pilot, "G", "k", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 50


async def test_next_and_previous_violation_select_what_they_break():
    one = app(ENTRIES[1], at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "8")
        mirror, copy = one.workspace.run.view.marks.stops
        assert "violated later" in text_of(one)
        await press(pilot, "n")
        assert (one.workspace.cursor, chosen(one), detail(one).target()) == (mirror, "M1", mirror)
        await press(pilot, "n")
        assert (one.workspace.cursor, chosen(one), detail(one).target()) == (copy, "D1", copy)
        await press(pilot, "N")
        assert (one.workspace.cursor, chosen(one)) == (mirror, "M1")
        assert "✗1" in text_of(one).splitlines()[1]


async def test_what_is_looked_at_stays_when_the_event_breaks_it_too():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "8", *["j"] * 7)
        assert chosen(one) == "R1"
        await press(pilot, "0", "n")
        assert chosen(one) == "R1"


async def test_the_list_moves_without_moving_the_cursor():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "8", "g")
        assert (chosen(one), one.workspace.cursor) == ("D1", 57)
        await press(pilot, "G")
        assert chosen(one) == "V1"
        assert "no proof" in text_of(one)
        await press(pilot, "l", "j", "h")
        assert one.screen.query_one(VerdictList).has_focus


async def test_a_click_selects_and_a_second_one_goes_in():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "8")
        for _ in range(2):
            await pilot.click(VerdictList, offset=(6, 2))
            await settle(one)
        assert chosen(one) == "D1"
        assert one.focused is detail(one)


async def test_panes_zoom_and_the_why_pane_comes_at_every_size():
    one = app()
    async with one.run_test(size=(200, 60)) as pilot:
        await press(pilot, "8", "z")
        assert one.screen.query_one(VerdictList).size.height > 50
        await press(pilot, "escape", "e")
        assert one.screen.query_one("#why").size.width > 190
        await press(pilot, "e")
        await pilot.resize_terminal(80, 24)
        await press(pilot, "e")
        assert one.focused is not None
        assert one.focused.id == "why"
        assert one.focused.size.height > 15


async def test_without_a_run_nothing_breaks():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        screen = InvariantsScreen(one.workspace)
        await one.push_screen(screen)
        await press(pilot, "j", "enter", "n")
        assert one.screen is screen
