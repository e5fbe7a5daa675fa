"""Results of delegated tasks come back through the channel: the report's own tests, through the real gateway.

The simulator plays people, platforms and hands. Everything is read from what the cast recorded (what agents were given,
what hands returned) and from what platforms accepted, not from the gateway's word for it.
"""

from typing import TypeVar

import pytest

from trunkline.core.events.delivery import IntentSettled
from trunkline.core.events.gateway import InboundAdmitted, InboundReceived, TurnStarted
from trunkline.core.events.hands import DelegationAccepted
from trunkline.core.reasons import Reason
from trunkline.core.states.delegation import CallbackState, HandOutcome, WorkState
from trunkline.core.values import WorkKind
from trunkline.sim import RunResult, run_scenario
from trunkline.sim.events.hands import AgentGiven, HandAnswered
from trunkline.sim.events.wire import WireAccepted
from trunkline.sim.events.world import PeerSaid, SpeechHeard, WorldPlace
from trunkline.sim.run.expectations import delegations_of, transcripts_of
from trunkline.sim.scenario import ScenarioFile, load_text

T = TypeVar("T")

#: base, channel and callback prompt, in the order in which an agent gets them
BASE, CHANNEL, CALLBACK = "You are Jeeves.", "Write briefly.", "A result of a task that you delegated earlier follows."

FILE = """
scenario: 1
title: Jeeves delegates
gateway:
  agents: [{id: jeeves, default: true, prompt: "You are Jeeves."}]
  channels: {slack: {prompt: Write briefly.}}
  hands:
    prompt: A result of a task that you delegated earlier follows.
    each: {press: {worker: true}}
world:
  people: {philippe: {name: Philippe}, eve: {name: Eve}}
  slack:
    accounts: {work: {bot: jeeves}, club: {bot: jeeves-club}}
    rooms: {office: {accounts: [work], threads: [mail, travel]}, lounge: {accounts: [club]}}
  voice: {}
cast:
  agents:
    jeeves:
      - when: {callback: "*"}
        do: [{reply: "Sir, {result}."}]
      - when: {text: "print*"}
        do: [{delegate: {hand: press}}, {reply: "To the press."}]
      - when: {text: "check*"}
        do: [{delegate: {hand: calendar-hand}}, {reply: "Very well."}]
      - when: {text: "both*"}
        do: [{delegate: {hand: workspace-hand, label: first}}, {delegate: {hand: calendar-hand}}, {reply: Both.}]
      - when: {text: "clean*"}
        do: [{delegate: {hand: workspace-hand, label: inbox}}, {reply: "Right away, sir."}]
      - do: [{reply: "Indeed."}]
  hands:
    workspace-hand: {takes: 10s, result: "12 archived, 47 unread"}
    calendar-hand: {takes: 5s, result: "tomorrow is free"}
script:
SCRIPT
"""
#: the thread and the call of most tests
MAIL = "slack:work/office/mail"
CALL = "voice/@philippe"


def play(*steps: str) -> tuple[ScenarioFile, RunResult]:
    """Play steps; every invariant must hold, and every step must happen."""
    file = load_text(FILE.replace("SCRIPT", "\n".join(f"  - {{{step}}}" for step in steps)), "seed.yaml")
    result = run_scenario(file)
    broken = [verdict for verdict in result.verdicts if verdict.violations]
    assert (broken, result.unmet) == ([], ())
    return file, result


def bodies(result: RunResult, kind: type[T]) -> list[T]:
    return [event.body for event in result.trace.events if isinstance(event.body, kind)]


def shown(file: ScenarioFile, result: RunResult) -> list[tuple[str, str]]:
    """What platforms showed: the place in the words of the file, and the text, in order."""
    places = {
        body.address.lane: f"{body.address.channel}:{body.address.account}/{body.name}"
        for body in bodies(result, WorldPlace)
    }
    return [(places[body.address.lane], body.text) for body in bodies(result, WireAccepted)]


def given(result: RunResult) -> AgentGiven:
    """What the agent was given in the only callback turn."""
    (found,) = [body for body in bodies(result, AgentGiven) if body.work is WorkKind.CALLBACK]
    return found


# ------------------------------------------------------------ unit tests of the report


