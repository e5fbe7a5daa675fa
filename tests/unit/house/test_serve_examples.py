"""The examples of serving: configurations of the pages, the systemd unit and the container file fit the code."""

import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from tests.support.pages import DOCS, PLATFORM_PAGES, Block, blocks
from tests.support.paths import ROOT
from trunkline.app.cli.commands import app
from trunkline.app.cli.serve import ServeOptions
from trunkline.app.serve.config import ServeConfig
from trunkline.app.serve.machine import connection_limit
from trunkline.app.serve.server import address_of
from trunkline.app.serve.settings import Overrides, load_settings

EXAMPLES = DOCS / "examples" / "serve"
UNIT = (EXAMPLES / "trunkline.service").read_text("utf-8")
CONTAINER = (EXAMPLES / "Containerfile").read_text("utf-8")
#: begins a configuration of a server; other YAML of the pages is of scenarios
SECTION = re.compile(r"^(?:store|http|agents|accounts|log|record):", re.MULTILINE)
CONFIGURATIONS = [
    pytest.param(block, id=f"{path.name}-{block.line}")
    for path in (ROOT / "README.md", DOCS / "serving.md", DOCS / "agents.md", DOCS / "platforms.md", *PLATFORM_PAGES)
    for block in blocks(path.read_text("utf-8"))
    if block.language == "yaml" and SECTION.search(block.text)
]


@pytest.mark.parametrize("block", CONFIGURATIONS)
def test_a_configuration_of_a_page_can_be_served(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(block.text)
    settings = load_settings(path, state=tmp_path)
    assert address_of(settings)[1] == 8420


def test_the_page_shows_the_whole_example() -> None:
    example = (EXAMPLES / "gateway.yaml").read_text("utf-8").partition("\n")[2]
    assert example in (DOCS / "serving.md").read_text("utf-8")


def served_with(words: list[str]) -> ServeOptions:
    """The options of a command line of `trunkline serve`. Raises `CycloptsError` for one that is none."""
    assert [Path(words[0]).name, words[1]] == ["trunkline", "serve"]
    _, bound, _ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
    options: ServeOptions = bound.arguments["options"]
    return options


def test_a_wrong_option_is_found() -> None:
    with pytest.raises(CycloptsError):
        served_with(["trunkline", "serve", "--stat", "/state"])


def settings_of_unit() -> dict[str, str]:
    return dict(re.findall(r"^(\w+)=(.*)$", UNIT, re.MULTILINE))


def test_the_unit_starts_a_server_and_gives_it_time_to_stop() -> None:
    unit = settings_of_unit()
    options = served_with(shlex.split(unit["ExecStart"]))
    assert str(options.state) == f"/var/lib/{unit['StateDirectory']}", "all else is read-only"
    assert float(unit["TimeoutStopSec"].removesuffix("s")) > ServeConfig().finish_within
    assert "-HUP" in unit["ExecReload"]
    # Who has lost the store ends with code 1, and is to stand by.
    assert unit["Restart"] == "on-failure"


def test_the_unit_bounds_what_it_runs() -> None:
    unit = settings_of_unit()
    # Connections and the rest have room below the limit, which the process cannot raise.
    assert connection_limit(None, int(unit["LimitNOFILE"])) == 10_000
    assert {"MemoryMax", "TasksMax"} <= set(unit)
    assert (unit["RestartSec"], unit["RestartMaxDelaySec"], unit["StartLimitIntervalSec"]) == ("1s", "60s", "0")
    assert int(unit["RestartSteps"]) > 1
    assert (unit["MemoryDenyWriteExecute"], unit["ProcSubset"], unit["NoNewPrivileges"]) == ("yes", "pid", "yes")
    assert unit["KillMode"] == "mixed", "programs of agents end with the gateway"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here to judge the unit")
def test_the_unit_is_one_for_systemd(tmp_path: Path) -> None:
    path = tmp_path / "trunkline.service"
    path.write_text(UNIT.replace("/opt/trunkline/bin/trunkline", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False, timeout=60)
    # systemd before 254 does not know growing delays, and says so; the unit says it too.
    young = [
        line for line in done.stderr.splitlines() if not re.search(r"Unknown key 'Restart(Steps|MaxDelaySec)'", line)
    ]
    assert young == []
    path.write_text(path.read_text().replace("KillMode=mixed", "KillMode=mixd"))
    done = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False, timeout=60)
    assert "mixd" in done.stderr, "a wrong one is found"


def test_the_build_of_the_container_gets_the_code_and_the_lock_and_no_secrets() -> None:
    lines = (ROOT / ".containerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*", "nothing gets in that is not named"
    named = {rule[1:] for rule in rules if rule.startswith("!")}
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    packages = {path.partition("/")[0] for path in build["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]}
    assert named == {
        *(*packages, "pyproject.toml", "requirements.lock", "hatch_build.py", "README.md"),
        *build["project"]["license-files"],
    }
    assert all((ROOT / name).exists() for name in named)
    assert {"**/*.db", "**/token", "**/*.key", "**/*.env", "**/__pycache__"} <= set(rules[rules.index("!LICENSE") :])


def test_the_container_installs_from_the_lock() -> None:
    installs = re.findall(r"pip install (.*)", CONTAINER)
    assert len(installs) == 2
    assert "--require-hashes --only-binary :all: -r" in installs[0]
    assert "--no-index --no-deps --no-build-isolation ." in installs[1]
    # What it leaves out is the part for developers, and what builds the wheel is in the rest.
    kept, rest = (ROOT / "requirements.lock").read_text("utf-8").split("# Part 3", 1)
    assert "\nhatchling==" in kept
    assert "\nuvicorn==" in kept
    assert "\npytest==" in rest


def test_the_container_serves_its_published_port_with_a_token() -> None:
    [words] = [json.loads(line.partition(" ")[2]) for line in CONTAINER.splitlines() if line.startswith("ENTRYPOINT")]
    options = served_with(words)
    overrides = Overrides(listen=options.listen, token_file=options.token_file)
    settings = load_settings(None, state=options.state, overrides=overrides)
    host, port = address_of(settings)
    assert (host, f"EXPOSE {port}" in CONTAINER, f"127.0.0.1:{port}/v1/health/live" in CONTAINER) == (
        "0.0.0.0",
        True,
        True,
    )
    assert f"VOLUME {settings.state}" in CONTAINER
    assert settings.store.parent == settings.state
