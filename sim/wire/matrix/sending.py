"""Writes of clients: events, redactions, pins and names become requests to the platform."""

from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, Poll, Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.wire.json_values import Json, mapping, sequence
from trunkline.sim.wire.matrix.bodies import MatrixSays, body_of, derived_id, event, reaction_id, refused
from trunkline.sim.wire.matrix.hosts import MatrixCall

_STARTS = ("m.poll.start", "org.matrix.msc3381.poll.start")
_RESPONSES = ("m.poll.response", "org.matrix.msc3381.poll.response")
_TEXT = "org.matrix.msc1767.text"
_LONGEST_EVENT = 65_536
#: whether the account is in the room of a request, and whether the request names a thread
PLACE = web.RequestKey("place", tuple[bool, bool])


class MadeEvent(msgspec.Struct, frozen=True, kw_only=True):
    """The event that a change is on the wire."""

    kind: str
    event_id: str
    content: Json
    txn: str = ""


async def send(at: MatrixCall) -> web.StreamResponse:
    """`PUT /rooms/{room}/send/{type}/{txn}`."""
    raw, kind = await at.request.read(), at.part("type")
    content = body_of(raw)
    if len(raw) > _LONGEST_EVENT:
        raise MatrixSays(413, "M_TOO_LARGE", "event too large")
    relation = mapping(content.get("m.relates_to"))
    if kind == "m.room.message" and relation.get("rel_type") == "m.replace":
        return await _edit(at, content)
    if kind == "m.reaction":
        return await _react(at, relation)
    if kind in _RESPONSES:
        return await _vote(at, kind, content)
    if kind == "m.room.message" or kind in _STARTS:
        return await _message(at, kind, content)
    raise MatrixSays(400, "M_UNRECOGNIZED", f"this server has no events of the type {kind}")


async def _message(at: MatrixCall, kind: str, content: Json) -> web.StreamResponse:
    text = content.get("body") if kind == "m.room.message" else content.get(_TEXT, content.get("body", ""))
    if not isinstance(text, str) or (kind == "m.room.message" and not isinstance(content.get("msgtype"), str)):
        raise MatrixSays(400, "M_UNKNOWN", "'body' or 'msgtype' not in content")
    thread, reply_to = _place(content)
    place, txn = at.server.names.address(at.account, at.part("room"), thread), at.part("txn")
    given: dict[str, Any] = {"reply_to": reply_to}
    if isinstance(content.get("url"), str):
        given["media"] = (content["url"],)
        text = "" if text == content.get("filename", text) else text
    if content.get("format") == "org.matrix.custom.html" and isinstance(content.get("formatted_body"), str):
        given["html"] = content["formatted_body"]
    if kind in _STARTS:
        given["poll"] = poll_of(content)
    request = at.server.send_request(place, text, txn, **given)
    at.server.contents[at.account, request.key] = (kind, content, txn)

    def answer(receipt: Receipt) -> web.StreamResponse:
        at.server.log(at.account)
        return web.json_response({"event_id": receipt.provider_id})

    _note_place(at, place)
    return await at.server.send(at.request, request, at.token, answer)


def _note_place(at: MatrixCall, place: Address) -> None:
    at.request[PLACE] = (at.room is not None, place.thread is not None)


async def _act(at: MatrixCall, change: ActionRequest, made: MadeEvent | None) -> web.StreamResponse:
    """Carry a change out; `made` is the event that it is on the wire."""

    def answer(_: Receipt) -> web.StreamResponse:
        if made is None:
            return web.json_response({})
        log = at.server.log(at.account)
        if made.event_id not in log.events:
            found = event(at.part("room"), made.kind, made.event_id, at.me, at.server.date(), made.content)
            if "redacts" in made.content:
                # Servers say it in both places: clients of rooms before version 11 look beside the content.
                found["redacts"] = made.content["redacts"]
            log.add(at.part("room"), {**found, "unsigned": {**found["unsigned"], "transaction_id": made.txn}})
        return web.json_response({"event_id": made.event_id})

    _note_place(at, change.address)
    return await at.server.act(at.request, change, at.token, answer)


async def _edit(at: MatrixCall, content: Json) -> web.StreamResponse:
    found = _related(at, mapping(content.get("m.relates_to")))
    text, html = (mapping(content.get("m.new_content")).get(name) for name in ("body", "formatted_body"))
    if not isinstance(text, str):
        raise MatrixSays(400, "M_BAD_JSON", "'m.new_content' has no body")
    change = _change(Action.EDIT, found, at, text=text, html=html if isinstance(html, str) else None)
    event_id = derived_id("edit", at.account, at.part("txn"))
    made = MadeEvent(kind="m.room.message", event_id=event_id, content=content, txn=at.part("txn"))
    return await _act(at, change, made)


async def _react(at: MatrixCall, relation: Json) -> web.StreamResponse:
    found, emoji = _related(at, relation), relation.get("key")
    if not isinstance(emoji, str) or relation.get("rel_type") != "m.annotation":
        raise MatrixSays(400, "M_UNKNOWN", "Missing aggregation key")
    own = (at.account, at.request.path)
    again = at.me in found.reactions.get(emoji, ()) and own not in at.server.reacted
    at.server.reacted.add(own)
    change = _change(Action.REACT, found, at, text=emoji)
    event_id, content = reaction_id(found.id, emoji, at.me), {"m.relates_to": relation}
    made = MadeEvent(kind="m.reaction", event_id=event_id, content=content, txn=at.part("txn"))
    response = await _act(at, change, made)
    if again and response.status == 200:
        raise MatrixSays(400, "M_DUPLICATE_ANNOTATION", "Can't send same reaction twice")
    return response


