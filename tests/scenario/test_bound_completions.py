"""Bound threads in the simulator: rotated tokens, webhook activity, and completions that only their thread sees."""

from typing import Any

import pytest

from tests.scenario.test_bindings_off import without_config
from trunkline import Gateway
from trunkline.core.channels.bindings.discord_threads import ThreadManagers, ThreadSettings
from trunkline.core.events.bindings import BindingBound, BindingEnded, BindingTouched, RouterDecided
from trunkline.core.reasons import Reason
from trunkline.sim import BUGS, RunResult, Status, run_scenario
from trunkline.sim.bugs import Bug
from trunkline.sim.bugs.base import making
from trunkline.sim.events.wire import WireAccepted, WireRefused
from trunkline.sim.events.world import CredentialRotated, ThreadOpened, WorldPlace
from trunkline.sim.scenario import load_text

HEAD = """\
scenario: 1
title: made for a test
world:
  people: [ana]
  discord: {guild: acme, rooms: {ops: {threads: {deploy: {}}}}}
"""
CAST = """\
cast:
  agents:
    main:
      - when: {callback: codex}
        do: [{reply: "codex: {result}"}]
      - when: {text: "ship *"}
        do: [{delegate: {hand: codex}}, {reply: "on it"}]
      - when: {text: "report"}
        do: [{send: {to: ops/deploy, text: "working"}}, {silent: true}]
      - do: [{reply: "heard: {text}"}]
  hands:
    codex: {takes: 5s, result: "{task} is out"}
"""
WEBHOOK = "{identity: webhook}"
SPAWN = "{spawnSubagentSessions: true}"
SAY = "as: ana, in: ops, say:"
BIND = ["at: 0s, as: ana, in: ops, say: hello", "at: 2s, bind: {in: ops/deploy, session: ops, label: deploy}"]


def run(script: list[str], bindings: str | None = None, **options: Any) -> RunResult:
    gateway = "" if bindings is None else f"gateway: {{channels: {{discord: {{threadBindings: {bindings}}}}}}}\n"
    text = f"{HEAD}{gateway}{CAST}script:\n" + "".join(f"  - {{{step}}}\n" for step in script)
    return run_scenario(load_text(text, "made.yaml"), **options)


def recorded(result: RunResult, kind: type[Any]) -> list[Any]:
    return [event for event in result.trace.events if isinstance(event.body, kind)]


def seen(result: RunResult) -> list[tuple[str, str]]:
    """What people see: place and text, in order."""
    names = {event.body.address.lane: event.body.name for event in recorded(result, WorldPlace)}
    return [(names[event.body.address.lane], event.body.text) for event in recorded(result, WireAccepted)]


def broken(result: RunResult) -> list[str]:
    return [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]


@pytest.fixture
def gateways(monkeypatch: pytest.MonkeyPatch) -> list[Gateway]:
    """The gateways of runs with the switch ``seen``, which changes nothing."""
    found: list[Gateway] = []

    def make(**parts: Any) -> Gateway:
        found.append(Gateway(**parts))
        return found[-1]

    monkeypatch.setitem(BUGS, "seen", Bug(name="seen", sentence="None.", caught_by=(), install=making("gateway")(make)))
    return found


# ---------------------------------------------------------------- the token


@pytest.mark.parametrize("given", ["0s", "4s"])
def test_a_reused_manager_uses_the_newest_token_after_rotation(given: str) -> None:
    rotate = f"rotate: {{platform: discord, tell: {given}}}"
    first = "at: 5s, as: ana, in: ops/deploy, say: one"
    script = [*BIND, first, f"at: 10s, {rotate}", "at: 20s, as: ana, in: ops/deploy, say: two", f"at: 21s, {SAY} three"]
    result = run(script, WEBHOOK)
    (rotated,) = recorded(result, CredentialRotated)
    sends = [event.body for event in recorded(result, WireAccepted)]
    assert seen(result)[1:] == [("ops/deploy", "heard: one"), ("ops/deploy", "heard: two"), ("ops", "heard: three")]
    # By the webhook with the first token, by the webhook with the new one, and by the bot.
    assert [(body.identity is not None, body.credential) for body in sends[1:]] == [(True, 1), (True, 2), (False, 2)]
    assert (rotated.body.number, recorded(result, WireRefused), broken(result)) == (2, [], [])


