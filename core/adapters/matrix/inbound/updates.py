"""The answers of syncs and events of rooms, read with care. Pure.

Fields that are not known are ignored. An unreadable event is a `BadMatrixEvent`, and the next event is read.
"""

import math
import re
from collections.abc import Iterable
from typing import cast

import msgspec

from trunkline.core.adapters.json_values import Json, as_list, as_object, as_text
from trunkline.core.adapters.matrix.content import MatrixEvent, read_direct
from trunkline.core.adapters.matrix.polls import poll_text
from trunkline.core.message_parts import FilePart, LocationPart, MediaKind, OtherPart, Part, QuotePart
from trunkline.core.reasons import Reason
from trunkline.core.values import Deed, DeedKind
from trunkline.core.well_formed import is_well_formed, well_formed

#: messages of people, as far as they can be read as text
_MESSAGES = ("m.room.message", "m.sticker")
_POLLS = ("m.poll.start", "org.matrix.msc3381.poll.start")
ENCRYPTED, REDACTION, REACTION = "m.room.encrypted", "m.room.redaction", "m.reaction"
#: the types of events that the account asks for
TYPES = (*_MESSAGES, *_POLLS, ENCRYPTED, REDACTION, REACTION, "m.room.member", "m.room.encryption", "m.room.create")
_MS = 1000.0


# The text and the parts of a message, read from unknown JSON.

_FILES = {
    "m.image": MediaKind.PICTURE,
    "m.video": MediaKind.VIDEO,
    "m.audio": MediaKind.SOUND,
    "m.file": MediaKind.DOCUMENT,
    "m.sticker": MediaKind.STICKER,
}
#: types of messages that are a text
_TEXTS = ("m.text", "m.emote", "m.notice", "")
#: types of messages of clients and servers, in which no person says anything
SERVICE = ("m.key.verification.request", "m.server_notice")
_VOICE = ("org.matrix.msc3245.voice", "m.voice")
#: a position, RFC 5870
_GEO = re.compile(r"geo:(-?[0-9.]{1,20}),(-?[0-9.]{1,20})")
#: the first line of a quote that old clients put before a reply
_QUOTE_HEAD = re.compile(r"> (?:\* )?<(@[^>\n]*)> ?")


def content_of(type_: str, content: Json, reply_to: str | None) -> tuple[str, tuple[Part, ...]]:
    """The person's text and the parts. `type_`: of the event; `reply_to`: the message that it answers."""
    kind = as_text(content.get("msgtype")) if type_ == "m.room.message" else type_
    body, parts = as_text(content.get("body")), list[Part]()
    if reply_to is not None:
        body, quote = _without_quote(body, reply_to)
        parts += [] if quote is None else [quote]
    if kind in _TEXTS:
        return body, tuple(parts)
    if kind in _FILES:
        part = _file(_FILES[kind], content, body)
        # Since Matrix 1.10 the body is a caption if the file has a name of its own.
        caption = body if content.get("filename") not in (None, body) else ""
        return caption, (*parts, part)
    if kind in ("m.location", "m.beacon_info"):
        return "", (*parts, _location(content, body))
    return body, (*parts, OtherPart(what=kind.removeprefix("m.")))


def _file(kind: MediaKind, content: Json, body: str) -> FilePart:
    info = as_object(content.get("info"))
    size, length = info.get("size"), info.get("duration")
    voice = any(name in content for name in _VOICE)
    return FilePart(
        file=MediaKind.VOICE if voice else kind,
        id=as_text(content.get("url")) or as_text(as_object(content.get("file")).get("url")),
        name="" if kind is MediaKind.STICKER else as_text(content.get("filename")) or body,
        mime_type=as_text(info.get("mimetype")),
        size=size if isinstance(size, int) else None,
        seconds=length / 1000 if isinstance(length, int) else None,
        about=body if kind is MediaKind.STICKER else "",
    )


def _location(content: Json, body: str) -> Part:
    found = _GEO.match(as_text(content.get("geo_uri")))
    try:
        latitude, longitude = (float(number) for number in found.groups()) if found else (None, None)
    except ValueError:
        latitude = longitude = None
    if latitude is None or longitude is None:
        return OtherPart(what="location", text=body)
    return LocationPart(latitude=latitude, longitude=longitude, name=body)


def _without_quote(body: str, reply_to: str) -> tuple[str, QuotePart | None]:
    """A reply without the quote of old clients in front, and the quote."""
    head = _QUOTE_HEAD.match(body)
    if head is None:
        return body, None
    lines = body.split("\n")
    end = next((number for number, line in enumerate(lines) if not line.startswith(">")), len(lines))
    quoted = "\n".join((lines[0][head.end() :], *(line[1:].removeprefix(" ") for line in lines[1:end])))
    rest = "\n".join(lines[end + 1 if end < len(lines) and not lines[end].strip() else end :])
    return rest, QuotePart(text=quoted, author=head[1], message_id=reply_to) if quoted.strip() else None


