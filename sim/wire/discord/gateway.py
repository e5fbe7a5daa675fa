"""Discord's gateway: sessions, their events, and the sockets that they are handed out over.

A session outlives its socket: its events are kept for RESUME. What happens while no session is there is in the history
only, as on the real platform; but the first session of an account gets what was written before.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, cast

from aiohttp import WSMsgType, web

from trunkline.core.errors import PlatformError
from trunkline.core.values import ChatKind, Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.rooms import Room
from trunkline.sim.wire.discord.hosts import DiscordHost
from trunkline.sim.wire.json_values import Json, object_in
from trunkline.sim.wire.sockets import reset

HEARTBEAT_SECONDS = 41.25
#: events of a session that RESUME can bring again; an older session is over
KEPT_EVENTS = 10_000
_DISPATCH, _HEARTBEAT, _IDENTIFY, _PRESENCE, _RESUME = 0, 1, 2, 3, 6
_RECONNECT, _INVALID_SESSION, _HELLO, _HEARTBEAT_ACK = 7, 9, 10, 11
#: operations that a client may send and that change nothing here: voice state, members, sounds
_IGNORED = frozenset({4, 5, 8, 31})
_GUILDS, _GUILD_MESSAGES, _DIRECT_MESSAGES, _CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
_UNKNOWN_OP, _BAD_PAYLOAD, _NOT_IDENTIFIED, _BAD_TOKEN, _IDENTIFIED, _BAD_SEQ, _BAD_INTENTS, _NOT_ALLOWED = (
    *(4001, 4002, 4003, 4004, 4005),
    *(4007, 4013, 4014),
)


class _Feed(asyncio.Queue["Envelope | PlatformError"]):
    """Brings what the platform pushes to the account's sessions at once."""

    def __init__(self, hub: GatewayHub, link: GatewayLink) -> None:
        super().__init__()
        self._hub = hub
        self._link = link

    def put_nowait(self, item: Envelope | PlatformError) -> None:
        """Hand a message out, or break the socket."""
        if isinstance(item, PlatformError):
            self._link.abort()
        else:
            self._hub.hand_out(self._link, item)


@dataclass(slots=True, kw_only=True)
class GatewaySession:
    """A session of an account, with or without a socket."""

    id: str
    account: str
    intents: int
    seq: int = 0
    #: events in order, for RESUME
    log: deque[Json] = field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))
    #: channels that the client knows
    known: set[str] = field(default_factory=set[str])
    link: GatewayLink | None = None


class GatewayLink:
    """A socket of a client."""

    def __init__(self, request: web.Request, ws: web.WebSocketResponse) -> None:
        self._request = request
        self._ws = ws
        self._squeeze = zlib.compressobj() if request.query.get("compress") == "zlib-stream" else None
        self._out: asyncio.Queue[Json] = asyncio.Queue()
        self.session: GatewaySession | None = None
        self.connection: Connection | None = None
        self.number = 0

    @property
    def silent(self) -> bool:
        """Whether the socket is silent: nothing arrives over it any more."""
        return self.connection is not None and self.connection.silent

    def say(self, payload: Json) -> None:
        """Send a payload, unless the connection is silent."""
        if not self.silent:
            self._out.put_nowait(payload)

    async def write(self) -> None:
        """Send payloads in order, until the socket is closed."""
        while True:
            text = json.dumps(await self._out.get(), separators=(",", ":"))
            with suppress(ConnectionError):
                if self._squeeze is None:
                    await self._ws.send_str(text)
                else:
                    await self._ws.send_bytes(
                        self._squeeze.compress(text.encode("utf-8", "surrogatepass"))
                        + self._squeeze.flush(zlib.Z_SYNC_FLUSH)
                    )

    async def close(self, code: int) -> None:
        """Close the socket with a code."""
        await self._ws.close(code=code)

    def abort(self) -> None:
        """Break the socket."""
        reset(self._request)


