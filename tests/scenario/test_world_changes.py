"""What changes around a run that goes on: configurations, sessions that start anew, clients that send, older stores."""

from typing import Any

import pytest

from trunkline import Gateway
from trunkline.core.errors import ConfigError
from trunkline.core.events.delivery import MirrorAppended, SendRequested
from trunkline.core.reasons import Reason
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.sim import BUGS, CrashAt, Status, run_scenario
from trunkline.sim.bugs import Bug
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.scenario import load_text

HEAD = """\
scenario: 1
title: made for a test
world:
  people: {ana: {ids: {telegram: "1"}}, ben: {}}
  discord: {rooms: {ops: {threads: [deploy]}}}
  telegram: {rooms: {crew: {id: "-1007"}}}
"""
CAST = 'cast: {agents: {main: [{do: [{reply: "main: {text}"}]}], ops: [{do: [{reply: "ops: {text}"}]}]}}\n'
AGENTS = "gateway: {agents: [{id: main}, {id: ops}]}\n"


def run(script, gateway=AGENTS, cast=CAST, expect="", stored="", **options):
    text = f"{HEAD}{stored}{gateway}{cast}script:\n" + "".join(f"  - {{{step}}}\n" for step in script)
    return run_scenario(load_text(text + expect, "made.yaml"), **options)


def bodies(result, kind) -> list[Any]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def values_of(result, kind: str, field: str) -> list[Any]:
    return [getattr(event.body, field) for event in result.trace.events if event.kind == kind]


def texts(result):
    return [body.text for body in bodies(result, WireAccepted)]


def broken(result):
    return [verdict.id for verdict in result.verdicts if verdict.status is Status.VIOLATED]


# ---------------------------------------------------------------- reload

SAY = "as: ana, in: discord/ops"
BIND = "reload: {bindings: [{agent: ops, match: {channel: discord}}]}"


def test_a_reload_holds_from_then_on():
    result = run([f"{SAY}, say: one", f"at: 1s, {BIND}", f"{SAY}, say: two"])
    assert texts(result) == ["main: one", "ops: two"]
    assert values_of(result, "config.reloaded", "changed") == [("bindings",)]
    assert (broken(result), result.unmet) == ([], ())


def test_a_reload_is_the_configuration_of_later_processes():
    result = run(
        [BIND, "at: 1s, crash: {}", f"at: 3s, {SAY}, say: one", "at: 4s, restart: ", f"at: 6s, {SAY}, say: two"]
    )
    assert texts(result) == ["ops: one", "ops: two"]


def test_a_reload_without_a_process_is_for_the_next_one():
    result = run(["crash: {restart_after: 5s}", f"at: 1s, {BIND}", f"at: 2s, {SAY}, say: one"])
    assert texts(result) == ["ops: one"]
    assert values_of(result, "config.reloaded", "changed") == []
    assert values_of(result, "script.skipped", "why") == []


def test_reloads_are_merged_over_each_other():
    scope = "reload: {session: {dm_scope: per-peer}}"
    result = run([BIND, f"at: 1s, {scope}", f"at: 2s, {SAY}, say: one", "as: ana, in: discord/@ana, say: two"])
    assert sorted(texts(result)) == ["ops: one", "ops: two"]
    assert [key.split(":")[1] for key in values_of(result, "inbound.admitted", "session_key") if "direct" in key] == [
        "*"
    ]


def test_an_agent_may_come_with_a_reload():
    agents = "reload: {agents: [{id: main}, {id: ops, default: true}]}"
    result = run([f"{SAY}, say: one", f"at: 1s, {agents}", f"{SAY}, say: two"], gateway="")
    assert texts(result) == ["main: one", "ops: two"]


def test_a_reload_that_the_gateway_refuses_is_recorded_and_changes_nothing(monkeypatch):
    def refuse(*_):
        raise ConfigError("not now")

    monkeypatch.setattr(Gateway, "reload", refuse)
    result = run([BIND, "at: 1s, crash: {}", f"at: 3s, {SAY}, say: one"])
    assert (values_of(result, "script.skipped", "step"), values_of(result, "script.skipped", "why")) == (
        ["reload"],
        ["not now"],
    )
    assert texts(result) == ["main: one"]
    assert [missed.summary for missed in result.unmet] == ["the step reload could not happen"]


# ---------------------------------------------------------------- reset


@pytest.mark.parametrize("reset", ["reset: true", "reset: ", "reset: {agent: main}"])
def test_a_reset_starts_a_new_session(reset):
    cast = 'cast: {agents: {main: [{do: [{reply: "{memory}"}]}], ops: [{do: [{silent: true}]}]}}\n'
    expect = 'expect:\n  transcripts: [{in: discord/ops, lines: ["user: two", "assistant: two"]}]\n'
    result = run(
        [f"{SAY}, say: one", f"at: 1s, in: discord/ops, {reset}", f"at: 2s, {SAY}, say: two"], cast=cast, expect=expect
    )
    assert texts(result) == ["one", "two"]
    assert len(set(values_of(result, "inbound.admitted", "session_id"))) == 2
    assert values_of(result, "session.reset", "generation") == [2]
    assert (broken(result), result.unmet) == ([], ())