async def _vote(at: MatrixCall, kind: str, content: Json) -> web.StreamResponse:
    found = _related(at, mapping(content.get("m.relates_to")))
    given = next((mapping(content.get(name)) for name in _RESPONSES if name in content), Json())
    answers = [option for option in sequence(given.get("answers")) if isinstance(option, str)]
    fields = msgspec.json.encode({"pollOptionIndexes": answers}).decode()
    change = _change(Action.POLL_VOTE, found, at, fields=fields)
    event_id = derived_id("vote", at.account, at.part("txn"))
    return await _act(at, change, MadeEvent(kind=kind, event_id=event_id, content=content, txn=at.part("txn")))


async def redact(at: MatrixCall) -> web.StreamResponse:
    """`PUT /rooms/{room}/redact/{event}/{txn}`: of a message, or of a reaction, which takes it away."""
    content, redacted, txn = body_of(await at.request.read()), at.part("event"), at.part("txn")
    event_id = derived_id("redaction", at.account, txn)
    found = _named(at, redacted)
    if found is not None:
        change = _change(Action.DELETE, found, at)
    else:
        reacted = _reaction(at, redacted)
        if reacted is None:
            # Who may delete the messages of others may delete what is not there.
            return web.json_response({"event_id": event_id})
        change = _change(Action.REACT, reacted[0], at, text=reacted[1], remove=True)
    redacts = {**content, "redacts": redacted}
    return await _act(at, change, MadeEvent(kind="m.room.redaction", event_id=event_id, content=redacts, txn=txn))


async def put_state(at: MatrixCall) -> web.StreamResponse:
    """`PUT /rooms/{room}/state/{type}`: the pinned messages are the only state that clients change here."""
    content, kind = body_of(await at.request.read()), at.part("type")
    wanted = sequence(content.get("pinned"))
    if kind != "m.room.pinned_events" or "pinned" not in content:
        raise MatrixSays(403, "M_FORBIDDEN", f"You don't have permission to post {kind}")
    pinned = at.server.pinned(at.account, at.part("room"))
    response: web.StreamResponse | None = None
    for action, ids in ((Action.PIN, wanted), (Action.UNPIN, list[object](pinned))):
        others = pinned if action is Action.PIN else wanted
        for pin in [pin for pin in ids if pin not in others]:
            found = _named(at, pin)
            if found is None:
                raise MatrixSays(404, "M_NOT_FOUND", "Could not find event")
            event_id = derived_id("pins", at.part("room"), str(at.server.log(at.account).end))
            made = MadeEvent(kind=kind, event_id=event_id, content=content)
            response = await _act(at, _change(action, found, at), made)
            if response.status != 200:
                return response
    return response or web.json_response({"event_id": derived_id("pins", at.part("room"))})


async def rename(at: MatrixCall) -> web.StreamResponse:
    """`PUT /profile/{user}/displayname`."""
    content = body_of(await at.request.read())
    if at.part("user") != at.me:
        raise MatrixSays(400, "M_FORBIDDEN", "Cannot set another user's displayname")
    name = content.get("displayname")
    if not isinstance(name, str):
        raise MatrixSays(400, "M_BAD_JSON", "Missing key 'displayname'")
    place = at.server.names.address(at.account, "")
    fields = msgspec.json.encode({"displayName": name}).decode()
    return await _act(at, at.server.action_request(Action.SET_PROFILE, place, None, fields=fields), None)


def _change(action: Action, message: BoardMessage, at: MatrixCall, **parts: Any) -> ActionRequest:
    return at.server.action_request(action, message.room.address(at.account), message.id, **parts)


def _named(at: MatrixCall, event_id: object) -> BoardMessage | None:
    room = at.room
    return None if room is None or not isinstance(event_id, str) else at.server.platform.board.get(room, event_id)


def _related(at: MatrixCall, relation: Json) -> BoardMessage:
    """The message that an event relates to. Raises `MatrixSays`."""
    found = _named(at, relation.get("event_id"))
    if found is None:
        raise MatrixSays(400, "M_UNKNOWN", "Can't send relation to unknown event")
    return found


def _reaction(at: MatrixCall, event_id: str) -> tuple[BoardMessage, str] | None:
    room = at.room
    for message in at.server.platform.board.all:
        if room is not None and message.room.conversation == room.conversation:
            for emoji in message.reactions:
                if reaction_id(message.id, emoji, at.me) == event_id:
                    return message, emoji
    return None


def refusal_of(request: web.Request, error: PlatformError) -> web.Response:
    """The response for an error, about the place named in the request."""
    joined, thread = request.get(PLACE, (True, False))
    return refused(error, joined=joined, thread=thread)


def poll_of(content: Json) -> Poll:
    start = next((mapping(content.get(name)) for name in _STARTS if name in content), Json())
    answers = [mapping(option) for option in sequence(start.get("answers"))]
    closed = str(start.get("kind", "")).endswith("undisclosed")
    most = start.get("max_selections", 1)
    return Poll(
        question=str(mapping(start.get("question")).get(_TEXT, "")),
        options=tuple(str(option.get(_TEXT, "")) for option in answers),
        max_selections=most if isinstance(most, int) else 1,
        anonymous=True if closed else None,
    )


def _place(content: Json) -> tuple[str | None, str | None]:
    relation = mapping(content.get("m.relates_to"))
    quoted = mapping(relation.get("m.in_reply_to")).get("event_id")
    threaded = relation.get("rel_type") == "m.thread"
    thread = relation.get("event_id") if threaded else None
    falls_back = threaded and relation.get("is_falling_back") is True
    return (thread if isinstance(thread, str) else None, quoted if isinstance(quoted, str) and not falls_back else None)
