"""Syncs and pages of the past, from the log of an account."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web

from trunkline.core.errors import PlatformError
from trunkline.core.values import Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.wire.json_values import Json, mapping, object_in
from trunkline.sim.wire.matrix.account_log import AccountLog, LogEntry
from trunkline.sim.wire.matrix.bodies import event, failed, in_sync, message_content
from trunkline.sim.wire.matrix.caller import MatrixCaller
from trunkline.sim.wire.matrix.hosts import MatrixHost
from trunkline.sim.wire.sockets import reset

#: events of a room in one answer, by default and at most; events of a page
_USUAL, _MOST, _PAGE = 10, 100, 10


class MatrixSyncs:
    """Answers syncs, and keeps a log for each account."""

    def __init__(self, server: MatrixHost) -> None:
        self._server = server
        self._logs: dict[str, AccountLog] = {}
        self._connections: dict[str, Connection] = {}
        self._pumps: dict[str, asyncio.Task[None]] = {}

    def hang_up(self) -> None:
        """Close the connections to the world."""
        for account, pump in tuple(self._pumps.items()):
            pump.cancel()
            self._server.platform.pushes.disconnect(account, self._connections[account])
        self._pumps.clear()
        self._connections.clear()

    # ------------------------------------------------------------ the log

    def log(self, account: str) -> AccountLog:
        """The log of an account, with everything that it has done itself."""
        log = self._logs.setdefault(account, AccountLog(self._server.world.ids_from))
        for room_id in self._server.names.joined(account):
            log.join(room_id)
        for message in self._server.platform.board.sent:
            if message.account == account and message.id not in log.events:
                room_id = self._server.names.id_of(message.room)
                log.add(room_id, self._server.sent_event(room_id, message))
        return log

    def _connected(self, account: str) -> AccountLog:
        """The log of an account whose messages are delivered from now on."""
        log = self.log(account)
        if account not in self._connections:
            connection = self._server.platform.pushes.connect(account, Node("wire"))
            while not connection.queue.empty():
                found = connection.queue.get_nowait()
                if isinstance(found, Envelope):
                    self._hear(log, found)
            self._connections[account] = connection
            self._pumps[account] = asyncio.get_running_loop().create_task(self._pump(account, connection))
        return log

    async def _pump(self, account: str, connection: Connection) -> None:
        """Take what people say as it comes, until the connection breaks."""
        while True:
            found = await connection.queue.get()
            log = self.log(account)
            if isinstance(found, PlatformError):
                if self._connections.get(account) is connection:
                    del self._connections[account], self._pumps[account]
                log.broke()
                return
            self._hear(log, found)

    def _hear(self, log: AccountLog, envelope: Envelope) -> None:
        account = envelope.address.account
        room = self._server.platform.room_above(envelope.address)
        if room is None:
            return
        room_id = self._server.names.id_of(room)
        log.join(room_id)
        at = self._server.date(envelope.sent_at)
        heard = event(room_id, "m.room.message", envelope.message_id, envelope.peer.id, at, message_content(envelope))
        log.add(room_id, heard, envelope)
        assert account == room.owner or not room.owner

    # ------------------------------------------------------------ syncs

    async def sync(self, caller: MatrixCaller) -> web.StreamResponse:
        """`GET /sync`."""
        request, query = caller.request, caller.request.query
        since, wait = _position(query.get("since")), _number(query.get("timeout"), 0)
        wanted = _filter(query.get("filter"))
        if since is None:
            return failed(400, "M_UNKNOWN", "Invalid stream token")
        if wait is None or wanted is None:
            return failed(400, "M_INVALID_PARAM", "Invalid query parameter")
        if self._server.world.account_fault("connect", self._server.channel, caller.account):
            raise reset(request)
        log = self._connected(caller.account)
        if log.take_break():
            raise reset(request)
        if since > log.end:
            return failed(400, "M_UNKNOWN", "Invalid stream token")
        for envelope in log.confirm(since):
            self._server.platform.pushes.ack(envelope)
        until = self._server.world.now() + wait / 1000
        while "since" in query and log.end == since and self._server.world.now() < until:
            await log.wait_for_change(until - self._server.world.now())
            log = self.log(caller.account)
            if log.take_break():
                raise reset(request)
        return web.json_response(self._answer(caller, log, since, wanted, full="since" not in query))

    def _answer(self, caller: MatrixCaller, log: AccountLog, since: int, wanted: Json, *, full: bool) -> Json:
        room_filter = mapping(wanted.get("room"))
        fresh = list(log.after(since))
        joined: Json = {}
        for room_id in self._server.names.joined(caller.account):
            is_new = full or log.rooms[room_id] > since
            timeline = mapping(room_filter.get("timeline"))
            entries = [new for new in fresh if new.room == room_id and _fits(new, timeline)]
            if is_new or entries:
                joined[room_id] = self._joined(caller, room_id, entries, room_filter, since, is_new=is_new)
        answer: Json = {
            "next_batch": f"s{log.end}",
            "device_one_time_keys_count": {"signed_curve25519": 0},
            "device_unused_fallback_key_types": [],
        }
        if joined:
            answer["rooms"] = {"join": joined}
        if full or any(entry.event is None for entry in fresh):
            direct = {"type": "m.direct", "content": self._server.names.direct(caller.account)}
            answer["account_data"] = {
                "events": [direct] if _passes("m.direct", mapping(wanted.get("account_data"))) else []
            }
        return answer

    def _joined(
        self, caller: MatrixCaller, room_id: str, entries: list[LogEntry], wanted: Json, since: int, *, is_new: bool
    ) -> Json:
        limit = min(_MOST, _number(mapping(wanted.get("timeline")).get("limit"), _USUAL) or _USUAL)
        kept = entries[-limit:]
        first = kept[0].position - 1 if kept else since
        state = self._server.state(caller.account, room_id) if is_new else []
        return {
            "timeline": {
                "events": [in_sync(entry.event) for entry in kept if entry.event is not None],
                "prev_batch": f"s{first}",
                "limited": len(entries) > limit or is_new,
            },
            "state": {
                "events": [in_sync(entry) for entry in state if _passes(entry["type"], mapping(wanted.get("state")))]
            },
            "account_data": {"events": []},
            "ephemeral": {"events": []},
            "unread_notifications": {"notification_count": 0, "highlight_count": 0},
            "summary": {},
        }

    # ------------------------------------------------------------ pages

    def messages(self, caller: MatrixCaller, room_id: str) -> web.Response:
        """`GET /rooms/{room}/messages`."""
        query, log = caller.request.query, self.log(caller.account)
        backwards = query.get("dir", "b")
        start = _position(query.get("from"), log.end if backwards == "b" else 0)
        until = _position(query.get("to"), 0 if backwards == "b" else log.end)
        limit, wanted = _number(query.get("limit"), _PAGE), _filter(query.get("filter"))
        if start is None or until is None or limit is None or wanted is None or backwards not in ("b", "f"):
            return failed(400, "M_INVALID_PARAM", "Invalid query parameter")
        low, high = (until, start) if backwards == "b" else (start, until)
        there = [
            entry for entry in log.between(low, high) if entry.room == room_id and entry.event and _fits(entry, wanted)
        ]
        page = (there[::-1] if backwards == "b" else there)[:limit]
        answer: Json = {
            "chunk": [self._server.as_now(caller.account, entry.event) for entry in page],
            "start": f"s{start}",
        }
        if len(page) < len(there):
            answer["end"] = f"s{page[-1].position - (backwards == 'b')}"
        return web.json_response(answer)


def _fits(entry: LogEntry, wanted: Json) -> bool:
    return entry.event is not None and _passes(entry.event["type"], wanted)


def _passes(kind: str, wanted: Json) -> bool:
    """Whether a filter lets a type of events through; ``*`` at its end means any text."""

    def named(types: Any) -> bool:
        return any(kind == pattern or (pattern.endswith("*") and kind.startswith(pattern[:-1])) for pattern in types)

    return ("types" not in wanted or named(wanted["types"])) and not named(wanted.get("not_types", ()))


def _filter(text: str | None) -> Json | None:
    """A filter in a query; None: it is none. The id of a stored one means everything."""
    if text is None or text.isdecimal():
        return {}
    try:
        return object_in(text)
    except ValueError:
        return None


def _position(token: str | None, default: int = 0) -> int | None:
    """The position that a token names; None: it is no token."""
    if token is None:
        return default
    return int(token[1:]) if token[:1] == "s" and token[1:].isascii() and token[1:].isdecimal() else None


def _number(value: object, default: int) -> int | None:
    if value is None:
        return default
    text = str(value)
    return int(text) if text.isascii() and text.isdecimal() else None
