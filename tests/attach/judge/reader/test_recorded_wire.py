"""A recorded wire is read line by line: what each kind becomes, and what is wrong with a file that is none."""

import json
from typing import Any

import pytest

from tests.support.attach.recorded.places import RecordedPlaces, name_of
from tests.support.attach.recorded.recorded_wire import is_recorded_wire, open_recording, read_recorded_wire
from tests.support.for_each import for_each
from tests.support.paths import ROOT
from trunkline.core.events import Body, Trace
from trunkline.core.events.base import RunEnded
from trunkline.core.events.trace import TraceError
from trunkline.core.reasons import Reason
from trunkline.core.values import ChatKind
from trunkline.sim.events.attach import GatewayAttached, GatewayExited, GatewayLaunched, GatewayReady
from trunkline.sim.events.model import ModelAnswered, ModelAsked
from trunkline.sim.events.processes import ProcessCrashed, ProcessFrozen, ProcessStopped, ProcessThawed
from trunkline.sim.events.script import FaultFired
from trunkline.sim.events.wire import (
    WireAccepted,
    WireCalled,
    WireDeduplicated,
    WireDeleted,
    WireEdited,
    WireRefused,
    WireResponded,
    WireResponseLost,
)
from trunkline.sim.events.world import PlatformConfirmed, PlatformConnected, PlatformPushed, ThreadClosed, ThreadOpened

RECORDINGS = ROOT / "tests/attach/judge/recordings"
LOST = RECORDINGS / "hermes-telegram-lost.wire.jsonl"
STARTED: dict[str, Any] = {"kind": "process.started", "command": ["hermes", "run"]}
POLLS: dict[str, Any] = {"kind": "process.polls", "after": 1.0}
SAID: dict[str, Any] = {
    "kind": "peer.said",
    "platform": "telegram",
    "chat": 7,
    "thread": None,
    "message_id": 1,
    "update_id": 9,
    "text": "QZa1",
}
SEND: dict[str, Any] = {
    "kind": "call",
    "platform": "telegram",
    "method": "sendMessage",
    "params": {"chat_id": "7", "text": "AZa1\\-g1"},
}


def read(*facts: dict[str, Any], start: bool = True) -> Trace:
    every = [*((STARTED, POLLS) if start else ()), *facts]
    lines = [json.dumps({"seq": number, "at": number / 10, **fact}).encode() for number, fact in enumerate(every, 1)]
    return read_recorded_wire(lines)


def bodies(kind: type[Body], *facts: dict[str, Any]) -> list[Any]:
    return [event.body for event in read(*facts).events if type(event.body) is kind]


def on(platform: str, kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "platform": platform, **fields}


def test_a_recording_is_known_by_its_first_line():
    assert is_recorded_wire(b'{"seq": 1, "at": 0.02, "kind": "process.started", "command": ["hermes", "run"]}')
    assert not is_recorded_wire(b'{"trunkline_trace":1,"scenario":"plain"}')
    assert not is_recorded_wire(b'{"seq":1,"at":0.1,"node":"sim","kind":"run.phase","body":{"phase":"faults"}}')
    assert not is_recorded_wire(b"scenario: 1")
    assert not is_recorded_wire(b"[1]")
    assert not is_recorded_wire(b"\xff")


def test_the_gateway_is_known_by_its_command_and_brings_its_notices():
    (attached,) = bodies(GatewayAttached)
    assert attached.gateway == "hermes"
    assert any("No home channel" in text for text in attached.remarks)
    assert read().header.gateway == "hermes"
    other = read({"kind": "process.started", "command": ["mine"]}, start=False)
    assert other.header.gateway == "mine"


