"""What happens in a simulated world: phases, crashes, faults and waits."""

import pytest

from tests.support.scenario.worlds import ECHO, bodies, broken, texts, values_of
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.config.work import TurnsConfig
from trunkline.core.events.base import RunEnded
from trunkline.core.events.delivery import AttemptStarted
from trunkline.core.events.gateway import ProcessStarted, TurnEnded
from trunkline.core.reasons import Reason
from trunkline.sim import ScenarioError, run_scenario
from trunkline.sim.events.processes import ProcessCrashed, ProcessStopped
from trunkline.sim.events.script import FaultFired, RunPhase
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, WorldPerson
from trunkline.sim.loop import SimulationError
from trunkline.sim.platforms.threads import Threads
from trunkline.sim.plugins import OURS
from trunkline.sim.scenario import load_text

HEAD = """\
scenario: 1
title: made for a test
world: {people: [ana], discord: {rooms: {ops: {threads: [deploy]}}}, telegram: {}}
"""


def run(script, cast=ECHO, gateway="", **options):
    return run_scenario(load_text(f"{HEAD}{gateway}{cast}script:\n{script}", "made.yaml"), **options)


def at(result, kind):
    return [event.at for event in result.trace.events if isinstance(event.body, kind)]


def test_phases_follow_each_other_and_the_end_is_last():
    result = run('  - {as: ana, in: discord/@ana, say: "hi"}\n')
    assert [body.phase for body in bodies(result, RunPhase)] == ["faults", "healed", "rest"]
    assert isinstance(result.trace.events[-1].body, RunEnded)
    assert bodies(result, RunEnded)[-1].at_rest


def test_a_crash_is_down_for_as_long_as_it_says():
    result = run('  - {at: 5s, crash: {restart_after: 7s}}\n  - {at: 8s, as: ana, in: discord/@ana, say: "hi"}\n')
    assert at(result, ProcessCrashed) == [5.0]
    assert at(result, ProcessStarted) == [0.0, 12.0]
    assert texts(result) == ["re: hi"]


def test_a_stop_is_in_order_and_starts_again():
    result = run('  - {at: 5s, restart: {down: 3s}}\n  - {at: 6s, as: ana, in: discord/@ana, say: "hi"}\n')
    assert bodies(result, ProcessCrashed) == []
    assert at(result, ProcessStopped) == [pytest.approx(5.0, abs=0.01)]
    assert at(result, ProcessStarted) == [0.0, pytest.approx(8.0, abs=0.01)]
    assert texts(result) == ["re: hi"]


def test_a_turn_that_a_stop_cancels_is_run_by_the_next_process():
    cast = 'cast: {agents: {main: [{do: [{think: 10s}, {reply: "thought"}]}]}}\n'
    result = run('  - {as: ana, in: discord/@ana, say: "hi"}\n  - {at: 4s, restart: {}}\n', cast)
    assert texts(result) == ["thought"]
    assert broken(result) == []


def test_an_agent_that_raises_ends_its_turn_and_nothing_else():
    cast = 'cast: {agents: {main: [{when: {text: bad}, do: [{fail: "no idea"}]}, {do: [{reply: ok}]}]}}\n'
    script = '  - {as: ana, in: "discord/@ana", say: bad}\n  - {at: 1s, as: ana, in: "discord/@ana", say: good}\n'
    result = run(script, cast)
    (failed, replied) = bodies(result, TurnEnded)
    assert (failed.outcome, failed.reason) == ("failed", Reason.AGENT_RAISED)
    assert "no idea" in failed.detail
    assert replied.outcome == "replied"
    assert (texts(result), broken(result)) == ([TurnsConfig().error_notice, "ok"], [])


def test_a_silent_agent_is_recorded_as_suppressed():
    result = run('  - {as: ana, in: discord/@ana, say: "hi"}\n', "cast: {agents: {main: [{do: [{silent: true}]}]}}\n")
    assert texts(result) == []
    assert values_of(result, "intent.suppressed", "reason") == [Reason.NO_REPLY]
    assert broken(result) == []


