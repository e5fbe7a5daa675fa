"""The Overview: its pictures, where its cards lead, and the tabs above it."""

import pytest

from tests.support.app.bound_runs import bound_threads
from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, play_out, press, settle, text_of
from tests.support.app.traces import bound_completion
from trunkline.app.runs.model import Run
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.keys import SCREENS
from trunkline.app.tui.screens.bindings.screen import BindingsScreen
from trunkline.app.tui.screens.invariants.screen import InvariantsScreen
from trunkline.app.tui.screens.overview.screen import OverviewScreen
from trunkline.app.tui.screens.queue.screen import QueueScreen
from trunkline.app.tui.screens.sessions.screen import SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.core.events import Trace

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


def touring() -> TrunklineApp:
    """As `trunkline tour` opens it: on the Overview, playing from the start."""
    workspace = app(at_violation=False).workspace
    return TrunklineApp(workspace, theme="textual-dark", clocked=False, play=True, first="overview")


def nothing() -> Run:
    """A trace without a single event, judged by nobody."""
    return Run(trace=Trace(header=bound_completion().trace.header, events=()), verdicts=())


# ---------------------------------------------------------------- pictures


@ALL
def test_overview_at_the_violation(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("1"))


@ALL
def test_overview_rewound(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("1", *["["] * 8))


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_overview_of_bound_threads(screen_compare, size):
    one = app(run=bound_threads(), at_violation=False)
    assert screen_compare(one, terminal_size=size, run_before=pressing("$", "1", "tab"))


def test_overview_before_anything_happened(screen_compare):
    assert screen_compare(app(at_violation=False), terminal_size=(80, 24), run_before=pressing("1"))


def test_overview_of_an_empty_trace(screen_compare):
    assert screen_compare(app(run=nothing()), terminal_size=(80, 24), run_before=pressing("1"))


def test_overview_zoomed(screen_compare):
    assert screen_compare(app(), terminal_size=(80, 24), run_before=pressing("1", "e"))


def test_plain_ascii(screen_compare):
    assert screen_compare(app(ascii_only=True), terminal_size=(120, 40), run_before=pressing("1"))


# ---------------------------------------------------------------- the tour


async def test_the_tour_opens_here_plays_and_leads_to_the_violation():
    one = touring()
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        assert isinstance(one.screen, OverviewScreen)
        playback = one.workspace.run.playback
        assert playback.playing
        play_out(playback)
        one.sync()
        await settle(one)
        assert playback.mode is PlaybackMode.AUTO_PAUSED
        picture = text_of(one)
        assert "✗ D2" in picture
        assert "1×" in picture
        assert "2×" in picture
        assert "Enter: see it on the timeline" in picture
        await press(pilot, "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 57
        await press(pilot, "-")
        assert isinstance(one.screen, OverviewScreen)


# ---------------------------------------------------------------- where Enter leads


async def test_a_line_of_the_violation_leads_to_its_event():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1", "j", "j", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 50


async def test_a_family_leads_to_its_worst_invariant():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "1", "h", *["j"] * 4)
        assert "Enter: the invariants" in text_of(one)
        await press(pilot, "enter")
        assert isinstance(one.screen, InvariantsScreen)
        await settle(one)
        assert one.screen.list.chosen is not None
        assert one.screen.list.chosen.id == "R1"
        assert one.workspace.cursor == 57, "the cursor goes along as it is"


async def test_a_session_is_selected_on_its_screen():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1", "h", "tab", "j", "enter")
        assert isinstance(one.screen, SessionsScreen)
        await settle(one)
        assert one.screen.list.chosen is not None
        assert one.screen.list.chosen.place == "telegram/@bo"
        assert one.workspace.cursor == 57


async def test_a_binding_is_selected_on_its_screen():
    one = app(run=bound_threads(), at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "$", "1")
        one.screen.query_one("#bindings").focus()
        await press(pilot, "j", "j", "enter")
        assert isinstance(one.screen, BindingsScreen)
        await settle(one)
        assert one.screen.list.chosen is not None
        assert one.screen.list.chosen.id == "b3"


async def test_the_queue_keeps_the_cursor_unless_a_row_is_chosen():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1")
        one.screen.query_one("#queue").focus()
        await press(pilot, "enter")
        assert isinstance(one.screen, QueueScreen)
        assert one.workspace.cursor == 57
        await press(pilot, "-", "j", "enter")
        assert isinstance(one.screen, QueueScreen)
        assert one.workspace.run.view.event(one.workspace.cursor).intent == "i3"


async def test_a_recent_row_leads_to_its_event():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1")
        one.screen.query_one("#recent").focus()
        await press(pilot, "j", "j", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 46


async def test_a_click_selects_and_a_second_one_goes():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1")
        await pilot.click("#recent", offset=(6, 2))
        await settle(one)
        assert isinstance(one.screen, OverviewScreen)
        assert one.screen.recent.selected == 1
        await pilot.click("#recent", offset=(6, 2))
        await settle(one)
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 50


async def test_a_card_zooms_at_every_size_and_gives_the_room_back():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "1", "h", "z")
        families = one.screen.query_one("#families")
        assert families.size.width > 70
        assert families.size.height > 15
        await press(pilot, "escape")
        assert families.size.width < 40
        one.screen.query_one("#queue").focus()
        await press(pilot, "z")
        assert one.screen.query_one("#queue").size.height > 15
        await press(pilot, "z")
        assert one.screen.query_one("#recent").size.height >= 2
        await pilot.resize_terminal(200, 60)
        await settle(one)
        assert one.screen.query_one("#queue").region.y == one.screen.query_one("#bindings").region.y


async def test_without_a_run_nothing_breaks():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        screen = OverviewScreen(one.workspace)
        await one.push_screen(screen)
        await press(pilot, "j", "enter", "n", "e")
        assert one.screen is screen


# ---------------------------------------------------------------- tabs


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (99, 30), (100, 30), (120, 40), WIDE_SCREEN])
async def test_tabs_fit_at_every_size_even_all_nine_with_a_badge(size):
    one = app()
    async with one.run_test(size=size) as pilot:
        await press(pilot, "1")
        line = text_of(one).splitlines()[1]
        assert all(spec.key in line for spec in SCREENS)
        assert "1 Over" in line
        if size[0] >= 80:
            assert "8 Inv" in line
            assert "✗2" in line
            assert "9 Diff" in line
        assert ("2 Timeline" in line) is (size[0] >= 120)
        assert len(line) <= size[0]


async def test_every_screen_has_a_tab_and_the_badge_follows_the_cursor():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1")
        line = text_of(one).splitlines()[1]
        assert all(spec.title in line for spec in SCREENS)
        assert "8 Invariants ✗2" in line
        await press(pilot, "0")
        assert "✗" not in text_of(one).splitlines()[1]


async def test_the_mouse_goes_to_a_tab():
    one = app(ENTRIES[1])
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "1")
        x = text_of(one).splitlines()[1].index("8 Inv")
        await pilot.click("TabBar", offset=(x, 0))
        await settle(one)
        assert isinstance(one.screen, InvariantsScreen)
