"""Steps of the script that bindings need: archives, webhooks, tokens, bots, proxies, operators who bind."""

from typing import Any

import pytest

from trunkline.core.events.bindings import BindingBound, BindingEnded, BindingRefused
from trunkline.core.reasons import Reason
from trunkline.sim import run_scenario
from trunkline.sim.events.script import FaultFired, ScriptSkipped
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import (
    CredentialRotated,
    PeerSaid,
    ThreadClosed,
    ThreadOpened,
    ThreadReopened,
    WebhookGone,
    WorldPlace,
)
from trunkline.sim.scenario import load_text

HEAD = """\
scenario: 1
title: made for a test
world:
  people: [ana, ben]
  discord: {{rooms: {{ops: {{threads: [deploy]}}, side: {{}}}}, echoes: {echoes}}}
  telegram: {{rooms: {{crew: {{threads: [lamps]}}}}}}
gateway:
  channels:
    discord: {{bots: allow, thread_bindings: {{{bindings}}}}}
"""
ANSWERS = 'cast: {agents: {main: [{do: [{reply: "main: {text}"}]}]}}\n'
DELEGATES = """\
cast:
  agents:
    main:
      - {when: {callback: "*"}, do: [{reply: "{hand}: {result}"}]}
      - do: [{delegate: {hand: clerk}}, {reply: on it}]
  hands: {clerk: {takes: 5s, result: done}}
"""
SAY = "as: ana, in: discord/ops/deploy, say: hello"


def run(script, cast=ANSWERS, expect="", bindings="", echoes="false", **options):
    text = HEAD.format(bindings=bindings, echoes=echoes) + cast
    text += "script:\n" + "".join(f"  - {{{step}}}\n" for step in script) + expect
    return run_scenario(load_text(text, "made.yaml"), **options)


def bodies(result, kind) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def texts(result):
    return [body.text for body in bodies(result, WireAccepted)]


def skipped(result):
    return [(body.step, body.why) for body in bodies(result, ScriptSkipped)]


def times(result, kind):
    return [round(event.at, 3) for event in result.trace.events if isinstance(event.body, kind)]


# ---------------------------------------------------------------- archives


def test_a_person_reopens_an_archived_thread_by_posting() -> None:
    result = run(["at: 1s, in: discord/ops/deploy, archive: true", f"at: 5s, {SAY}"])
    assert texts(result) == ["main: hello"]
    assert len(bodies(result, ThreadReopened)) == 1
    assert skipped(result) == []


def test_a_locked_thread_is_for_operators_to_unarchive() -> None:
    result = run(
        [
            "at: 1s, in: discord/ops/deploy, archive: true, locked: true",
            f"at: 5s, {SAY}",
            "at: 9s, in: discord/ops/deploy, unarchive: true",
            "at: 9s, in: discord/ops/deploy, unarchive: true",
            f"at: 10s, {SAY}",
        ]
    )
    assert [step for step, _ in skipped(result)] == ["m1", "unarchive"]
    assert "archived and locked" in skipped(result)[0][1]
    assert "is open, not archived" in skipped(result)[1][1]
    assert (times(result, ThreadClosed), times(result, ThreadReopened)) == ([1.0], [9.0])
    assert texts(result) == ["main: hello"]
    assert next(body.detail for body in bodies(result, FaultFired)) == "ops/deploy, locked"


def test_nobody_posts_in_a_deleted_thread() -> None:
    result = run(["at: 1s, in: discord/ops/deploy, delete: true", f"at: 5s, {SAY}"])
    assert [step for step, _ in skipped(result)] == ["m1"]
    assert texts(result) == []


# ---------------------------------------------------------------- bots, webhooks, proxies


def test_bots_and_webhooks_say_that_they_are() -> None:
    result = run(
        [
            "at: 1s, as: ana, bot: true, in: telegram/crew, say: beep",
            "at: 2s, via: notifier, in: discord/ops, say: the build is green",
        ]
    )
    assert [(body.peer.name, body.bot, body.stands_for) for body in bodies(result, PeerSaid)] == [
        ("ana", True, None),
        ("notifier", True, None),
    ]


def test_a_proxy_posts_again_what_it_took_away() -> None:
    result = run(["at: 1s, as: ana, proxy: plural, in: discord/ops, say: hello there, secret: there"])
    first, second = bodies(result, PeerSaid)
    assert (first.peer.name, first.bot, first.stands_for) == ("ana", False, None)
    assert (second.peer.name, second.bot, second.stands_for) == ("plural", True, first.message_id)
    assert (second.text, second.secret) == (first.text, first.secret)
    assert times(result, PeerSaid) == [1.0, 1.1]


# ---------------------------------------------------------------- webhooks and tokens of the gateway


