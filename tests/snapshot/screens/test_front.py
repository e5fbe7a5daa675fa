"""Pictures of the front, the picker, and hints."""

from pathlib import Path

import pytest

import trunkline.sim
from tests.support.app.front import WIDE, notes
from tests.support.app.listed_runs import ENTRIES, ListedRuns
from tests.support.app.pilot import SIZES, WIDE_SCREEN, press, settle, text_of
from tests.support.app.pilot import app as open_app
from trunkline.app.runs.model import Run, ScenarioEntry
from trunkline.app.runs.scenario_source import SimSource
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.diff.screen import DiffScreen
from trunkline.app.tui.screens.picker.screen import PickerScreen, ScenarioList, ScenarioStory
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.screens.timeline.swimlane import Swimlane
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.tui.theme import CYCLE
from trunkline.core.errors import UsageError

pytestmark = pytest.mark.anyio
ALL_SIZES = (*SIZES, WIDE_SCREEN)
ALL = pytest.mark.parametrize("size", ALL_SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


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
def test_picker_with_results(screen_compare, size):
    assert screen_compare(open_app(None), terminal_size=size, run_before=pressing("RUN ALL"))


@ALL
def test_picker_on_a_scenario_that_cannot_be_loaded(screen_compare, size):
    one = TrunklineApp(Workspace(WithUnread()), theme="textual-dark", clocked=False)
    assert screen_compare(one, terminal_size=size, run_before=pressing("G", "enter"))


def test_wide_picker(screen_compare):
    assert screen_compare(open_app(None), terminal_size=WIDE)


def test_wide_timeline_rewound(screen_compare):
    assert screen_compare(open_app(), terminal_size=WIDE, run_before=pressing("k", "k", "k"))


def test_wide_timeline_without_the_side_column(screen_compare):
    assert screen_compare(open_app(), terminal_size=WIDE, run_before=pressing("backslash"))


@ALL
def test_lane_picker(screen_compare, size):
    assert screen_compare(open_app(), terminal_size=size, run_before=pressing("L", "down", "enter"))


def test_timeline_with_a_hidden_lane(screen_compare):
    assert screen_compare(
        open_app(), terminal_size=(80, 24), run_before=pressing("L", "down", "down", "enter", "escape")
    )


@ALL
def test_marks(screen_compare, size):
    keys = ("apostrophe", *"here", "enter", "k", "k", "apostrophe")
    assert screen_compare(open_app(), terminal_size=size, run_before=pressing(*keys))


def test_signs_in_the_help(screen_compare):
    assert screen_compare(open_app(), terminal_size=(80, 24), run_before=pressing("?", *["pagedown"] * 6))


@pytest.mark.parametrize("theme", CYCLE)
def test_overview_in_every_theme(screen_compare, theme):
    one = open_app(theme=theme)
    one._current = "overview"
    assert screen_compare(one, terminal_size=(80, 24), picture=True)


def test_picker_in_ascii(screen_compare):
    assert screen_compare(open_app(None, ascii_only=True), terminal_size=(80, 24), run_before=pressing("RUN ALL"))


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


async def test_the_story_shows_what_goes_wrong_what_is_expected_and_what_came_of_it():
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

    monkeypatch.setattr(trunkline.sim, "run_scenario", broken)
    one = TrunklineApp(Workspace(SimSource((Path("scenarios/tour"),))), theme="textual-dark", clocked=False)
    async with one.run_test(size=(120, 40)) as pilot:
        await settle(one)
        await press(pilot, "enter")
        assert isinstance(one.screen, PickerScreen)
        story = " ".join(line.strip() for line, _style in one.screen.query_one(ScenarioStory).lines)
        assert "told-twice, seed 1: its run broke: RuntimeError: the gateway fell over" in story
        assert one.workspace.results.defect(one.screen.list.entries[0]).cell == "! failed"


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


async def test_the_overview_shows_what_the_run_is_about_when_its_hints_are_known():
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
