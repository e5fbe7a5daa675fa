"""What a recording may have that none of ours has: other names, other clocks, older fields, other platforms."""

import json
import re
from typing import Any

import pytest

from tests.support.attach.prototype_wire import HERMES_RESTORED, PrototypeWire
from tests.support.attach.recorded.lines import RecordedLines
from tests.support.attach.recorded.places import RecordedPlaces
from tests.support.attach.recorded.recorded_wire import is_recorded_wire, read_recorded_wire
from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.core.events import EventLog, Trace
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind
from trunkline.sim import Status, judge
from trunkline.sim.events.attach import GatewayAttached
from trunkline.sim.events.model import ModelAsked
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import WireAccepted, WireCalled, WireEdited, WireRefused
from trunkline.sim.events.world import PlatformConnected, PlatformPushed

Facts = list[dict[str, Any]]


def read(facts: Facts, **options: Any) -> Trace:
    return read_recorded_wire([json.dumps(fact).encode() for fact in facts], **options)


def numbered(*facts: dict[str, Any]) -> Facts:
    return [{"seq": number, "at": number / 10, **fact} for number, fact in enumerate(facts, 1)]


def bodies(trace: Trace, kind: type) -> list[Any]:
    return [event.body for event in trace.events if type(event.body) is kind]


def broken(trace: Trace) -> set[str]:
    return {verdict.id for verdict in judge(trace.events) if verdict.status is Status.VIOLATED}


def lost(gateway: str = "hermes", platform: str = "telegram") -> PrototypeWire:
    """Answered twice after a lost response."""
    wire = PrototypeWire(gateway, platform)
    wire.start()
    wire.ask("a1")
    said = wire.model("a1")
    wire.send(said, fault="lose-response", nonce="1")
    wire.send(said, nonce="2")
    return wire


# clocks and numbers


@pytest.mark.parametrize("begins", [0.0, 40.0, 1_795_357_503.25, -5.0])
def test_times_may_be_those_of_any_clock(begins: float):
    wire = lost()
    ours = read(wire.lines)
    theirs = read([{**fact, "at": fact["at"] + begins} for fact in wire.lines])
    first = theirs.events[5].at - ours.events[5].at
    assert [event.at - first for event in theirs.events[5:]] == pytest.approx([event.at for event in ours.events[5:]])
    assert -1.0 <= first <= 40.0
    assert broken(theirs) == broken(ours) == {"X1"}


def test_a_clock_that_is_set_back_stands_still_once():
    wire = lost()
    half = len(wire.lines) // 2
    facts = [{**fact, "at": fact["at"] - (3600.0 if at >= half else 0.0)} for at, fact in enumerate(wire.lines)]
    ours, theirs = read(wire.lines).events, read(facts).events
    step = wire.lines[half]["at"] - wire.lines[half - 1]["at"]
    assert [event.at for event in theirs] == sorted(event.at for event in theirs)
    assert theirs[-1].at == pytest.approx(ours[-1].at - step)


def test_lines_without_numbers_are_numbered():
    facts = [{name: fact[name] for name in fact if name not in ("seq", "call")} for fact in lost().lines]
    assert len(bodies(read(facts), WireAccepted)) == 2
    assert broken(read(facts)) == {"X1"}


# gateways


@for_each(
    ("command", "gateway", "knows"),
    [
        (["hermes", "run"], "hermes", "No home channel"),
        (["/opt/venv/bin/hermes", "run"], "hermes", "No home channel"),
        (["node", "gateway", "run", "--port", "1"], "openclaw", "continuing your interrupted"),
        (["openclaw.mjs", "run"], "openclaw", "continuing your interrupted"),
        (["node", "bot.js"], "node", ""),
        (["trunkline"], "trunkline", ""),
        (["mine.py", "--x"], "mine.py", ""),
    ],
)
def test_a_gateway_is_known_by_its_program(command: list[str], gateway: str, knows: str):
    trace = read(numbered({"kind": "process.started", "command": command}, {"kind": "process.polls", "after": 1.0}))
    (attached,) = bodies(trace, GatewayAttached)
    assert (trace.header.gateway, attached.gateway) == (gateway, gateway)
    assert knows in " ".join(attached.remarks)


# places


def test_the_oldest_room_of_another_server_is_its_channel():
    chats = ["100000001680654185", "100000001058981748", "100000002843489987"]
    places = RecordedPlaces(
        {"kind": "peer.said", "platform": "discord", "chat": one, "message_id": "2195" * 4} for one in chats
    )
    found = [places.address("discord", one) for one in chats]
    assert [one.parent for one in found] == [chats[1], None, chats[1]]
    assert {one.kind for one in found} == {ChatKind.CHANNEL}


def test_rooms_that_were_made_for_the_run_are_threads_of_the_channel_that_is_always_there():
    at = 1_795_357_503_000 - 1_420_070_400_000
    chats = [str((at + more) << 22) for more in (0, 5)]
    said = (
        {"kind": "peer.said", "platform": "discord", "chat": one, "message_id": str((at + 900) << 22)} for one in chats
    )
    places = RecordedPlaces(said)
    assert {places.address("discord", one).parent for one in chats} == {"820000000000000001"}


