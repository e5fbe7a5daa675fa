"""The Diff screen and the fault palette: pictures, what their keys do, and what is written."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.app.pilot import SIZES, WIDE_SCREEN, app, press, settle, text_of
from trunkline.app.runs.scenario_source import SimSource, load
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.dialogs.fault_palette import FaultList, FaultPalette
from trunkline.app.tui.screens.diff.screen import DiffList, DiffScreen
from trunkline.app.tui.screens.timeline.screen import TimelineScreen
from trunkline.app.tui.state.branching import aside
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.diff.compare import DiffMark
from trunkline.app.view.faults.catalog import MAKERS
from trunkline.core.errors import UsageError
from trunkline.core.events.delivery import IntentPrepared
from trunkline.sim import run_scenario, scenario_home
from trunkline.sim.events.processes import ProcessCrashed

pytestmark = pytest.mark.anyio

ALL = pytest.mark.parametrize("size", [*SIZES, WIDE_SCREEN], ids=lambda size: f"{size[0]}x{size[1]}")


def told_twice(*, bugs: bool = True, **settings) -> TrunklineApp:
    """The app over the real tour: only real scenarios can be branched."""
    source = SimSource((scenario_home() / "tour",))
    entry = source.scenarios()[0]
    workspace = Workspace(source, seed=1)
    workspace.open(entry, seed=1, bugs=entry.bugs if bugs else (), at_violation=bugs)
    return TrunklineApp(workspace, theme=settings.pop("theme", "textual-dark"), clocked=False, **settings)


def pressing(*keys: str):
    async def before(pilot):
        await press(pilot, *keys)

    return before


def without_toasts(*keys: str):
    """The keys, and then the picture as it is when the toasts are gone."""

    async def before(pilot):
        await press(pilot, *keys)
        pilot.app.clear_notifications()
        await settle(pilot.app)

    return before


def at_the_answer(one: TrunklineApp) -> None:
    """The cursor where the first answer is prepared."""
    view = one.workspace.run.view
    one.workspace.seek(next(event.seq for event in view.events if isinstance(event.body, IntentPrepared)))


def down_to(name: str) -> list[str]:
    """The keys that open the palette and select a fault."""
    return ["i", *["j"] * list(MAKERS).index(name)]


def lost(**settings) -> TrunklineApp:
    one = told_twice(bugs=False, **settings)
    at_the_answer(one)
    return one


# ---------------------------------------------------------------- pictures


@ALL
def test_diff(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("d", "9", "n"))


@ALL
def test_diff_at_the_end(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("d", "d", "9", "$", "N"))


@ALL
def test_it_takes_two(screen_compare, size):
    assert screen_compare(app(), terminal_size=size, run_before=pressing("9"), picture=False)


@ALL
def test_fault_palette(screen_compare, size):
    assert screen_compare(lost(), terminal_size=size, run_before=pressing("i", "j", "j"))


def test_plain_ascii(screen_compare):
    assert screen_compare(app(ascii_only=True), terminal_size=(80, 24), run_before=pressing("d", "9", "n"))


def test_fault_palette_in_plain_ascii(screen_compare):
    assert screen_compare(lost(ascii_only=True), terminal_size=(80, 24), run_before=pressing("i"))


# ---------------------------------------------------------------- Diff


def list_of(one: TrunklineApp) -> DiffList:
    return one.screen.query_one(DiffList)


async def test_differences_are_found_round_and_round():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "n", "9")
        assert isinstance(one.screen, DiffScreen)
        assert "one run is open" in text_of(one)
        await press(pilot, "n")
        assert ["nothing to compare" in note.message for note in one._notifications] == [True]
        await press(pilot, "d", "n")
        diff = list_of(one).diff
        assert diff is not None
        assert list_of(one).selected in diff.stops
        first = list_of(one).selected
        await press(pilot, "N", "n")
        assert list_of(one).selected == first


async def test_a_row_of_a_alone_stays_selected_while_the_cursor_stands_before_it():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "d", "9")
        diff = list_of(one).diff
        assert diff is not None
        index = next(at for at, row in enumerate(diff.rows) if row.mark is DiffMark.ONLY_A and at > 5)
        assert isinstance(one.screen, DiffScreen)
        one.screen.go_to_row(index)
        await settle(one)
        assert list_of(one).selected == index
        assert one.workspace.cursor == diff.seq_at(index)
        await press(pilot, "enter", "enter")
        assert isinstance(one.screen, DiffScreen)
        assert "A only" in [note.message for note in one._notifications][-1] or "in A only" in text_of(one)


async def test_the_cursor_is_shared():
    one = app()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "d", "9", "g", "j", "j", "j")
        seq = one.workspace.cursor
        assert seq
        await press(pilot, "enter", "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert one.workspace.cursor == seq
        await press(pilot, "]", "9")
        diff = list_of(one).diff
        assert diff is not None
        assert diff.rows[list_of(one).selected].b == seq + 1


async def test_two_runs_are_shown_from_where_they_part_once_and_the_cursor_is_shared_from_then_on():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "d", "0", "9")
        diff = list_of(one).diff
        assert diff is not None and diff.first is not None
        assert list_of(one).selected == diff.first
        assert one.workspace.cursor == diff.seq_at(diff.first) > 0
        await press(pilot, "2", "0", "9")
        assert one.workspace.cursor == 0
        await press(pilot, "d")
        other = list_of(one).diff
        assert other is not diff and other is not None
        assert list_of(one).selected == other.first


async def test_a_pinned_run_stays_a():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        pinned = one.workspace.open_run
        await press(pilot, "p", "9")
        assert "pinned as A" in text_of(one)
        await press(pilot, "r", "R")
        diff = list_of(one).diff
        assert diff is not None and pinned is not None
        assert diff.a is pinned.view
        await press(pilot, "p", "p")
        assert one.workspace.branch.pinned is None


# ---------------------------------------------------------------- faults


async def test_a_fault_makes_branch_b_and_is_taken_back():
    one = lost()
    async with one.run_test(size=(120, 40)) as pilot:
        was, cursor = one.workspace.run, one.workspace.cursor
        await press(pilot, "i", "j")
        assert isinstance(one.screen, FaultPalette)
        assert "accepted, but the response is lost" in text_of(one)
        await press(pilot, "enter")
        assert isinstance(one.screen, TimelineScreen)
        assert (one.workspace.cursor, one.workspace.branch.before) == (cursor, was)
        assert "told-twice-branch" in text_of(one)
        kinds = {event.kind for event in one.workspace.run.view.events}
        assert "wire.response_lost" in kinds
        await press(pilot, "9", "n")
        diff = list_of(one).diff
        assert diff is not None
        assert diff.counts[DiffMark.ONLY_B]
        await press(pilot, "u")
        assert one.workspace.branch.faults == ()
        assert "no difference" in text_of(one)
        await press(pilot, "u")
        assert "no fault is placed" in list(one._notifications)[-1].message


async def test_faults_are_kept_when_it_is_run_again_and_two_are_compared_with_none():
    one = lost()
    async with one.run_test(size=(120, 40)) as pilot:
        was = one.workspace.run
        await press(pilot, *down_to("crash"), "enter", *down_to("clock"), "enter", "R")
        assert [fault.word for fault in one.workspace.branch.faults] == ["crash", "clock jump"]
        assert one.workspace.branch.before is was
        assert one.workspace.seed == 2


async def test_what_cannot_be_placed_is_said_and_a_second_click_places():
    one = lost()
    async with one.run_test(size=(120, 40)) as pilot:
        one.workspace.seek(0)
        await press(pilot, *down_to("archive"))
        assert "the cursor is in no conversation; put it on a message" in text_of(one)
        await press(pilot, "enter", "l", "h")
        assert isinstance(one.screen, FaultPalette)
        await press(pilot, "g")
        await pilot.click(FaultList, offset=(4, 1))
        await settle(one)
        await pilot.click(FaultList, offset=(4, 1))
        await settle(one)
        assert [fault.word for fault in one.workspace.branch.faults] == ["drop ack"]


async def test_a_fault_can_be_placed_later_and_the_preview_names_what_it_strikes():
    one = lost()
    async with one.run_test(size=(120, 40)) as pilot:
        view = one.workspace.run.view
        await press(pilot, *down_to("crash"), "right", "l", "h")
        told = next(line for line in text_of(one).splitlines() if "what " in line)
        seq = int(told.split("(#")[1].split(",")[0])
        assert "after 1  (2 of " in text_of(one)
        await press(pilot, "enter")
        branch = one.workspace.run.view
        crash = next(event for event in branch.events if isinstance(event.body, ProcessCrashed))
        assert view.events[:seq] == branch.events[:seq]
        assert crash.at == pytest.approx(view.time(seq) + 1e-6)


async def test_the_fix_is_tried_and_taken_back():
    one = told_twice()
    async with one.run_test(size=(120, 40)) as pilot:
        assert one.workspace.bugs
        await press(pilot, "i")
        assert "the fix: without hand-announces-too" in text_of(one)
        await press(pilot, "enter", "9")
        diff = list_of(one).diff
        assert diff is not None
        assert (one.workspace.bugs, bool(diff.a.marks.violations), bool(diff.b.marks.violations)) == ((), True, False)
        await press(pilot, "u")
        assert (len(one.workspace.bugs), one.workspace.branch.faults) == (1, ())
        assert "no difference" in text_of(one)


async def test_runs_without_their_scenario_cannot_be_branched():
    one = app()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "i", "W")
        assert isinstance(one.screen, TimelineScreen)
        assert ["cannot be changed" in note.message for note in one._notifications] == [True, True]
        one.workspace.entry = None
        await press(pilot, "i")
        message = list(one._notifications)[-1].message
        assert "recorded trace" in message and "s chooses" in message


# ---------------------------------------------------------------- W


async def test_a_run_is_written_and_nothing_is_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "told-twice-branch.yaml").write_text("mine")
    one = lost()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "i", "j", "enter", "W")
        assert (tmp_path / "told-twice-branch.yaml").read_text() == "mine"
        file = load(Path("told-twice-branch-2.yaml"))
        assert aside(lambda: run_scenario(file)).holds
        note = list(one._notifications)[-1].message
        assert "trunkline run told-twice-branch-2.yaml" in note
        assert "it holds" in note


async def test_a_defect_is_written_as_what_must_break(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = told_twice()
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, "W")
        file = load(Path("told-twice-observed.yaml"))
        assert aside(lambda: run_scenario(file)).holds
        assert set(file.scenario.breaks) == {"D2", "R1", "C3"}
        assert not aside(lambda: run_scenario(file, bugs=file.scenario.bugs)).holds


async def test_a_scenario_that_does_not_fit_on_the_disk_leaves_no_file(tmp_path, monkeypatch):
    opened = Path.open

    def full(path: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if mode != "xb":
            return opened(path, mode, *rest, **options)
        path.touch()
        return opened(Path("/dev/full"), "wb")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "open", full)
    one = told_twice()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "W")
        assert "cannot be written: No space left on device" in list(one._notifications)[-1].message
        assert list(tmp_path.iterdir()) == []


async def test_where_nothing_can_be_written_that_is_said(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.setattr(Path, "cwd", lambda: gone / "deeper")
    one = told_twice()
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "W")
        assert "cannot be written" in list(one._notifications)[-1].message


# ---------------------------------------------------------------- pictures of what is rare


@ALL
def test_two_runs_that_are_the_same(screen_compare, size):
    assert screen_compare(told_twice(bugs=False), terminal_size=size, run_before=pressing("r", "9"), picture=False)


@ALL
def test_a_branch_with_two_faults(screen_compare, size):
    keys = [*down_to("lose-response"), "enter", *down_to("crash-after"), "enter"]
    assert screen_compare(lost(), terminal_size=size, run_before=without_toasts(*keys, "9", "n"))


@ALL
def test_the_palette_on_a_branch_shows_what_is_placed_and_when(screen_compare, size):
    keys = [*down_to("lose-response"), "enter", *down_to("crash"), "l", "l"]
    assert screen_compare(lost(), terminal_size=size, run_before=without_toasts(*keys))


@ALL
def test_the_palette_where_little_can_be_placed(screen_compare, size):
    one = told_twice()
    one.workspace.seek(one.workspace.run.view.last)
    assert screen_compare(one, terminal_size=size, run_before=pressing(*down_to("hand-twice")), picture=False)


def test_a_fault_that_cannot_be_run_is_said_in_the_palette(screen_compare, monkeypatch):
    one = lost()

    def broken(*_args, **_options):
        raise UsageError("told-twice, seed 1: its run broke: KeyError: 'x', in core/runtime/inbound/turns.py, line 20")

    monkeypatch.setattr("trunkline.app.tui.screens.dialogs.fault_palette.inject", broken)
    assert screen_compare(one, terminal_size=(80, 24), run_before=pressing(*down_to("crash"), "enter"))


def test_a_pinned_trace_waits_for_run_b(screen_compare):
    one = lost()
    one.workspace.entry = None
    assert screen_compare(one, terminal_size=(80, 24), run_before=without_toasts("p", "9"))


def test_the_diff_of_a_branch_in_plain_ascii(screen_compare):
    keys = [*down_to("lose-response"), "enter", "9", "n"]
    assert screen_compare(lost(ascii_only=True), terminal_size=(80, 24), run_before=without_toasts(*keys))