def test_inject_callback_constructs_correct_message() -> None:
    """The result of `Gateway.inject_callback` is a message of the hand, in the conversation that delegated."""
    _, result = play(
        f"at: 1s, as: philippe, in: {MAIL}, say: print the cards",
        r'at: 20s, hands: {do: answer, hand: press, result: "the cards\nare printed"}',
    )
    (said,), message = bodies(result, PeerSaid), given(result)
    assert (message.peer.id, message.peer.name) == ("hand:press", "press")
    assert message.text == "the cards\nare printed"
    assert message.place == said.address
    assert message.place is not None
    assert (message.place.channel, message.place.account) == ("slack", "work")
    assert message.place.thread == said.address.thread is not None
    # It is admitted once, under an id of its own, by no way from outside.
    (callback,) = [event for event in result.trace.events if _is_callback(event.body)]
    assert callback.inbound == "m1.hand1.back"
    assert len(bodies(result, InboundReceived)) == 1


def _is_callback(body: object) -> bool:
    return isinstance(body, InboundAdmitted) and body.work is WorkKind.CALLBACK


def test_callback_system_prompt_injected() -> None:
    """The prompt comes after those of the agent and the channel, in that turn only, and is stored nowhere."""
    file, result = play(
        f"at: 1s, as: philippe, in: {MAIL}, say: clean my inbox", f"at: 30s, as: philippe, in: {MAIL}, say: thanks"
    )
    turns = {body.text: [(one.kind, one.text) for one in body.prompts] for body in bodies(result, AgentGiven)}
    usual = [("base", BASE), ("channel", CHANNEL)]
    assert turns == {
        "clean my inbox": usual,
        "12 archived, 47 unread": [*usual, ("callback", CALLBACK)],
        "thanks": usual,
    }
    assert given(result).prompt == f"{BASE}\n\n{CHANNEL}\n\n{CALLBACK}"
    lines = [line for found in transcripts_of(file, result.trace.events).values() for line in found]
    assert "hand: 12 archived, 47 unread" in lines
    assert not [line for line in lines if CALLBACK in line]


def test_callback_response_routed_to_original_user() -> None:
    """The answer goes to the person who asked, by the account that heard them, and never to the hand."""
    file, result = play(
        'at: 1s, as: philippe, in: "slack:work/@philippe", say: clean my inbox',
        'at: 2s, as: eve, in: "slack:work/@eve", say: good morning',
        'at: 3s, as: philippe, in: "slack:club/@philippe", say: good morning',
    )
    message = given(result)
    assert (message.peer.id, message.asked_by and message.asked_by.name) == ("hand:workspace-hand", "Philippe")
    assert shown(file, result) == [
        ("slack:work/@philippe", "Right away, sir."),
        ("slack:work/@eve", "Indeed."),
        ("slack:club/@philippe", "Indeed."),
        ("slack:work/@philippe", "Sir, 12 archived, 47 unread."),
    ]


def test_async_context_stored_on_delegation() -> None:
    """The context is that of the turn that delegates, not that of the last writer, and outlives the process."""
    file, result = play(
        f"at: 1s, as: philippe, in: {MAIL}, say: clean my inbox",
        "at: 2s, as: eve, in: slack:club/lounge, say: good morning",
        "at: 3s, as: eve, in: slack:work/office/travel, say: hello",
        "at: 12s, crash: {when: {event: delegation.finished}, restart_after: 3s}",
    )
    said = bodies(result, PeerSaid)[0]
    (stored,) = bodies(result, DelegationAccepted)
    assert stored.origin == said.address
    assert stored.asked_by == said.peer
    assert stored.message_id == said.message_id
    assert (stored.hand, stored.label, stored.task) == ("workspace-hand", "inbox", "clean my inbox")
    turn = bodies(result, TurnStarted)[0]
    assert (turn.agent, turn.session_key) == ("jeeves", stored.session_key)
    assert shown(file, result)[-1] == (MAIL, "Sir, 12 archived, 47 unread.")