def test_a_thread_that_was_opened_is_below_its_channel():
    opened = {"kind": "thread.opened", "platform": "discord", "chat": "99", "parent": "77"}
    assert RecordedPlaces([opened]).address("discord", "99").parent == "77"


def test_rooms_without_numbers_have_the_first_as_their_channel():
    said = [{"kind": "peer.said", "platform": "discord", "chat": one} for one in ("ops", "ops-deploy")]
    assert [RecordedPlaces(said).address("discord", one).parent for one in ("ops", "ops-deploy")] == [None, "ops"]


@pytest.mark.parametrize(("platform", "room", "direct"), [("telegram", -100, 7), ("slack", "C1", "D1")])
def test_who_speaks_in_a_room_is_the_person_of_the_first_direct_chat(platform: str, room: object, direct: object):
    chats = [{"kind": "peer.said", "platform": platform, "chat": one} for one in (room, direct, "D9")]
    places = RecordedPlaces(chats)
    assert places.person(places.address(platform, room)) == places.person(places.address(platform, direct))


@pytest.mark.parametrize("platform", ["telegram", "discord", "slack"])
def test_a_notice_to_the_asker_alone_ends_a_question_whose_topic_is_gone(platform: str):
    wire = PrototypeWire("openclaw", platform)
    wire.start()
    wire.answered("w0")
    wire.ask("a1", "topic11")
    wire.send(wire.model("a1"), "topic11", refused="message thread not found")
    assert broken(wire.trace) == {"X4"}
    wire.send("⚠️ Your topic is gone.", "dm")
    assert broken(wire.trace) == set()


@for_each(
    ("why", "reason"),
    [
        ("Bad Request: message thread not found", Reason.PLACE_GONE),
        ("Bad Request: TOPIC_CLOSED", Reason.PLACE_GONE),
        ("chat not found", Reason.PLACE_GONE),
        ("Unknown Channel", Reason.PLACE_GONE),
        ("channel_not_found", Reason.PLACE_GONE),
        ("is_archived", Reason.PLACE_GONE),
        ("Thread is archived", Reason.PLACE_GONE),
        ("message to be replied not found", Reason.REFUSED),
        ("message_not_found", Reason.REFUSED),
        ("Unknown Message", Reason.REFUSED),
        ("", Reason.REFUSED),
    ],
)
def test_a_refusal_says_whether_the_place_is_gone(why: str, reason: Reason):
    fact = {"kind": "refused", "platform": "telegram", "call": 1, "chat": 7, "thread": None, "why": why}
    assert [body.reason for body in bodies(read(numbered(fact)), WireRefused)] == [reason]


# texts


@pytest.mark.parametrize(
    ("mode", "text", "seen"),
    [
        ("MarkdownV2", "AZa1\\-g1 *bold*", "AZa1-g1 bold"),
        ("HTML", "<b>AZa1-g1</b> &amp; more", "AZa1-g1 & more"),
        ("HTML", "AZa1-g1 <unknown>", "AZa1-g1 <unknown>"),
        ("MarkdownV2", "AZa1\\-g1 *open", "AZa1-g1 *open"),
        (None, "AZa1\\-g1", "AZa1-g1"),
    ],
)
def test_texts_are_read_by_the_markup_that_their_request_names(mode: str | None, text: str, seen: str):
    params = {"chat_id": "7", "text": text, "parse_mode": mode}
    facts = numbered(
        {"kind": "call", "platform": "telegram", "method": "sendMessage", "params": params},
        {"kind": "accepted", "platform": "telegram", "call": 1, "chat": 7, "message_id": 2, "text": text},
        {"kind": "call", "platform": "telegram", "method": "editMessageText", "params": {**params, "message_id": 2}},
        {"kind": "edited", "platform": "telegram", "call": 3, "chat": 7, "message_id": 2, "text": text},
    )
    trace = read(facts)
    found = [body.text for kind in (WireCalled, WireAccepted, WireEdited) for body in bodies(trace, kind)]
    assert found == [seen] * 4


def test_a_message_without_a_text_has_none():
    fact = {"kind": "accepted", "platform": "telegram", "call": 1, "chat": 7, "message_id": 2, "text": "null"}
    assert bodies(read(numbered(fact)), WireAccepted)[0].text == ""


# the model


def asked(**fields: Any) -> ModelAsked:
    (body,) = bodies(read(numbered({"kind": "model.asked", **fields})), ModelAsked)
    return body


def test_older_fields_of_a_request_are_enough():
    assert asked(marks=["a1"], tail="QZa1").marks == ("a1",)
    assert asked(answers=["a1"], tail="").marks == ("a1",)
    assert not asked(marks=["a1"], tail="QZa1").beside
    assert asked(marks=["a1"], tail="QZa1", tools=0).beside
    assert not asked(marks=["a1"], tail="QZa1", tools=3).beside
    assert asked(marks=["a1"], tail="QZa1", tools=3, main=False).beside


