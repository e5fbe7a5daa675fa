"""The configuration file: what it means, and what is said about one that is wrong."""

from pathlib import Path

import pytest

from trunkline.app.serve.config import ServeConfig, parse_size
from trunkline.app.serve.parts import tokens_of
from trunkline.app.serve.reload import name_limited_tokens
from trunkline.app.serve.settings import Overrides, Settings, load_file, load_settings
from trunkline.app.serve.state import state_folder
from trunkline.core.config.files import FileError, load_config
from trunkline.core.http.clients import Bound
from trunkline.core.values import ChatKind

WHOLE = """\
store: data/gateway.db
http:
  listen: 127.0.0.1:9000
  token_file: secret/token
  tokens: [{name: ci, scopes: [read, send], token: {env: CI_TOKEN}}]
  max_body: 2MB
  rate: {per_second: 5, burst: 10}
gateway:
  bindings:
    - {match: {channel: discord}, agent: tool}
agents:
  main: {echo: {introduction: Hi}}
  tool: {program: {command: [python3, agent.py]}}
accounts: [{channel: webchat}, {channel: discord, account: second}]
log: {level: warning, format: json}
record: {folder: traces, file_size: 1MiB, files: 3}
finish_within: 1m
"""

#: a file that is wrong, and what is said about it
WRONG: dict[str, tuple[str, str]] = {
    "empty": ("", "1:1: the file is empty (a configuration begins with one of its fields, such as `agents:`)"),
    "a list": ("- 1\n", "1:1: expected a mapping, found a list"),
    "not YAML": ("http: {listen: 1\n", "2:1: not YAML: the bracket opened in line 1 is not closed before this"),
    "a field": ("htp: {}\n", "1:1: htp: unknown field: expected a field of the configuration, found 'htp' (nearest"),
    "a field inside": (
        "http:\n  lisen: 1\n",
        "2:3: http.lisen: unknown field: expected a field of http, found 'lisen' (nearest valid word: 'listen'",
    ),
    "a field of another section": ("token_file: x\n", "1:1: token_file: unknown field"),
    "a word": (
        "log:\n  level: debgu\n",
        "2:10: log.level: expected one of debug, info, warning, error, found 'debgu' (nearest valid word: 'debug')",
    ),
    "a size": (
        "http:\n  max_body: lots\n",
        "2:13: http.max_body: expected a size such as 500kB, 1MB or 1MiB, found 'lots'",
    ),
    "a time": ("finish_within: soon\n", "1:16: finish_within: 'soon' is not a time: write 5s, 250ms or 1m30s"),
    "a long time": ("finish_within: 2d\n", "1:16: finish_within: expected at most 3600"),
    "a scope": (
        "http:\n  tokens:\n    - {name: x, scopes: [raed], token: {env: A}}\n",
        "3:26: http.tokens[0].scopes[0]: expected one of read, send, operate, found 'raed' (nearest",
    ),
    "no scope": (
        "http: {tokens: [{name: x, scopes: [], token: {env: A}}]}\n",
        "http.tokens[0].scopes: expected a list",
    ),
    "a secret in the file": (
        "http:\n  tokens: [{name: x, scopes: [read], token: hunter2hunter2hunter2}]\n",
        "2:45: http.tokens[0].token: expected the place of a secret, found a text (write {env: NAME} or",
    ),
    "a secret for a token": (
        "http:\n  tokens: [hunter2hunter2hunter2]\n",
        "2:12: http.tokens[0]: expected a mapping, found a text (its fields: name, scopes, people, rooms, accounts,",
    ),
    "a bound token that operates": (
        "http: {tokens: [{name: x, scopes: [operate], people: ['webchat:ana'], token: {env: A}}]}\n",
        "http.tokens[0].scopes: `operate` concerns the whole gateway: leave it out, or leave out `people`",
    ),
    "a person on a channel without a mailbox": (
        "http: {tokens: [{name: x, scopes: [send], people: ['wbchat:ana'], token: {env: A}}]}\n",
        "http.tokens[0].people: 'wbchat:ana': expected CHANNEL:ID with the channel of a mailbox account (webchat), or",
    ),
    "a person nobody has linked": (
        "http: {tokens: [{name: x, scopes: [send], people: [ana], token: {env: A}}]}\n",
        "http.tokens[0].people: 'ana': expected CHANNEL:ID with",
    ),
    "one person written twice": (
        "accounts: [{channel: telegram}]\n"
        "http: {tokens: [{name: x, scopes: [send], people: ['telegram:Ana'], token: {env: A}}"
        ", {name: y, scopes: [send], people: ['telegram:ana'], token: {env: A}}]}\n",
        "http.tokens[1].people: 'telegram:ana': telegram does not distinguish it from 'Ana': write one",
    ),
    "an account on a real platform": (
        "accounts: [{channel: webchat}, {slack: {bot_token: {env: A}, app_token: {env: A}}}]\n"
        "http: {tokens: [{name: x, scopes: [send], accounts: ['slack:default'], token: {env: A}}]}\n",
        "http.tokens[0].accounts: 'slack:default': expected CHANNEL:ACCOUNT, a mailbox account (webchat:default)",
    ),
    "an account that operates": (
        "http: {tokens: [{name: x, scopes: [operate], accounts: ['webchat:default'], token: {env: A}}]}\n",
        "http.tokens[0].scopes: `operate` concerns the whole gateway: leave it out, or leave out `accounts`",
    ),
    "a room without its kind": (
        "http: {tokens: [{name: x, scopes: [send], rooms: ['webchat:ops'], token: {env: A}}]}\n",
        "http.tokens[0].rooms: 'webchat:ops': expected CHANNEL:group:ID or CHANNEL:channel:ID with the channel of a",
    ),
    "a room that is a person": (
        "http: {tokens: [{name: x, scopes: [send], rooms: ['webchat:direct:ana'], token: {env: A}}]}\n",
        "http.tokens[0].rooms: 'webchat:direct:ana': expected CHANNEL:group:ID",
    ),
    "a room and a person of one id": (
        "http: {tokens: [{name: x, scopes: [send], token: {env: A}, people: ['webchat:7'],"
        " rooms: ['webchat:group:7']}]}\n",
        "http.tokens[0].rooms: 'webchat:group:7': it is bound to a direct of this id: give each a token",
    ),
    "nobody": (
        "http: {tokens: [{name: x, scopes: [send], people: [], token: {env: A}}]}\n",
        "http.tokens[0].people: expected",
    ),
    "a secret for a variable": (
        "http:\n  tokens: [{name: x, scopes: [read], token: {env: hunter2-hunter2}}]\n",
        "2:51: http.tokens[0].token.env: expected name of an environment variable, found a text",
    ),
    "a secret for an agent": (
        "agents:\n  main: {openai: hunter2}\n",
        "2:18: agents.main.openai: expected a mapping, found a text",
    ),
    "two places of a secret": (
        "http:\n  tokens: [{name: x, scopes: [read], token: {env: A, file: b}}]\n",
        "2:45: http.tokens[0].token: a secret has either `env`, the name of a variable, or `file`, the path of a file",
    ),
    "a name twice": (
        "http:\n  tokens:\n    - {name: x, scopes: [read], token: {env: A}}\n"
        "    - {name: x, scopes: [send], token: {env: B}}\n",
        "4:14: http.tokens[1].name: another token is called 'x'",
    ),
    "the owner's name": (
        "http: {tokens: [{name: owner, scopes: [read], token: {env: A}}]}\n",
        "http.tokens[0].name: another token is called 'owner'",
    ),
    "an agent's id": ("agents: {Main: {echo: {}}}\n", "1:10: agents.Main"),
    "an agent without an answer": (
        "gateway:\n  agents: [{id: main}, {id: other}]\nagents:\n  main: {echo: {}}\n",
        "2:29: gateway.agents[1].id: nothing answers for 'other'; give it an entry in `agents`",
    ),
    "two answers": (
        "agents:\n  main: {echo: {}, program: {command: [x]}}\n",
        "2:9: agents.main: an agent has exactly one of `echo`, `openai`, `program` and `webhook`",
    ),
    "an unknown kind of agent": ("agents:\n  main: {ecko: {}}\n", "2:10: agents.main.ecko: unknown field"),
    "a rule for nobody": (
        "gateway:\n  bindings:\n    - {match: {channel: webchat}, agent: nobody}\n",
        "3:42: gateway.bindings[0].agent: no agent 'nobody'; there are: main",
    ),
    "an account twice": (
        "accounts:\n  - {channel: webchat}\n  - {channel: webchat}\n",
        "3:5: accounts[1]: webchat:default is given twice; remove one",
    ),
    "a channel": ("accounts: [{channel: Web Chat}]\n", "1:22: accounts[0].channel: expected"),
    "an alias": ("http: *x\n", "1:7: expected a plain value, found the alias *x"),
}


