"""`trunkline explain policy`."""

import pytest

from tests.support.cli.explanations import explanation

CONFIG = """\
agents:
  - {id: main}
  - {id: ops, tools: {message: {crossContext: {allowAcrossProviders: true}}}}
tools:
  message:
    cross_context: {allow_within_provider: false, marker: {prefix: "<{channel}> "}}
    without_origin: {reach: last, targets: ["slack:channel:C9"]}
"""


@pytest.fixture
def policies(tmp_path):
    path = tmp_path / "policies.yaml"
    path.write_text(CONFIG)
    return path


def asked(trunkline, config, words):
    return explanation(trunkline, "policy", *words.split(), "--config", config)


def test_a_denial_names_the_setting_and_where_it_is_given(trunkline, policies):
    answer = asked(trunkline, policies, "--from slack:channel:C1 --to slack:channel:C2")
    assert (answer["allowed"], answer["reason"], answer["mark"]) == (False, "cross-context-denied", None)
    assert 'target="channel:C2" while bound to "channel:C1" (channel=slack)' in answer["error"]
    assert answer["setting"] == {
        "path": "tools.message.cross_context.allow_within_provider",
        "value": "false",
        "default": False,
    }
    default = asked(trunkline, policies, "--from slack:channel:C1 --to telegram:7")["setting"]
    assert default == {"path": "tools.message.cross_context.allow_across_providers", "value": "false", "default": True}


def test_the_setting_of_an_agent_is_named_as_such(trunkline, policies):
    answer = asked(trunkline, policies, "--agent ops --from slack:channel:C1 --to telegram:7 --name general")
    assert (answer["allowed"], answer["reason"]) == (True, "across-providers")
    assert answer["mark"]["prefix"] == "<#general on slack> "
    assert answer["setting"]["path"] == "agents[1].tools.message.cross_context.allow_across_providers"


@pytest.mark.parametrize(
    ("words", "allowed", "setting"),
    [
        ("--from heartbeat --to telegram:7", False, "without_origin.reach"),
        ("--from cron --to telegram:7 --last telegram:7", True, "without_origin.reach"),
        ("--from wake --to slack:channel:C9", True, "without_origin.targets"),
    ],
)
def test_a_turn_without_an_origin(trunkline, policies, words, allowed, setting):
    answer = asked(trunkline, policies, words)
    assert (answer["allowed"], answer["asked"]["from"]) == (allowed, None)
    assert answer["setting"]["path"] == f"tools.message.{setting}"


def test_what_no_setting_changes(trunkline, policies):
    for words in ("--from slack:channel:C1 --to slack:#c1", "--from slack:channel:C1 --to telegram:7 --action react"):
        answer = asked(trunkline, policies, words)
        assert (answer["allowed"], answer["setting"]) == (True, None)


def test_the_answer_in_lines(trunkline):
    code, out, _ = trunkline("explain", "policy", "--from", "heartbeat", "--to", "pager:7")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("note     channel 'pager' is unknown here")
    assert lines[1] == "policy   send is allowed"
    assert "mark     “[from heartbeat] ” before the text" in lines
    embedded = trunkline("explain", "policy", "--from", "cron", "--to", "discord:channel:1", "--embeds")[1]
    assert "mark     an embed “From schedule”" in embedded.splitlines()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--from nowhere --to slack:channel:C1", "--from: 'nowhere' is no place"),
        ("--from heartbeat --to slack", "--to: 'slack' is no place"),
        ("--from heartbeat --to telegram:ana", "a chat is a number"),
        ("--from heartbeat --to telegram:7 --action wave", "there is no action 'wave'"),
        ("--from heartbeat --to telegram:7 --agent nobody", "no agent 'nobody'"),
    ],
)
def test_what_cannot_be_answered(trunkline, words, says):
    code, out, err = trunkline("explain", "policy", *words.split())
    assert (code, out) == (2, "")
    assert says in err
