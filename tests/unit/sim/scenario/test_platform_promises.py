"""A world that breaks what its platforms declare to the gateway is refused when the file is read."""

import pytest

from trunkline.core.errors import UsageError
from trunkline.sim import ScenarioError
from trunkline.sim.scenario import load_text
from trunkline.sim.scenario.edit import with_step_text

FILE = """\
scenario: 1
title: made for a test
world:
  people: [ana]
  discord: {{rooms: [ops]{discord}}}
  slack: {{rooms: [desk]{slack}}}
cast: {{agents: {{main: [{{do: [{{reply: "re: {{text}}"}}]}}]}}}}
script:
  - {{at: 1s, as: ana, in: desk, say: one}}
  - {{at: 2s, fault: {{on: send, do: slow, for: {slow}{where}}}}}
"""


def load(discord="", slack="", slow="5s", where=""):
    return load_text(FILE.format(discord=discord, slack=slack, slow=slow, where=where), "made.yaml")


def refused(**fields):
    with pytest.raises(ScenarioError) as caught:
        load(**fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"discord": ", key_seconds: 5s"}, "made.yaml:5:40: world.discord.key_seconds: the gateway refuses discord:"),
        ({"slack": ", cannot: [text]"}, "made.yaml:6:34: world.slack.cannot: the gateway refuses slack:default"),
        ({"slack": ", idempotency: lookup, latency: 21s"}, "made.yaml:6:56: world.slack.latency: a request to slack"),
        ({"slack": ", idempotency: lookup", "slow": "60s"}, "made.yaml:10:47: script[1].fault.for: a send to slack:"),
        ({"discord": ", key_seconds: 1m", "slow": "30s"}, "made.yaml:10:47: script[1].fault.for: a send to discord:"),
    ],
)
def test_it_is_refused_with_place_and_remedy(fields, expected):
    message = refused(**fields)
    assert expected in message and message.count("made.yaml:") == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"discord": ", key_seconds: 30s"},
        {"slow": "60s"},
        {"slack": ", idempotency: lookup", "slow": "29.9s"},
        {"slack": ", idempotency: lookup", "slow": "60s", "where": ", in: ops"},
        {"slack": ", latency: 21s"},
    ],
)
def test_what_keeps_the_declarations_or_concerns_none_is_read(fields):
    assert load(**fields).scenario.title == "made for a test"


def test_a_step_that_is_added_to_a_file_is_checked_too():
    file = load(slack=", idempotency: lookup")
    step = "{at: 3s, fault: {on: send, do: slow, for: 60s}}"
    with pytest.raises(UsageError, match="declares at most 30s"):
        with_step_text(file, step)
