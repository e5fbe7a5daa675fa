"""What becomes of what people do to messages that are there already."""

from typing import Any

from tests.support.factories import direct, work
from tests.support.for_each import for_each
from trunkline.core.message_parts import FilePart, MediaKind
from trunkline.core.reasons import Reason
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.rows import SessionRow, Work
from trunkline.core.sessions.deeds import decide_deed
from trunkline.core.values import Deed, DeedKind, Envelope, IntentId, Peer, SessionId, WorkKind

ANA, BO = Peer(id="100", name="Ana"), Peer(id="7", name='Bo "the gateway"')
SESSION = SessionRow(key="main:x", id=SessionId("s1"), generation=1, created=False)
PICTURE = FilePart(file=MediaKind.PICTURE, source="u", name="lamp.jpg")
OURS: dict[str, Any] = {"work": None, "intent": IntentId("i1"), "text": "the answer"}


def decide(kind: str, new: str = "", peer: Peer = ANA, question: Work | None = None, **subject: Any) -> DeedPlan:
    """The plan for a deed of somebody; by default the message is Ana's `hello`, which is answered already."""
    envelope = Envelope(address=direct(), peer=peer, message_id="d1", text=new, sent_at=1.0)
    usual: dict[str, Any] = {"session": SESSION, "agent": "main", "text": "hello"}
    usual["work"] = question or work(text="hello")
    return decide_deed(envelope, Deed(kind=DeedKind(kind), of="m1"), DeedSubject(**usual | subject), question)


@for_each(
    ("given", "outcome", "reason"),
    [
        ({"kind": "edit", "new": "hullo", "question": work(text="hello")}, "changed", None),
        ({"kind": "edit", "new": "hullo"}, "noted", None),
        ({"kind": "edit", "new": "hello", "question": work(text="hello")}, "dropped", Reason.UNCHANGED),
        ({"kind": "edit", "new": "hullo", "peer": BO}, "dropped", Reason.NOT_OWN_MESSAGE),
        ({"kind": "edit", "new": "hullo", **OURS}, "dropped", Reason.NOT_OWN_MESSAGE),
        ({"kind": "edit", "new": "hullo", "question": work(text="hello", several=True)}, "noted", None),
        ({"kind": "edit", "new": "/bye", "question": work(text="/hi", kind=WorkKind.CONTROL)}, "noted", None),
        ({"kind": "delete", "question": work(text="hello")}, "withdrawn", Reason.WITHDRAWN),
        ({"kind": "delete", "question": work(text="/hi", kind=WorkKind.CONTROL)}, "withdrawn", Reason.WITHDRAWN),
        ({"kind": "delete", "question": work(text="hello", several=True)}, "noted", None),
        ({"kind": "delete"}, "noted", None),
        ({"kind": "delete", **OURS}, "dropped", Reason.NOT_OWN_MESSAGE),
        ({"kind": "react", "new": "👍", "question": work(text="hello")}, "noted", None),
        ({"kind": "react", "new": "👍", **OURS}, "noted", None),
        ({"kind": "react", "new": "👍", "known": True, **OURS}, "dropped", Reason.DUPLICATE_MESSAGE),
        ({"kind": "edit", "new": "hullo", "deleted": True}, "dropped", Reason.UNKNOWN_MESSAGE),
    ],
)
def test_what_becomes_of_a_deed(given: dict[str, Any], outcome: str, reason: Reason | None) -> None:
    plan = decide(**given)
    assert (plan.outcome, plan.reason) == (outcome, reason)
    assert bool(plan.note) is (outcome == "noted")


def test_a_deed_on_what_no_session_has_is_dropped() -> None:
    envelope = Envelope(address=direct(), peer=ANA, message_id="d1", text="", sent_at=1.0)
    plan = decide_deed(envelope, Deed(kind=DeedKind.DELETE, of="m9"), None, None)
    assert (plan.outcome, plan.reason) == ("dropped", Reason.UNKNOWN_MESSAGE)


def test_an_edited_question_keeps_its_files() -> None:
    question = work(text="see\n[picture lamp.jpg: u]", parts=(PICTURE,))
    plan = decide("edit", "look", question=question)
    assert plan.work is not None
    assert plan.work.text.startswith("look\n")
    assert "lamp.jpg" in plan.work.text
    assert plan.text == plan.work.text


@for_each(
    ("given", "note"),
    [
        ({"kind": "edit", "new": 'hu"llo'}, r'Ana edited the message "hello": "hu\"llo"'),
        ({"kind": "delete"}, 'Ana deleted the message "hello"'),
        ({"kind": "delete", "peer": Peer(id="")}, 'The message of Ana: "hello" was deleted'),
        ({"kind": "delete", "peer": BO}, r'The message of Ana: "hello" was deleted by "Bo \"the gateway\""'),
        ({"kind": "react", "new": "👍", **OURS}, 'Ana reacted with "👍" to your message "the answer"'),
        (
            {"kind": "react", "new": "👍", "peer": BO},
            r'"Bo \"the gateway\"" reacted with "👍" to the message of Ana: "hello"',
        ),
        ({"kind": "react", "new": "👍"}, 'Ana reacted with "👍" to their message "hello"'),
        ({"kind": "unreact", "new": "", **OURS}, 'Ana took back the reaction to your message "the answer"'),
    ],
)
def test_a_note_quotes_what_people_chose(given: dict[str, Any], note: str) -> None:
    assert decide(**given).note == note


def test_a_long_message_is_quoted_in_part() -> None:
    assert decide("delete", text="x" * 999).note == f'Ana deleted the message "{"x" * 199}…"'