def loaded(tmp_path: Path, text: str, **overrides: object) -> Settings:
    path = tmp_path / "gateway.yaml"
    path.write_text(text)
    return load_settings(path, state=tmp_path / "state", overrides=Overrides(**overrides))  # type: ignore[arg-type]


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    settings = loaded(tmp_path, WHOLE)
    assert settings.store == tmp_path / "data" / "gateway.db"
    assert settings.token_file == tmp_path / "secret" / "token"
    assert settings.record is not None
    assert settings.record.folder == str(tmp_path / "traces")
    assert (settings.record.file_size, settings.record.files) == (1024**2, 3)


def test_the_values_of_a_file(tmp_path: Path) -> None:
    config = loaded(tmp_path, WHOLE).config
    assert config.http.max_body == 2_000_000
    assert config.finish_within == 60
    assert [one.kind for one in config.agents.values()] == ["echo", "program"]
    # An agent of `agents` may be named by a rule, and needs no entry in the section of the gateway.
    assert [agent.id for agent in config.gateway.agents] == ["main", "tool"]
    assert config.gateway.bindings[0].agent == "tool"


def test_without_a_file_an_agent_echoes_in_a_web_chat(tmp_path: Path) -> None:
    settings = load_settings(None, state=tmp_path)
    assert settings.store == tmp_path / "gateway.db"
    assert settings.token_file == tmp_path / "token"
    assert not settings.token_named
    assert [(one.channel, one.account) for one in settings.config.accounts] == [("webchat", "default")]
    assert settings.config.agents["main"].kind == "echo"
    assert settings.config == ServeConfig()


