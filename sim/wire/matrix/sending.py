"""Writes of clients: events, redactions, pins and names become requests to the platform."""

from __future__ import annotations

from typing import Any

import msgspec
from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, Poll, Receipt
from trunkline.sim.platforms.actions.message_board import BoardMessage
from trunkline.sim.wire.json_values import Json, mapping, sequence
from trunkline.sim.wire.matrix.bodies import body_of, derived_id, event, failed, reaction_id, refused
from trunkline.sim.wire.matrix.caller import MatrixCaller
from trunkline.sim.wire.matrix.hosts import MatrixHost

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


class MatrixSends:
    """Handles the requests of clients that change something."""

    def __init__(self, server: MatrixHost) -> None:
        self._server = server
        #: reactions by account, path and transaction
        self._reacted: set[tuple[str, str]] = set()

    async def send(self, caller: MatrixCaller, room_id: str, kind: str, txn: str) -> web.StreamResponse:
        """`PUT /rooms/{room}/send/{type}/{txn}`."""
        raw = await caller.request.read()
        content = body_of(raw)
        if isinstance(content, web.Response):
            return content
        if len(raw) > _LONGEST_EVENT:
            return failed(413, "M_TOO_LARGE", "event too large")
        relation = mapping(content.get("m.relates_to"))
        replaces = relation.get("rel_type") == "m.replace"
        if kind == "m.room.message" and replaces:
            return await self._edit(caller, room_id, content, txn)
        if kind == "m.reaction":
            return await self._react(caller, room_id, relation, txn)
        if kind in _RESPONSES:
            return await self._vote(caller, room_id, kind, content, txn)
        if kind == "m.room.message" or kind in _STARTS:
            return await self._message(caller, room_id, kind, content, txn)
        return failed(400, "M_UNRECOGNIZED", f"this server has no events of the type {kind}")

    async def _message(
        self, caller: MatrixCaller, room_id: str, kind: str, content: Json, txn: str
    ) -> web.StreamResponse:
        text = content.get("body") if kind == "m.room.message" else content.get(_TEXT, content.get("body", ""))
        if not isinstance(text, str) or (kind == "m.room.message" and not isinstance(content.get("msgtype"), str)):
            return failed(400, "M_UNKNOWN", "'body' or 'msgtype' not in content")
        thread, reply_to = _place(content)
        place = self._server.names.address(caller.account, room_id, thread)
        given: dict[str, Any] = {"reply_to": reply_to}
        if isinstance(content.get("url"), str):
            given["media"] = (content["url"],)
            text = "" if text == content.get("filename", text) else text
        if content.get("format") == "org.matrix.custom.html" and isinstance(content.get("formatted_body"), str):
            given["html"] = content["formatted_body"]
        if kind in _STARTS:
            given["poll"] = poll_of(content)
        send = self._server.send_request(place, text, txn, **given)
        self._server.contents[caller.account, send.key] = (kind, content, txn)

        def answer(receipt: Receipt) -> web.StreamResponse:
            self._server.log(caller.account)
            return web.json_response({"event_id": receipt.provider_id})

        self._note_place(caller, place, room_id)
        return await self._server.send(caller.request, send, caller.token, answer)

    def _note_place(self, caller: MatrixCaller, place: Address, room_id: str) -> None:
        caller.request[PLACE] = (room_id in self._server.names.joined(caller.account), place.thread is not None)

    async def _act(
        self, caller: MatrixCaller, change: ActionRequest, room_id: str, made: MadeEvent | None
    ) -> web.StreamResponse:
        """Carry a change out; `made` is the event that it is on the wire."""

        def answer(_: Receipt) -> web.StreamResponse:
            if made is None:
                return web.json_response({})
            log = self._server.log(caller.account)
            if made.event_id not in log.events:
                found = event(room_id, made.kind, made.event_id, caller.me, self._server.date(), made.content)
                if "redacts" in made.content:
                    # Servers say it in both places: clients of rooms before version 11 look beside the content.
                    found["redacts"] = made.content["redacts"]
                log.add(room_id, {**found, "unsigned": {**found["unsigned"], "transaction_id": made.txn}})
            return web.json_response({"event_id": made.event_id})

        self._note_place(caller, change.address, room_id)
        return await self._server.act(caller.request, change, caller.token, answer)

    # ------------------------------------------------------------ changes

    async def _edit(self, caller: MatrixCaller, room_id: str, content: Json, txn: str) -> web.StreamResponse:
        found = self._named(caller, room_id, mapping(content.get("m.relates_to")).get("event_id"))
        if found is None:
            return _unknown_event()
        text, html = (mapping(content.get("m.new_content")).get(name) for name in ("body", "formatted_body"))
        if not isinstance(text, str):
            return failed(400, "M_BAD_JSON", "'m.new_content' has no body")
        change = self._change(Action.EDIT, found, caller, text=text, html=html if isinstance(html, str) else None)
        event_id = derived_id("edit", caller.account, txn)
        made = MadeEvent(kind="m.room.message", event_id=event_id, content=content, txn=txn)
        return await self._act(caller, change, room_id, made)

    async def _react(self, caller: MatrixCaller, room_id: str, relation: Json, txn: str) -> web.StreamResponse:
        found, emoji = self._named(caller, room_id, relation.get("event_id")), relation.get("key")
        if found is None:
            return _unknown_event()
        if not isinstance(emoji, str) or relation.get("rel_type") != "m.annotation":
            return failed(400, "M_UNKNOWN", "Missing aggregation key")
        me, path = self._server.platform.bot_id(caller.account), caller.request.path
        again = me in found.reactions.get(emoji, ()) and (caller.account, path) not in self._reacted
        self._reacted.add((caller.account, path))
        change = self._change(Action.REACT, found, caller, text=emoji)
        event_id, content = reaction_id(found.id, emoji, me), {"m.relates_to": relation}
        made = MadeEvent(kind="m.reaction", event_id=event_id, content=content, txn=txn)
        response = await self._act(caller, change, room_id, made)
        if again and response.status == 200:
            return failed(400, "M_DUPLICATE_ANNOTATION", "Can't send same reaction twice")
        return response

    async def _vote(self, caller: MatrixCaller, room_id: str, kind: str, content: Json, txn: str) -> web.StreamResponse:
        found = self._named(caller, room_id, mapping(content.get("m.relates_to")).get("event_id"))
        if found is None:
            return _unknown_event()
        given = next((mapping(content.get(name)) for name in _RESPONSES if name in content), Json())
        answers = [option for option in sequence(given.get("answers")) if isinstance(option, str)]
        fields = msgspec.json.encode({"pollOptionIndexes": answers}).decode()
        change = self._change(Action.POLL_VOTE, found, caller, fields=fields)
        event_id = derived_id("vote", caller.account, txn)
        return await self._act(
            caller, change, room_id, MadeEvent(kind=kind, event_id=event_id, content=content, txn=txn)
        )

    async def redact(self, caller: MatrixCaller, room_id: str, redacted: str, txn: str) -> web.StreamResponse:
        """`PUT /rooms/{room}/redact/{event}/{txn}`: of a message, or of a reaction, which takes it away."""
        content = body_of(await caller.request.read())
        if isinstance(content, web.Response):
            return content
        found = self._named(caller, room_id, redacted)
        if found is not None:
            change = self._change(Action.DELETE, found, caller)
        else:
            reacted = self._reaction(caller, room_id, redacted)
            if reacted is None:
                # Who may delete the messages of others may delete what is not there.
                return web.json_response({"event_id": derived_id("redaction", caller.account, txn)})
            change = self._change(Action.REACT, reacted[0], caller, text=reacted[1], remove=True)
        event_id, redacts = derived_id("redaction", caller.account, txn), {**content, "redacts": redacted}
        made = MadeEvent(kind="m.room.redaction", event_id=event_id, content=redacts, txn=txn)
        return await self._act(caller, change, room_id, made)

    async def put_state(self, caller: MatrixCaller, room_id: str, kind: str) -> web.StreamResponse:
        """`PUT /rooms/{room}/state/{type}`: the pinned messages are the only state that clients change here."""
        content = body_of(await caller.request.read())
        if isinstance(content, web.Response):
            return content
        wanted = sequence(content.get("pinned"))
        if kind != "m.room.pinned_events" or "pinned" not in content:
            return failed(403, "M_FORBIDDEN", f"You don't have permission to post {kind}")
        pinned = self._server.pinned(caller.account, room_id)
        response: web.StreamResponse | None = None
        for action, ids in ((Action.PIN, wanted), (Action.UNPIN, list[object](pinned))):
            others = pinned if action is Action.PIN else wanted
            for pin in [pin for pin in ids if pin not in others]:
                found = self._named(caller, room_id, pin)
                if found is None:
                    return failed(404, "M_NOT_FOUND", "Could not find event")
                event_id = derived_id("pins", room_id, str(self._server.log(caller.account).end))
                made = MadeEvent(kind=kind, event_id=event_id, content=content)
                response = await self._act(caller, self._change(action, found, caller), room_id, made)
                if response.status != 200:
                    return response
        return response or web.json_response({"event_id": derived_id("pins", room_id)})

    async def rename(self, caller: MatrixCaller) -> web.StreamResponse:
        """`PUT /profile/{user}/displayname`."""
        content = body_of(await caller.request.read())
        if isinstance(content, web.Response):
            return content
        if caller.part("user") != caller.me:
            return failed(400, "M_FORBIDDEN", "Cannot set another user's displayname")
        name = content.get("displayname")
        if not isinstance(name, str):
            return failed(400, "M_BAD_JSON", "Missing key 'displayname'")
        place = self._server.names.address(caller.account, "")
        fields = msgspec.json.encode({"displayName": name}).decode()
        change = self._server.action_request(Action.SET_PROFILE, place, None, fields=fields)
        return await self._act(caller, change, "", None)

    # ------------------------------------------------------------ helpers

    def _change(self, action: Action, message: BoardMessage, caller: MatrixCaller, **parts: Any) -> ActionRequest:
        return self._server.action_request(action, message.room.address(caller.account), message.id, **parts)

    def _named(self, caller: MatrixCaller, room_id: str, event_id: object) -> BoardMessage | None:
        room = self._server.names.joined(caller.account).get(room_id)
        if room is None or not isinstance(event_id, str):
            return None
        return self._server.platform.board.get(room, event_id)

    def _reaction(self, caller: MatrixCaller, room_id: str, event_id: str) -> tuple[BoardMessage, str] | None:
        """The message and the emoji of an own reaction."""
        room, me = self._server.names.joined(caller.account).get(room_id), self._server.platform.bot_id(caller.account)
        for message in self._server.platform.board.all:
            if room is not None and message.room.conversation == room.conversation:
                for emoji in message.reactions:
                    if reaction_id(message.id, emoji, me) == event_id:
                        return message, emoji
        return None


def refusal_of(request: web.Request, error: PlatformError) -> web.Response:
    """The response that means an error, for the place that the request names."""
    joined, thread = request.get(PLACE, (True, False))
    return refused(error, joined=joined, thread=thread)


def poll_of(content: Json) -> Poll:
    """The poll in a start event."""
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
    return (
        thread if isinstance(thread, str) else None,
        quoted if isinstance(quoted, str) and not falls_back else None,
    )


def _unknown_event() -> web.Response:
    return failed(400, "M_UNKNOWN", "Can't send relation to unknown event")
