"""Wires of real gateways, recorded line by line, are judged as those judged them who watched."""

from collections.abc import Iterable

import pytest

from tests.support.attach.recorded.recorded_wire import open_recording
from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.app.cli.io.trace_input import open_trace
from trunkline.core.events import Event, Trace
from trunkline.core.events.trace import encode_trace, parse_trace
from trunkline.sim import Status, judge
from trunkline.sim.invariants import WIRE_SIDE_CHECKERS

RECORDINGS, TRACES = ROOT / "tests/attach/judge/recordings", ROOT / "tests/attach/judge/traces"
NOTHING: set[str] = set()
#: recording of a real gateway -> what it violates; all that is judged beside that is right
REAL = {
    # The response of sendMessage is lost after the platform has accepted it: answered twice.
    "hermes-telegram-lost": {"X1"},
    # The topic is deleted while the model thinks: refused, refused again, then sent to the parent.
    "hermes-telegram-topic-gone": {"X3", "X10"},
    # Killed after sendMessage was answered: answered once, and a turn that nobody asked for.
    "hermes-telegram-kill-sent": {"X6"},
    # A direct chat, two topics, the room itself and a second person at once: all right.
    "hermes-telegram-places": NOTHING,
    "openclaw-telegram-plain": NOTHING,
    # The topic is deleted: nothing leaks, and nobody ever hears of it.
    "openclaw-telegram-topic-gone": {"X4"},
    # The response is lost after accept: sent again with the same nonce, and seen once.
    "openclaw-discord-lost": NOTHING,
}
#: what only looks like a defect, because the scripted model was asked something else than it answered
MISLED = {
    # It answers the question that the prompt asks it to leave: no second answer, and its asker got something to read.
    "misled-hermes-answers-what-it-was-to-leave": NOTHING,
    # It answers the newest of three questions in one prompt: the others are not lost by the gateway.
    "misled-hermes-newest-of-three": NOTHING,
    # It answers an earlier question, which the gateway had put into the context.
    "misled-openclaw-question-of-the-context": NOTHING,
    "misled-openclaw-both-questions": NOTHING,
    "misled-openclaw-continues-after-a-restart": NOTHING,
    # What people see is no second answer, but the answer of a turn that nobody asked for.
    "misled-hermes-second-answer-to-a-restart": {"X6"},
}
#: what was seen of gateways, retold in a few lines, and what is close to it and right
RETOLD = {
    # The platform forgets at the start of the gateway what was said while it was down.
    "hermes-telegram-said-down": {"X4"},
    "hermes-telegram-kill-before-send": {"X4"},
    # Sent again as plain text, with another nonce: the platform cannot know.
    "hermes-discord-lost": {"X1"},
    "hermes-discord-thread-gone": {"X4"},
    "openclaw-discord-thread-gone-to-parent": {"X3"},
    "openclaw-slack-thread-gone-to-channel": {"X3"},
    "openclaw-slack-thread-on-the-question": NOTHING,
    "openclaw-telegram-reset-before": {"X4"},
    "openclaw-telegram-wrong-topic": {"X2"},
    "openclaw-telegram-order": {"X9"},
    # Handed out again after a restart, and answered again.
    "openclaw-telegram-redelivered": {"X1", "X5"},
    "openclaw-telegram-streamed": NOTHING,
    "openclaw-telegram-draft-replaced": NOTHING,
    "openclaw-telegram-streamed-twice": {"X1"},
    "openclaw-telegram-long": NOTHING,
    "openclaw-telegram-long-part-twice": {"X1"},
    # The recording does not say for how long the platform asked to wait.
    "openclaw-telegram-429": NOTHING,
    "hermes-telegram-model-500": NOTHING,
    # It never came back: what only the end could show is not judged.
    "hermes-telegram-not-back": NOTHING,
}
OUTCOMES = REAL | MISLED | RETOLD
#: trace -> what it violates
OF_TRACES = {
    "limited-and-too-early": {"X7"},
    "limited-and-waits": NOTHING,
    "secret-in-the-prompt-of-another": {"X8"},
    "secret-stays": NOTHING,
    # Traces of real gateways, made by `trunkline attach`.
    "astrbot-4.29.3-telegram-killed-when-asked": {"X4"},
    "bolt-slack-lost-answer-twice": {"X1"},
    "hermes-0.19.0-telegram-topic-closed-notice-refused": {"X4", "X10"},
    "nanobot-0.3.5-telegram-lost-answer-twice": {"X1"},
    "nanobot-0.3.5-telegram-response-never-comes-twice": {"X1"},
    "nanobot-0.3.5-telegram-shredded-two-topics": {"X4"},
    # With the key that its documentation names, nothing leaks.
    "openclaw-2026.9.6-telegram-secret-dmscope-holds": NOTHING,
    # The person is told at the next message.
    "openclaw-2026.9.6-telegram-server-error-then-asks-again": NOTHING,
}
#: trace -> what its sentence about the lost question says
WORDS_OF_LOSS = {
    "astrbot-4.29.3-telegram-killed-when-asked": "is lost in silence: not within 30 s",
    "hermes-0.19.0-telegram-topic-closed-notice-refused": "tried 3 times, and a notice once: all were refused",
    "nanobot-0.3.5-telegram-shredded-two-topics": "is answered in pieces: 4 messages with parts of its answer",
}


def judged(events: Iterable[Event]) -> set[str]:
    return {verdict.id for verdict in judge(events) if verdict.status is Status.VIOLATED}


def recorded(name: str) -> Trace:
    return open_recording(RECORDINGS / f"{name}.wire.jsonl")


def test_each_file_has_an_outcome_and_each_promise_a_file():
    assert {path.name.removesuffix(".wire.jsonl") for path in RECORDINGS.glob("*.jsonl")} == set(OUTCOMES)
    assert {path.stem for path in TRACES.glob("*.jsonl")} == set(OF_TRACES)
    found = {name for broken in (*OUTCOMES.values(), *OF_TRACES.values()) for name in broken}
    assert found == {checker.id for checker in WIRE_SIDE_CHECKERS}


@for_each("name", OUTCOMES)
def test_a_recording_is_judged_as_it_was_seen(name: str):
    assert judged(recorded(name).events) == OUTCOMES[name]


@pytest.mark.parametrize("name", OF_TRACES)
def test_a_trace_is_judged_as_it_was_written(name: str):
    assert judged(open_trace(TRACES / f"{name}.jsonl").events) == OF_TRACES[name]


@pytest.mark.parametrize(("name", "words"), WORDS_OF_LOSS.items())
def test_a_loss_is_told_as_it_was(name: str, words: str):
    verdict = next(verdict for verdict in judge(open_trace(TRACES / f"{name}.jsonl").events) if verdict.id == "X4")
    assert words in verdict.violations[0].summary


@for_each("name", OUTCOMES)
def test_a_recording_is_a_trace_like_any_other(name: str):
    trace = recorded(name)
    again = parse_trace(encode_trace(trace).splitlines())
    assert again.header.side == "wire"
    assert again.events == trace.events
    assert judge(again.events) == judge(trace.events)
