"""`trunkline explain prompts`."""

import pytest

from tests.support.cli.explanations import explanation
from trunkline.core.config import HandsConfig

CONFIG = """\
agents:
  - {id: main, prompt: You are Jeeves.}
  - {id: support}
channels:
  telegram:
    prompt: Keep answers short.
    prompts: {support: No jokes.}
    accounts:
      night: {prompt: You answer at night.}
"""


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.yaml"
    path.write_text(CONFIG)
    return path


def asked(trunkline, config, words: str = ""):
    return explanation(trunkline, "prompts", *words.split(), "--config", config)


def kinds(answer):
    return [(one["kind"], one["path"]) for one in answer["prompts"]]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", [("base", "agents[0].prompt")]),
        ("--channel telegram", [("base", "agents[0].prompt"), ("channel", "channels.telegram.prompt")]),
        ("--agent support --channel telegram", [("channel", "channels.telegram.prompts.support")]),
        (
            "--agent support --channel telegram --account night",
            [("channel", "channels.telegram.accounts.night.prompt")],
        ),
        ("--agent support", []),
        ("--agent support --callback", [("callback", "hands.prompt (the default)")]),
    ],
)
def test_each_prompt_names_the_setting_that_gives_it(trunkline, prompts, words, found):
    assert kinds(asked(trunkline, prompts, words)) == found


def test_s11_the_order_is_agent_channel_callback_and_the_text_has_all(trunkline, prompts):
    answer = asked(trunkline, prompts, "--channel telegram --callback")
    assert [one["kind"] for one in answer["prompts"]] == ["base", "channel", "callback"]
    assert answer["text"] == "\n\n".join(one["text"] for one in answer["prompts"])
    assert answer["prompts"][2]["text"] == HandsConfig().prompt
    without = asked(trunkline, prompts, "--channel telegram")
    assert answer["prompts"][:2] == without["prompts"]


def test_an_unknown_agent_is_an_error_that_names_those_there_are(trunkline, prompts):
    code, out, error = trunkline("explain", "prompts", "--agent", "nobody", "--config", str(prompts))
    assert (code, out) == (2, "")
    assert "no agent 'nobody'; there are: main, support" in error
