"""Decides on the deeds of people: edits, deletions and reactions. Pure."""

import json
import re

from msgspec import structs

from trunkline.core.message_parts import with_words
from trunkline.core.reasons import Reason
from trunkline.core.records.deeds import DeedPlan, DeedSubject
from trunkline.core.records.reserved_sender import as_person
from trunkline.core.records.rows import Work
from trunkline.core.values import Deed, DeedKind, Envelope, Peer, WorkKind

#: characters of a message that a note is about
_QUOTED = 200
#: names that need no quotation marks: they could be no words of the gateway
_PLAIN = re.compile(r"\w[\w.@+-]{0,39}")


def decide_deed(envelope: Envelope, deed: Deed, subject: DeedSubject | None, question: Work | None) -> DeedPlan:
    """The plan for a deed. `question`: the message that it is done to, if its turn is still to begin."""
    if subject is not None and subject.known:
        return _dropped(Reason.DUPLICATE_MESSAGE)
    if subject is None or subject.deleted:
        return _dropped(Reason.UNKNOWN_MESSAGE)
    work = subject.work
    changes = deed.kind in (DeedKind.EDIT, DeedKind.DELETE)
    if changes and (work is None or (deed.kind is DeedKind.EDIT and work.peer.id != envelope.peer.id)):
        # On some platforms anybody can say that a message is another one now; a lost message of ours has its own end.
        return _dropped(Reason.NOT_OWN_MESSAGE)
    # Of what was said in several messages, one alone is neither the question nor its line.
    whole = work is not None and not work.several
    text = with_words(envelope.text, work.parts) if work is not None and whole and deed.kind is DeedKind.EDIT else None
    deletes = whole and deed.kind is DeedKind.DELETE
    if text == subject.text:
        return _dropped(Reason.UNCHANGED)
    if question is not None and text is not None and question.kind is WorkKind.MESSAGE:
        return DeedPlan(outcome="changed", work=structs.replace(question, text=text), text=text)
    if question is not None and deletes:
        return DeedPlan(outcome="withdrawn", reason=Reason.WITHDRAWN, deletes=True)
    note = note_about(envelope, deed, subject)
    return DeedPlan(outcome="noted", note=note, deletes=deletes, text=text)


def _dropped(reason: Reason) -> DeedPlan:
    return DeedPlan(outcome="dropped", reason=reason)


def note_about(envelope: Envelope, deed: Deed, subject: DeedSubject) -> str:
    """The line of the transcript about a deed. Words of people are quoted: they may look like words of the gateway."""
    author = None if subject.work is None else subject.work.peer
    who, text = _name(envelope.peer), _quoted(subject.text, _QUOTED)
    by_author = author is not None and author.id == envelope.peer.id
    emoji = f" {_quoted(envelope.text)}" if envelope.text else ""
    whose = "your message" if author is None else "their message" if by_author else f"the message of {_name(author)}:"
    match deed.kind:
        case DeedKind.EDIT:
            return f"{who} edited the message {text}: {_quoted(envelope.text)}"
        case DeedKind.DELETE if by_author:
            return f"{who} deleted the message {text}"
        case DeedKind.DELETE:
            by = f" by {who}" if envelope.peer.id else ""
            return f"{whose[0].upper()}{whose[1:]} {text} was deleted{by}"
        case DeedKind.REACT:
            return f"{who} reacted with{emoji} to {whose} {text}"
        case DeedKind.UNREACT:
            return f"{who} took back the reaction{emoji} to {whose} {text}"


def _name(peer: Peer) -> str:
    shown = as_person(peer)
    name = " ".join((shown.name or shown.id).split())
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def _quoted(text: str, most: int | None = None) -> str:
    shown = text if most is None or len(text) <= most else f"{text[: most - 1]}…"
    return json.dumps(shown, ensure_ascii=False)