def test_a_session_can_be_reset_again_and_again_also_over_a_crash():
    steps = [f"{SAY}, say: zero"]
    for number in range(1, 4):
        steps += [f"at: {number * 10}s, in: discord/ops, reset: true", f"at: {number * 10 + 1}s, {SAY}, say: n{number}"]
        steps += [f"at: {number * 10 + 2}s, crash: {{}}"]
    result = run(steps)
    ids = values_of(result, "inbound.admitted", "session_id")
    assert (len(set(ids)), values_of(result, "session.reset", "generation")) == (4, [2, 3, 4])


def test_the_session_of_another_agent_stays():
    result = run([f"{SAY}, say: one", "at: 1s, in: discord/ops, reset: {agent: ops}"])
    assert values_of(result, "session.reset", "session_key") == []
    assert values_of(result, "script.skipped", "step") == ["reset"]


def test_a_reset_needs_a_process_and_a_session():
    result = run(
        ["in: discord/ops, reset: true", "at: 1s, crash: {restart_after: 5s}", "at: 2s, in: discord/ops, reset: true"]
    )
    first, second = values_of(result, "script.skipped", "why")
    assert first.endswith("has no session")
    assert second == "no gateway process runs"


# ---------------------------------------------------------------- clients


def test_a_client_sends_to_a_place_and_the_session_there_remembers_it():
    expect = (
        'expect:\n  transcripts: [{in: discord/ops, lines: ["assistant: hello", "user: hi", "assistant: main: hi"]}]\n'
    )
    result = run(["send: {to: discord/ops, text: hello}", f"at: 1s, {SAY}, say: hi"], expect=expect)
    assert texts(result) == ["hello", "main: hi"]
    assert values_of(result, "send.requested", "key") == ["send1"]
    assert (broken(result), result.unmet) == ([], ())


def test_sends_of_one_key_are_one():
    send = "send: {to: discord/ops, text: once, key: k}"
    result = run([send, send, send, f"at: 10s, {send}", "at: 20s, send: {to: discord/ops, text: other}"])
    assert texts(result) == ["once", "other"]
    assert values_of(result, "send.joined", "ended") == [False, False, True]
    assert values_of(result, "send.requested", "key") == ["k", "k", "send5"]


@pytest.mark.parametrize(
    ("send", "reason"),
    [
        ('{target: "channel:1", channel: slack, text: x}', Reason.UNKNOWN_CHANNEL),
        ("{target: nobody at all, channel: discord, text: x}", Reason.BAD_TARGET),
        ('{target: "channel:1", channel: discord}', Reason.NOTHING_TO_SEND),
        ('{target: "channel:1", channel: discord, account: second, text: x}', Reason.UNKNOWN_ACCOUNT),
        ('{to: discord/ops, text: x, session: "no:key"}', Reason.BAD_SESSION_KEY),
        ('{to: discord/ops, text: x, key: ""}', None),
    ],
)
def test_a_send_that_cannot_be_done_is_recorded_and_nothing_else_happens(send, reason):
    result = run([f"send: {send}", f"at: 1s, {SAY}, say: hi"])
    assert texts(result) == ["main: hi"]
    refused = values_of(result, "send.refused", "reason")
    assert len(refused) == 1
    assert refused[0] == (reason or refused[0])
    assert (values_of(result, "process.crashed", "why"), values_of(result, "script.skipped", "why")) == ([], [])


def test_a_send_that_fails_is_recorded():
    result = run(["fault: {on: send, do: refuse}", "send: {to: discord/ops, text: x}", f"at: 1s, {SAY}, say: hi"])
    assert values_of(result, "intent.settled", "state") == ["failed", "delivered"]
    assert values_of(result, "process.crashed", "why") == []


def test_a_send_may_name_its_session_by_a_place_or_by_a_key():
    result = run(
        [
            "send: {to: discord/ops, text: one, session: telegram/crew}",
            'at: 1s, send: {to: discord/ops, text: two, session: "main:main"}',
            "at: 2s, send: {to: discord/ops, text: three, session: telegram/crew, agent: ops}",
        ]
    )
    mirrors = {body.text: body.session_key for body in bodies(result, MirrorAppended)}
    assert mirrors == {
        "one": "main:telegram:default:group:-1007",
        "two": "main:main",
        "three": "ops:telegram:default:group:-1007",
    }


def test_a_send_carries_media():
    result = run(["send: {to: discord/ops, media: ['https://example.org/lamp.png']}"])
    assert [body.media for body in bodies(result, WireAccepted)] == [("https://example.org/lamp.png",)]