class MatrixMessage(msgspec.Struct, frozen=True, kw_only=True):
    event_id: str
    sender: str
    text: str
    parts: tuple[Part, ...] = ()
    #: seconds since 1970
    sent_at: float
    #: root of its thread
    thread: str | None = None
    reply_to: str | None = None
    #: a program wrote it, as its type says
    notice: bool = False
    #: it says nothing, but is done to a message
    deed: Deed | None = None


class BadMatrixEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event without a message for the gateway, which must be visible nevertheless."""

    event_id: str
    detail: str
    reason: Reason = Reason.BAD_UPDATE


class MatrixTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """The events in a joined room since the last sync."""

    room: str
    #: events as they came, in order
    events: tuple[object, ...] = ()
    #: there were more events before them, up to this token
    gap_before: str | None = None
    #: the state before the events
    state: tuple[object, ...] = ()


class MatrixInvite(msgspec.Struct, frozen=True, kw_only=True):
    room: str
    #: who invited; empty: it does not say
    sender: str = ""
    #: it is meant to be a direct conversation
    is_direct: bool = False


class SyncAnswer(msgspec.Struct, frozen=True, kw_only=True):
    next_batch: str
    rooms: tuple[MatrixTimeline, ...] = ()
    invites: tuple[MatrixInvite, ...] = ()
    #: rooms that the account is not in any more
    left: tuple[str, ...] = ()
    #: user -> their direct rooms; None: unchanged
    direct: dict[str, tuple[str, ...]] | None = None


def read_sync(found: Json, me: str) -> SyncAnswer | None:
    """An answer of a sync for a user; None for an answer without a token."""
    token = found.get("next_batch")
    if not isinstance(token, str) or not token:
        return None
    rooms = as_object(found.get("rooms"))
    direct: dict[str, tuple[str, ...]] | None = None
    for event in as_list(as_object(found.get("account_data")).get("events")):
        if as_object(event).get("type") == "m.direct":
            direct = read_direct(as_object(as_object(event).get("content")))
    return SyncAnswer(
        next_batch=token,
        rooms=tuple(_timeline(name, as_object(room)) for name, room in _named(rooms.get("join"))),
        invites=tuple(_invite(name, as_object(room), me) for name, room in _named(rooms.get("invite"))),
        left=tuple(as_object(rooms.get("leave"))),
        direct=direct,
    )


def _named(rooms: object) -> list[tuple[str, object]]:
    return [(name, room) for name, room in as_object(rooms).items() if is_well_formed(name)]


def _timeline(room: str, found: Json) -> MatrixTimeline:
    timeline = as_object(found.get("timeline"))
    token = timeline.get("prev_batch")
    gap = timeline.get("limited") is True and isinstance(token, str)
    return MatrixTimeline(
        room=room,
        events=tuple(as_list(timeline.get("events"))),
        gap_before=cast("str", token) if gap else None,
        state=tuple(as_list(as_object(found.get("state")).get("events"))),
    )


def _invite(room: str, found: Json, me: str) -> MatrixInvite:
    for raw in as_list(as_object(found.get("invite_state")).get("events")):
        event = as_object(raw)
        if event.get("type") == "m.room.member" and event.get("state_key") == me:
            sender = event.get("sender")
            direct = as_object(event.get("content")).get("is_direct") is True
            return MatrixInvite(room=room, sender=sender if isinstance(sender, str) else "", is_direct=direct)
    return MatrixInvite(room=room)


def read_event(found: object) -> MatrixEvent | BadMatrixEvent:
    event_id = as_object(found).get("event_id")
    named = well_formed(event_id) if isinstance(event_id, str) else ""
    try:
        event = msgspec.convert(found, MatrixEvent)
    except (msgspec.ValidationError, RecursionError, UnicodeEncodeError) as error:
        return BadMatrixEvent(event_id=named, detail=well_formed(str(error)))
    for name, value in (("event_id", event.event_id), ("sender", event.sender)):
        if not value or not is_well_formed(value):
            return BadMatrixEvent(event_id=named, detail=f"{name} is no id")
    if not math.isfinite(event.origin_server_ts):
        return BadMatrixEvent(event_id=named, detail="origin_server_ts is no time")
    return event


def read_message(event: MatrixEvent) -> MatrixMessage | BadMatrixEvent | None:
    """The message in an event; None for any other event, such as an edit or a deleted message."""
    if event.state_key is not None or "redacted_because" in event.unsigned:
        return None
    if event.type == ENCRYPTED:
        detail = "the message is encrypted: invite the user to rooms without encryption"
        return BadMatrixEvent(event_id=event.event_id, detail=detail, reason=Reason.UNSUPPORTED)
    if event.type not in (*_MESSAGES, *_POLLS):
        return None
    relation = as_object(event.content.get("m.relates_to"))
    if relation.get("rel_type") == "m.replace":
        return None
    if (kind := event.content.get("msgtype")) in SERVICE:
        return BadMatrixEvent(event_id=event.event_id, detail=f"a note of type {kind}", reason=Reason.SERVICE_MESSAGE)
    thread, reply_to = _place(relation)
    poll = poll_text(event.content) if event.type in _POLLS else None
    if (event.type in _POLLS and poll is None) or (poll is None and not isinstance(event.content.get("body"), str)):
        return BadMatrixEvent(event_id=event.event_id, detail="the message has no body")
    text, parts = content_of(event.type, event.content, reply_to) if poll is None else (poll, ())
    for name, value in (("thread", thread), ("reply", reply_to)):
        if value is not None and not is_well_formed(value):
            return BadMatrixEvent(event_id=event.event_id, detail=f"the id of its {name} is no id")
    return MatrixMessage(
        event_id=event.event_id,
        sender=event.sender,
        text=well_formed(text),
        parts=parts,
        sent_at=event.origin_server_ts / _MS,
        thread=thread,
        reply_to=reply_to,
        notice=event.content.get("msgtype") == "m.notice",
    )


def redacted_by(event: MatrixEvent) -> object:
    """The deleted message of a redaction. Newer rooms have the id in the content."""
    return event.redacts or event.content.get("redacts")


def read_deed(event: MatrixEvent) -> MatrixMessage | None:
    """The deed of a person on a message, without the thread of the message; None for any other event."""
    if event.state_key is not None or "redacted_because" in event.unsigned:
        return None
    relation, new = as_object(event.content.get("m.relates_to")), as_object(event.content.get("m.new_content"))
    of, text = relation.get("event_id"), ""
    match event.type, relation.get("rel_type"):
        case "m.room.redaction", _:
            kind, of = DeedKind.DELETE, redacted_by(event)
        case "m.reaction", "m.annotation":
            kind, text = DeedKind.REACT, as_text(relation.get("key"))
        case "m.room.message", "m.replace":
            kind, text = DeedKind.EDIT, content_of(event.type, new, None)[0]
        case _:
            return None
    if not isinstance(of, str) or not of or not is_well_formed(of):
        return None
    return MatrixMessage(
        event_id=event.event_id,
        sender=event.sender,
        text=well_formed(text),
        sent_at=event.origin_server_ts / _MS,
        notice=new.get("msgtype") == "m.notice",
        deed=Deed(kind=kind, of=of),
    )


def thread_of(content: Json) -> str | None:
    """The root of the thread around a message."""
    return _place(as_object(content.get("m.relates_to")))[0]


def _place(relation: Json) -> tuple[str | None, str | None]:
    """The thread and the quoted message of a relation. What only clients without threads see as a quote is none."""
    root, quoted = relation.get("event_id"), as_object(relation.get("m.in_reply_to")).get("event_id")
    thread = root if relation.get("rel_type") == "m.thread" and isinstance(root, str) and root else None
    reply_to = quoted if isinstance(quoted, str) and quoted else None
    return thread, None if thread is not None and relation.get("is_falling_back") is True else reply_to


def after_joining(events: Iterable[object], me: str) -> list[object]:
    """The events of a room since the account's invitation, or since joining; all events without either."""
    there = list(events)
    for membership in ("invite", "join"):
        for number, raw in enumerate(there):
            event = as_object(raw)
            if is_membership(event, me, membership):
                return there[number + 1 :]
    return there


def is_new_room(timeline: MatrixTimeline, me: str) -> bool:
    """Whether the account has joined a room since the last sync.

    Then the server sends the whole state. The account's membership alone comes with each of its own messages.
    """
    begins = any(as_object(event).get("type") == "m.room.create" for event in (*timeline.state, *timeline.events))
    return begins or any(is_membership(event, me, "join") for event in timeline.events)


def begins_membership(found: object, me: str) -> bool:
    """Whether an event is the account's first: an invitation, or joining without an invitation."""
    before = as_object(as_object(as_object(found).get("unsigned")).get("prev_content")).get("membership")
    return is_membership(found, me, "invite") or (is_membership(found, me, "join") and before != "invite")


def is_membership(found: object, me: str, membership: str) -> bool:
    """Whether an event makes the account an invited or a joined member for the first time."""
    event = as_object(found)
    before = as_object(as_object(event.get("unsigned")).get("prev_content")).get("membership")
    return (
        event.get("type") == "m.room.member"
        and event.get("state_key") == me
        and as_object(event.get("content")).get("membership") == membership
        and before != membership
    )
