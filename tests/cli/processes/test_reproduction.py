"""The one line that `y` copies: run in a shell it makes the same run, byte for byte."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.app.pilot import press
from tests.support.paths import ROOT
from trunkline.app.runs.scenario_source import SimSource
from trunkline.app.tui.app import TrunklineApp
from trunkline.app.tui.state.workspace import Workspace
from trunkline.app.view.faults.catalog import MAKERS
from trunkline.core.events import encode_trace
from trunkline.core.events.gateway import InboundAdmitted
from trunkline.sim import scenario_home


@pytest.fixture
def shell(tmp_path):
    """Runs a command line as with an installed trunkline."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "trunkline"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trunkline "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}

    def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return run


def opened(name: str, *, bugs: bool) -> TrunklineApp:
    source = SimSource((scenario_home() / f"{name}.yaml",))
    (entry,) = source.scenarios()
    workspace = Workspace(source, seed=3)
    workspace.open(entry, seed=3, bugs=entry.bugs if bugs else ())
    view = workspace.run.view
    workspace.seek(next(event.seq for event in view.events if isinstance(event.body, InboundAdmitted)))
    return TrunklineApp(workspace, theme="textual-dark", clocked=False)


def placing(name: str, later: int = 0) -> list[str]:
    return ["i", *["j"] * list(MAKERS).index(name), *["l"] * later, "enter"]


CASES = {
    "as it is": ("tour/told-twice", False, []),
    "a defect": ("tour/told-twice", True, []),
    "the fix, a seed more": ("tour/told-twice", True, ["i", "enter", "R"]),
    "two faults": ("faults/two-bound-sessions", True, [*placing("crash-before", 1), *placing("lose-response")]),
    "a thread": ("faults/dead-thread", False, placing("archive", 1)),
    "a token": ("faults/stale-token", False, placing("token")),
    "a hand": ("faults/hands-lost", False, placing("hand-timeout")),
    "a message, later": ("museum/B050-topic-lost", False, placing("again")),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "bugs", "keys"), CASES.values(), ids=CASES)
async def test_the_line_makes_the_same_run(shell, tmp_path, name, bugs, keys):
    one = opened(name, bugs=bugs)
    async with one.run_test(size=(120, 40)) as pilot:
        await press(pilot, *keys, "y", "c")
        line, run = one.clipboard, one.workspace.run.view.run
        assert len(one.workspace.branch.faults) == keys.count("i")
    assert "\n" not in line
    kept = tmp_path / "again.jsonl"
    done = shell(f"{line} --trace {kept}", ROOT)
    assert done.returncode == (0 if run.holds else 1), done.stderr
    assert kept.read_bytes() == encode_trace(run.trace)


def test_a_step_that_cannot_be_read_says_what_it_should_be(trunkline):
    tour = "scenarios/tour/told-twice.yaml"
    for step, message in {
        "x": "has no time, or is not a mapping; write it as in a scenario file",
        "{crash: {}}": "has no time",
        "{at: z, crash: {}}": "'z' is not a time: write 5s",
        "{at: 1s, crsh: {}}": "nearest valid word: 'crash'",
        "{at: 1s, fault: {on: send, do: slow, in: nowhere}}": "expected a place of the world, found 'nowhere'",
        "{at: 1s, crash: {": "not YAML: the bracket",
    }.items():
        code, out, err = trunkline("run", tour, "--inject", step)
        assert (code, out) == (2, "") and message in err and "Traceback" not in err, step
    code, _, err = trunkline("run", "scenarios", "--inject", "{at: 1s, crash: {}}")
    assert code == 2 and "--inject is for a single scenario" in err