def test_a_webhook_that_is_not_there_cannot_be_deleted() -> None:
    result = run(["at: 1s, webhook: {in: ops, state: deleted}", "at: 2s, webhook: {in: ops, state: forbidden}"])
    assert [step for step, _ in skipped(result)] == ["webhook"]
    assert [(body.webhook, body.how) for body in bodies(result, WebhookGone)] == [("", "forbidden")]


@pytest.mark.parametrize("tell", ["0s", "4s"])
def test_a_rotation_is_announced_after_a_while(tell: str) -> None:
    result = run([f"at: 10s, rotate: {{platform: discord, tell: {tell}}}", f"at: 10s, {SAY}"])
    assert [(body.account, body.number) for body in bodies(result, CredentialRotated)] == [("default", 2)]
    refused = [(body.reason, body.credential) for body in bodies(result, WireRefused)]
    assert refused == ([] if tell == "0s" else [(Reason.UNAUTHORIZED, 1)] * len(refused))
    assert bool(refused) is (tell == "4s")
    assert [body.credential for body in bodies(result, WireAccepted)] == [2] * len(texts(result))


def test_a_process_that_starts_has_the_newest_token() -> None:
    script = ["at: 5s, rotate: {platform: discord, tell: 1h}", "at: 6s, crash: {restart_after: 1s}", f"at: 20s, {SAY}"]
    result = run(script)
    assert [body.credential for body in bodies(result, WireAccepted)] == [2]
    assert bodies(result, WireRefused) == []


def test_accounts_are_told_apart() -> None:
    result = run(["at: 1s, rotate: {platform: telegram}", f"at: 2s, {SAY}", "at: 3s, as: ana, in: crew, say: hi"])
    assert [(body.address.channel, body.credential) for body in bodies(result, WireAccepted)] == [
        ("discord", 0),
        ("telegram", 2),
    ]


# ---------------------------------------------------------------- operators


def test_an_operator_binds_and_unbinds() -> None:
    result = run(
        [
            "at: 1s, as: ana, in: discord/side, say: hello",
            "at: 5s, bind: {in: ops/deploy, session: side, idle: 1h, max_age: 2h, label: lamps}",
            "at: 10s, unbind: {in: ops/deploy}",
            "at: 11s, bind: {in: ops, session: side}",
            "at: 12s, unbind: {session: side}",
        ],
        expect="expect: {events: [{kind: binding.bound, in: ops/deploy, times: 1}, {kind: binding.ended, times: 2}]}",
    )
    assert result.unmet == ()
    first, second = bodies(result, BindingBound)
    assert (first.idle_timeout, first.max_age, first.label, first.by) == (3600.0, 7200.0, "lamps", "operator")
    assert first.session_key == second.session_key
    assert times(result, BindingEnded)[0] >= 10.0


def test_what_cannot_be_bound_is_reported_by_the_gateway() -> None:
    result = run(["at: 1s, bind: {in: ops, session: 'main:subagent:nobody'}"])
    assert [body.verb for body in bodies(result, BindingRefused)] == ["bind"]
    assert skipped(result) == []


# ---------------------------------------------------------------- delegated work


def test_a_thread_for_delegated_work_has_a_name() -> None:
    result = run(
        ["at: 1s, as: ana, in: ops, say: count the lamps", "at: 30s, as: ana, in: ops/m1.hand1, say: and the wicks"],
        cast=DELEGATES.replace(
            '{when: {callback: "*"}', '{when: {in: ops/m1.hand1}, do: [{reply: noted}]}\n      - {when: {callback: "*"}'
        ),
        bindings="spawn_subagent_sessions: true",
        expect="""expect:
  transcripts:
    - session: main:subagent:m1.hand1
      lines: ["assistant: clerk: done", "user: and the wicks", "assistant: noted"]
""",
    )
    assert skipped(result) == []
    assert result.unmet == ()
    assert next(body.name for body in bodies(result, WorldPlace) if ".hand" in body.name) == "ops/m1.hand1"
    assert len(bodies(result, ThreadOpened)) >= 1


def test_delegated_work_can_do_without() -> None:
    cast = DELEGATES.replace("{hand: clerk}", "{hand: clerk, thread: false}")
    result = run(["at: 1s, as: ana, in: ops, say: count"], cast=cast, bindings="spawn_subagent_sessions: true")
    assert bodies(result, ThreadOpened) == []
    assert texts(result) == ["on it", "clerk: done"]


def test_what_a_webhook_says_comes_back_as_a_message() -> None:
    result = run(
        ["at: 1s, as: ana, in: ops, say: count the lamps"],
        cast=DELEGATES,
        bindings="spawn_subagent_sessions: true, identity: webhook",
        echoes="true",
    )
    spoken = [body for body in bodies(result, WireAccepted) if body.identity is not None]
    echoes = [body for body in bodies(result, PeerSaid) if body.echo_of is not None]
    assert spoken
    assert [(body.message_id, body.text) for body in echoes] == [(body.provider_id, body.text) for body in spoken]
