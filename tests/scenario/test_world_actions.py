"""Agents of scenarios call the message tool with its wire parameters, and name messages and places as the file does."""

import json

from tests.support.scenario.worlds import bodies, broken, texts
from trunkline.core.events.actions import ActionAnswered, PolicyDecided
from trunkline.core.events.delivery import IntentPrepared, TargetResolved
from trunkline.core.events.gateway import ToolRefused
from trunkline.core.reasons import Reason
from trunkline.sim import run_scenario
from trunkline.sim.events.actions import WireActed
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.scenario import load_text

WORLD = """\
scenario: 1
title: made for a test
world:
  people: [ana, bo]
  telegram: {rooms: [ops, other]}
"""


def play(do, script="  - {at: 0s, as: ana, in: telegram/ops, say: go}\n", world=WORLD, more=""):
    actions = "".join(f"          - {action}\n" for action in do)
    rules = f"      - when: {{text: go}}\n        do:\n{actions}      - do: [{{silent: true}}]\n"
    file = f"{world}{more}cast:\n  agents:\n    main:\n{rules}script:\n{script}"
    return run_scenario(load_text(file, "made.yaml"))


def acted(run):
    return [(body.action.value, body.message_id, body.text) for body in bodies(run, WireActed)]


def test_messages_have_the_names_of_the_file():
    run = play(
        [
            'send: {text: "one", label: first}',
            'send: {text: "two"}',
            "act: {action: edit, of: first, with: {message: uno}}",
            "act: {action: delete, of: last}",
            'act: {action: react, of: m1, with: {emoji: "+1"}}',
        ]
    )
    said = {body.text: body.provider_id for body in bodies(run, WireAccepted)}
    [hello] = [body.message_id for body in bodies(run, PeerSaid)]
    assert acted(run) == [("edit", said["one"], "uno"), ("delete", said["two"], ""), ("react", hello, "+1")]
    assert broken(run) == []


def test_the_next_action_knows_what_became_of_the_one_before():
    run = play(
        [
            "act: {action: sing}",
            'send: {text: "{status}: {error}"}',
            "act: {action: broadcast, to: [telegram/ops, telegram/other], with: {message: all}}",
            'send: {text: "{status}"}',
            'send: {text: "dry", dry_run: true}',
            'send: {text: "{status}"}',
        ]
    )
    first, *others = texts(run)
    assert first.startswith("refused: Unknown action")
    assert sorted(others) == ["all", "all", "dry-run", "queued"]
    assert broken(run) == []


def test_parameters_of_a_call_are_templates_and_buttons_are_rows():
    run = play(
        [
            'act: {action: poll, with: {pollQuestion: "{text}?", pollOption: ["yes {peer}", "no"]}}',
            "send: {text: choose, buttons: [a, b], silent: true, reply_to: m1}",
        ]
    )
    poll, choice = bodies(run, WireAccepted)
    assert poll.poll == ("go?", "yes ana", "no")
    assert [button.text for row in choice.parts.buttons for button in row] == ["a", "b"]
    assert broken(run) == []


def test_a_denied_crossing_is_on_no_wire():
    world = WORLD + "  discord: {guild: acme, rooms: [hall]}\n"
    run = play(['act: {action: send, to: discord/hall, with: {message: "out"}}', "reply: in"], world=world)
    [decided] = bodies(run, PolicyDecided)
    assert (decided.allowed, decided.reason) == (False, Reason.CROSS_CONTEXT_DENIED)
    assert texts(run) == ["in"]
    assert [body.reason for body in bodies(run, ToolRefused)] == [Reason.CROSS_CONTEXT_DENIED]


#: an agent that is bound to another account than the one its turn is on
TWO_ACCOUNTS = """\
gateway:
  agents: [{id: main, default: true}, {id: ops}]
  tools: {message: {cross_context: {allow_across_providers: true}}}
  bindings:
    - {agent: ops, match: {channel: discord, account: night}}
    - {agent: ops, match: {channel: telegram, account: "*"}}
world:
  people: [ana]
  discord: {guild: acme, accounts: {default: {bot: day}, night: {bot: owl}}, rooms: {oncall: {id: "700"}}}
  telegram: {}
cast:
  agents:
    main: [{do: [{silent: true}]}]
    ops: [{do: [{send: {target: "channel:700", channel: discord, text: "from ops"}}, {silent: true}]}]
script:
  - {at: 0s, as: ana, in: "telegram/@ana", say: "tell them"}
"""


def test_an_agent_writes_by_its_own_account_from_elsewhere():
    run = run_scenario(load_text(f"scenario: 1\ntitle: two accounts\n{TWO_ACCOUNTS}", "made.yaml"))
    [accepted] = bodies(run, WireAccepted)
    assert accepted.address.account == "night"
    assert broken(run) == []


#: a client writes to somebody whom a rule gives to another agent
OTHER_AGENT = """\
gateway:
  agents: [{id: main, default: true}, {id: desk}]
  bindings: [{agent: desk, match: {channel: telegram, account: "*"}}]
world: {people: [ana], telegram: {}}
cast: {agents: {main: [{do: [{silent: true}]}], desk: [{do: [{reply: "what parcel?"}]}]}}
script:
  - {at: 0s, send: {to: "@ana", text: "your parcel is here"}}
  - {at: 10s, as: ana, in: "@ana", say: "which parcel?"}
"""


def test_an_answer_that_another_agent_gets_is_announced():
    run = run_scenario(load_text(f"scenario: 1\ntitle: another agent\n{OTHER_AGENT}", "made.yaml"))
    assert [body.answered_by for body in bodies(run, TargetResolved)] == ["desk"]


def test_a_crash_repeats_no_action_and_asks_again():
    """The process dies after the first change is carried out; the turn runs again and hears the same."""
    script = (
        "  - {at: 0s, as: ana, in: telegram/ops, say: go}\n"
        "  - {at: 0s, crash: {when: {event: wire.acted}, restart_after: 1s}}\n"
    )
    run = play(
        [
            "send: {text: one, label: first}",
            "think: 2s",
            "act: {action: edit, of: first, with: {message: uno}}",
            "think: 2s",
            "act: {action: react, of: first, with: {emoji: x}}",
            'reply: "{status}"',
        ],
        script,
    )
    effects = [(body.action.value, body.text) for body in bodies(run, WireActed) if not body.repeated]
    assert effects == [("edit", "uno"), ("react", "x")]
    assert [body.text for body in bodies(run, WireAccepted)] == ["one", "queued"]
    assert len({body.key for body in bodies(run, IntentPrepared)}) == 4
    assert broken(run) == []


def test_an_answer_of_a_platform_can_be_said():
    world = WORLD.replace("telegram: {rooms: [ops, other]}", "slack: {rooms: [ops]}")
    script = "  - {at: 0s, as: ana, in: slack/ops, say: go}\n"
    run = play(["act: {action: read, with: {limit: 1}}", 'reply: "{data}"'], script, world=world)
    [answer] = [json.loads(text) for text in texts(run)]
    assert [one["text"] for one in answer] == ["go"]
    assert [body.reason for body in bodies(run, ActionAnswered)] == [None]