@pytest.mark.parametrize("limit", [400, 700])
def test_a_part_to_obey_is_known_by_its_end_where_the_tail_begins_in_it(limit: int):
    tail = f"hello QZa1\n{HERMES_RESTORED}\n\nhello QZa2 " + "x" * 200
    tail = (tail if len(tail) >= limit else "x" * (limit - len(tail)) + tail)[-limit:]
    wire = PrototypeWire("hermes", "telegram")
    wire.start()
    wire.ask("a1")
    wire.ask("a2")
    wire.model("a1", "a2", tail=tail)
    (body,) = bodies(wire.trace, ModelAsked)
    assert body.marks == ("a2",)


# platforms of which no gateway was recorded


def matrix(method: str, params: dict[str, Any], **fields: Any) -> Trace:
    return read(
        numbered(
            {"kind": "call", "platform": "matrix", "method": f"PUT rooms/!r:x/send/{method}/t1", "params": params},
            {"kind": "accepted", "platform": "matrix", "call": 1, "chat": "!r:x", "message_id": "$2", **fields},
        )
    )


def test_an_event_of_matrix_that_replaces_another_is_an_edit():
    related = {"rel_type": "m.replace", "event_id": "$1"}
    params = {"body": "* new", "m.new_content": {"body": "new"}, "m.relates_to": related}
    trace = matrix("m.room.message", params, thread="$1", text="* new")
    assert [(body.message_id, body.text) for body in bodies(trace, WireEdited)] == [("$1", "new")]
    assert [(body.what, body.message_id) for body in bodies(trace, WireCalled)] == [("act", "$1")]
    assert not bodies(trace, WireAccepted)


@pytest.mark.parametrize(
    ("related", "recorded", "thread"),
    [
        ({"rel_type": "m.thread", "event_id": "$1"}, "$1", "$1"),
        ({"rel_type": "m.annotation", "event_id": "$1"}, "$1", None),
        ({"m.in_reply_to": {"event_id": "$1"}}, None, None),
        (None, None, None),
    ],
)
def test_a_thread_of_matrix_is_one_relation_of_several(related: Any, recorded: str | None, thread: str | None):
    trace = matrix("m.room.message", {"body": "x", "m.relates_to": related}, thread=recorded, text="x")
    assert [body.address.thread for body in bodies(trace, WireAccepted)] == [thread]


def test_a_reaction_on_matrix_is_no_message():
    related = {"rel_type": "m.annotation", "event_id": "$1", "key": "x"}
    trace = matrix("m.reaction", {"m.relates_to": related}, thread="$1", text=None)
    assert not bodies(trace, WireAccepted)
    assert [body.what for body in bodies(trace, WireCalled)] == [""]


def test_a_connection_that_is_resumed_gets_what_it_missed():
    said = {"kind": "peer.said", "platform": "discord", "chat": "99", "thread": None, "message_id": "5", "text": "QZa1"}
    missed = {"kind": "pushed", "platform": "discord", "message_id": "5", "connections": 0}
    resumed = {"kind": "ws.resume", "platform": "discord", "known": True, "seq": 3}
    assert len(bodies(read(numbered(said, missed, resumed)), PlatformPushed)) == 1
    assert not bodies(read(numbered(said, missed, {**resumed, "known": False})), PlatformPushed)
    heard = {**missed, "connections": 1}
    assert len(bodies(read(numbered(said, heard, resumed)), PlatformPushed)) == 1


def test_slack_is_connected_when_its_socket_is_open_and_discord_later():
    opened = ({"kind": "ws.open", "platform": one} for one in ("slack", "discord"))
    assert [body.channel for body in bodies(read(numbered(*opened)), PlatformConnected)] == ["slack"]


def test_an_orderly_stop_is_something_that_happens_to_a_question():
    stopping = read(numbered({"kind": "process.stopping"}, {"kind": "process.stopped", "code": 0}))
    assert [body.fault for body in bodies(stopping, FaultFired)] == ["restart"]


# what is documented


def test_every_kind_of_line_is_documented_and_no_other():
    rows = (ROOT / "tests/support/attach/recorded/FORMAT.md").read_text(encoding="utf-8").splitlines()
    documented = [
        kind for row in rows if row.startswith("| `") for kind in re.findall(r"`([a-z.]+)`", row.split("|")[1])
    ]
    assert len(documented) == len(set(documented))
    kinds = [
        "model.other",
        "pushed.again",
        "ws.closed",
        *RecordedLines(EventLog(lambda: 0.0), RecordedPlaces(), None).kinds,
    ]
    assert sorted(documented) == sorted(kinds)
    assert all(is_recorded_wire(json.dumps({"seq": 1, "at": 0.1, "kind": kind}).encode()) for kind in kinds)
