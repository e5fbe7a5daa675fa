"""What a profile needs and what the machine has: what is missing is named with its remedy, and nothing else is."""

import sys
from pathlib import Path

import pytest

from trunkline.sim.attach.doctor import Checkup, MachineFacts, ProgramFound, ask, checkup, first_version, is_older, look
from trunkline.sim.attach.profile import GatewayProfile
from trunkline.sim.attach.profile_files import load_profile, load_profile_text, profile_path, shipped_profiles

TEXT = """profile: 1
name: mine
title: My Gateway
versions: ["1.2.0"]
version: ["${install}/bin/mine", --version]
install: {task: make mine, brings: 5 MB}
needs: [{program: node, at_least: "24.16", below: "25", get: install Node 24}]
command: [mine]
platforms: {telegram: {}}
"""
NODE = ProgramFound(path="/bin/node", said="v24.21.0")
MINE = ProgramFound(path="/x/bin/mine", said="My Gateway 1.2.0 (2026)")


def judged(
    *,
    version: ProgramFound = MINE,
    node: ProgramFound = NODE,
    installed: bool = True,
    closed_off: bool = True,
    ports: bool = True,
    servers: bool = True,
    clone: bool = True,
    text: str = TEXT,
) -> Checkup:
    facts = MachineFacts(
        install="/x",
        installed=installed,
        version=version,
        programs={"node": node},
        closed_off=closed_off,
        ports=ports,
        servers=servers,
        clone=clone,
    )
    return checkup(load_profile_text(text), facts)


def states(found: Checkup) -> list[str]:
    return [f"{one.state} {one.what}" for one in found.lines]


def test_what_is_not_installed_is_named_once() -> None:
    text = TEXT.replace("needs: [", 'needs: [{program: "${install}/bin/part", get: make mine}, ')
    nothing = ProgramFound(problem="there is no /x/bin/mine")
    assert states(judged(version=nothing, installed=False, text=text)) == [
        "missing My Gateway",
        "ok node",
        "ok network",
    ]
    assert "missing part" in states(judged(text=text))


def test_without_a_clone_the_task_is_one_of_a_clone() -> None:
    nothing = ProgramFound(problem="there is no /x/bin/mine")
    remedy = "in a clone of Trunkline: make mine (5 MB); then name the folder with --install"
    assert judged(version=nothing, installed=False, clone=False).lines[0].remedy == remedy


def test_the_package_of_the_platforms_is_needed() -> None:
    found = judged(servers=False)
    assert not found.ready
    assert [one.remedy for one in found.lines if one.state == "missing"] == ["pip install 'trunkline[fakes]'"]


def test_a_machine_that_has_everything_is_ready() -> None:
    found = judged()
    assert found.ready
    assert found.version == "1.2.0"
    assert states(found) == ["ok My Gateway", "ok node", "ok network"]


@pytest.mark.parametrize(
    ("said", "state"),
    [("v24.16.0", "ok"), ("v24.15.9", "missing"), ("v25.0.0", "missing"), ("v9", "missing"), ("hello", "missing")],
)
def test_versions_are_compared_by_their_numbers(said: str, state: str) -> None:
    found = judged(node=ProgramFound(path="/bin/node", said=said))
    assert states(found)[1] == f"{state} node"
    assert found.ready is (state == "ok")
    if state == "missing":
        assert found.lines[1].remedy == "install Node 24"
        assert "at least 24.16 and older than 25 is needed" in found.lines[1].found


def test_a_program_that_is_not_there_is_missing() -> None:
    found = judged(node=ProgramFound(problem="there is no node"))
    assert found.lines[1].found == "there is no node"
    assert not found.ready


def test_a_gateway_that_is_not_installed_comes_with_the_command_that_installs_it() -> None:
    found = judged(version=ProgramFound(problem="there is no /x/bin/mine"), installed=False)
    assert (found.lines[0].state, found.lines[0].remedy) == ("missing", "make mine (5 MB)")
    assert found.lines[0].found == "nothing is installed in /x"
    assert not found.ready


def test_another_version_than_those_tried_is_a_note() -> None:
    found = judged(version=ProgramFound(path="/x", said="2.0"))
    assert states(found)[0] == "note My Gateway"
    assert "1.2.0" in found.lines[0].remedy
    assert found.ready


def test_a_machine_that_cannot_close_the_gateway_off_gets_a_note() -> None:
    found = judged(closed_off=False)
    assert states(found)[2] == "note network"
    assert found.ready
    assert not judged(ports=False).ready


def test_versions() -> None:
    assert first_version("OpenClaw 2026.9.6 (abc)") == "2026.9.6"
    assert first_version("v7") == "7"
    assert first_version("none") == ""
    assert is_older("24.9", "24.16")
    assert not is_older("24.16", "24.16.0")
    assert is_older("2.0", "10")


def test_a_program_is_asked_on_this_machine(tmp_path: Path) -> None:
    assert first_version(ask([sys.executable, "--version"]).said) == ".".join(map(str, sys.version_info[:3]))
    assert ask([str(tmp_path / "nothing"), "--version"]).problem.startswith("there is no")
    assert ask([str(tmp_path)]).path == str(tmp_path)
    assert "ended with 3" in ask([sys.executable, "-c", "raise SystemExit(3)"]).problem


@pytest.mark.parametrize("name", shipped_profiles())
def test_a_shipped_profile_says_what_is_missing_on_a_machine_without_it(name: str, tmp_path: Path) -> None:
    profile: GatewayProfile = load_profile(profile_path(name))
    found = checkup(profile, look(profile, tmp_path / "nowhere"))
    assert all(one.remedy for one in found.lines if one.state == "missing")
    installed = "${install}" in profile.model_dump_json()
    assert found.ready is not installed
