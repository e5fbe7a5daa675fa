"""Gateway profiles: those that ship are valid, and a wrong one is refused with line, column, field and remedy."""

from pathlib import Path

import pytest

from tests.support.for_each import for_each
from tests.support.pages import DOCS, blocks
from trunkline.core.errors import UnknownName
from trunkline.sim.attach.profile_files import (
    ProfileError,
    load_profile,
    load_profile_text,
    profile_path,
    shipped_profiles,
)
from trunkline.sim.attach.rendering import COMMON, OF_PLATFORM, render
from trunkline.sim.wire.servers import ON_THE_WIRE

SMALL = "profile: 1\nname: mine\ncommand: [run]\nplatforms: {telegram: {}}\n"
VALUES = {name: f"<{name}>" for name in COMMON} | {"port": "4000"}


def problems(text: str) -> list[str]:
    with pytest.raises(ProfileError) as caught:
        load_profile_text(text, "mine.yaml")
    return str(caught.value).splitlines()


@pytest.mark.parametrize("name", shipped_profiles())
def test_a_shipped_profile_is_valid_and_fills_in_completely(name: str) -> None:
    profile = load_profile(profile_path(name))
    assert profile.name == name
    values = dict(VALUES)
    for platform in profile.platforms:
        values |= {f"{platform}.{slot}": f"<{platform}.{slot}>" for slot in OF_PLATFORM[platform]}
    made = render(profile, tuple(profile.platforms), values)
    for text in (*made.command, *made.environment.values(), *made.files.values()):
        assert "${" not in text


def test_there_are_slots_for_every_platform_on_the_wire() -> None:
    assert set(OF_PLATFORM) == set(ON_THE_WIRE)


def test_a_path_is_a_file_and_a_word_is_a_profile_that_ships() -> None:
    assert profile_path("./mine.yaml") == Path("mine.yaml")
    assert profile_path("hermes").name == "hermes.yaml"
    with pytest.raises(UnknownName, match="nearest valid word: 'hermes'"):
        profile_path("hermse")


@for_each(
    ("text", "expected"),
    [
        (SMALL.replace("command", "comand"), "mine.yaml:3:1: comand: unknown field: expected a field of a profile"),
        (SMALL.replace("mine", "My gateway"), "mine.yaml:2:7: name: 'My gateway' is not a name"),
        (SMALL.replace("telegram", "telegarm"), "mine.yaml:4:13: platforms.telegarm: unknown platform 'telegarm'"),
        (SMALL + "start_within: soon\n", "mine.yaml:5:15: start_within: 'soon' is not a time"),
        (SMALL + 'ignore: ["(x"]\n', "mine.yaml:5:10: ignore[0]: '(x' is not a regular expression: missing )"),
        (SMALL + "needs: [{program: node, at_least: 24.16}]\n", "mine.yaml:5:35: needs[0].at_least: expected text"),
        (SMALL + "needs: [{program: node, below: new}]\n", "mine.yaml:5:32: needs[0].below: 'new' is not a version"),
        (SMALL + "files: {../x: {}}\n", "mine.yaml:5:8: files: '../x' is not a path inside the gateway's folder"),
        (SMALL + "files: {a: {content: {b: 1}}}\n", "mine.yaml:5:22: files.a.content: expected a text"),
        (SMALL.replace("run]", "'${hoem}']"), "mine.yaml:3:11: command[0]: nothing fills the slot ${hoem} (nearest"),
        (SMALL.replace("run]", "'${telegram.url}']"), "known only below `platforms.telegram`"),
        (SMALL + "version: ['${home}/x']\n", "mine.yaml:5:11: version[0]: nothing fills the slot ${home}"),
        (SMALL.replace("{}", "{files: {a: {b: 1}}}"), "mine.yaml:4:35: platforms.telegram.files.a: expected a text"),
        (
            SMALL.replace("{}", "{files: {a: text}}") + "files: {a: {format: json, content: {}}}\n",
            "mine.yaml:4:35: platforms.telegram.files.a: expected a mapping, as in `files`",
        ),
        ("", "mine.yaml:1:1: the file is empty (a profile begins with `profile: 1`)"),
        ("profile: [1\n", "not YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, expected: str) -> None:
    assert any(expected in line for line in problems(text)), problems(text)


def test_the_documented_profile_is_valid_and_its_error_is_the_real_one() -> None:
    found = blocks((DOCS / "attach" / "profiles.md").read_text("utf-8"))
    example, said = (one.text for one in found if one.text.startswith(("# yaml-language-server", "mine.yaml:")))
    assert load_profile_text(example).name == "mine"
    wrong = example.replace(
        'environment: {HOME: "${home}"}', 'environment: {HOME: "${home}", MY_TOKEN: "${telegram.token}"}'
    )
    assert problems(wrong) == [said.strip()]


def test_every_problem_is_reported_at_once() -> None:
    assert len(problems(SMALL + "start_within: soon\nstop_within: late\npatienec: 3s\n")) == 3


def test_a_text_may_have_the_sign_of_a_slot() -> None:
    profile = load_profile_text(SMALL + "environment: {A: 'echo $${HOME} ${home}', P: '${port}'}\n")
    assert render(profile, ("telegram",), VALUES).environment == {"A": "echo ${HOME} <home>", "P": "4000"}
