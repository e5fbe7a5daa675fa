"""``trunkline init``: a configuration from answers, which `serve` takes; wrong answers leave nothing behind."""

import io
import stat

import pytest
import yaml

from tests.cli.first_hour.conftest import PLATFORMS
from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.app.serve.settings import load_file

FILES = ["gateway.schema.json", "gateway.yaml"]
#: what is wrong -> the words after `init`, and what the message names: the place and the remedy
WRONG = {
    "an unknown platform": (["--platform", "telgram"], "--platform: 'telgram' is none of webchat, telegram"),
    "an unknown agent": (["--agent", "gpt"], "--agent: 'gpt' is none of echo, openai"),
    "an unknown option": (["--plattform", "telegram"], "Did you mean --platform?"),
    "a token in place of its name": (
        ["--platform", "telegram", "--token", "12:ab"],
        "--token: expected the name of an",
    ),
    "a token with dashes": (["--platform", "slack", "--app-token", "xapp-1"], "--app-token: expected the name"),
    "an option of another platform": (
        ["--platform", "telegram", "--user", "@b:x.org"],
        "--user says nothing of telegram and echo; the options that do: --token, --address",
    ),
    "an option without a platform": (["--token", "T"], "--token says nothing of webchat and echo; leave it out"),
    "an option of another agent": (["--agent", "echo", "--model", "x"], "--model says nothing of webchat and echo"),
    "no homeserver": (["--platform", "matrix", "--user", "@b:x.org"], "--address is missing, and has no default"),
    "no user": (["--platform", "matrix", "--address", "https://x.org"], "--user is missing, and has no default"),
    "a user without a server": (["--platform", "matrix", "--address", "https://x.org", "--user", "bot"], "--user: "),
    "no address of the API": (["--platform", "telegram", "--address", "nowhere"], "--address: expected an address"),
    "no number": (["--platform", "signal"], "--number is missing, and has no default: Phone number, +15550001111"),
    "a number without a plus": (["--platform", "signal", "--number", "12345"], "--number: "),
    "a number in place of its id": (["--platform", "whatsapp", "--number", "+1555"], "--number: "),
    "no model": (["--agent", "openai"], "--model is missing, and has no default: Name of the model"),
    "no address of a model": (["--agent", "openai", "--model", "x", "--url", "model"], "--url: expected an address"),
    "no program": (["--agent", "program"], "--command is missing"),
    "half a quotation": (["--agent", "program", "--command", "bot 'x"], '--command: "bot \'x" is no command'),
    "no address of a webhook": (["--agent", "webhook"], "--url is missing"),
    "a webhook over plain HTTP": (["--agent", "webhook", "--url", "http://x.org/"], "--url: "),
    "two files": (["a.yaml", "b.yaml"], "trunkline init takes no more arguments: b.yaml"),
    "a folder that is not there": (["nowhere/g.yaml"], "there is no folder nowhere: make it, or name another file"),
    "a folder": (["."], ". is a folder: name a file in it, such as gateway.yaml"),
    "a name over two lines": (["a\nagents: {}.yaml"], "cannot be the name of a file"),
    "a name that is not UTF-8": (["a\udcff.yaml"], "cannot be the name of a file"),
    "the place of the schema": (["gateway.schema.json"], "is the place of the schema: name another file"),
}


