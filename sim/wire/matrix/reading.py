"""Reads of clients: events, their relations, state, members, profiles."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from trunkline.core.action_names import Action
from trunkline.core.actions.requests import ActionQuery
from trunkline.core.values import ChatKind
from trunkline.sim.platforms.actions.message_board import BoardMessage, PostedMessage
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.json_values import Json
from trunkline.sim.wire.matrix.bodies import derived_id, event, failed, reactions_of
from trunkline.sim.wire.matrix.caller import MatrixCaller
from trunkline.sim.wire.matrix.hosts import MatrixHost

_REFERENCE = "m.reference"
_RESPONSE = "org.matrix.msc3381.poll.response"


class MatrixReads:
    """Answers questions. Those that the tool's questions need go through the platform, so that faults strike them."""

    def __init__(self, server: MatrixHost) -> None:
        self._server = server

    def event(self, caller: MatrixCaller, room_id: str, event_id: str) -> web.Response:
        """`GET /rooms/{room}/event/{event}`."""
        room = self._server.names.joined(caller.account).get(room_id)
        found = None if room is None else self._event(caller, room_id, room, event_id)
        return failed(404, "M_NOT_FOUND", "Event not found.") if found is None else web.json_response(found)

    def _event(self, caller: MatrixCaller, room_id: str, room: Room, event_id: str) -> Json | None:
        message = self._server.platform.board.get(room, event_id)
        if message is not None:
            return self._server.as_now(caller.account, self._of(caller, room_id, message))
        thread = self._server.platform.room_at(self._server.names.address(caller.account, room_id, event_id))
        if thread is None or thread.closed is not None:
            return self._server.log(caller.account).events.get(event_id)
        # A thread of the scenario has no message: its root is one that nobody has seen.
        content = {"msgtype": "m.text", "body": thread.title or thread.name}
        sender = self._server.platform.bot_id(caller.account)
        return event(room_id, "m.room.message", event_id, sender, self._server.date(0.0), content)

    def _of(self, caller: MatrixCaller, room_id: str, message: BoardMessage) -> Json:
        known = self._server.log(caller.account).events.get(message.id)
        if known is not None:
            return known
        if isinstance(message, PostedMessage):
            return self._server.sent_event(room_id, message)
        content: Json = {"msgtype": "m.text", "body": message.text}
        return event(room_id, "m.room.message", message.id, message.author, self._server.date(message.at), content)

    async def relations(self, caller: MatrixCaller, room_id: str, event_id: str, rel: str) -> web.StreamResponse:
        """`GET /rooms/{room}/relations/{event}/{rel}`, newest first."""
        room = self._server.names.joined(caller.account).get(room_id)
        message = None if room is None else self._server.platform.board.get(room, event_id)
        if rel == "m.thread":
            place = self._server.names.address(caller.account, room_id, event_id)
            thread = self._server.platform.room_at(place)
            there = [] if thread is None else list(self._server.platform.board.within(thread))
            return _chunk([self._of(caller, room_id, said) for said in there])
        if message is None:
            return failed(404, "M_UNKNOWN", "Unknown parent event.")
        action = Action.POLL_RESULTS if rel == _REFERENCE else Action.REACTIONS
        query = ActionQuery(action=action, address=message.room.address(caller.account), message_id=message.id)

        def answer(found: Any) -> web.StreamResponse:
            at = self._server.date()
            if action is Action.REACTIONS:
                there = {str(reaction["emoji"]): list(reaction["users"]) for reaction in found}
                return _chunk(reactions_of(room_id, message.id, there, at))
            return _chunk([_vote(room_id, message, voter, chosen, at) for voter, chosen in message.votes.items()])

        return await self._server.ask(caller.request, query, caller.token, answer)

    # ------------------------------------------------------------ rooms

    def members(self, caller: MatrixCaller, room_id: str) -> web.Response:
        """`GET /rooms/{room}/joined_members`."""
        if room_id not in self._server.names.joined(caller.account):
            return failed(403, "M_FORBIDDEN", f"User {caller.me} not in room {room_id}")
        found = self._server.members(caller.account, room_id)
        return web.json_response(
            {"joined": {user: {"display_name": name, "avatar_url": None} for user, name in found.items()}}
        )

    def state(self, caller: MatrixCaller, room_id: str, kind: str, key: str) -> web.Response:
        """`GET /rooms/{room}/state/{type}/{key}`."""
        if room_id not in self._server.names.joined(caller.account):
            return failed(403, "M_FORBIDDEN", f"User {caller.me} not in room {room_id}")
        for entry in self._server.state(caller.account, room_id):
            if entry["type"] == kind and entry["state_key"] == key:
                return web.json_response(entry["content"])
        return failed(404, "M_NOT_FOUND", "Event not found.")

    def all_state(self, caller: MatrixCaller, room_id: str) -> web.Response:
        """`GET /rooms/{room}/state`."""
        if room_id not in self._server.names.joined(caller.account):
            return failed(403, "M_FORBIDDEN", f"User {caller.me} not in room {room_id}")
        return web.json_response(self._server.state(caller.account, room_id))

    def profile(self, user: str, field: str) -> web.Response:
        """`GET /profile/{user}`."""
        name = self._server.name_of(user)
        if name is None:
            return failed(404, "M_NOT_FOUND", "Profile was not found")
        found = {"displayname": name}
        return web.json_response(found if field in ("", "displayname") else {})

    def alias(self, caller: MatrixCaller, alias: str) -> web.Response:
        """`GET /directory/room/{alias}`: rooms have the alias of their name in the scenario."""
        for room_id, room in self._server.names.joined(caller.account).items():
            if room.kind is not ChatKind.DIRECT and alias == f"#{room.name}:example.org":
                return web.json_response({"room_id": room_id, "servers": ["example.org"]})
        return failed(404, "M_NOT_FOUND", f"Room alias {alias} not found")


def _vote(room_id: str, message: BoardMessage, voter: str, chosen: tuple[int, ...], at: float) -> Json:
    answers = [str(number + 1) for number in chosen]
    relation = {"rel_type": _REFERENCE, "event_id": message.id}
    content = {"m.relates_to": relation, _RESPONSE: {"answers": answers}}
    return event(room_id, _RESPONSE, derived_id("vote", message.id, voter), voter, at, content)


def _chunk(events: list[Json]) -> web.Response:
    return web.json_response({"chunk": events[::-1]})
