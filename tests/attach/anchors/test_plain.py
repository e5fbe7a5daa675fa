"""Bots of the libraries that people use, as their quick starts have them: where nothing goes wrong, nothing is found.

What the judge finds in one of these is a mistake of a fake or of the judge. Those of Node.js run at night.
"""

import shutil
import sys
from pathlib import Path

import pytest

from tests.support.attach.toy_tries import play, wire_side
from tests.support.paths import ROOT
from tests.support.wire.descriptions import node
from tests.support.wire.second_clients import second_python
from trunkline.sim.attach.expectations import check_attached
from trunkline.sim.attach.own_command import own_profile
from trunkline.sim.invariants import Status
from trunkline.sim.scenario import load_scenario

BOTS = Path(__file__).parent / "bots"
NODE_MODULES = ROOT / ".venvs" / "second-anchors" / "node_modules"
#: bot -> its scenario, and its environment of `tools/second_clients.sh`; empty: this one
PYTHON = {
    "aiogram_bot": ("plain", "aiogram"),
    "discord_py": ("discord-plain", ""),
    "hikari_bot": ("discord-plain", "hikari"),
    "matrix_nio_bot": ("matrix-plain", "matrix-nio"),
    "python_telegram_bot": ("plain", ""),
    "slack_bolt_bot": ("slack-plain", "slack-bolt"),
}
#: bot -> its scenario, and its package
NODE = {
    "discordjs_bot": ("discord-plain", "discord.js"),
    "grammy_bot": ("plain", "grammy"),
    "matrix_js_sdk_bot": ("matrix-plain", "matrix-js-sdk"),
    "slack_bolt_bot": ("slack-plain", "@slack/bolt"),
    "telegraf_bot": ("plain", "telegraf"),
}


def nothing_is_found(command: str, scenario: str, folder: Path) -> None:
    """Play a scenario in which nothing goes wrong, and judge it."""
    path = ROOT / "scenarios" / "attach" / f"{scenario}.yaml"
    trace = play(path, own_profile(command).model_copy(update={"settle": 1.0, "patience": 20.0}), folder)
    verdicts = wire_side(trace)
    assert {name: found.violations for name, found in verdicts.items() if found.violations} == {}
    assert {name for name, found in verdicts.items() if found.status is Status.OK} >= {"X1", "X2", "X4", "X5", "X6"}
    assert check_attached(load_scenario(path), trace.events, verdicts.values()) == ()


@pytest.mark.parametrize("bot", PYTHON)
def test_a_quick_start_in_python_is_blamed_for_nothing(bot: str, tmp_path: Path) -> None:
    scenario, environment = PYTHON[bot]
    python = second_python(environment) if environment else Path(sys.executable)
    if not python.is_file():
        pytest.skip(f"not installed: tools/second_clients.sh {environment}")
    nothing_is_found(f"'{python}' '{BOTS / bot}.py'", scenario, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("bot", NODE)
def test_a_quick_start_in_javascript_is_blamed_for_nothing(bot: str, tmp_path: Path) -> None:
    scenario, package = NODE[bot]
    if shutil.which(node()) is None:
        pytest.skip(f"{package}: there is no Node.js on PATH")
    if not (NODE_MODULES / package).is_dir():
        pytest.skip(f"not installed: tools/second_clients.sh anchors ({package})")
    # Node.js looks for packages above the file that asks for them.
    for source in BOTS.glob("*.mjs"):
        shutil.copy(source, tmp_path)
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    nothing_is_found(f"'{node()}' '{tmp_path / bot}.mjs'", scenario, tmp_path / "try")