@pytest.mark.parametrize(
    ("fact", "kind"),
    [
        ({"kind": "process.killed", "why": "test", "processes": 3}, ProcessCrashed),
        ({"kind": "process.stopped", "code": 0}, ProcessStopped),
        ({"kind": "process.exited", "code": 1}, GatewayExited),
        ({"kind": "process.frozen"}, ProcessFrozen),
        ({"kind": "process.thawed"}, ProcessThawed),
        (on("discord", "ws.identify", intents=1, properties={}), PlatformConnected),
        (on("discord", "ws.resume", known=True, seq=3), PlatformConnected),
        (on("telegram", "fault.fired", method="confirm", do="kill"), FaultFired),
        (on("telegram", "place.gone", chat=-1, thread=11), ThreadClosed),
        (on("discord", "thread.opened", call=1, chat="99", parent="820000000000000001"), ThreadOpened),
        (on("model", "model.asked", main=True, marks=["a1"], answers=["a1"], tail="QZa1"), ModelAsked),
        ({"kind": "model.answered", "call": 1, "text": "AZa1-g1"}, ModelAnswered),
        (SEND, WireCalled),
        (on("telegram", "edited", call=1, chat=7, message_id=2, text="x"), WireEdited),
        (on("telegram", "deleted", call=1, chat=7, message_id=2), WireDeleted),
        (on("discord", "deduplicated", call=1, chat="99", message_id="5", nonce="n"), WireDeduplicated),
    ],
    ids=lambda one: one["kind"] if isinstance(one, dict) else "",
)
def test_each_kind_becomes_its_event(fact: dict[str, Any], kind: type[Body]):
    assert bodies(kind, fact)


def test_starts_are_counted():
    assert [body.number for body in bodies(GatewayLaunched, STARTED, POLLS)] == [1, 2]
    assert [body.number for body in bodies(GatewayReady, STARTED, POLLS)] == [1, 2]


@for_each(
    "fact",
    [
        {"kind": "model.other", "path": "/x", "method": "GET"},
        {"kind": "unheard.of", "what": [1, {"x": None}]},
        on("discord", "ws.open", query={}),
        on("discord", "ws.closed", code=None),
        {"kind": "pushed.again", "update": 4},
        on("slack", "acked", envelope="env-77"),
        on("telegram", "pushed", updates=[404], offset=0),
        on("telegram", "poll", offset=0, timeout=1, confirmed=[], allowed="[]"),
    ],
    ids=lambda one: str(one["kind"]),
)
def test_what_says_nothing_about_a_message_is_left_out(fact: dict[str, Any]):
    kinds = [event.kind for event in read(fact).events if event.kind != "world.account"]
    assert kinds == [event.kind for event in read().events]


def test_a_message_is_handed_out_and_confirmed_by_its_update():
    pushed, poll = on("telegram", "pushed", updates=[9]), on("telegram", "poll", confirmed=[9])
    dropped = on("telegram", "dropped", call=1, updates=[9])
    found = bodies(PlatformPushed, SAID, pushed, pushed)
    assert [(body.message_id, body.replay) for body in found] == [("1", False), ("1", True)]
    assert [body.dropped for body in bodies(PlatformConfirmed, SAID, poll, dropped)] == [False, True]


def test_nothing_is_handed_out_where_nobody_is_connected():
    said = on("discord", "peer.said", chat="99", thread=None, message_id="5", text="QZa1")
    assert not bodies(PlatformPushed, said, on("discord", "pushed", message_id="5", connections=0))
    assert bodies(PlatformPushed, said, on("discord", "pushed", message_id="5", connections=1))


def test_an_envelope_of_slack_has_the_number_of_its_message():
    said = on("slack", "peer.said", chat="D0ANA00001", thread=None, message_id="1795.000017", text="QZa1")
    assert bodies(PlatformPushed, said, on("slack", "pushed", envelope="env-17", attempt=0))
    assert bodies(PlatformConfirmed, said, on("slack", "acked", envelope="env-17"))


def accepted(**fields: Any) -> dict[str, Any]:
    return on("telegram", "accepted", call=3, method="sendMessage", chat=7, message_id=2, text="AZa1\\-g1", **fields)


