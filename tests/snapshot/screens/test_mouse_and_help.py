"""The mouse, the help and the command palette."""

from pathlib import Path

import pytest
from textual.command import CommandPalette

from tests.support.app.front import WIDE, columns_of, notes
from tests.support.app.listed_runs import ENTRIES
from tests.support.app.pilot import SIZES, press, settle, text_of, until
from tests.support.app.pilot import app as open_app
from trunkline.app.runs.scenario_source import SimSource, entry_of, load
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.dialogs.search_dialogs import LEGEND, FilterDialog, HelpDialog, KeyList, LanesDialog
from trunkline.app.tui.screens.sessions.screen import SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.widgets.bars import KeyBar, StatusBar, TabBar
from trunkline.app.tui.widgets.cursor_list import Inspector
from trunkline.app.view.timeline.status_line import PlaybackMode

pytestmark = pytest.mark.anyio


# ---------------------------------------------------------------- mouse


async def test_clicks_on_names_of_lanes_filter_and_on_the_rest_of_the_line_choose():
    one = open_app()
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        lane = one.screen.query_one(Swimlane)
        column = next(column for column in columns_of(lane) if column.lane.label == "deploy")
        at = (2 + lane._gutter + column.x, 2)
        await pilot.click(lane, offset=at)
        await settle(one)
        assert str(one.workspace.search.filter) == "lane:deploy"
        await pilot.click(lane, offset=at)
        await settle(one)
        assert one.workspace.search.filter is None
        await pilot.click(lane, offset=(4, 1))
        await settle(one)
        assert isinstance(one.screen, LanesDialog)


async def test_a_click_on_the_ruler_goes_to_that_part_of_the_run():
    one = open_app(ENTRIES[0])
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "m", "0")
        lane = one.screen.query_one(Swimlane)
        assert lane.count > lane.page
        await pilot.click(lane, offset=(lane.outer_size.width - 2, 3 + lane.page - 1))
        await settle(one)
        assert one.workspace.cursor > one.workspace.run.view.last * 3 // 4
        assert lane.top <= lane.selected < lane.top + lane.page


async def test_clicks_on_status_tabs_and_footer():
    one = open_app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "0")
        for start, _end, action in one.screen.query_one(StatusBar)._places:
            if action == "violation(1)":
                await pilot.click(StatusBar, offset=(start + 1, 0))
                break
        await settle(one)
        assert one.workspace.cursor == 57
        start, _end, _screen = one.screen.query_one(TabBar)._places[3]
        await pilot.click(TabBar, offset=(start + 1, 0))
        await settle(one)
        assert isinstance(one.screen, SessionsScreen)
        place = next(place for place in one.screen.query_one(KeyBar)._places if place[2] == "app.help")
        await pilot.click(KeyBar, offset=(place[0], 0))
        await settle(one)
        assert isinstance(one.screen, HelpDialog)


async def test_the_mode_in_the_status_line_plays():
    one = open_app(at_violation=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        start = next(start for start, _end, action in one.screen.query_one(StatusBar)._places if action == "play")
        await pilot.click(StatusBar, offset=(start, 0))
        await settle(one)
        assert one.workspace.run.playback.mode is PlaybackMode.PLAYING


# ---------------------------------------------------------------- help and palette


async def test_the_help_explains_every_sign_and_a_sign_does_nothing():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "?")
        found = one.screen.query_one(KeyList)
        assert set(LEGEND.values()) <= {key.help for key in found.all}
        await press(pilot, "!", "!", "enter")
        assert isinstance(one.screen, HelpDialog)
        assert notes(one) == ["a sign to read, no key to press"]


@pytest.mark.parametrize("size", SIZES)
async def test_no_word_of_the_help_is_cut(size):
    one = open_app()
    async with one.run_test(size=size) as pilot:
        await press(pilot, "?")
        found = one.screen.query_one(KeyList)
        assert len(found.options) == len(found.all)
        for option in found.options:
            assert "…" not in str(option.prompt).replace("!…", ""), option.prompt


async def test_the_palette_goes_to_what_is_typed_and_stays_on_the_screen():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, ":")
        assert isinstance(one.screen, CommandPalette)
        await press(pilot, *"#14")
        await until(one, lambda: "go to this moment: #14" in text_of(one))
        await press(pilot, "enter")
        await until(one, lambda: one.workspace.cursor == 14)
        assert isinstance(one.screen, TimelineScreen)


async def test_keys_of_the_front_work_on_a_real_run():
    """Everything once, on a scenario as it is shipped: nothing breaks, and the cursor stays where it belongs."""
    file = load(Path("scenarios/museum/B133-same-thread-id.yaml"))
    entry = entry_of(file)
    workspace = Workspace(SimSource((Path("scenarios/museum"),)))
    workspace.open(entry, seed=1, bugs=entry.bugs, at_violation=True)
    one = TrunklineApp(workspace, theme="textual-dark", clocked=False)
    async with one.run_test(size=WIDE) as pilot:
        for key in (*"1234567892", "L", "escape", "apostrophe", "escape", "b", "escape", "w", "escape", "/", "escape"):
            await press(pilot, key)
        assert isinstance(one.screen, TimelineScreen)
        assert not isinstance(one.screen, FilterDialog)
        assert one.screen.query_one(Inspector).count > 3
        assert one.workspace.cursor == 55


@pytest.mark.parametrize(
    "keys",
    [(), ("1",), ("8",), ("L",), ("apostrophe",), ("?",), ("b",), ("w",), ("/",), ("e",), ("0",), ("s",), ("[", "[")],
    ids=" ".join,
)
async def test_everything_has_a_plain_twin(keys):
    one = open_app(ascii_only=True)
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        await press(pilot, *keys)
        shown = text_of(one)
        assert shown.isascii(), {char for char in shown if not char.isascii()}
