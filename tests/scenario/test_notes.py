"""Who hears of a message that did not arrive, and that nothing goes round in circles."""

import pytest

from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import TranscriptAppended, TurnStarted
from trunkline.core.reasons import Reason
from trunkline.core.values import IntentState, WorkKind
from trunkline.sim import load_scenario, run_scenario
from trunkline.sim.run.result import RunResult

FILE = """
scenario: 1
title: notes
gateway: {{delivery: {{{settings}}}}}
world: {{people: [ana], telegram: {{rooms: [ops]}}}}
cast:
  agents:
    main:
      - {{when: {{wake: true}}, do: [{{send: {{text: "sorry", to: "telegram/@ana"}}}}, {{silent: true}}]}}
      - {{when: {{text: "again"}}, do: [{{send: {{text: "to ops", to: "telegram/ops"}}}}, {{silent: true}}]}}
      - do: [{{reply: "re {{text}}"}}]
script:
  - {{at: 0s, fault: {fault}}}
  - {{at: 1s, as: ana, in: "telegram/@ana", say: {say}}}
  - {{at: 5m, note: over}}
"""
REFUSED = "{on: send, do: refuse, in: telegram/@ana, times: 99}"


def run(tmp_path, settings: str = "", fault: str = REFUSED, say: str = "hello") -> RunResult:
    path = tmp_path / "notes.yaml"
    path.write_text(FILE.format(settings=settings, fault=fault, say=say))
    result = run_scenario(load_scenario(path))
    assert result.violations == ()
    return result


def notes(result: RunResult) -> list[str]:
    found = [e.body for e in result.trace.events if isinstance(e.body, TranscriptAppended)]
    return [body.session_key for body in found if body.role == "delivery"]


def wakes(result: RunResult) -> int:
    return sum(isinstance(e.body, TurnStarted) and e.body.work is WorkKind.WAKE for e in result.trace.events)


def notices(result: RunResult, reason: Reason = Reason.FAILED_NOTICE) -> int:
    return sum(isinstance(e.body, IntentPrepared) and e.body.reason is reason for e in result.trace.events)


def test_by_default_the_session_has_a_note_and_the_person_a_notice(tmp_path):
    result = run(tmp_path)
    assert (len(notes(result)), wakes(result), notices(result)) == (1, 0, 1)


def test_without_words_for_it_nobody_hears_of_it_but_the_session(tmp_path):
    result = run(tmp_path, 'failed_notice: ""')
    assert (len(notes(result)), wakes(result), notices(result)) == (1, 0, 0)


def test_a_message_of_the_turn_that_a_note_started_starts_no_other(tmp_path):
    """The agent's apology is refused too: it is noted, and that is all."""
    result = run(tmp_path, "notify_agent: true, failed_notice: ''")
    ended = [e.body.state for e in result.trace.events if isinstance(e.body, IntentSettled)]
    assert ended == [IntentState.FAILED, IntentState.FAILED]
    assert (len(notes(result)), wakes(result)) == (2, 1)


def test_nothing_is_said_about_the_end_of_a_notice(tmp_path):
    result = run(tmp_path, 'failed_notice: "It did not arrive."')
    ended = [e.body.state for e in result.trace.events if isinstance(e.body, IntentSettled)]
    assert ended == [IntentState.FAILED, IntentState.FAILED]
    assert (len(notes(result)), notices(result)) == (1, 1)


@pytest.mark.parametrize("do", ["lose-response", "drop"])
def test_a_person_who_may_have_the_answer_gets_a_notice_of_the_doubt(tmp_path, do):
    result = run(tmp_path, 'doubt_notice: "It may not have arrived."', f"{{on: send, do: {do}}}")
    assert (len(notes(result)), notices(result, Reason.DOUBT_NOTICE), notices(result)) == (1, 1, 0)


@pytest.mark.parametrize("do", ["lose-response", "drop"])
def test_a_person_who_may_have_the_answer_gets_no_notice(tmp_path, do):
    result = run(tmp_path, 'failed_notice: "It did not arrive."', f"{{on: send, do: {do}}}")
    assert (len(notes(result)), notices(result)) == (1, 0)