@pytest.mark.parametrize(
    ("gone", "place", "callback", "reason"),
    [
        ("in: slack:work/office/mail, delete: true", MAIL, CallbackState.UNDELIVERABLE, Reason.PLACE_GONE),
        ("as: philippe, in: voice/@philippe, hang_up: true", CALL, CallbackState.PARKED, Reason.CALL_ENDED),
    ],
)
def test_callback_with_no_active_session(gone: str, place: str, callback: CallbackState, reason: Reason) -> None:
    """Where nobody can be reached any more, nothing is said elsewhere, nothing fails, and the reason is visible."""
    call = ["at: 1s, as: philippe, in: voice/@philippe, call: morning"] if place == CALL else []
    file, result = play(
        *call,
        f"at: 1.5s, as: philippe, in: {place}, say: clean my inbox",
        "at: 2s, as: eve, in: slack:work/office, say: good morning",
        f"at: 9s, {gone}",
    )
    texts = [text for _, text in shown(file, result)]
    # Whoever asked in the thread is told in its room that the result cannot be said there.
    told = ["Sorry, my answer could not be delivered."] if reason is Reason.PLACE_GONE else []
    assert sorted(texts) == ["Indeed.", "Right away, sir.", *told]
    (answered,) = bodies(result, HandAnswered)
    assert (answered.outcome, answered.text) == (HandOutcome.OK, "12 archived, 47 unread")
    settled = [(event.intent, event.body) for event in result.trace.events if isinstance(event.body, IntentSettled)]
    assert [body.reason for intent, body in settled if intent == "m1.hand1.back.reply"] == [reason]
    (delegation,) = delegations_of(result.trace.events)
    assert (delegation.work, delegation.callback, delegation.reason) == (WorkState.SUCCEEDED, callback, reason)
    assert given(result).text == "12 archived, 47 unread"


# ------------------------------------------------------------ integration tests of the report


def test_chat_delegation() -> None:
    """Asked on a chat: Jeeves delegates, the hand completes, and the result appears in the chat."""
    file, result = play('at: 1s, as: philippe, in: "slack:work/@philippe", say: clean my inbox')
    chat = "slack:work/@philippe"
    assert shown(file, result) == [(chat, "Right away, sir."), (chat, "Sir, 12 archived, 47 unread.")]


def test_voice_delegation() -> None:
    """The same flow on a call: the result is spoken there."""
    file, result = play(
        "at: 1s, as: philippe, in: voice/@philippe, call: morning",
        "at: 2s, as: philippe, in: voice/@philippe, say: clean my inbox",
        "at: 60s, as: philippe, in: voice/@philippe, hang_up: true",
    )
    call = "voice:default/@philippe/morning"
    assert shown(file, result) == [(call, "Right away, sir."), (call, "Sir, 12 archived, 47 unread.")]
    heard = [body for body in bodies(result, SpeechHeard) if body.whole]
    assert [body.text for body in heard] == ["Right away, sir.", "Sir, 12 archived, 47 unread."]
    assert {body.address.thread for body in heard} == {bodies(result, PeerSaid)[0].address.thread}


def test_cross_channel() -> None:
    """What was asked on a chat is not spoken, and what was asked on a call is not written."""
    file, result = play(
        "at: 1s, as: philippe, in: voice/@philippe, call: morning",
        'at: 2s, as: philippe, in: "slack:work/@philippe", say: clean my inbox',
        "at: 4s, as: philippe, in: voice/@philippe, say: check my calendar",
        "at: 60s, as: philippe, in: voice/@philippe, hang_up: true",
    )
    chat, call = "slack:work/@philippe", "voice:default/@philippe/morning"
    assert sorted(shown(file, result)) == [
        (chat, "Right away, sir."),
        (chat, "Sir, 12 archived, 47 unread."),
        (call, "Sir, tomorrow is free."),
        (call, "Very well."),
    ]


def test_thread_preservation() -> None:
    """Delegated in a thread: the answer is in the same thread, whatever goes on beside it."""
    file, result = play(
        f"at: 1s, as: philippe, in: {MAIL}, say: clean my inbox",
        "at: 2s, as: philippe, in: slack:work/office, say: a fine day",
        "at: 3s, as: philippe, in: slack:work/office/travel, say: and a fine evening",
    )
    assert [place for place, text in shown(file, result) if text.startswith("Sir,")] == [MAIL]


def test_multiple_concurrent_delegations() -> None:
    """Two tasks of one turn, and one of another person: each result is delivered once, in the order of their ends."""
    file, result = play(
        f"at: 1s, as: philippe, in: {MAIL}, say: both of them",
        "at: 1.2s, as: eve, in: slack:work/office/travel, say: clean my inbox",
    )
    results = [(place, text) for place, text in shown(file, result) if text.startswith("Sir,")]
    assert results == [
        (MAIL, "Sir, tomorrow is free."),
        (MAIL, "Sir, 12 archived, 47 unread."),
        ("slack:work/office/travel", "Sir, 12 archived, 47 unread."),
    ]
    asked = [body.asked_by and body.asked_by.name for body in bodies(result, AgentGiven) if body.hand]
    assert sorted(map(str, asked)) == ["Eve", "Philippe", "Philippe"]