def test_a_fault_strikes_as_often_as_it_says():
    script = '  - {fault: {on: send, do: error, times: 2}}\n  - {as: ana, in: discord/@ana, say: "hi"}\n'
    result = run(script)
    assert [body.fault for body in bodies(result, FaultFired)] == ["send/error", "send/error"]
    assert texts(result) == ["re: hi"]


def test_a_fault_elsewhere_does_not_strike():
    script = '  - {fault: {on: send, do: refuse, in: ops}}\n  - {as: ana, in: discord/@ana, say: "hi"}\n'
    result = run(script)
    assert bodies(result, FaultFired) == []
    assert texts(result) == ["re: hi"]


def test_what_is_armed_and_never_struck_is_healed():
    result = run('  - {fault: {on: send, do: refuse, text: never}}\n  - {as: ana, in: discord/@ana, say: "hi"}\n')
    assert texts(result) == ["re: hi"]
    assert bodies(result, RunEnded)[-1].at_rest


@pytest.mark.parametrize("do", ["lose-response", "drop"])
def test_an_ambiguous_send_is_resent_under_its_key_on_discord(do):
    script = f'  - {{fault: {{on: send, do: {do}}}}}\n  - {{as: ana, in: discord/@ana, say: "hi"}}\n'
    result = run(script)
    assert (texts(result), broken(result)) == (["re: hi"], [])


@pytest.mark.parametrize(("do", "seen"), [("lose-response", ["re: hi"]), ("drop", [])])
def test_an_ambiguous_send_is_parked_on_telegram(do, seen):
    script = f'  - {{fault: {{on: send, do: {do}}}}}\n  - {{as: ana, in: telegram/@ana, say: "hi"}}\n'
    result = run(script)
    settled = values_of(result, "intent.settled", "state")
    notice = DeliveryConfig().doubt_notice
    assert (texts(result), settled, broken(result)) == ([*seen, notice], ["unknown", "delivered"], [])


@pytest.mark.parametrize(("do", "lookups"), [("lose-response", 1), ("drop", 1)])
def test_an_ambiguous_send_is_looked_up_where_that_is_possible(do, lookups):
    text = (
        f"{HEAD.replace('telegram: {}', 'telegram: {idempotency: lookup}')}{ECHO}script:\n"
        f'  - {{fault: {{on: send, do: {do}}}}}\n  - {{as: ana, in: telegram/@ana, say: "hi"}}\n'
    )
    result = run_scenario(load_text(text, "made.yaml"))
    asked = [e for e in result.trace.events if e.kind == "wire.looked_up"]
    assert (texts(result), len(asked), broken(result)) == (["re: hi"], lookups, [])


def test_a_failed_look_up_is_not_a_no():
    text = (
        f"{HEAD.replace('telegram: {}', 'telegram: {idempotency: lookup}')}{ECHO}script:\n"
        "  - {fault: {on: send, do: lose-response}}\n  - {fault: {on: lookup, do: error, times: 2}}\n"
        '  - {as: ana, in: telegram/@ana, say: "hi"}\n  - {at: 5m, note: "faults strike until the last step"}\n'
    )
    result = run_scenario(load_text(text, "made.yaml"))
    assert (texts(result), broken(result)) == (["re: hi"], [])
    assert len([e for e in result.trace.events if e.kind == "wire.looked_up"]) == 3


def test_a_refused_thread_is_not_opened_twice_and_nothing_is_ambiguous():
    gateway = "gateway: {channels: {discord: {auto_thread: true}}}\n"
    script = "  - {fault: {on: send, do: error}}\n  - {as: ana, in: ops, say: hi, id: m1}\n"
    result = run(script, gateway=gateway)
    assert len([e for e in result.trace.events if e.kind == "thread.opened"]) == 1
    assert (texts(result), broken(result)) == (["re: hi"], [])


