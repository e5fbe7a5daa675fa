"""The profile of a gateway of which only the command is known."""

import subprocess
import sys
from pathlib import Path

import pytest

from trunkline.core.errors import UsageError
from trunkline.sim.attach.fit import attach_unfit
from trunkline.sim.attach.own_command import OF_ENVIRONMENT, own_profile, profile_text
from trunkline.sim.attach.profile_files import load_profile_text
from trunkline.sim.attach.rendering import render
from trunkline.sim.scenario import load_text


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my gateway.py").write_text("")
    return tmp_path


def test_files_of_the_working_directory_are_found_from_the_gateways_folder(folder) -> None:
    profile = own_profile(f"{sys.executable} 'my gateway.py' --verbose nothing.py")
    assert profile.command == (sys.executable, str(folder / "my gateway.py"), "--verbose", "nothing.py")
    assert profile.name == "my-gateway"


def test_addresses_and_tokens_are_in_its_environment() -> None:
    profile = own_profile(f"{sys.executable} x")
    values = {"home": "/h", "model.url": "http://m/v1", "telegram.url": "http://t", "telegram.token": "1:a"}
    found = render(profile, ("telegram",), values).environment
    assert (found["TELEGRAM_API_ROOT"], found["TELEGRAM_BOT_TOKEN"]) == ("http://t", "1:a")
    assert found["OPENAI_BASE_URL"] == "http://m/v1"
    assert not any(name.startswith("DISCORD") for name in found)


def test_a_command_with_slots_of_a_platform_is_attached_by_that_platform() -> None:
    profile = own_profile(
        f"{sys.executable} -c 'import sys; print(*sys.argv[1:], sep=chr(10))' 'x y' --url ${{telegram.url}}/bot"
    )
    assert list(profile.platforms) == ["telegram"]
    values = {"home": "/h", "model.url": "http://m", "telegram.url": "http://t", "telegram.token": "1:a"}
    rendered = render(profile, ("telegram",), values)
    done = subprocess.run(rendered.command, env=rendered.environment, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["x y", "--url", "http://t/bot", ""]
    assert list(own_profile(f"{sys.executable} x").platforms) == list(OF_ENVIRONMENT)


def test_it_is_asked_to_answer_in_threads() -> None:
    text = """
    scenario: 1
    title: A question in a thread
    world: {people: [ana], slack: {rooms: {ops: {threads: [deploy]}}}}
    cast: {agents: {main: [{do: [{reply: Done.}]}]}}
    script: [{at: 0s, as: ana, in: slack/ops/deploy, say: hello}]
    """
    assert attach_unfit(load_text(text), own_profile(f"{sys.executable} x")) == ()
    assert attach_unfit(load_text(text), own_profile(f"{sys.executable} x ${{slack.url}}")) == ()


def test_its_profile_is_the_same_when_it_is_read_from_a_file() -> None:
    profile = own_profile(f"{sys.executable} 'my gateway.py'", name="mine", notices=["⚠️ *", "sorry: *"])
    assert load_profile_text(profile_text(profile)) == profile


def test_a_name_of_a_shipped_profile_is_not_taken_twice(folder) -> None:
    (folder / "hermes.py").write_text("")
    assert own_profile(f"{sys.executable} hermes.py").name == "own-hermes"
    assert own_profile(f"env A=b {sys.executable} ${{attach}}/toy/gateway.py").name == "gateway"
    assert own_profile("env A=b ${python} ${attach}/toy/gateway.py").name == "gateway"
    (folder / "2nd.py").write_text("")
    assert own_profile(f"{sys.executable} 2nd.py").name == "own-2nd"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "is empty"),
        ("python '", "No closing quotation"),
        ("no-such-gateway", "is not on PATH, and no file here"),
        ("'./my gateway.py'", "is no program: chmod"),
        ("./my gateway.py", "the path './my gateway.py' has a space, and so is several words: put it in quotes"),
        (f"{sys.executable} -u ./my gateway.py --verbose", "the path './my gateway.py' has a space"),
        ("/tmp", "is a folder: name the program in it"),
        (f"{sys.executable} ${{telegran.url}}", "nearest valid word: 'telegram.url'"),
        (f"{sys.executable} ${{nothing}}", "nothing fills ${nothing} (there are: home, "),
        (f"{sys.executable} ${{telegram.url}} ${{discord.url}}", "slots of telegram and discord"),
        (f"{sys.executable} ${{whatsapp.url}}", "on whatsapp needs a profile file"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_with_the_remedy(command: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        own_profile(command)
    assert "--command" in str(error.value)
    assert said in str(error.value)