class GatewayHub:
    """The gateway of all accounts."""

    def __init__(self, server: DiscordHost) -> None:
        self._server = server
        #: by id
        self.sessions: dict[str, GatewaySession] = {}
        self._links: set[GatewayLink] = set()
        self._numbers = count(1)
        #: accounts that had a session
        self._seen: set[str] = set()
        #: messages that only the history has
        self._missed: dict[tuple[str, str], Envelope] = {}
        self.heartbeat_seconds = HEARTBEAT_SECONDS
        #: the bots may ask for the texts of messages
        self.privileged = True

    # ------------------------------------------------------------ sockets

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """A client's socket, until it is closed."""
        ws = web.WebSocketResponse(max_msg_size=1 << 22)
        await ws.prepare(request)
        link = GatewayLink(request, ws)
        self._links.add(link)
        writer = asyncio.get_running_loop().create_task(link.write())
        try:
            link.say(_payload(_HELLO, {"heartbeat_interval": round(self.heartbeat_seconds * 1000)}))
            async for frame in ws:
                if frame.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                    await self._handle_frame(link, frame.data)
        finally:
            writer.cancel()
            self._forget_link(link)
        return ws

    async def _handle_frame(self, link: GatewayLink, data: str | bytes) -> None:
        if self._server.calls is not None:
            self._server.calls.count_request("frames to the gateway socket")
        try:
            payload = object_in(data)
            op, body = payload["op"], payload.get("d")
        except (ValueError, KeyError):
            await link.close(_BAD_PAYLOAD)
            return
        if op == _HEARTBEAT:
            link.say(_payload(_HEARTBEAT_ACK, None))
        elif op in (_IDENTIFY, _RESUME):
            code = self._enter(link, op, body)
            if code:
                await link.close(code)
        elif op == _PRESENCE or op in _IGNORED:
            if link.session is None:
                await link.close(_NOT_IDENTIFIED)
            elif op == _PRESENCE:
                self._server.presence(link.session.account, link.number, body)
        else:
            await link.close(_UNKNOWN_OP)

    def _forget_link(self, link: GatewayLink) -> None:
        self._links.discard(link)
        session = link.session
        if session is not None and session.link is link:
            session.link = None
        if link.connection is not None and session is not None:
            self._server.platform.pushes.disconnect(session.account, link.connection)

    async def close(self) -> None:
        """Break all sockets."""
        for link in tuple(self._links):
            link.abort()

    def forget_sessions(self) -> None:
        """Forget all sessions: the next RESUME is refused."""
        self.sessions.clear()

    def ask_to_reconnect(self) -> None:
        """Ask all clients to connect again, as Discord does when it moves them."""
        for link in tuple(self._links):
            link.say(_payload(_RECONNECT, None))

    def say_raw(self, payload: Json) -> None:
        """Send any payload to every client with a session, such as one of a future version."""
        for link in tuple(self._links):
            if link.session is not None:
                link.say(payload)

    # ------------------------------------------------------------ sessions

    def _enter(self, link: GatewayLink, op: int, body: Any) -> int:
        """Begin or resume a session; returns a close code, or 0."""
        if link.session is not None:
            return _IDENTIFIED
        if not isinstance(body, dict):
            return _BAD_PAYLOAD
        given = cast("Json", body)
        token = given.get("token")
        owner = self._server.owner_of(token.removeprefix("Bot ")) if isinstance(token, str) else None
        if owner is None or owner[1] < self._server.platform.tokens.newest(owner[0]):
            return _BAD_TOKEN
        if self._server.world.account_fault("connect", self._server.channel, owner[0]):
            link.abort()
            return 0
        link.number = owner[1]
        return self._identify(link, owner[0], given) if op == _IDENTIFY else self._resume(link, owner[0], given)

    def _identify(self, link: GatewayLink, account: str, given: Json) -> int:
        intents = given.get("intents")
        if not isinstance(intents, int) or intents < 0 or not isinstance(given.get("properties"), dict):
            return _BAD_INTENTS if not isinstance(intents, int) or intents < 0 else _BAD_PAYLOAD
        if intents & _CONTENT and not self.privileged:
            return _NOT_ALLOWED
        number = next(self._numbers)
        session = GatewaySession(id=f"session-{number}", account=account, intents=intents, link=link)
        self.sessions[session.id] = link.session = session
        view, server = self._server.view, self._server
        first = account not in self._seen
        self._seen.add(account)
        self._say(
            session,
            "READY",
            {
                "v": 10,
                "user": {**view.bot(account), "mfa_enabled": False, "verified": True, "locale": "en-US", "email": None},
                "guilds": [{"id": view.guild_id, "unavailable": True}],
                "session_id": session.id,
                "session_type": "normal",
                "resume_gateway_url": server.gateway_url,
                "application": {"id": server.application_id(account), "flags": 565248},
                "private_channels": [],
                "shard": [0, 1],
            },
        )
        if intents & _GUILDS:
            created = view.guild_create(account)
            session.known = {channel["id"] for channel in (*created["channels"], *created["threads"])}
            self._say(session, "GUILD_CREATE", created)
        self._feed(link, account, missed=not first)
        return 0

    def _resume(self, link: GatewayLink, account: str, given: Json) -> int:
        session, seq = self.sessions.get(str(given.get("session_id"))), given.get("seq")
        if session is None or session.account != account:
            link.say(_payload(_INVALID_SESSION, False))
            return 0
        if not isinstance(seq, int) or seq > session.seq:
            return _BAD_SEQ
        if seq < session.seq - len(session.log):
            link.say(_payload(_INVALID_SESSION, False))
            return 0
        if session.link is not None:
            session.link.abort()
        session.link, link.session = link, session
        for payload in session.log:
            if payload["s"] > seq:
                link.say(payload)
        self._say(session, "RESUMED", {"_trace": []})
        self._feed(link, account, missed=False)
        return 0

    def _feed(self, link: GatewayLink, account: str, *, missed: bool) -> None:
        """Connect to the platform. `missed`: what waits was written while there was no session."""
        pushes = self._server.platform.pushes
        connection = pushes.connect(account, Node("discord on the wire"), deliver=not missed)
        for envelope in pushes.due(account) if missed else ():
            self._miss(envelope)
        waiting: list[Envelope | PlatformError] = []
        while not connection.queue.empty():
            waiting.append(connection.queue.get_nowait())
        link.connection = connection
        connection.queue = feed = _Feed(self, link)
        for item in waiting:
            feed.put_nowait(item)

    def _miss(self, envelope: Envelope) -> None:
        """Leave a message to the history. A press that nobody took is over."""
        self._server.view.note(envelope)
        if envelope.pressed is not None:
            self._server.platform.pushes.ack(envelope)
        else:
            self._missed[envelope.address.account, envelope.message_id] = envelope

    def confirm_shown(self, account: str, message: str) -> None:
        """The history with a message was handed out."""
        envelope = self._missed.pop((account, message), None)
        if envelope is not None:
            self._server.platform.pushes.deliver_from_history(envelope)

    # ------------------------------------------------------------ events

    def hand_out(self, link: GatewayLink, envelope: Envelope) -> None:
        """Hand a message or a press out to the session of a socket."""
        account, session = envelope.address.account, link.session
        if session is None or (account, envelope.message_id) in self._missed:
            return
        view = self._server.view
        room = self._server.platform.room_at(envelope.address)
        if room is None:
            return
        view.note(envelope)
        if envelope.pressed is not None:
            self._say(session, "INTERACTION_CREATE", self._server.interaction(envelope, room))
        elif session.intents & (_DIRECT_MESSAGES if room.kind is ChatKind.DIRECT else _GUILD_MESSAGES):
            message = view.message_event(account, envelope, room)
            if room.kind is not ChatKind.DIRECT and not session.intents & _CONTENT:
                message["content"] = ""
            self._announce(session, room)
            self._say(session, "MESSAGE_CREATE", message)
        self._server.platform.pushes.ack(envelope)

    def announce_message(self, account: str, room: Room, message: Json) -> None:
        """Hand a message of the account itself out to its sessions."""
        for session in tuple(self.sessions.values()):
            if session.account == account and session.intents & _GUILD_MESSAGES:
                self._announce(session, room)
                more = {} if room.kind is ChatKind.DIRECT else {"guild_id": self._server.view.guild_id}
                self._say(session, "MESSAGE_CREATE", message | more)

    def announce_thread(self, account: str, room: Room) -> None:
        """Announce a new thread to the sessions of an account."""
        for session in tuple(self.sessions.values()):
            if session.account == account:
                self._announce(session, room)

    def _announce(self, session: GatewaySession, room: Room) -> None:
        """Announce a channel to a session before the first message in it."""
        if room.conversation in session.known or room.kind is ChatKind.DIRECT or not session.intents & _GUILDS:
            return
        session.known.add(room.conversation)
        name = "CHANNEL_CREATE" if room.parent is None else "THREAD_CREATE"
        self._say(session, name, self._server.view.channel(session.account, room))

    def _say(self, session: GatewaySession, name: str, data: Json) -> None:
        session.seq += 1
        payload = _payload(_DISPATCH, data, session.seq, name)
        session.log.append(payload)
        if session.link is not None:
            session.link.say(payload)


def _payload(op: int, data: Any, seq: int | None = None, name: str | None = None) -> Json:
    return {"op": op, "d": data, "s": seq, "t": name}
