"""The gateway's configuration alone: bare, or as the section of a scenario; errors name the place in the file."""

from pathlib import Path

import pytest

from tests.support.for_each import for_each
from trunkline.core.config.files import FileError, load_config, load_config_text
from trunkline.core.profile_rules import Profile
from trunkline.sim.scenario import load_scenario, scenario_home

BARE = """\
agents: [{id: main}, {id: ops}]
bindings:
  - agent: ops
    match: {channel: discord, guild: acme}
session: {dmScope: main}
"""
SECTION = "scenario: 1\nnonsense: true\ngateway:\n" + "".join(f"  {line}\n" for line in BARE.splitlines())
AS_JSON = """\
{
\t"agents": [{"id": "main"}, {"id": "ops"}],
\t"bindings": [{"agent": "ops", "match": {"channel": "discord", "guild": "acme"}}],
\t"session": {"dmScope": "main"}
}
"""


def refused(text: str) -> list[str]:
    with pytest.raises(FileError) as caught:
        load_config_text(text, "g.yaml")
    return str(caught.value).splitlines()


def test_bare_section_and_json_are_the_same_configuration(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(AS_JSON)
    assert load_config_text(BARE) == load_config_text(SECTION) == load_config(path)


@pytest.mark.parametrize("name", ["museum/B093-bindings-ignored.yaml", "tour/told-twice.yaml"])
def test_it_is_the_configuration_that_the_scenario_has(name: str) -> None:
    path = scenario_home() / name
    assert load_config(path) == load_scenario(path).scenario.gateway


def test_a_scenario_without_the_section_has_the_defaults() -> None:
    assert load_config_text("scenario: 1\n").default_agent == "main"


def test_a_profile_replaces_that_of_the_file() -> None:
    config = load_config_text("profile: openclaw\nagents: []\n")
    assert config.profile is Profile.OPENCLAW
    assert load_config_text(BARE, profile=Profile.OPENCLAW_2026_08).profile is Profile.OPENCLAW_2026_08
    # Legal in the other profile only.
    assert load_config_text("agents: []\n", profile=Profile.OPENCLAW).agents == ()


WRONG = {
    "agents: [{id: main}]\nsession: {dmScope: per-pear}\n": "g.yaml:2:20: session.dmScope: expected one of",
    "agents: [{id: main}]\nbindingz: []\n": "g.yaml:2:1: bindingz: unknown field",
    "agents: [{id: main}]\nbindings:\n  - agent: opz\n    match: {channel: discord}\n": (
        "g.yaml:3:12: bindings[0].agent: no agent 'opz'; there are: main"
    ),
    "gateway:\n  agents: [{id: main}]\n  session: {dmScope: per-pear}\n": (
        "g.yaml:3:22: gateway.session.dmScope: expected one of"
    ),
    "gateway:\n  agents:\n    - id: a\n    - id: a\n": "g.yaml:3:5: gateway.agents: two agents share an id: a, a",
    "gateway:\n": "g.yaml:1:9: gateway: expected a mapping, found nothing",
    "[1]\n": "g.yaml:1:1: expected a mapping, found a list",
    "a: [\n": "g.yaml:2:1: not YAML",
    "": "g.yaml:1:1: the file is empty (a configuration has the fields of a scenario's `gateway` section)",
    "agents: &a [{id: main}]\n": "g.yaml:1:9: expected a plain value, found the anchor &a",
    "agents: [{id: main}]\nagents: [{id: ops}]\n": "g.yaml:2:1: agents: this name is given twice",
}


@for_each(("text", "message"), WRONG.items())
def test_what_is_wrong_is_reported_with_its_place(text: str, message: str) -> None:
    (line,) = refused(text)
    assert line.startswith(message)


def test_everything_that_is_wrong_is_reported_at_once() -> None:
    assert len(refused("agents: 5\nsession: {dmScope: no, main: 1}\n")) == 3


@pytest.mark.parametrize(("name", "message"), [("none.yaml", "cannot be read"), (".", "expected a configuration file")])
def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        load_config(tmp_path / name)