def test_a_manager_that_is_created_again_is_the_same_one_with_the_newer_token() -> None:
    managers = ThreadManagers(rest=None)  # type: ignore[arg-type] -- nothing is asked
    first = managers.create("default", "token-1", ThreadSettings(idle_timeout=60))
    again = managers.create("default", "token-2", ThreadSettings(idle_timeout=5))
    assert again is first and first.token == "token-2" and first.settings.idle_timeout == 60
    assert managers.create("default", " ").token == "token-2"
    assert managers.create("other", "token-9").token == "token-9" and first.token == "token-2"


# ---------------------------------------------------------------- activity


def test_a_webhook_send_updates_the_channel_activity_timestamp(gateways: list[Gateway]) -> None:
    result = run([*BIND, f"at: 50s, {SAY} report"], WEBHOOK, bugs=["seen"])
    sent = recorded(result, WireAccepted)[-1]
    assert (sent.body.text, sent.body.identity is not None) == ("working", True)
    (gateway,) = gateways
    outbound = gateway.activity("discord", "default").outbound_at
    (touched,) = recorded(result, BindingTouched)
    assert outbound is not None and sent.at < outbound < sent.at + 1
    assert touched.body.by == "outbound" and sent.at < touched.body.last_activity_at < sent.at + 1
    assert broken(result) == []


def test_what_a_webhook_says_keeps_its_thread_bound() -> None:
    talk = [f"at: {at}s, {SAY} report" for at in (40, 80, 120)]
    script = [*BIND, *talk, "at: 160s, as: ana, in: ops/deploy, say: still", "at: 300s, note: over"]
    result = run(script, "{identity: webhook, idleTimeout: 60s}")
    # It ends a minute after the last word there, which is the answer at 160 seconds.
    (ended,) = recorded(result, BindingEnded)
    last = recorded(result, WireAccepted)[-1]
    assert (last.body.text, ended.body.reason) == ("heard: still", Reason.IDLE_EXPIRED)
    assert ended.at == pytest.approx(last.at + 60, abs=1)
    assert broken(result) == []


# ---------------------------------------------------------------- where completions go


#: how completions are told -> what is said of a result
TOLD = {"turn": "codex: {} is out", "direct": "{} is out"}


def announcing(how: str) -> str:
    return f"reload: {{hands: {{announce: {how}}}}}"


@pytest.mark.parametrize(("how", "says"), TOLD.items())
def test_two_active_bound_sessions_under_one_requester_channel_do_not_copy_to_the_main_channel(
    how: str, says: str
) -> None:
    script = [announcing(how), f"at: 1s, {SAY} ship 1.9", f"at: 1s, {SAY} ship 2.0", "at: 60s, note: over"]
    result = run(script, SPAWN)
    bound = recorded(result, BindingBound)
    assert len({event.binding for event in bound}) == len({event.body.session_key for event in bound}) == 2
    assert not recorded(result, BindingEnded)
    assert sorted(seen(result)) == [
        ("ops", "on it"),
        ("ops", "on it"),
        ("ops/m1.hand1", says.format("ship 1.9")),
        ("ops/m2.hand1", says.format("ship 2.0")),
    ]
    assert broken(result) == []


@pytest.mark.parametrize(("how", "says"), TOLD.items())
def test_a_bound_session_run_resolves_its_completion_to_the_thread_only(how: str, says: str) -> None:
    result = run([announcing(how), f"at: 1s, {SAY} ship 2.0"], SPAWN)
    (bound,), (decided,), (thread,) = (recorded(result, kind) for kind in (BindingBound, RouterDecided, ThreadOpened))
    assert (decided.body.mode, decided.body.reason) == ("bound", Reason.REQUESTER_MATCH)
    assert decided.binding == bound.binding and decided.body.target_session_key == bound.body.session_key
    assert decided.body.conversation.lane == bound.body.conversation.lane == thread.body.address.lane
    assert seen(result) == [("ops", "on it"), ("ops/m1.hand1", says.format("ship 2.0"))]
    assert broken(result) == []


@pytest.mark.parametrize(("how", "says"), TOLD.items())
@pytest.mark.parametrize("bindings", [None, "{spawnSubagentSessions: false}", "{enabled: false}"])
def test_with_spawning_disabled_the_legacy_behaviour_is_unchanged(bindings: str | None, how: str, says: str) -> None:
    script = [announcing(how), f"at: 1s, {SAY} ship 2.0"]
    result = run(script, bindings)
    assert seen(result) == [("ops", "on it"), ("ops", says.format("ship 2.0"))]
    words = {event.kind.partition(".")[0] for event in result.trace.events}
    assert not words & {"binding", "router", "thread", "fallback", "place"}
    # Not one event is another one, nor at another time.
    assert list(map(without_config, result.trace.events)) == list(map(without_config, run(script).trace.events))
    assert broken(result) == []
