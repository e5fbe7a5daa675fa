"""Simulated places that are not what they seem."""

import pytest

from tests.support.scenario.worlds import ECHO, bodies, broken, seen, texts, values_of
from trunkline.core.events.delivery import MirrorAppended
from trunkline.core.reasons import Reason
from trunkline.core.runtime.inbound.turns import LiveTurn
from trunkline.sim import run_scenario
from trunkline.sim.events.world import PeerSaid
from trunkline.sim.scenario import load_text

SLACK = """\
scenario: 1
title: made for a test
world:
  people: {ana: {ids: {slack: U7ANA}}}
  slack: {rooms: {general: {id: C7GENERAL}}}
  matrix: {rooms: {Hall: {id: "!HaLl:example.org", threads: {stairs: {id: $StAiRs}}}}}
  telegram: {misplaces: true, rooms: {crew: {threads: [lamps]}}}
"""


#: agents may write to other platforms
ACROSS = "gateway: {tools: {message: {cross_context: {allow_across_providers: true, marker: {enabled: false}}}}}\n"


def play(script, cast=ECHO, gateway=ACROSS, more=""):
    return run_scenario(load_text(f"{SLACK}{gateway}{cast}script:\n{script}{more}", "made.yaml"))


def sending(*sends):
    """An agent that sends all this, and goes on."""
    actions = ", ".join(f"{{send: {send}}}" for send in sends)
    rules = f"{{when: {{text: go}}, do: [{actions}, {{reply: done}}]}}, {{do: [{{silent: true}}]}}"
    return f"cast: {{agents: {{main: [{rules}]}}}}\n"


@pytest.mark.parametrize("platform", ["discord", "slack", "matrix"])
def test_auto_thread_opens_the_thread_of_the_message_on_each_platform_that_has_it(platform):
    gateway = f"gateway: {{channels: {{{platform}: {{auto_thread: true}}}}}}\n"
    head = SLACK.replace("  telegram:", "  discord: {rooms: [general]}\n  telegram:").replace("Hall:", "general:")
    steps = f"{{as: ana, in: {platform}/general, say: hi}}, {{after: 1s, as: ana, in: {platform}/general/m1, say: ho}}"
    result = run_scenario(load_text(f"{head}{gateway}{ECHO}script: [{steps}]", "made.yaml"))
    assert seen(result) == [("general/m1", "re: hi"), ("general/m1", "re: ho")]
    assert len(set(values_of(result, "inbound.admitted", "session_key"))) == 1
    assert (broken(result), result.unmet) == ([], ())


@pytest.mark.parametrize("target", ["D7ANA", "user:u7ana", "<@U7ANA>", "@ana"])
def test_every_name_of_a_slack_talk_leads_to_it(target):
    result = play(
        "  - {as: ana, in: slack/general, say: go}\n", sending(f'{{text: psst, channel: slack, target: "{target}"}}')
    )
    assert sorted(seen(result)) == [("@ana", "psst"), ("general", "done")]
    assert "main:slack:default:direct:u7ana" in values_of(result, "mirror.appended", "session_key")
    assert broken(result) == []


def test_matrix_gets_its_ids_back_as_they_are():
    send = '{text: up here, channel: matrix, target: "room:!HaLl:example.org", thread: $StAiRs}'
    result = play("  - {as: ana, in: matrix/Hall/stairs, say: go}\n", sending(send))
    assert seen(result) == [("Hall/stairs", "up here"), ("Hall/stairs", "done")]
    assert len(set(values_of(result, "session.created", "session_key"))) == 1
    folded = play("  - {as: ana, in: matrix/Hall, say: go}\n", sending(send.replace("HaLl", "hall")))
    assert values_of(folded, "intent.settled", "state") == ["failed", "delivered"]


def test_an_agent_goes_on_when_a_tool_refuses():
    cast = sending("{text: a, channel: slack, target: nobody here}", "{text: b, channel: discord, target: x}")
    result = play("  - {as: ana, in: slack/general, say: go}\n", cast)
    assert values_of(result, "tool.refused", "reason") == [Reason.BAD_TARGET, Reason.UNKNOWN_CHANNEL]
    assert (seen(result), values_of(result, "turn.ended", "outcome")) == ([("general", "done")], ["replied"])


def test_an_agent_may_name_the_account_and_the_session_of_a_send():
    send = "{text: a, to: matrix/Hall, session: slack/@ana}"
    result = play(
        "  - {as: ana, in: slack/general, say: go}\n",
        sending(send, "{text: b, account: other, channel: slack, target: C7GENERAL}"),
    )
    assert values_of(result, "tool.refused", "reason") == [Reason.UNKNOWN_ACCOUNT]
    mirrors = {body.text: body.session_key for body in bodies(result, MirrorAppended)}
    assert mirrors["a"] == "main:slack:default:direct:u7ana"
    assert sorted(seen(result)) == [("Hall", "a"), ("general", "done")]


def test_what_a_platform_misplaced_is_seen_in_the_room():
    script = "  - {in: telegram/crew/lamps, delete: true}\n  - {at: 1s, as: ana, in: slack/general, say: go}\n"
    result = play(script, sending("{text: dark, to: telegram/crew/lamps}"))
    assert ("crew", "dark") in seen(result)
    assert sorted(values_of(result, "intent.settled", "state")) == ["delivered", "misplaced"]


def test_a_chain_of_replies_is_no_thread():
    say = "as: ana, in: telegram/@ana, say:"
    result = play(f"  - {{{say} one}}\n  - {{at: 1s, {say} two, reply_chain: '55'}}\n")
    assert seen(result) == [("@ana", "re: one"), ("@ana", "re: two")]
    assert values_of(result, "inbound.received", "reply_chain") == [None, "55"]
    assert len(set(values_of(result, "inbound.admitted", "session_key"))) == 1
    assert broken(result) == []


def test_a_secret_is_recorded_with_its_message():
    result = play(
        "  - {as: ana, in: slack/@ana, say: my cat is Ada, secret: Ada}\n  - {as: ana, in: slack/@ana, say: hi}\n"
    )
    assert [body.secret for body in bodies(result, PeerSaid)] == ["Ada", ""]


def test_an_agent_may_say_what_its_session_holds():
    cast = 'cast: {agents: {main: [{do: [{send: {text: "so far: {memory}"}}, {reply: "{{memory}}"}]}]}}\n'
    result = play("  - {as: ana, in: slack/@ana, say: one}\n", cast)
    assert texts(result) == ["so far: one", "{memory}"]


def test_what_a_session_holds_is_asked_for_only_where_it_is_used(monkeypatch):
    asked = []

    async def history(turn):
        asked.append(turn.id)
        return ()

    monkeypatch.setattr(LiveTurn, "history", history)
    play("  - {as: ana, in: slack/@ana, say: one}\n")
    assert asked == []