def test_texts_are_as_people_read_them():
    assert [body.text for body in bodies(WireCalled, SEND)] == ["AZa1-g1"]
    assert [body.text for body in bodies(WireAccepted, SEND, accepted())] == ["AZa1-g1"]


@pytest.mark.parametrize(
    ("do", "responses", "lost"),
    [("kill-after", 1, 0), ("lose-response", 0, 1), ("kill", 0, 1), ("hang", 0, 1), ("delay", 1, 0)],
)
def test_a_response_is_recorded_unless_a_fault_withholds_it(do: str, responses: int, lost: int):
    facts = (SEND, on("telegram", "fault.fired", method="sendMessage", do=do), accepted())
    assert len(bodies(WireResponded, *facts)) == responses
    assert len(bodies(WireResponseLost, *facts)) == lost
    assert [body.fault for body in bodies(FaultFired, *facts)] == [f"send/{do}"]


def test_a_fault_on_the_model_strikes_the_request_before_it():
    asked = on("model", "model.asked", main=True, marks=["a1"], answers=["a1"], tail="QZa1")
    trace = read(asked, on("model", "fault.fired", method="chat", do="500"))
    (fault,) = (event for event in trace.events if isinstance(event.body, FaultFired))
    (request,) = (event for event in trace.events if isinstance(event.body, ModelAsked))
    assert fault.cause == request.seq


@pytest.mark.parametrize(
    ("do", "reason"),
    [
        ("429", Reason.RATE_LIMITED),
        ("500", Reason.PLATFORM_ERROR),
        ("502", Reason.PLATFORM_ERROR),
        ("400", Reason.REFUSED),
    ],
)
def test_a_fault_that_refuses_is_a_refusal(do: str, reason: Reason):
    (refused,) = bodies(WireRefused, SEND, on("telegram", "fault.fired", method="sendMessage", do=do))
    assert refused.reason is reason


@pytest.mark.parametrize("why", ["message thread not found", "Unknown Channel", "thread_not_found", "topic is closed"])
def test_a_place_that_is_gone_is_refused_as_such(why: str):
    (refused,) = bodies(WireRefused, SEND, on("telegram", "refused", call=3, chat=7, thread=None, why=why))
    assert refused.reason is Reason.PLACE_GONE


def test_a_digest_leaves_keys_out_and_nothing_else():
    def digest(**params: Any) -> str:
        call = on("discord", "call", method="POST /channels/:id/messages", path="/channels/99/messages", params=params)
        return bodies(WireCalled, call)[0].digest

    assert digest(content="x", nonce="1") == digest(content="x", nonce="2")
    assert digest(content="x") != digest(content="x", flags=4)


def test_places_are_known_by_what_their_platforms_call_them():
    places = RecordedPlaces()
    assert places.address("telegram", 7).kind is ChatKind.DIRECT
    assert places.address("telegram", -100, 1) == places.address("telegram", -100)
    assert places.address("telegram", -100, 11).thread == "11"
    direct, thread = places.address("discord", "840000000000010001"), places.address("discord", "1574")
    assert (direct.kind, places.person(direct).id) == (ChatKind.DIRECT, "840000000000010001")
    assert (thread.parent, name_of(thread)) == ("820000000000000001", "820000000000000001/1574")
    assert places.address("slack", "C1", "1.2").thread == "1.2"
    assert places.address("slack", "U0ANA00001").kind is ChatKind.DIRECT
    with pytest.raises(ValueError, match="no chat"):
        places.address("slack", None)


def test_a_start_that_came_to_nothing_leaves_the_end_unjudged():
    ended = read(STARTED).events[-1].body
    assert isinstance(ended, RunEnded)
    assert ended.cut == "before the gateway was connected again"
    assert read().events[-1].body == RunEnded(at_rest=True)


# files


def test_a_line_that_is_none_is_named(tmp_path):
    path = tmp_path / "some.wire.jsonl"
    path.write_bytes(LOST.read_bytes() + b"{}\n")
    with pytest.raises(TraceError, match=r"some\.wire\.jsonl:51: not a line of a recorded wire"):
        open_recording(path)
    assert open_recording(path, cut=True).cut.startswith(f"{path}:51: ")