def test_saying_something_in_a_thread_that_is_not_open_is_recorded():
    gateway = "gateway: {channels: {discord: {auto_thread: true}}}\n"
    cast = "cast: {agents: {main: [{do: [{silent: true}]}]}}\n"
    script = "  - {as: ana, in: ops, say: hi, id: m1}\n  - {at: 1s, as: ana, in: ops/m1, say: more, id: m2}\n"
    result = run(script, cast, gateway)
    assert values_of(result, "script.skipped", "step") == ["m2"]
    assert [missed.summary for missed in result.unmet] == ["the step m2 could not happen"]


def test_a_thread_that_never_opens_cannot_be_archived_and_the_run_says_so():
    gateway = "gateway: {channels: {discord: {auto_thread: true}}}\n"
    cast = "cast: {agents: {main: [{do: [{silent: true}]}]}}\n"
    script = "  - {as: ana, in: ops, say: hi, id: m1}\n  - {at: 1s, in: ops/m1, archive: true}\n"
    result = run(script, cast, gateway)
    assert [missed.summary for missed in result.unmet] == ["the step archive could not happen"]


def test_a_crash_or_a_fault_may_wait_for_a_thread_that_opens_later():
    gateway = "gateway: {channels: {discord: {auto_thread: true}}}\n"
    script = (
        "  - {crash: {when: {event: wire.accepted, in: ops/m1}}}\n"
        "  - {fault: {on: send, do: error, in: ops/m1}}\n"
        '  - {as: ana, in: "discord/@ana", say: "elsewhere"}\n'
        "  - {at: 1s, as: ana, in: ops, say: hi, id: m1}\n"
        "  - {at: 1m, note: end}\n"
    )
    result = run(script.replace('say: "elsewhere"', 'say: "elsewhere", id: m0'), gateway=gateway)
    assert (sorted(texts(result)), broken(result)) == (["re: elsewhere", "re: hi"], [])
    assert [body.fault for body in bodies(result, FaultFired)] == ["send/error"]
    assert len(bodies(result, ProcessCrashed)) == 1


