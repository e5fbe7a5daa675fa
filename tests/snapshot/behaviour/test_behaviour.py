"""What keys and mouse do, without looking at pictures."""

import pytest
from textual.events import MouseScrollDown

from tests.support.app.listed_runs import ENTRIES, ListedRuns
from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, play_out, press, settle, text_of, until
from tests.support.app.traces import DEFECT
from trunkline.app.tui.app import TrunklineApp, launch
from trunkline.app.tui.screens.dialogs.search_dialogs import HelpDialog, KeyList
from trunkline.app.tui.screens.picker.screen import PickerScreen, ScenarioList
from trunkline.app.tui.screens.sessions.screen import SessionList, SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.state.open_run import Playback
from trunkline.app.tui.theme import CYCLE
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.core.errors import UsageError

pytestmark = pytest.mark.anyio


def playback(one: TrunklineApp) -> Playback:
    return one.workspace.run.playback


def lane_of(one: TrunklineApp) -> Swimlane:
    return one.screen.query_one(Swimlane)


def asked(one: TrunklineApp) -> list[tuple[str, int, tuple[str, ...]]]:
    assert isinstance(one.workspace.source, ListedRuns)
    return one.workspace.source.asked


async def test_space_plays_to_the_violation_and_on():
    one = app(at_violation=False)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "space")
        assert playback(one).playing
        play_out(playback(one))
        one.sync()
        await settle(one)
        assert playback(one).mode is PlaybackMode.AUTO_PAUSED
        assert "AUTO-PAUSED" in text_of(one)
        await press(pilot, "space")
        assert playback(one).playing
        await press(pilot, "space")
        assert not playback(one).playing


async def test_the_clock_stops_when_nothing_plays():
    """With the timer on: it exists only while the run plays."""
    one = app(at_violation=False)
    one._clocked = True
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "space")
        assert one._timer is not None
        assert one._timer._active.is_set()
        await press(pilot, "]")
        assert not one._timer._active.is_set()


async def test_steps_seeks_and_the_ends():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        last = one.workspace.run.view.last
        for keys, expected in (
            (("0",), 0),
            (("]", "]"), 2),
            (("[",), 1),
            (("$",), last),
            (("]",), last),
            (("0", "}"), 12),
            (("}",), 26),
            (("{",), 12),
            (("G",), last),
            (("g",), 11),
            (("j", "down"), 22),
            (("k", "up"), 11),
            (("n",), 57),
            (("N",), 57),
            (("t",), 50),
            (("!",), 57),
        ):
            await press(pilot, *keys)
            assert one.workspace.cursor == expected, keys


@pytest.mark.parametrize("size", SIZES)
async def test_the_selected_row_is_in_view_wherever_one_goes(size):
    one = app()
    async with one.run_test(size=size) as pilot:
        for key in ("0", "$", "J", "K", "n", "m", "G", "g", "m"):
            await press(pilot, key)
            lane = lane_of(one)
            assert lane.selected < 0 or lane.top <= lane.selected < lane.top + lane.page


async def test_a_smaller_terminal_keeps_the_row():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await pilot.resize_terminal(80, 24)
        await settle(one)
        lane = lane_of(one)
        assert lane.top <= lane.selected < lane.top + lane.page
        assert one.workspace.cursor == 57


async def test_one_cursor_for_all_screens():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "4")
        assert isinstance(one.screen, SessionsScreen)
        assert one.screen.query_one(SessionList).rows[0].place == "discord/#ops"
        assert one.screen.query_one(SessionList).selected == 0
        await press(pilot, "tab", "j", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == 63
        await press(pilot, "-")
        assert isinstance(one.screen, SessionsScreen)


async def test_a_fact_leads_to_its_event():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "enter", "j", "j", "j", "j", "j", "enter")
        assert one.workspace.cursor == 12
        assert one.focused is lane_of(one)


async def test_the_defect_is_switched_off_and_on():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "d")
        assert "all hold" in text_of(one)
        assert playback(one).mode is PlaybackMode.ENDED
        await press(pilot, "d")
        assert "✗ D2 R1" in text_of(one)
        assert asked(one)[-2:] == [(ENTRIES[0].id, 7, ()), (ENTRIES[0].id, 7, (DEFECT,))]


async def test_a_switch_that_is_not_there_says_so():
    one = app(ENTRIES[1])
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "d")
        assert ["declares no defect" in note.message for note in one._notifications] == [True]


async def test_the_next_seed():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "R", "r")
        assert [seed for _, seed, _ in asked(one)] == [7, 8, 8]


async def test_yank_copies_the_command():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "y", "c")
        assert one.clipboard == (f"trunkline run scenarios/tour/bound-completion-twice.yaml --seed 7 --bug {DEFECT}")


