"""The front of the app as a newcomer meets it: results in the picker, all panes at once, lanes, marks, hints, mouse."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.containers import Container

import trunkline.app.runs.scenario_source
from tests.support.app.pilot import SIZES, press, settle, text_of, until
from tests.support.app.pilot import app as open_app
from tests.support.app.traces import ENTRIES, ListedRuns
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.runs.scenario_source import SimSource, entry_of, load
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.dialogs.bookmarks import BookmarksDialog
from trunkline.app.tui.screens.dialogs.filter import FilterDialog
from trunkline.app.tui.screens.dialogs.help import HelpDialog, KeyList
from trunkline.app.tui.screens.dialogs.lanes import LanesDialog
from trunkline.app.tui.screens.diff.screen import DiffScreen
from trunkline.app.tui.screens.picker.scenario_list import ScenarioList, ScenarioStory
from trunkline.app.tui.screens.picker.screen import PickerScreen
from trunkline.app.tui.screens.run_screen import RunScreen
from trunkline.app.tui.screens.sessions.screen import SessionsScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import CYCLE
from trunkline.app.tui.widgets.bars import KeyBar, StatusBar, TabBar
from trunkline.app.tui.widgets.cards import QueueCard, SessionsCard
from trunkline.app.tui.widgets.fact_list import Inspector
from trunkline.app.tui.widgets.two_conversations import TwoConversations
from trunkline.app.view.labels.legend import LEGEND
from trunkline.app.view.timeline.lanes import LaneColumn
from trunkline.app.view.timeline.status_line import PlaybackMode
from trunkline.core.errors import UsageError

pytestmark = pytest.mark.anyio

ALL_SIZES = (*SIZES, (200, 60))
ALL = pytest.mark.parametrize("size", ALL_SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
WIDE = (200, 60)
UNREAD = ScenarioEntry(
    path=Path("scenarios/faults/half-written.yaml"),
    id="half-written",
    title="cannot be read",
    story="scenarios/faults/half-written.yaml:7:3: `says` is no field of a step: did you mean `say`?",
    unread=True,
)


class WithUnread(ListedRuns):
    """The hand-made runs, and a scenario that cannot be loaded."""

    def scenarios(self):
        return (*ENTRIES[:2], UNREAD)

    def run(self, entry, *, seed, bugs) -> Run:
        if entry.unread:
            raise UsageError(entry.story)
        return super().run(entry, seed=seed, bugs=bugs)


def notes(one: TrunklineApp) -> list[str]:
    return [note.message for note in one._notifications]


async def run_all(pilot) -> None:
    """Press `a` in the picker, and wait until everything was run."""
    await press(pilot, "a")
    await pilot.app.workers.wait_for_complete()
    await settle(pilot.app)


def pressing(*keys: str):
    async def before(pilot):
        await settle(pilot.app)
        for key in keys:
            if key == "RUN ALL":
                await run_all(pilot)
            else:
                await press(pilot, key)

    return before


# ---------------------------------------------------------------- pictures


@ALL
def test_picker_with_results(snap_compare, size):
    assert snap_compare(open_app(None), terminal_size=size, run_before=pressing("RUN ALL"))


@ALL
def test_picker_on_a_scenario_that_cannot_be_loaded(snap_compare, size):
    one = TrunklineApp(Workspace(WithUnread()), theme="textual-dark", clocked=False)
    assert snap_compare(one, terminal_size=size, run_before=pressing("G", "enter"))


def test_wide_picker(snap_compare):
    assert snap_compare(open_app(None), terminal_size=WIDE)


def test_wide_timeline_rewound(snap_compare):
    assert snap_compare(open_app(), terminal_size=WIDE, run_before=pressing("k", "k", "k"))


def test_wide_timeline_without_the_side_column(snap_compare):
    assert snap_compare(open_app(), terminal_size=WIDE, run_before=pressing("backslash"))


@ALL
def test_lane_picker(snap_compare, size):
    assert snap_compare(open_app(), terminal_size=size, run_before=pressing("L", "down", "enter"))


def test_timeline_with_a_hidden_lane(snap_compare):
    assert snap_compare(open_app(), terminal_size=(80, 24), run_before=pressing("L", "down", "down", "enter", "escape"))


@ALL
def test_marks(snap_compare, size):
    keys = ("apostrophe", *"here", "enter", "k", "k", "apostrophe")
    assert snap_compare(open_app(), terminal_size=size, run_before=pressing(*keys))


def test_signs_in_the_help(snap_compare):
    assert snap_compare(open_app(), terminal_size=(80, 24), run_before=pressing("?", *["pagedown"] * 6))


@pytest.mark.parametrize("theme", CYCLE)
def test_overview_in_every_theme(snap_compare, theme):
    one = open_app(theme=theme)
    one._current = "overview"
    assert snap_compare(one, terminal_size=(80, 24))


def test_picker_in_ascii(snap_compare):
    assert snap_compare(open_app(None, ascii_only=True), terminal_size=(80, 24), run_before=pressing("RUN ALL"))


# ---------------------------------------------------------------- the picker


async def test_a_runs_everything_unseen_with_the_defect_and_without():
    one = open_app(None)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await run_all(pilot)
        assert isinstance(one.screen, PickerScreen)
        assert one.workspace.open_run is None
        assert isinstance(one.workspace.source, ListedRuns)
        first, second, third = ENTRIES[:3]
        assert one.workspace.source.asked[:2] == [(first.id, 0, ()), (first.id, 0, first.bugs)]
        results = one.workspace.results
        assert results.sound(first).words.startswith("✓ holds")
        assert results.defect(first).cell == "✗ D2 R1"
        assert results.sound(second).cell == "✗ D1 M1"
        assert results.sound(third).cell == "! failed"
        assert "names no one" in results.sound(third).words
        assert "1 of 6 hold, 1 of 1 defect caught" in str(one.screen.query_one(ScenarioList).border_title)


async def test_a_batch_can_be_stopped_and_only_what_is_listed_is_run():
    one = open_app(None)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await press(pilot, "/", *"mirror", "enter")
        picker = one.screen
        assert isinstance(picker, TimelineScreen), "a single match is run at once"
        await press(pilot, "s", "/", *"faults", "enter")
        picker = one.screen
        assert isinstance(picker, PickerScreen)
        await press(pilot, "a", "escape")
        assert picker.all.progress == ""
        assert one.screen is picker, "Escape ends the batch first"
        await one.workers.wait_for_complete()
        assert isinstance(one.workspace.source, ListedRuns)
        assert {name for name, _seed, _bugs in one.workspace.source.asked} <= {"mirror-elsewhere"} | {
            entry.id for entry in ENTRIES[2:]
        }


async def test_the_story_tells_what_goes_wrong_what_is_expected_and_what_came_of_it():
    path = Path("scenarios/faults/crash-while-taking.yaml")
    source = SimSource((path,))
    one = TrunklineApp(Workspace(source), theme="textual-dark", clocked=False)
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        story = "\n".join(line for line, _style in one.screen.query_one(ScenarioStory).lines)
        assert "the gateway is killed, at inbound.received" in story
        assert "with the defect: L1 broken" in story
        assert "with the defect: not run yet" in story
        await run_all(pilot)
        story = "\n".join(line for line, _style in one.screen.query_one(ScenarioStory).lines)
        assert "without a defect: ✓ holds" in story
        assert "as it should with the defect" in story


async def test_the_story_follows_the_theme():
    one = open_app(None)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        before = one.screen.query_one(ScenarioStory).lines
        await press(pilot, "T")
        assert [style for _, style in one.screen.query_one(ScenarioStory).lines] != [style for _, style in before]
        assert notes(one) == ["theme textual-light"]


async def test_what_a_defect_breaks_finds_its_scenario():
    one = TrunklineApp(Workspace(SimSource((Path("scenarios/museum"),))), clocked=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await press(pilot, "/", *"m1")
        shown = one.screen.query_one(ScenarioList).shown
        assert shown
        assert all("M1" in entry.breaks or "m1" in f"{entry.title} {entry.id}".lower() for entry in shown)


async def test_each_problem_of_a_file_has_a_line_of_its_own(tmp_path):
    (tmp_path / "x.yaml").write_text("id: x\ntitle: 3\n")
    one = TrunklineApp(Workspace(SimSource((tmp_path,))), clocked=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await press(pilot, "enter")
        lines = [line for line, _style in one.screen.query_one(ScenarioStory).lines]
        assert not any("↵" in line for line in lines)
        assert sum(line.startswith(f"{tmp_path}"[:10]) for line in lines) > 3


async def test_a_gateway_that_breaks_leaves_the_picker_open_and_is_a_result(monkeypatch):
    def broken(*_args, **_options):
        raise RuntimeError("the gateway fell over")

    monkeypatch.setattr(trunkline.app.runs.scenario_source, "run_scenario", broken)
    one = TrunklineApp(Workspace(SimSource((Path("scenarios/tour"),))), theme="textual-dark", clocked=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await press(pilot, "enter")
        assert isinstance(one.screen, PickerScreen)
        story = " ".join(line.strip() for line, _style in one.screen.query_one(ScenarioStory).lines)
        assert "told-twice, seed 1: its run broke: RuntimeError: the gateway fell over" in story
        assert one.workspace.results.defect(one.screen.list.entries[0]).cell == "! failed"


# ---------------------------------------------------------------- all panes at once


async def test_the_side_column_is_there_where_there_is_room_and_follows_the_cursor():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        chats = one.screen.query_one(TwoConversations)
        assert [row.tag for row in chats.rows if row.tag] == ["1×", "2×"]
        assert {row.side for row in chats.rows if row.tag} == {0, 1}
        assert chats.rows[chats.selected].seen.seq == 57
        await press(pilot, "0")
        assert chats.selected == -1
        await pilot.resize_terminal(120, 40)
        await settle(one)
        assert not one.screen.query_one("#side", Container).display
        await press(pilot, "backslash")
        assert notes(one) == ["the side column needs 150x40, this terminal has 120x40"]


async def test_nothing_of_the_side_column_is_made_in_a_small_terminal():
    one = open_app()
    async with one.run_test(size=(120, 40)):
        await settle(one)
        assert not one.screen.query(TwoConversations)


async def test_backslash_hides_the_side_column_and_the_focus_does_not_get_lost():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        one.screen.query_one(QueueCard).focus()
        await settle(one)
        await press(pilot, "backslash")
        assert not one.screen.query_one("#side", Container).display
        assert one.focused is one.screen.query_one(Swimlane)
        await press(pilot, "backslash")
        assert one.screen.query_one("#side", Container).display


async def test_a_card_beside_the_timeline_leads_to_its_screen():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        one.screen.query_one(SessionsCard).focus()
        await settle(one)
        await press(pilot, "j", "enter")
        assert isinstance(one.screen, SessionsScreen)


async def test_a_pane_of_the_side_column_can_be_zoomed():
    one = open_app()
    async with one.run_test(size=WIDE) as pilot:
        await settle(one)
        chats = one.screen.query_one(TwoConversations)
        small = chats.size
        chats.focus()
        await press(pilot, "z")
        assert chats.size.width > 190
        assert chats.size.height > small.height
        await press(pilot, "escape")
        assert chats.size == small


@pytest.mark.parametrize("screen", ["1", "2", "8"])
async def test_any_size_keeps_the_selected_event_in_view(screen):
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, screen)
        for size in ((200, 60), (60, 16), (176, 40), (120, 40), (100, 20), (80, 24)):
            await pilot.resize_terminal(*size)
            await settle(one)
            assert isinstance(one.screen, RunScreen)
            pane = one.screen.pane
            assert pane.top <= max(pane.selected, 0) < pane.top + pane.page, size
            assert one.workspace.cursor == 57


# ---------------------------------------------------------------- lanes and marks


def columns_of(lane: Swimlane) -> tuple[LaneColumn, ...]:
    """The lanes as they are drawn now."""
    assert lane.layout_now is not None
    return lane.layout_now.columns


async def test_lanes_are_hidden_and_shown_and_rows_stay():
    one = open_app()
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        lane = one.screen.query_one(Swimlane)
        rows, columns = lane.count, columns_of(lane)
        await press(pilot, "L", *"deploy", "enter")
        assert isinstance(one.screen, LanesDialog)
        await press(pilot, "escape")
        assert lane.count == rows
        assert len(columns_of(lane)) == len(columns) - 1
        assert "1 hidden (L)" in text_of(one)
        await press(pilot, "L", "enter", "escape")
        assert [column.index for column in columns_of(lane)] == [column.index for column in columns]


async def test_the_timeline_can_be_drawn_without_any_lane():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "L")
        for _ in range(len(one.workspace.run.lanes.all) - 1):
            await press(pilot, "down", "enter")
        await press(pilot, "escape")
        assert len(columns_of(one.screen.query_one(Swimlane))) == 1
        assert "GATEWAY" in text_of(one)


async def test_marks_are_set_gone_to_and_removed():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "apostrophe", *"dup", "enter")
        assert one.workspace.view_options.marks(one.workspace.run) == {57: "dup"}
        assert "57'" in text_of(one)
        await press(pilot, "g", "apostrophe", "enter")
        assert one.workspace.cursor == 57, "the mark is what Enter takes where there is none here"
        await press(pilot, "apostrophe", "enter")
        assert one.workspace.view_options.marks(one.workspace.run) == {}
        await press(pilot, "r", "apostrophe")
        assert isinstance(one.screen, BookmarksDialog)


# ---------------------------------------------------------------- hints and silent keys


async def test_hints_stop_when_their_key_was_used():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await settle(one)
        lane = one.screen.query_one(Swimlane)
        assert lane.border_subtitle == "broken here: e explains  t twin  c chain  d without the defect"
        await press(pilot, "e", "escape")
        assert lane.border_subtitle == "broken here: t twin  c chain  d without the defect"
        await press(pilot, "t", "t", "c", "c", "d")
        assert lane.border_subtitle == "run again: 9 compares with the run before"
        await press(pilot, "9")
        assert isinstance(one.screen, DiffScreen)
        await press(pilot, "2")
        assert "unfolds" in str(lane.border_subtitle)
        await press(pilot, "m", "m")
        assert lane.border_subtitle == "inside of the gateway folded"


async def test_the_overview_tells_what_the_run_is_about_when_its_hints_are_known():
    one = open_app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "1")
        assert "Enter: see it on the timeline   Tab: the next card" in text_of(one)
        await press(pilot, "tab", "enter", "1")
        assert one.workspace.run.view.run.trace.header.title in text_of(one)


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (("0", "["), "before the first event"),
        (("$", "]"), "the last event"),
        (("$", "$"), "the last event"),
        (("0", "c"), "nothing has happened yet"),
        (("h",), "all lanes are in view"),
        ((">",) * 9, "×4096 is the fastest"),
        (("<",) * 3, "×0.25 is the slowest"),
        (("escape",), "q quits"),
        (("d", "n"), "no invariant is broken"),
    ],
)
async def test_a_key_that_does_nothing_says_why_and_says_it_once(keys, told):
    one = open_app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, *keys)
        assert [told in note for note in notes(one)].count(True) == 1
        await press(pilot, keys[-1])
        assert [told in note for note in notes(one)].count(True) == 1, "held down, it is not told again and again"


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
            if action == "next_violation":
                await pilot.click(StatusBar, offset=(start + 1, 0))
                break
        await settle(one)
        assert one.workspace.cursor == 57
        start, _end, _screen = one.screen.query_one(TabBar)._places[3]
        await pilot.click(TabBar, offset=(start + 1, 0))
        await settle(one)
        assert isinstance(one.screen, SessionsScreen)
        place = next(place for place in one.screen.query_one(KeyBar)._places if place[2].id == "help")
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
        assert {sign.meaning for sign in LEGEND} <= {key.help for key in found.all}
        await press(pilot, "!", "!", "enter")
        assert isinstance(one.screen, HelpDialog)
        assert notes(one) == ["a sign to read, no key to press"]


@pytest.mark.parametrize("size", SIZES)
async def test_no_word_of_the_help_is_cut(size):
    one = open_app()
    async with one.run_test(size=size) as pilot:
        await press(pilot, "?")
        found = one.screen.query_one(KeyList)
        for index in range(found.count):
            line = "".join(found.draw(index, found.size.width - 1)._cells)
            assert "…" not in line.replace("!…", ""), line


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
        assert one.workspace.cursor == 53


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