def test_an_error_in_the_world_itself_is_no_run(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a defect of the fake")

    monkeypatch.setattr(Threads, "close", fail)
    with pytest.raises(SimulationError, match="a defect of the fake"):
        run("  - {in: ops/deploy, archive: true}\n")


def test_a_full_disk_delays_and_loses_nothing():
    script = '  - {fault: {on: store, do: error, times: 6}}\n  - {as: ana, in: discord/@ana, say: "hi"}\n'
    result = run(script)
    assert (texts(result), broken(result)) == (["re: hi"], [])
    assert len([e for e in result.trace.events if e.kind == "store.failed"]) == 6


def test_what_never_comes_to_rest_is_named():
    """An agent that thinks longer than the bound: the run ends, and L1 says what is open."""
    cast = 'cast: {agents: {main: [{do: [{think: 3d}, {reply: "late"}]}]}}\n'
    result = run('  - {as: ana, in: discord/@ana, say: "hi"}\n', cast)
    (end,) = bodies(result, RunEnded)
    assert (end.at_rest, end.open) == (False, ("inbound m1",))
    assert broken(result) == ["L1"]


def test_dm_scope_main_shares_one_session_on_purpose():
    gateway = "gateway: {session: {dm_scope: main}}\n"
    script = "  - {as: ana, in: discord/@ana, say: one}\n  - {at: 1s, as: ana, in: telegram/@ana, say: two}\n"
    result = run(script, gateway=gateway)
    keys = set(values_of(result, "inbound.admitted", "session_key"))
    assert (keys, broken(result)) == ({"main:main"}, [])


def test_linked_people_share_a_session_over_platforms():
    first = run("  - {as: ana, in: discord/@ana, say: one}\n  - {at: 1s, as: ana, in: telegram/@ana, say: two}\n")
    ids = {body.channel: body.peer.id for body in bodies(first, WorldPerson)}
    links = f"ana: ['discord:{ids['discord']}', 'telegram:{ids['telegram']}']"
    gateway = f"gateway: {{session: {{dm_scope: per-peer, identity_links: {{{links}}}}}}}\n"
    script = "  - {as: ana, in: discord/@ana, say: one}\n  - {at: 1s, as: ana, in: telegram/@ana, say: two}\n"
    result = run(script, gateway=gateway)
    keys = set(values_of(result, "inbound.admitted", "session_key"))
    assert (keys, broken(result)) == ({"main:*:*:direct:*ana"}, [])


def test_a_message_that_kills_its_sender_does_not_loop():
    gateway = "gateway: {delivery: {max_attempts: 3, max_interrupted: 0, doubt_notice: ''}}\n"
    crashes = "".join(f"  - {{crash: {{when: {{event: attempt.started, nth: {n}}}}}}}\n" for n in range(1, 8))
    result = run(f'{crashes}  - {{as: ana, in: discord/@ana, say: "hi"}}\n  - {{at: 1h, note: end}}\n', gateway=gateway)
    attempts = values_of(result, "attempt.started", "attempt")
    assert attempts == [1, 2, 3]
    assert len(bodies(result, ProcessCrashed)) == 3
    assert values_of(result, "intent.settled", "state") == ["unknown"]
    assert (texts(result), broken(result)) == (["re: hi"], [])


def test_a_wait_that_the_platform_asked_for_survives_a_restart():
    gateway = "gateway: {delivery: {max_attempts: 3, backoff: [1s]}}\n"
    script = (
        "  - {fault: {on: send, do: rate-limit, for: 5s, times: 2}}\n"
        '  - {at: 1s, as: ana, in: "discord/@ana", say: "one"}\n'
        "  - {at: 8s, restart: {down: 1s}}\n"
    )
    result = run(script, gateway=gateway)
    assert [round(when) for when in at(result, AttemptStarted)] == [1, 6, 11]
    assert (texts(result), broken(result)) == (["re: one"], [])


def test_an_answer_of_yesterday_is_not_sent_today():
    gateway = "gateway: {delivery: {max_age: 60s, failed_notice: '', doubt_notice: ''}}\n"
    script = (
        "  - {crash: {when: {event: intent.prepared}, restart_after: 1h}}\n"
        '  - {as: ana, in: "telegram/@ana", say: "one"}\n  - {as: ana, in: "discord/@ana", say: "two"}\n'
    )
    result = run(script, gateway=gateway)
    # Telegram's row was not marked, so it surely was not sent; Discord's may have been.
    assert sorted(values_of(result, "intent.settled", "state")) == ["expired", "unknown"]
    assert (texts(result), broken(result)) == ([], [])


def test_answers_quote_their_question_where_that_is_asked_for():
    gateway = "gateway: {channels: {discord: {reply_reference: true}}}\n"
    result = run("  - {as: ana, in: ops, say: one}\n  - {as: ana, in: telegram/@ana, say: two}\n", gateway=gateway)
    said = {body.text: body.message_id for body in bodies(result, PeerSaid)}
    quoted = {body.text: body.reply_to for body in bodies(result, WireAccepted)}
    assert quoted == {"re: one": said["one"], "re: two": None}
    assert broken(result) == []


def test_a_scenario_can_have_a_defect_on_in_every_run():
    text = f"{HEAD}with_bugs: [refused-is-delivered]\n{ECHO}script:\n"
    text += '  - {fault: {on: send, do: refuse}}\n  - {as: ana, in: telegram/@ana, say: "hi"}\n'
    result = run_scenario(load_text(text, "made.yaml"))
    assert result.trace.header.bugs == ("refused-is-delivered",)
    assert broken(result) == ["L3", "M2", "V1", "W2"]


def test_an_unknown_defect_in_a_scenario_is_named_with_its_place():
    with pytest.raises(ScenarioError, match=r"made\.yaml:4:13: with_bugs\[0\]: .*nearest valid word: 'silent-drops'"):
        load_text(f"{HEAD}with_bugs: [silent-drop]\n{ECHO}script: [{{note: x}}]\n", "made.yaml", names=OURS)
