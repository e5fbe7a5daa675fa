"""Wires of real gateways, recorded line by line, are judged as those judged them who watched."""

import pytest

from tests.support.paths import ROOT
from trunkline.app.cli.io.trace_input import open_trace
from trunkline.core.events.trace import encode_trace, parse_trace
from trunkline.sim import Status, judge

HERE = ROOT / "tests/attach/judge/recordings"
#: recording -> what it violates; all that is judged beside that is right
OUTCOMES = {
    # The response of sendMessage is lost after the platform has accepted it: answered twice.
    "hermes-telegram-lost": {"X1"},
    # The topic is deleted while the model thinks: refused, refused again, then sent to the parent.
    "hermes-telegram-topic-gone": {"X3", "X10"},
    # Killed after sendMessage was answered: answered once, and a turn that nobody asked for.
    "hermes-telegram-kill-sent": {"X6"},
    # A direct chat, two topics, the room itself and a second person at once: all right.
    "hermes-telegram-places": set(),
    "openclaw-telegram-plain": set(),
    # The topic is deleted: nothing leaks, and nobody ever hears of it.
    "openclaw-telegram-topic-gone": {"X4"},
    # The response is lost after accept: sent again with the same nonce, and seen once.
    "openclaw-discord-lost": set(),
}


def violated(name: str) -> set[str]:
    trace = open_trace(HERE / f"{name}.wire.jsonl")
    return {verdict.id for verdict in judge(trace.events) if verdict.status is Status.VIOLATED}


def test_each_recording_has_an_outcome():
    assert {path.name.removesuffix(".wire.jsonl") for path in HERE.glob("*.jsonl")} == set(OUTCOMES)


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_recording_is_judged_as_it_was_seen(name: str):
    assert violated(name) == OUTCOMES[name]


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_recording_is_a_trace_like_any_other(name: str):
    trace = open_trace(HERE / f"{name}.wire.jsonl")
    again = parse_trace(encode_trace(trace).splitlines())
    assert again.header.side == "wire"
    assert again.events == trace.events
    assert judge(again.events) == judge(trace.events)
