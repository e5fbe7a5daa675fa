"""The whole way of a report, over many scenarios: fault, branch, where it parts, W, the command line, and back."""

from pathlib import Path

import pytest

from tests.support.app.pilot import press, text_of
from trunkline.app.cli import main
from trunkline.app.runs.scenario_source import SimSource, load
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.screens.diff.screen import DiffList
from trunkline.app.tui.state.branching import aside
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.faults.catalog import MAKERS
from trunkline.core.events import Body
from trunkline.core.events.bindings import BindingBound
from trunkline.core.events.delivery import IntentPrepared
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.core.events.hands import DelegationStarted
from trunkline.sim import scenario_home
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid

pytestmark = pytest.mark.anyio

#: scenario, the event at which the fault is placed, and which fault
WAYS = (
    ("tour/told-twice", IntentPrepared, "lose-response"),
    ("tour/told-twice", IntentPrepared, "defect"),
    ("faults/dead-thread", InboundAdmitted, "delete"),
    ("faults/two-bound-sessions", BindingBound, "unbind"),
    ("faults/two-bound-sessions", BindingBound, "hand-error"),
    ("faults/focus-and-unfocus", InboundAdmitted, "clock"),
    ("faults/stale-token", InboundAdmitted, "token"),
    ("faults/hands-lost", InboundAdmitted, "hand-timeout"),
    ("faults/reset-while-a-hand-works", DelegationStarted, "session"),
    ("faults/two-processes", InboundAdmitted, "crash-after"),
    ("faults/rate-limit-and-retry", InboundAdmitted, "rate-limit"),
    ("faults/sent-by-clients", IntentPrepared, "store"),
    ("faults/not-ready", InboundAdmitted, "connection"),
    ("museum/B134-webhook-is-gone", WireAccepted, "webhook"),
    ("museum/B050-topic-lost", PeerSaid, "again"),
    ("museum/B099-tool-send-overtakes", InboundAdmitted, "slow"),
    ("museum/B041-conflict-while-a-turn-ends", InboundAdmitted, "crash-before"),
)


def opened(name: str, kind: type[Body]) -> TrunklineApp:
    source = SimSource((scenario_home() / f"{name}.yaml",))
    (entry,) = source.scenarios()
    workspace = Workspace(source, seed=1)
    workspace.open(entry, seed=1, bugs=entry.bugs)
    view = workspace.run.view
    workspace.seek(next(event.seq for event in view.events if isinstance(event.body, kind)))
    return TrunklineApp(workspace, theme="textual-dark", clocked=False)


async def test_the_open_run_becomes_the_smallest_scenario_with_its_violation(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    app = opened("tour/told-twice", IntentPrepared)
    violated, steps = app.workspace.run.view.run.violated, len(app.workspace.source.scenarios())
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "1", "S")
        for _ in range(1200):
            # The search is a thread, and the key may not have been handled yet.
            await pilot.pause(0.05)
            if any("told-twice-small" in str(note) for note in app.notes):
                break
        assert (tmp_path / "told-twice-small.yaml").exists(), app.notes
        small = load(tmp_path / "told-twice-small.yaml")
        assert app.workspace.entry is not None
        assert app.workspace.entry.path.name == "told-twice-small.yaml"
        assert violated[0] in app.workspace.run.view.run.violated
        assert len(small.scenario.script) <= 2 > steps
    bug = small.scenario.bugs[0]
    monkeypatch.setattr("sys.argv", ["trunkline", "run", "told-twice-small.yaml", "--bug", bug])
    assert aside(main) == 1
    assert violated[0] in capsys.readouterr().out


async def test_a_run_that_holds_is_not_made_smaller(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = opened("faults/one-answer", IntentPrepared)
    assert app.workspace.entry is not None
    app.workspace.open(app.workspace.entry, seed=1, bugs=())
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "S")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert any("holds" in str(note) for note in app.notes)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "kind", "fault"), WAYS, ids=lambda value: value if isinstance(value, str) else "")
async def test_from_the_duplicate_to_a_file_in_ci(name, kind, fault, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    one = opened(name, kind)
    async with one.run_test(size=(80, 24)) as pilot:
        before, cursor = one.workspace.run.view.run, one.workspace.cursor
        await press(pilot, "i", *["j"] * list(MAKERS).index(fault), "enter")
        assert [len(one.workspace.branch.faults), one.workspace.cursor >= cursor - 1] == [1, True]
        after = one.workspace.run.view.run
        await press(pilot, "9", "n")
        diff = one.screen.query_one(DiffList).diff
        assert diff is not None and diff.a.run is before and diff.b.run is after
        assert not diff.same
        await press(pilot, "W")
        (kept,) = tmp_path.iterdir()
        said = list(one._notifications)[-1].message
        assert f"trunkline run {kept.name}" in said
        await press(pilot, "u")
        assert one.workspace.run.view.run.trace == before.trace
        assert "no difference" in text_of(one)
    code = aside(lambda: run_in_ci(monkeypatch, kept))
    report = capsys.readouterr().out
    # Without the defect it must hold; a fault that breaks a promise by itself stays red until it is mended.
    assert ("it holds" in said) is (code == 0), report
    assert code == 0, report
    assert ("--bug own" in said) is (load(kept).scenario.bugs != ())
    if "--bug own" in said:
        assert aside(lambda: run_in_ci(monkeypatch, kept, "--bug", "own")) == 0


async def test_a_fault_without_effect_is_reported(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = opened("faults/not-ready", InboundAdmitted)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "i", *["j"] * list(MAKERS).index("not-ready"), "enter")
        assert "nothing came of it" in list(one._notifications)[-1].message


async def test_a_defect_that_a_fault_hides_is_not_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one = opened("museum/B134-webhook-is-gone", WireAccepted)
    async with one.run_test(size=(80, 24)) as pilot:
        await press(pilot, "i", *["j"] * list(MAKERS).index("webhook"), "enter", "W")
        assert "changes nothing in it" in list(one._notifications)[-1].message
    (kept,) = tmp_path.iterdir()
    assert load(kept).scenario.bugs == ()


def run_in_ci(monkeypatch, kept: Path, *options: str) -> int:
    monkeypatch.setattr("sys.argv", ["trunkline", "run", str(kept), *options])
    return main()
