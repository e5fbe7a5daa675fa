"""The examples of the pages run, and print what the pages say."""

import ast
import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import anyio
import pytest

from tests.support.pages import DOCS, PAGES, Block, blocks, only_block
from tests.support.paths import ROOT
from tools import docs
from trunkline.app.cli.commands import dispatch
from trunkline.core.config.files import load_config, load_config_text
from trunkline.core.config.gateway import heartbeat_agents
from trunkline.core.events import read_trace
from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundDropped
from trunkline.sim import Status, load_scenario, run_scenario
from trunkline.sim.plugins import OURS

EMBEDDING = DOCS / "embedding.md"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_{path.stem}_under_test", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


PYTHON = [
    pytest.param(path, block, id=f"{path.name}:{block.line}")
    for path in PAGES
    for block in blocks(path.read_text("utf-8"))
    if block.language == "python"
]


@pytest.mark.parametrize(("path", "block"), PYTHON)
def test_python_examples_compile_and_their_imports_work(path: Path, block: Block, monkeypatch) -> None:
    monkeypatch.syspath_prepend(DOCS / "examples")
    compile(block.text, f"{path.name}:{block.line}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    imports = [node for node in ast.parse(block.text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    exec(compile(ast.Module([*imports], []), path.name, "exec"), {})


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    path = tmp_path / "twice.yaml"
    path.write_text(only_block(DOCS / "catching-a-bug.md", "yaml", "scenario: 2").text, "utf-8")
    return path


def test_the_smallest_gateway_of_the_page_answers_once(tmp_path: Path, monkeypatch, capsys) -> None:
    block = only_block(EMBEDDING, "python", "Shouter")
    monkeypatch.syspath_prepend(DOCS / "examples")
    monkeypatch.chdir(tmp_path)
    for printed in ("['HELLO']", "[]"):
        exec(compile(block.text, "embedding.md", "exec"), {})
        assert capsys.readouterr().out.strip() == printed
        assert f"prints `{printed}`" in EMBEDDING.read_text("utf-8")


def test_the_scenario_of_the_how_to_holds_and_catches_its_bug(twice: Path) -> None:
    file = load_scenario(twice, names=OURS)
    assert run_scenario(file).holds
    (bug,) = file.scenario.bugs
    broken = [v.id for v in run_scenario(file, bugs=[bug]).verdicts if v.status is Status.VIOLATED]
    assert broken == list(file.scenario.breaks)


def test_the_report_of_the_how_to_shows_both_violations() -> None:
    report = docs.how_to_report()
    assert report.startswith("```\n✗ twice ") and "violated: D1 D4" in report
    assert report.count("← culprit") == 2
    assert report.endswith("\n```\n")


def test_the_python_of_the_how_to_runs(twice: Path, monkeypatch) -> None:
    monkeypatch.chdir(twice.parent)
    exec(only_block(DOCS / "catching-a-bug.md", "python", "my_recover").text, {"__name__": "how_to"})


def test_the_sweep_of_the_simulation_page_runs(monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    exec(only_block(DOCS / "simulation.md", "python", "CrashAt").text, {})


def test_the_echo_example_drops_after_a_restart_the_message_that_it_answered(tmp_path: Path) -> None:
    folder = shutil.copytree(DOCS / "examples", tmp_path / "examples")
    echo = load(folder / "echo.py")
    with anyio.from_thread.start_blocking_portal("asyncio") as portal:
        first = portal.call(within_five_seconds, echo.main, tmp_path)
        second = portal.call(within_five_seconds, echo.main, tmp_path)
    assert first == ["Ana said: hello", "Ana said: is anybody there?"]
    assert second == ["Ana said: is anybody there?"]
    one, two = (read_trace(tmp_path / f"process-{n}.jsonl", whole=False).events for n in (1, 2))
    assert [e.body.state for e in one if isinstance(e.body, IntentSettled)] == ["delivered", "delivered"]
    assert [e.body.reason for e in two if isinstance(e.body, InboundDropped)] == ["duplicate-message"] * 2


def test_the_check_example_runs_and_its_adapter_keeps_the_contract(tmp_path: Path, monkeypatch) -> None:
    folder = shutil.copytree(DOCS / "examples", tmp_path / "examples")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(sys.modules, "echo", load(folder / "echo.py"))
    report = anyio.run(load(folder / "check_adapter.py").main)
    report.raise_for_failures()
    passed = {check.id for check in report.checks if check.verdict == "passed"}
    assert passed >= {"send", "same-key", "too-long", "unsupported", "nowhere", "side-by-side", "inbound", "unacked"}
    assert "lost-response" in {check.id for check in report.not_tried}


async def within_five_seconds(main, folder: Path) -> list[str]:
    with anyio.fail_after(5):
        return await main(folder)


def test_the_plain_report_of_the_app_page_is_what_is_printed(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(ROOT)
    trace = str(tmp_path / "tour.jsonl")
    assert dispatch(["run", "scenarios/tour", "--trace", trace]) == 0
    capsys.readouterr()
    assert dispatch(["report", trace, "--plain"]) == 0
    assert only_block(DOCS / "app.md", "", "# Verdicts").text in capsys.readouterr().out


def test_the_configurations_of_the_heartbeat_page_are_valid() -> None:
    block = only_block(DOCS / "heartbeat.md", "yaml", "heartbeat:")
    config = load_config_text(block.text, "heartbeat.md")
    assert heartbeat_agents(config) == ("main",)
    assert config.heartbeat is not None
    assert config.heartbeat.every == 1800
    example = load_config(DOCS / "examples" / "heartbeat.yaml")
    assert heartbeat_agents(example) == ("watch",)
    assert [entry.id for entry in example.cron] == ["report", "backup"]
