"""`--plugin` in the commands that read or judge runs; the example of a plug-in as a module that is not installed."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.paths import DOCS
from trunkline.app.runs.live_run import Budget, Feed, LiveRun
from trunkline.sim.plugins import load_toolbox

EXAMPLE = DOCS / "examples" / "plugin"
PAGER = EXAMPLE / "scenarios" / "acme-pager.yaml"
GIVEN = ("--plugin", "trunkline_acme")


@pytest.fixture(autouse=True)
def _at_the_example(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(EXAMPLE)


@pytest.fixture
def shouted(trunkline, tmp_path) -> Path:
    trace = tmp_path / "shouts.jsonl"
    code, out, _ = trunkline("run", PAGER, *GIVEN, "--bug", "acme.shouts", "--trace", trace)
    assert code == 1
    assert (
        "  repro     trunkline run scenarios/acme-pager.yaml --seed 1 --bug acme.shouts --plugin trunkline_acme" in out
    )
    return trace


def test_a_module_in_the_working_directory_is_a_plugin(trunkline):
    code, out, _ = trunkline("run", PAGER, *GIVEN)
    assert (code, out.splitlines()[-1]) == (0, "1 run: all hold")


@for_each("command", [("report",), ("replay", "--plain")])
def test_a_recorded_trace_is_judged_with_the_plugin_that_is_named(command, trunkline, shouted):
    _, out, _ = trunkline(*command, shouted, *GIVEN)
    assert "acme.Q1 No shouting (plug-in acme 0.1)" in out
    _, out, _ = trunkline(*command, shouted)
    assert "acme.Q1" not in out.replace("acme.shouts", "")


def test_a_trace_that_is_watched_is_judged_with_the_plugin_too(shouted):
    sys.path.append(str(EXAMPLE))
    live = LiveRun(Feed(shouted), load_toolbox(["trunkline_acme"]).checkers)
    live.begin()
    seen: list[str] = []
    while live.pulling:
        live.pull(lambda _, verdicts: seen.extend(one.id for one in verdicts if one.violations), Budget())
    assert "acme.Q1" in seen


def test_lists_have_the_objects_of_a_plugin_with_their_origin(trunkline):
    _, out, _ = trunkline("bugs", "acme", *GIVEN, "--json")
    assert [(row["bug"], row["origin"]) for row in json.loads(out)] == [
        ("acme.shouts", "acme 0.1"),
        ("acme.hurries", "acme 0.1"),
    ]
    _, out, _ = trunkline("invariants", "plug-in", "acme", *GIVEN)
    assert out == ""
    _, out, _ = trunkline("invariants", "shouting", *GIVEN)
    assert "acme.Q1  No shouting  (plug-in acme 0.1)" in out
    _, out, _ = trunkline("invariants", "idempotency key", "--json")
    assert json.loads(out)[0]["id"] == "D1" and "origin" not in json.loads(out)[0]


def test_the_schema_completes_the_names_of_a_plugin(trunkline):
    _, out, _ = trunkline("schema", *GIVEN)
    schema = json.loads(out)
    parts = {name: schema["$defs"][name]["properties"] for name in ("AgentAction", "HandRule", "Hook", "Fault")}
    assert {name: part["plugin"]["enum"] for name, part in parts.items()} == {
        "AgentAction": ["acme.clerk"],
        "HandRule": ["acme.search"],
        "Hook": ["acme.polite"],
        "Fault": ["acme.third"],
    }
    assert "acme.shouts" in schema["properties"]["bugs"]["items"]["enum"]
    assert "acme" not in trunkline("schema")[1].replace("such as `acme.", "")


def test_all_known_defects_include_those_of_a_plugin(trunkline, monkeypatch):
    code, out, _ = trunkline("run", PAGER, *GIVEN, "--bug", "acme.shouts", "--bug", "acme.hurries")
    assert (code, "violated: M2 T2 acme.Q1" in out) == (1, True)


HEART = """\
scenario: 2
title: x
gateway:
  agents: [{id: main, heartbeat: {every: 60s, target: last}}]
world: {people: [ana], telegram: {}, files: {HEARTBEAT.md: "Say hello."}}
cast: {agents: {main: [{when: {heartbeat: true}, do: [{reply: HEARTBEAT_OK}], may_miss: true}, {do: [{reply: x}]}]}}
script:
  - {at: 1s, as: ana, in: "@ana", say: hello}
  - {at: 400s, note: later}
"""


def test_a_switch_of_the_times_of_heartbeats_breaks_what_the_plugin_promises(trunkline, tmp_path):
    file = tmp_path / "heart.yaml"
    file.write_text(HEART)
    assert trunkline("run", file, *GIVEN)[0] == 0
    code, out, _ = trunkline("run", file, *GIVEN, "--bug", "acme.hurries")
    assert (code, "✗ acme.Q3 Heartbeats in time" in out) == (1, True)


@for_each(
    "command", [("run", PAGER), ("explore", PAGER), ("attach", EXAMPLE / "attach", "--gateway", "toy"), ("bugs",)]
)
def test_a_plugin_that_is_missing_is_wrong_usage(command, trunkline):
    code, _, err = trunkline(*command, "--plugin", "nowhere_at_all")
    assert code == 2
    assert "--plugin nowhere_at_all: there is no module 'nowhere_at_all': install its package" in err
