"""The examples of serving: configurations of the pages, the systemd unit and the container file fit the code."""

import json
import re
import shlex
from pathlib import Path

import pytest
from cyclopts import CycloptsError

from tests.support.pages import DOCS, PLATFORM_PAGES, Block, blocks
from tests.support.paths import ROOT
from trunkline.app.cli.commands import app
from trunkline.app.cli.serve import ServeOptions
from trunkline.app.serve.config import ServeConfig
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