def test_the_session_that_sent_it_has_the_note_not_the_one_of_its_target(tmp_path):
    fault = "{on: send, do: refuse, in: telegram/ops, times: 99}"
    [key] = notes(run(tmp_path, fault=fault, say="again"))
    assert ":direct:" in key


GONE = """
scenario: 1
title: in doubt, and its thread gone
gateway:
  delivery: {doubt_notice: "It may not have arrived.", notice_in_room: true}
world: {people: [ana], discord: {rooms: {ops: {threads: [deploy]}}}}
cast: {agents: {main: [{do: [{reply: "re {text}"}]}]}}
script:
  - {at: 0s, fault: {on: send, do: drop, text: "re one"}}
  - {at: 1s, as: ana, in: "discord/ops/deploy", say: one}
  - {at: 5s, in: "discord/ops/deploy", delete: true}
  - {at: 5m, note: over}
expect:
  accepted:
    - {in: "discord/ops", text: "It may not have arrived."}
"""


def test_the_notice_of_a_doubt_does_not_go_to_a_thread_that_is_gone(tmp_path):
    """The answer to the first attempt is lost, and the resend finds no thread any more."""
    path = tmp_path / "gone.yaml"
    path.write_text(GONE)
    result = run_scenario(load_scenario(path))
    assert (result.violations, result.unmet) == ((), ())
    [ended, noticed] = [e.body for e in result.trace.events if isinstance(e.body, IntentSettled)]
    assert (ended.state, ended.reason) == (IntentState.UNKNOWN, Reason.PLACE_GONE)
    assert noticed.state is IntentState.DELIVERED


CLOSED = """
scenario: 1
title: killed while it answers in a topic that is closed
gateway:
  delivery: {doubt_notice: "It may not have arrived.", notice_in_room: true}
world: {people: [ana], telegram: {rooms: {ops: {threads: [deploy]}}}}
cast: {agents: {main: [{do: [{think: 5s}, {reply: "re {text}"}]}]}}
script:
  - {at: 1s, as: ana, in: "telegram/ops/deploy", say: one}
  - {at: 3s, in: "telegram/ops/deploy", archive: true}
  - {when: {event: attempt.started}, crash: {restart_after: 2s}}
  - {at: 5m, note: over}
expect:
  accepted:
    - {in: "telegram/ops", text: "It may not have arrived."}
"""


def test_a_notice_that_finds_its_thread_closed_goes_to_the_room(tmp_path):
    """After the kill nobody can say whether the answer arrived, and only the notice meets the closed topic."""
    path = tmp_path / "closed.yaml"
    path.write_text(CLOSED)
    result = run_scenario(load_scenario(path))
    assert (result.violations, result.unmet) == ((), ())


BOUND = """
scenario: 1
title: in doubt, in the thread of a hand
gateway:
  delivery: {max_attempts: 1, doubt_notice: "It may not have arrived."}
  channels: {discord: {thread_bindings: {spawn_subagent_sessions: true}}}
world: {people: [ana], discord: {rooms: {ops: {}}}}
cast:
  agents: {main: [{when: {callback: "*"}, do: [{reply: "then {result}"}]}, {do: [{delegate: {hand: clerk}}]}]}
  hands: {clerk: {}}
script:
  - {at: 0s, fault: {on: send, do: drop, text: "then*"}}
  - {at: 1s, as: ana, in: "discord/ops", say: work}
  - {at: 5m, note: over}
"""


def test_an_answer_in_doubt_that_has_another_place_for_notices_is_noticed_too(tmp_path):
    path = tmp_path / "bound.yaml"
    path.write_text(BOUND)
    result = run_scenario(load_scenario(path))
    assert result.violations == ()
    assert (notices(result, Reason.DOUBT_NOTICE), notices(result, Reason.THREAD_NOTICE)) == (1, 0)