def test_a_send_to_a_target_takes_its_text_as_it_is():
    result = run(['send: {target: "group:-1007", channel: telegram, text: "{text}"}'])
    [asked] = bodies(result, SendRequested)
    assert (asked.target, asked.channel) == ("group:-1007", "telegram")
    assert texts(result) == ["{text}"]


def test_a_send_needs_a_process_and_a_place_that_is_open():
    gateway = "gateway: {agents: [{id: main}, {id: ops}], channels: {discord: {auto_thread: true}}}\n"
    steps = [
        "crash: {restart_after: 5s}",
        "at: 1s, send: {to: discord/ops, text: x}",
        "at: 9s, as: ana, in: discord/ops, say: hi, id: m1",
    ]
    result = run([*steps, "send: {to: discord/ops/m1, text: early}"], gateway=gateway)
    first, second = values_of(result, "script.skipped", "why")
    assert (first, values_of(result, "script.skipped", "step")) == ("no gateway process runs", ["send", "send"])
    assert "its thread is not open" in second
    assert texts(result) == ["main: hi"]


@pytest.mark.parametrize("commit", range(1, 8))
def test_a_process_that_dies_while_it_sends_for_a_client_sends_once(commit):
    result = run(["send: {to: discord/ops, text: x, key: k}"], crash=CrashAt(what="commit", n=commit))
    assert texts(result) in (["x"], [])
    assert broken(result) == []


# ---------------------------------------------------------------- sessions from before

OLD = """\
stored:
  sessions:
    - {key: "agent:main:telegram:dm:1", id: old-1, lines: ["user: before", "assistant: main: before"]}
"""


def test_a_session_of_an_earlier_version_goes_on():
    expect = (
        "expect:\n  transcripts:\n"
        '    - {in: telegram/@ana, lines: ["user: before", "assistant: main: before", "user: after", "assistant: *"]}\n'
        "  events: [{kind: session.moved, reason: key-migrated, detail: '*upstream*'}]\n"
    )
    cast = 'cast: {agents: {main: [{do: [{reply: "{memory}"}]}], ops: [{do: [{silent: true}]}]}}\n'
    result = run(["as: ana, in: telegram/@ana, say: after"], stored=OLD, expect=expect, cast=cast)
    assert values_of(result, "inbound.admitted", "session_id") == ["old-1"]
    assert texts(result) == ["before | main: before | after"]
    assert (broken(result), result.unmet) == ([], ())


def test_of_two_stored_sessions_of_one_conversation_the_later_goes_on():
    stored = OLD + '    - {key: "main:telegram:default:dm:1", id: old-2, updated: 9s, lines: ["user: later"]}\n'
    expect = "expect:\n  transcripts: [{in: telegram/@ana, lines: ['user: later', 'user: after', 'assistant: *']}]\n"
    result = run(["as: ana, in: telegram/@ana, say: after"], stored=stored, expect=expect)
    assert values_of(result, "session.left", "old_session_id") == ["old-1"]
    assert result.unmet == ()


def test_a_stored_session_of_a_place_follows_a_change_of_scopes():
    session = "{key: 'main:telegram:*:direct:1', id: old-1, place: telegram/@ana, lines: ['user: a']}"
    stored = f"stored: {{sessions: [{session}]}}\n"
    expect = "expect:\n  transcripts: [{in: telegram/@ana, lines: ['user: a', 'user: b', 'assistant: *']}]\n"
    result = run(["as: ana, in: telegram/@ana, say: b"], stored=stored, expect=expect)
    assert values_of(result, "session.moved", "session_id") == ["old-1"]
    assert result.unmet == ()


def test_a_place_that_says_nothing_after_a_reload_keeps_what_it_holds():
    expect = "expect:\n  transcripts: [{in: telegram/@ana, lines: ['user: a', 'assistant: main: a']}]\n"
    steps = ["as: ana, in: telegram/@ana, say: a", "at: 1s, reload: {session: {dm_scope: per-peer}}"]
    assert run(steps, expect=expect).unmet == ()


def test_what_is_stored_costs_no_commit():
    quiet = ["as: ana, in: discord/@ana, say: hi"]
    assert run(quiet, stored=OLD.replace("agent:main:telegram:dm:1", "main:main")).commits == run(quiet).commits


def test_a_bug_switch_may_replace_the_store(monkeypatch):
    made = []

    def make(connect, events):
        made.append(events)
        return SqliteStore(connect, events)

    def install(wiring):
        wiring.make_store = make

    monkeypatch.setitem(BUGS, "mine", Bug(name="mine", sentence="", caught_by=(), install=install))
    result = run([f"{SAY}, say: one", "at: 1s, restart: "], bugs=["mine"])
    assert (len(made), texts(result)) == (2, ["main: one"])