async def test_help_is_typed_into_and_executes():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "?", *"unfold")
        assert isinstance(one.screen, HelpDialog)
        assert [key.id for key in one.screen.list.shown] == ["fold"]
        await press(pilot, "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.show_internal


async def test_help_finds_a_key_by_itself():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "f1", "}")
        assert [key.id for key in one.screen.query_one(KeyList).shown] == ["delivery"]
        await press(pilot, "escape")
        assert isinstance(one.screen, TimelineScreen)


async def test_the_palette_holds_the_keys_and_the_scenarios():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, ":")
        await until(one, lambda: "play or pause" in text_of(one))
        await press(pilot, *"mirrored")
        await until(one, lambda: "play or pause" not in text_of(one) and "mirrored" in text_of(one))
        await press(pilot, "enter")
        await until(one, lambda: one.workspace.entry == ENTRIES[1])


async def test_the_picker_opens_by_itself_and_runs():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        assert isinstance(one.screen, PickerScreen)
        await press(pilot, "escape")
        assert isinstance(one.screen, PickerScreen), "there is nothing to go back to"
        await press(pilot, "d", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.bugs == ()
        assert playback(one).playing


async def test_the_picker_filters_and_explains_what_cannot_run():
    one = app(None)
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        await press(pilot, "/", *"archived", "enter")
        assert isinstance(one.screen, PickerScreen)
        assert "names no one" in text_of(one)
        await press(pilot, "/", *"nonsense")
        assert "Esc clears" in text_of(one)
        await press(pilot, "escape")
        assert one.screen.query_one(ScenarioList).count == len(ENTRIES)


async def test_escape_leaves_the_innermost_thing_and_never_quits():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "c", "tab", "z")
        assert one.workspace.chain_of is not None
        assert one.screen.query_one("#body").has_class("-zoom")
        await press(pilot, "escape")
        assert not one.screen.query_one("#body").has_class("-zoom")
        await press(pilot, "escape")
        assert one.workspace.chain_of is None
        await press(pilot, "escape", "escape")
        assert one.focused is lane_of(one)
        assert one.is_running


async def test_a_theme_that_is_not_there_is_refused():
    with pytest.raises(UsageError, match="there is no theme 'neon'"):
        launch(ListedRuns(), theme="neon")


async def test_themes_go_round():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        seen = [one.theme]
        for _ in CYCLE:
            await press(pilot, "T")
            seen.append(one.theme)
        assert seen == [*CYCLE, CYCLE[0]]


async def test_the_mouse_selects_scrolls_and_presses():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        lane = lane_of(one)
        first = lane.top
        await pilot.click(lane, offset=(20, 4))
        await settle(one)
        assert one.workspace.cursor == one.workspace.timeline.seqs[first + 1]
        await press(pilot, "0")
        lane.post_message(MouseScrollDown(lane, 1, 1, 0, 1, 0, False, False, False))
        await settle(one)
        assert (lane.top, one.workspace.cursor) == (3, 0)
        await pilot.click("TabBar", offset=(text_of(one).splitlines()[1].index("4 Sess"), 0))
        await settle(one)
        assert isinstance(one.screen, SessionsScreen)


async def test_a_footer_key_can_be_clicked():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        bar = one.screen.query_one("KeyBar")
        x = text_of(one).splitlines()[-1].index("Step")
        await pilot.click(bar, offset=(x, 0))
        await settle(one)
        assert one.workspace.cursor == 58


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (100, 30), (120, 40), WIDE_SCREEN])
async def test_bars_never_wrap_and_the_verdict_is_never_cut(size):
    one = app()
    async with one.run_test(size=size) as pilot:
        for keys in ((), ("4",), ("2", "$"), ("d",)):
            await press(pilot, *keys)
            lines = text_of(one).splitlines()
            assert len(lines) == size[1]
            assert "✗ D2 R1" in lines[0] or "✓ all hold" in lines[0]
            assert "q Quit" in lines[-1]
            assert "? Help" in lines[-1]


async def test_too_small_says_what_is_needed():
    one = app()
    async with one.run_test(size=(59, 24)) as pilot:
        await settle(one)
        assert "needs 60x16, has 59x24" in text_of(one)
        await pilot.resize_terminal(80, 24)
        await settle(one)
        assert "GATEWAY" in text_of(one)
        await pilot.press("q")
    assert one.return_value == 0


async def test_plain_ascii_draws_nothing_else():
    one = app(ascii_only=True)
    async with one.run_test(size=(120, 40)) as pilot:
        for key in ("c", "m", "4", "tab", "s"):
            await press(pilot, key)
            found = sorted({char for char in text_of(one) if not char.isascii()})
            assert found == [], key
