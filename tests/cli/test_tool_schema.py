"""``trunkline schema --tool``: the message tool for the channels of a configuration."""

import json

import pytest

CONFIG = """
agents: [{id: main}, {id: ops, tools: {message: {disabled_actions: [delete]}}}]
bindings: [{agent: main, match: {channel: slack}}]
channels:
  discord: {actions: {moderation: true, memberInfo: false}, accounts: {night: {}}}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "gateway.yaml"
    path.write_text(CONFIG)
    return path


def actions_in(out):
    return json.loads(out)["function"]["parameters"]["properties"]["action"]["enum"]


def test_the_tool_of_a_configuration(trunkline, config):
    code, out, err = trunkline("schema", "--tool", "--config", config)
    assert (code, err) == (0, "")
    found = json.loads(out)["function"]
    assert found["parameters"]["properties"]["channel"]["enum"] == ["discord", "slack", "all"]
    assert {"kick", "pin", "delete"} <= set(actions_in(out))
    # Slack has it.
    assert "member-info" in actions_in(out)


def test_the_current_channel_the_agent_and_the_form(trunkline, config):
    _, out, _ = trunkline("schema", "--tool", "--config", config, "--channel", "discord", "--account", "night")
    assert "Current channel (discord) has: send" in json.loads(out)["function"]["description"]
    _, out, _ = trunkline("schema", "--tool", "--config", config, "--agent", "ops")
    assert "delete" not in actions_in(out)
    _, out, _ = trunkline("schema", "--tool", "--config", config, "--form", "anthropic")
    assert set(json.loads(out)) == {"name", "description", "input_schema"}
    _, out, _ = trunkline("schema", "--tool", "--channel", "telegram", "--form", "plain")
    assert {"buttons", "pollAnonymous"} <= set(json.loads(out)["properties"])


def test_the_tools_for_hands(trunkline, config):
    config.write_text(CONFIG + "hands: {each: {mail: {worker: true, callers: [ops]}}}")
    code, out, err = trunkline("schema", "--tool", "hands", "--config", config)
    assert (code, err) == (0, "")
    tools = {one["function"]["name"]: one["function"]["parameters"]["properties"] for one in json.loads(out)}
    assert list(tools) == ["agent_send_async", "agent_cancel", "agent_status", "agent_list"]
    assert tools["agent_send_async"]["agent_id"]["description"].endswith("Known: ops.")
    _, out, _ = trunkline("schema", "--tool", "hands", "--config", config, "--agent", "ops", "--form", "plain")
    assert json.loads(out)[0]["properties"]["agent_id"]["description"].endswith("Known: mail, main.")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["hands"], "add --tool"),
        (["--tool", "pigeons"], 'Choose from: "message", "hands"'),
        (["--tool", "hands", "--channel", "slack"], "say nothing of hands"),
        (["--tool", "hands", "--agent", "nobody"], "no agent 'nobody'; there are: main"),
        (["--channel", "slack"], "add --tool"),
        (["--tool"], "no channel is configured: name one with --channel"),
        (["--tool", "--channel", "pigeon"], "unknown channel 'pigeon'; there are: bluebubbles, discord"),
        (["--tool", "--config", "CONFIG", "--account", "night"], "add --channel"),
        (
            ["--tool", "--config", "CONFIG", "--channel", "discord", "--account", "day"],
            "no account 'day' on discord; there are: night",
        ),
        (["--tool", "--config", "CONFIG", "--agent", "nobody"], "no agent 'nobody'; there are: main, ops"),
        (["--tool", "--config", "nowhere.yaml"], "nowhere.yaml"),
        (["--tool", "--channel", "slack", "--form", "xml"], "xml"),
    ],
)
def test_wrong_questions_are_refused(trunkline, config, arguments, says):
    code, out, err = trunkline("schema", *[config if one == "CONFIG" else one for one in arguments])
    assert (code, out) == (2, "")
    assert says in err


def test_a_gate_that_does_not_exist_is_refused_with_its_place(trunkline, tmp_path):
    path = tmp_path / "gateway.yaml"
    path.write_text("channels:\n  telegram: {actions: {kicks: true}}\n")
    code, _, err = trunkline("schema", "--tool", "--config", path)
    assert code == 2
    assert "gateway.yaml:2" in err and "channels.telegram.actions: no gate 'kicks'; there are: " in err
