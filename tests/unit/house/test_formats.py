"""The page of formats has the versions of the code, and files of every version are there and are read."""

import contextlib
import gzip
import re
import sqlite3
import sys
from pathlib import Path
from typing import get_args

import pytest

from tests.support.paths import DOCS, FIXTURES, SCENARIOS
from trunkline.core.agents.turn_document import PROTOCOL
from trunkline.core.errors import StoreError
from trunkline.core.events import TRACE_VERSION, TraceError, read_trace
from trunkline.core.http.app import ENDPOINTS
from trunkline.core.store.sqlite.copies import check_store, restore
from trunkline.core.store.sqlite.migrate import newest
from trunkline.sim import ScenarioError, load_scenario
from trunkline.sim.plugins import OURS, SEAM, PluginError, load_toolbox
from trunkline.sim.scenario.model.scenario import Scenario

SCENARIO_VERSIONS = get_args(Scenario.model_fields["scenario"].annotation)
HTTP_VERSIONS = {int(found[1]) for one in ENDPOINTS if (found := re.match(r"/v(\d+)/", one.path))}
#: format -> its version in the code, and all that are read
IN_CODE = {
    "trace": (TRACE_VERSION, set(range(1, TRACE_VERSION + 1))),
    "scenario": (max(SCENARIO_VERSIONS), set(SCENARIO_VERSIONS)),
    "store": (newest(), set(range(1, newest() + 1))),
    "HTTP API": (max(HTTP_VERSIONS), HTTP_VERSIONS),
    "agent protocol": (PROTOCOL, {PROTOCOL}),
    "plug-ins": (SEAM, {SEAM}),
}


def numbers(text: str) -> set[int]:
    """The versions of a cell: `1, 2` or `1 to 10`."""
    first, to, last = text.partition(" to ")
    return set(range(int(first), int(last) + 1)) if to else {int(number) for number in text.split(", ")}


def test_the_page_has_the_versions_of_the_code() -> None:
    rows = re.findall(r"^\| (.+) \|$", (DOCS / "formats.md").read_text("utf-8"), re.MULTILINE)[2:]
    cells = [row.split(" | ") for row in rows]
    assert {name: (int(today), numbers(read)) for name, _, today, read, _ in cells} == IN_CODE


def test_traces_of_every_version_are_read() -> None:
    traces = [read_trace(path) for path in sorted((FIXTURES / "traces").glob("*.jsonl"))]
    assert {trace.header.trunkline_trace for trace in traces} == IN_CODE["trace"][1]
    assert all(trace.events for trace in traces)


def test_scenarios_of_every_version_are_read() -> None:
    paths = [*(FIXTURES / "scenarios_good").glob("*.yaml"), *(SCENARIOS / "tour").glob("*.yaml")]
    assert {load_scenario(path, names=OURS).scenario.scenario for path in paths} == IN_CODE["scenario"][1]


def test_stores_of_every_version_are_read(tmp_path: Path) -> None:
    for version in range(1, newest()):
        old, new = tmp_path / f"old-{version}.db", tmp_path / f"new-{version}.db"
        dump = gzip.decompress((FIXTURES / "stores" / f"version_{version}.sql.gz").read_bytes()).decode()
        with contextlib.closing(sqlite3.connect(old)) as raw:
            raw.executescript(dump)
        assert restore(old, new).version == version
        assert check_store(new).findings == ()


def test_the_example_of_a_plugin_is_written_for_this_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "examples" / "plugin")
    assert any(name.startswith("acme.") for name in load_toolbox(["none", "trunkline_acme:PLUGIN"]).bugs)


# What is newer


def test_a_newer_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.jsonl"
    path.write_text(f'{{"trunkline_trace":{TRACE_VERSION + 1},"scenario":"x","title":"x","seed":1}}\n')
    with pytest.raises(TraceError, match="newer"):
        read_trace(path)


def test_a_newer_scenario_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.yaml"
    path.write_text(f"scenario: {max(SCENARIO_VERSIONS) + 1}\ntitle: x\n")
    with pytest.raises(ScenarioError, match=r"scenario"):
        load_scenario(path, names=OURS)


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with contextlib.closing(sqlite3.connect(path)) as raw:
        raw.execute("CREATE TABLE intents (id TEXT)")
        raw.execute(f"PRAGMA user_version = {newest() + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreError):
        check_store(path)
    assert path.read_bytes() == before


def test_a_newer_plugin_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tomorrow.py").write_text(
        f"from trunkline.sim.plugins import Plugin\nPLUGIN = Plugin(name='tomorrow', seam={SEAM + 1})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError, match=f"written for seam {SEAM + 1}"):
        load_toolbox(["none", "tomorrow:PLUGIN"])
    sys.modules.pop("tomorrow", None)