def test_an_agent_keeps_what_the_gateway_says_about_it(tmp_path: Path) -> None:
    text = "gateway:\n  agents: [{id: b, prompt: Be brief.}]\nagents:\n  a: {echo: {}}\n  b: {echo: {}}\n"
    agents = loaded(tmp_path, text).config.gateway.agents
    assert [(agent.id, agent.prompt) for agent in agents] == [("b", "Be brief."), ("a", "")]


def test_other_tokens_replace_the_one_that_is_made(tmp_path: Path) -> None:
    text = "http: {tokens: [{name: ci, scopes: [read], token: {env: CI}}]}\n"
    settings = loaded(tmp_path, text)
    assert settings.token_file is None
    assert settings.token_named


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    settings = loaded(
        tmp_path, WHOLE, token_file=Path("/other/token"), record=Path("/rec"), log_level="debug", log_format="text"
    )
    assert settings.token_file == Path("/other/token")
    assert settings.record is not None
    assert (settings.record.folder, settings.record.files) == ("/rec", 3)
    assert (settings.log_level, settings.log_format) == ("debug", "text")


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file(tmp_path: Path, case: str) -> None:
    text, message = WRONG[case]
    path = tmp_path / "gateway.yaml"
    path.write_text(text)
    with pytest.raises(FileError) as caught:
        load_file(path)
    lines = str(caught.value).splitlines()
    assert any(message in line for line in lines), lines
    assert all(line.startswith(f"{path}:") for line in lines)
    assert "hunter2" not in str(caught.value)