@pytest.fixture
def init(tmp_path, trunkline, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: trunkline("init", *words)


def made(folder):
    return sorted(path.name for path in folder.iterdir())


@for_each(("words", "named"), list(WRONG.values()), ids=list(WRONG))
def test_a_wrong_answer_is_named_and_nothing_is_written(words, named, init, tmp_path):
    code, out, err = init("--yes", *words)
    assert (code, out) == (2, "")
    assert named in err
    assert "12:ab" not in err and "xapp-1" not in err
    assert made(tmp_path) == []


def test_the_defaults_are_a_web_chat_that_serve_takes(init, tmp_path, trunkline):
    code, out, err = init("--yes")
    assert (code, err) == (0, "")
    assert out.endswith(
        "Next:\n  trunkline serve --check --config gateway.yaml\n  trunkline serve --config gateway.yaml\n"
    )
    assert made(tmp_path) == FILES
    text = (tmp_path / "gateway.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=gateway.schema.json\n")
    assert (tmp_path / "gateway.schema.json").read_bytes() == (ROOT / "docs" / "gateway.schema.json").read_bytes()
    code, out, _ = trunkline("serve", "--check", "--config", "gateway.yaml", "--state", tmp_path)
    assert (code, out.partition(" Store")[0]) == (0, "gateway.yaml: ready to serve. Accounts: webchat:default.")


#: kind of agent -> its options, and what the file says
AGENTS = {
    "openai": (
        ["--model", "m"],
        {"model": "m", "base_url": "https://api.openai.com/v1", "api_key": {"env": "MODEL_KEY"}},
    ),
    "program": (["--command", "./bot 'a b'"], {"command": ["./bot", "a b"]}),
    "webhook": (["--url", "http://127.0.0.1:1/t"], {"url": "http://127.0.0.1:1/t"}),
}


@pytest.mark.parametrize("agent", AGENTS)
def test_the_agents(agent, init, tmp_path):
    options, said = AGENTS[agent]
    assert init("--yes", "--agent", agent, *options)[0] == 0
    assert yaml.safe_load((tmp_path / "gateway.yaml").read_text())["agents"] == {"main": {agent: said}}


def test_a_model_without_a_key(init, tmp_path):
    assert init("--yes", "--agent", "openai", "--model", "m", "--key", "none")[0] == 0
    main = load_file(tmp_path / "gateway.yaml").agents["main"]
    assert main.openai is not None and main.openai.api_key is None


# On a terminal


def test_questions_are_asked_again_until_they_are_answered_right(init, tmp_path, monkeypatch):
    answers = ["telgram", "telegram", "openai", "12:ab", "", "gpt-x", "nonsense", "", "none"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{answer}\n" for answer in answers)))
    code, out, err = init()
    assert code == 0
    assert [line.partition(",")[0] for line in err.splitlines()] == [
        "'telgram' is none of webchat",
        "expected the name of an environment variable",
        "expected an address such as https://api.openai.com/v1 or http://127.0.0.1:11434/v1",
    ]
    assert "  export TELEGRAM_TOKEN=...\n  trunkline serve --check --config gateway.yaml\n" in out
    config = load_file(tmp_path / "gateway.yaml")
    assert [account.on for account in config.accounts] == ["webchat", "telegram"]
    assert config.agents["main"].openai is not None


@pytest.mark.parametrize(
    ("answers", "option"), [("", "--platform"), ("telegram\n", "--agent"), ("matrix\necho\n", "--address")]
)
def test_an_end_of_the_answers_leaves_nothing(answers, option, init, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    code, _, err = init()
    assert code == 2
    assert f"so nothing is written: give {option}, or --yes for the defaults" in err
    assert made(tmp_path) == []


def test_a_question_that_an_option_answers_is_not_asked(init, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    code, out, _ = init("--platform", "webchat")
    assert code == 0
    assert out.startswith("Agent (echo, openai, program, webhook) [echo]: gateway.yaml is written")


# Files that are there


def test_a_file_that_is_there_is_overwritten_only_by_force(init, tmp_path):
    for name in FILES:
        (tmp_path / name).write_text("mine")
    code, _, err = init("--yes")
    assert code == 2
    assert "gateway.yaml is there: name another file, or overwrite it with --force" in err
    assert init("other.yaml", "--yes")[0] == 0, "a schema that is there stays"
    assert [(tmp_path / name).read_text() for name in FILES] == ["mine", "mine"]
    assert init("--yes", "--force")[0] == 0
    assert "mine" not in [(tmp_path / name).read_text() for name in FILES]


def test_a_file_that_cannot_be_written_is_named(init, tmp_path, monkeypatch):
    monkeypatch.setattr("pathlib.Path.write_bytes", refuse)
    code, _, err = init("--yes")
    assert code == 2
    assert err == "trunkline: Wrong use: gateway.schema.json: No space left on device\n"
    assert made(tmp_path) == []


def refuse(*_):
    raise OSError(28, "No space left on device")


# What the platform says of the token


def options_of(fakes, platform):
    [section] = [found[platform] for found in fakes.accounts if platform in found]
    address = section.get("api_root") or section.get("homeserver") or section.get("daemon")
    number = section.get("number") or section.get("phone_number_id")
    found = ["--platform", platform, "--address", address]
    return [
        *found,
        *(["--user", section["user"]] if "user" in section else []),
        *(["--number", number] if number else []),
    ]


@for_each("platform", PLATFORMS)
def test_a_platform_says_whose_the_token_is(platform, fakes, init, tmp_path, monkeypatch):
    code, out, err = init("--yes", "--force", *options_of(fakes, platform))
    assert (code, err) == (0, "")
    assert out.startswith(f"{platform}: it ")
    assert out.endswith(
        "Next:\n  trunkline serve --check --config gateway.yaml\n  trunkline serve --config gateway.yaml\n"
    )
    assert stat.S_ISREG((tmp_path / "gateway.yaml").stat().st_mode)
    for secret in fakes.environment.values():
        assert secret not in out and secret not in (tmp_path / "gateway.yaml").read_text()


@for_each("platform", [platform for platform in PLATFORMS if platform != "signal"])
def test_a_token_that_the_platform_refuses_is_named_and_nothing_is_written(
    platform, fakes, init, tmp_path, monkeypatch
):
    monkeypatch.setenv("WRONG", "123:wrong")
    words = ["--yes", *options_of(fakes, platform), "--token", "WRONG"]
    code, out, err = init(*words)
    assert (code, out) == (2, "")
    assert f"{platform} refuses the secret in WRONG (the answer is " in err
    assert "nothing is written: correct it, or leave the question out with --no-check" in err
    assert "123:wrong" not in err
    assert made(tmp_path) == []


def test_a_platform_that_cannot_be_reached_holds_nothing_up(init, tmp_path, monkeypatch):
    monkeypatch.setenv("TELEGRAM_TOKEN", "123:ab")
    code, out, err = init("--yes", "--platform", "telegram", "--address", "http://127.0.0.1:9")
    assert (code, err) == (0, "")
    assert "telegram: no connection: " in out and "123:ab" not in out
    assert made(tmp_path) == FILES


def test_without_the_check_nobody_is_asked(init, monkeypatch):
    monkeypatch.setenv("TELEGRAM_TOKEN", "123:ab")
    monkeypatch.setattr("httpx.request", None)
    assert init("--yes", "--platform", "telegram", "--no-check")[0] == 0