def test_a_line_without_what_its_kind_needs_is_named(tmp_path):
    path = tmp_path / "some.wire.jsonl"
    path.write_bytes(LOST.read_bytes() + b'{"seq": 51, "at": 40, "kind": "accepted", "platform": "telegram"}\n')
    with pytest.raises(TraceError, match=r"some\.wire\.jsonl:51: unusable line of the kind 'accepted'"):
        open_recording(path)


# damaged files

WHOLE = LOST.read_bytes()
LINES = WHOLE.splitlines(keepends=True)


def after(number: int, line: str | bytes) -> bytes:
    """The first lines of a recording, and another line."""
    return b"".join(LINES[:number]) + (line.encode() if isinstance(line, str) else line) + b"\n"


def fact(**fields: object) -> str:
    return json.dumps({"seq": 20, "at": 20.0, **fields})


#: file -> where the error is, and what it says
BAD = {
    "torn": (WHOLE[:3000], ":21: not a line of a recorded wire (Input data was truncated)"),
    "bad UTF-8": (after(4, b'{"seq": 5, "at": 1, "kind": "peer.said", "text": "\xff"}'), ":5: not a line"),
    "half a character": (after(4, r'{"seq": 5, "at": 1, "kind": "peer.said", "text": "\ud800"}'), ":5: not a line"),
    "no object": (after(4, "[1]"), ":5: not a line of a recorded wire (it is no JSON object)"),
    "no time": (after(4, '{"seq": 5, "kind": "poll"}'), ":5: not a line of a recorded wire (it has no `kind`, or no"),
    "a time of day": (after(4, fact(at="12:00", kind="poll")), ":5: not a line of a recorded wire (it has no `kind`"),
    "an endless time": (after(4, '{"seq": 5, "at": 1e999, "kind": "poll"}'), ":5: not a line of a recorded wire ("),
    "a long time": (after(4, fact(at=10**400, kind="poll")), ":5: "),
    "no number": (after(4, fact(seq="x", kind="poll")), ":5: not a line of a recorded wire (its number `seq` is none)"),
    "two recordings": (WHOLE + WHOLE, ":51: not a line of a recorded wire (its number 1 was there before: two"),
    "a field of another type": (after(4, fact(kind="poll", confirmed=5)), ":5: unusable line of the kind 'poll' ("),
    "no chat": (
        after(4, fact(kind="accepted", platform="telegram", message_id=4)),
        ":5: unusable line of the kind 'accepted' (it names no chat)",
    ),
    "no message": (
        after(4, fact(kind="accepted", platform="telegram", chat=7)),
        ":5: unusable line of the kind 'accepted' (it has no `message_id`)",
    ),
    "deep": (after(4, fact(kind="call", params=0)[:-2] + "[" * 100_000 + "]" * 100_000 + "}"), ":5: not a line"),
    "after an empty line": (LINES[0] + b"\n" + b"{}\n", ":3: not a line of a recorded wire"),
    "a sign of the terminal": (after(4, fact(kind="accepted", platform="\x1b[31m")), ":5: unusable line"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_line_that_cannot_be_read_is_named_and_ends_what_is_read(tmp_path, name: str):
    content, problem = BAD[name]
    path = tmp_path / "run.wire.jsonl"
    path.write_bytes(content)
    with pytest.raises(TraceError) as error:
        open_recording(path)
    assert problem in error.value.facts
    assert open_recording(path, cut=True).cut.startswith(f"{path}:{problem.split(':')[1]}: ")


def test_a_line_of_megabytes_is_a_line(tmp_path):
    path = tmp_path / "run.wire.jsonl"
    long = fact(kind="call", platform="telegram", method="sendMessage", params={"chat_id": 7, "text": "x" * 3_000_000})
    path.write_bytes(after(9, long))
    assert open_recording(path).cut == ""