def test_every_problem_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text("htp: {}\nlog: {level: loud}\nfinish_within: -1\n")
    with pytest.raises(FileError) as caught:
        load_file(path)
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3]


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_a_file_that_is_not_there_or_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(
        FileError, match=r"cannot be read: No such file|expected a configuration file, found a directory"
    ):
        load_file(tmp_path / name)


def test_the_other_commands_read_the_gateway_of_such_a_file(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text("http: {listen: 127.0.0.1:0}\ngateway:\n  session: {dm_scope: main}\n")
    assert load_config(path).session.dm_scope.value == "main"


@pytest.mark.parametrize(("given", "size"), [(5, 5), ("10", 10), ("1.5 kB", 1500), ("2MiB", 2 * 1024**2)])
def test_sizes(given: object, size: int) -> None:
    assert parse_size(given) == size


@pytest.mark.parametrize("given", ["", "1TB", "-1", -1, True, None, 1.5, "1 M"])
def test_what_is_no_size(given: object) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        parse_size(given)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"XDG_STATE_HOME": "/var/state"}, Path("/var/state/trunkline")),
        ({"XDG_STATE_HOME": "relative"}, Path.home() / ".local/state/trunkline"),
        ({}, Path.home() / ".local/state/trunkline"),
    ],
)
def test_the_state_folder(environ: dict[str, str], folder: Path) -> None:
    assert state_folder(environ) == folder


def test_a_token_is_bound_to_all_ids_of_a_linked_person(tmp_path: Path) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(
        "accounts: [{channel: webchat}, {channel: telegram}]\n"
        "gateway: {session: {identity_links: {ana: ['telegram:7', 'slack:U1', annie]}}}\n"
        "http: {tokens: [{name: ana, scopes: [send], people: [ana, 'webchat:a:b'], token: {env: A}}, "
        "{name: bridge, scopes: [send], token: {env: A}}]}\n"
    )
    settings = load_settings(path, environ={"A": "a" * 20})
    bound, bridge = tokens_of(settings)
    both = {("telegram", "7"), ("telegram", "annie"), ("webchat", "annie"), ("webchat", "a:b")}
    assert bound.caller.bound == Bound(
        conversations=frozenset((channel, ChatKind.DIRECT, id_) for channel, id_ in both)
    ), "of the accounts that are mailboxes"
    assert bridge.caller.bound is None


@pytest.mark.parametrize(
    ("token", "named"),
    [
        ("scopes: [send]", True),
        ("scopes: [read, send]", True),
        ("scopes: [read]", False),
        ("scopes: [send, operate]", False),
        ("scopes: [send], people: ['webchat:ana']", False),
        ("scopes: [send], accounts: ['webchat:default']", False),
        ("scopes: [send], rooms: ['webchat:group:ops:7']", False),
    ],
)
def test_a_token_that_can_do_less_than_before_is_named_with_the_line_to_add(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, token: str, named: bool
) -> None:
    path = tmp_path / "gateway.yaml"
    path.write_text(
        "gateway: {control: {enabled: true, owners: ['webchat:boss']}}\n"
        f"http: {{tokens: [{{name: bridge, {token}, token: {{env: A}}}}]}}\n"
    )
    caplog.set_level("INFO", logger="trunkline")
    name_limited_tokens(load_file(path))
    assert ("http.tokens[0] (bridge)" in caplog.text) is named
    assert ("`people: [webchat:boss]`" in caplog.text) is named
