"""The server of the fake Discord as its endpoints and its gateway use it: ids, secrets, presences, interactions."""

import asyncio
import base64
import json
import zlib
from collections import deque
from contextlib import suppress
from itertools import count
from typing import Any, cast

import msgspec
from aiohttp import WSMsgType, web

from trunkline.core.action_catalogue import Action
from trunkline.core.errors import PlatformError
from trunkline.core.values import Address, ChatKind, Deed, DeedKind, Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import REOPENED, Connection
from trunkline.sim.platforms.channels.discord import FakeDiscord
from trunkline.sim.platforms.rooms import Room, digits, letters
from trunkline.sim.wire.discord.view import DiscordView
from trunkline.sim.wire.json_values import Json, mapping, object_in, sequence
from trunkline.sim.wire.server import WireServer
from trunkline.sim.wire.sockets import reset

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


class DiscordHost(WireServer[FakeDiscord]):
    channel = "discord"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.view = DiscordView(self.platform, self.epoch)
        #: interactions: id -> token; and those with an answer of a client
        self.interactions: dict[str, str] = {}
        self.answered: set[str] = set()
        #: the gateway of all accounts
        self.hub = GatewayHub(self)

    def token(self, account: str, number: int) -> str:
        """A token in the form of Discord's: the bot's id, a time and a signature."""
        bot = base64.urlsafe_b64encode(self.platform.bot_id(account).encode()).decode().rstrip("=")
        return f"{bot}.G{number:05d}.{letters('discord', account, str(number), length=20, alphabet=_BASE64)}"

    @property
    def gateway_url(self) -> str:
        return f"{self.url.replace('http', 'ws', 1)}/gateway"

    def application_id(self, account: str) -> str:
        """The id of an account's application, which is not that of its bot."""
        return digits("discord", "application", account, length=18)

    def secret(self, account: str, webhook: str) -> str:
        return letters("discord", "webhook", account, webhook, length=40, alphabet=_BASE64)

    def channel_of_webhook(self, account: str, webhook: str) -> str:
        """The channel of a webhook; of a missing one its id, at which there is no channel."""
        for room in self.view.rooms(account):
            if room.parent is None and self.platform.webhooks.found(room.address(account)) == webhook:
                return room.conversation
        return webhook

    def category(self, number: str, fields: Json) -> Json:
        return {
            "id": number,
            "type": 4,
            "guild_id": self.view.guild_id,
            "name": fields.get("name"),
            "position": fields.get("position", 0),
            "permission_overwrites": [],
            "parent_id": None,
            "flags": 0,
        }

    def presence(self, account: str, number: int, body: Any) -> None:
        given = mapping(body)
        activities = sequence(given.get("activities"))
        first = mapping(activities[0]) if activities else {}
        named = {
            "activityName": first.get("name"),
            "activityState": first.get("state"),
            "activityUrl": first.get("url"),
        }
        fields = {"status": given.get("status"), **named}
        text = msgspec.json.encode({key: value for key, value in fields.items() if value}).decode()
        place = Address(channel=self.channel, account=account, kind=ChatKind.CHANNEL, conversation="@account")
        change = self.action_request(Action.SET_PRESENCE, place, fields=text)
        self.platform.actions.act(change, self.world.future(), number)

    def interaction(self, press: Envelope, room: Room) -> Json:
        """The press of a button as an event, which the client must answer by the token."""
        account = press.address.account
        token = letters("discord", "interaction", press.message_id, length=40, alphabet=_BASE64)
        self.interactions[press.message_id] = token
        message = self.platform.board.get(room, press.pressed or "")
        who = (
            {"user": self.view.person(press.peer.id)}
            if room.kind is ChatKind.DIRECT
            else {"member": self.view.member(press.peer.id, press.roles), "guild_id": self.view.guild_id}
        )
        return {
            "id": press.message_id,
            "application_id": self.application_id(account),
            "type": 3,
            "token": token,
            "version": 1,
            "channel_id": self.view.channel_id(account, room),
            "channel": self.view.channel(account, room),
            "message": {"id": press.pressed} if message is None else self.view.message(account, message),
            "data": {"custom_id": press.text, "component_type": 2},
            "locale": "en-US",
            "guild_locale": "en-US",
            "app_permissions": "8",
            "entitlements": [],
            "authorizing_integration_owners": {"0": self.view.guild_id},
            "context": 1 if room.kind is ChatKind.DIRECT else 0,
            "attachment_size_limit": 10485760,
            **who,
        }


# Discord's gateway: sessions, their events, and the sockets that they are handed out over.
#
# A session outlives its socket: its events are kept for RESUME. What happens while no session is there is in the
# history only, as on the real platform; but the first session of an account gets what was written before.

HEARTBEAT_SECONDS = 41.25
#: events of a session that RESUME can bring again; an older session is over
KEPT_EVENTS = 10_000
_DISPATCH, _HEARTBEAT, _IDENTIFY, _PRESENCE, _RESUME = 0, 1, 2, 3, 6
_INVALID_SESSION, _HELLO, _HEARTBEAT_ACK = 9, 10, 11
#: operations that a client may send and that change nothing here: voice state, members, sounds
_IGNORED = frozenset({4, 5, 8, 31})
_GUILDS, _GUILD_MESSAGES, _DIRECT_MESSAGES, _CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
_GUILD_REACTIONS, _DIRECT_REACTIONS = 1 << 10, 1 << 13
_UNKNOWN_OP, _BAD_PAYLOAD, _NOT_IDENTIFIED, _BAD_TOKEN, _IDENTIFIED, _BAD_SEQ, _BAD_INTENTS, _NOT_ALLOWED = (
    *(4001, 4002, 4003, 4004, 4005),
    *(4007, 4013, 4014),
)


class _Feed(asyncio.Queue["Envelope | PlatformError"]):
    """Brings what the platform pushes to the account's sessions at once."""

    def __init__(self, hub: "GatewayHub", link: "GatewayLink") -> None:
        super().__init__()
        self._hub = hub
        self._link = link

    def put_nowait(self, item: Envelope | PlatformError) -> None:
        if isinstance(item, PlatformError):
            self._link.abort()
        else:
            self._hub.hand_out(self._link, item)


class GatewaySession(msgspec.Struct, kw_only=True):
    """A session of an account, with or without a socket."""

    id: str
    account: str
    intents: int
    seq: int = 0
    #: events in order, for RESUME
    log: deque[Json] = msgspec.field(default_factory=lambda: deque(maxlen=KEPT_EVENTS))
    #: channels that the client knows
    known: set[str] = set()
    link: "GatewayLink | None" = None


class GatewayLink:
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
        await self._ws.close(code=code)

    def abort(self) -> None:
        reset(self._request)


class GatewayHub:
    def __init__(self, server: DiscordHost) -> None:
        self._server = server
        self.sessions: dict[str, GatewaySession] = {}
        self._links: set[GatewayLink] = set()
        self._numbers = count(1)
        self._seen: set[str] = set()
        #: messages that only the history has
        self._missed: dict[tuple[str, str], Envelope] = {}
        self.heartbeat_seconds = HEARTBEAT_SECONDS
        #: the bots may ask for the texts of messages
        self.privileged = True

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
            self._links.discard(link)
            session = link.session
            if session is not None and session.link is link:
                session.link = None
            if link.connection is not None and session is not None:
                self._server.platform.pushes.disconnect(session.account, link.connection)
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

    async def close(self) -> None:
        for link in tuple(self._links):
            link.abort()

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
        connection = pushes.connect(account, Node("discord on the wire"), deliver=not missed, deeds=True)
        for envelope in pushes.due(account) if missed else ():
            self._miss(envelope)
        waiting: list[Envelope | PlatformError] = []
        while not connection.queue.empty():
            waiting.append(connection.queue.get_nowait())
        link.connection, connection.notes = connection, True
        connection.queue = feed = _Feed(self, link)
        for item in waiting:
            feed.put_nowait(item)

    def _miss(self, envelope: Envelope) -> None:
        """Leave a message to the history. A press that nobody took is over."""
        if envelope.deed is None:
            self._server.view.note(envelope)
        if envelope.pressed is not None or envelope.deed is not None:
            self._server.platform.pushes.ack(envelope)
        else:
            self._missed[envelope.address.account, envelope.message_id] = envelope

    def confirm_shown(self, account: str, message: str) -> None:
        """The history with a message was handed out."""
        envelope = self._missed.pop((account, message), None)
        if envelope is not None:
            self._server.platform.pushes.deliver_from_history(envelope)

    def hand_out(self, link: GatewayLink, envelope: Envelope) -> None:
        account, session = envelope.address.account, link.session
        if session is None or (account, envelope.message_id) in self._missed:
            return
        view = self._server.view
        room = self._server.platform.room_at(envelope.address)
        if room is None:
            return
        if envelope.parts == REOPENED:
            if session.intents & _GUILDS:
                self._say(session, "THREAD_UPDATE", view.channel(account, room))
            return
        if envelope.deed is not None:
            self._hand_out_deed(session, envelope, envelope.deed, room)
            self._server.platform.pushes.ack(envelope)
            return
        view.note(envelope)
        if envelope.pressed is not None:
            self._say(session, "INTERACTION_CREATE", self._server.interaction(envelope, room))
        elif session.intents & (_DIRECT_MESSAGES if room.kind is ChatKind.DIRECT else _GUILD_MESSAGES):
            message = view.message_event(account, envelope, room)
            if room.kind is not ChatKind.DIRECT and not session.intents & _CONTENT:
                message["content"] = ""
            self._announce(session, room)
            self._say(session, "MESSAGE_CREATE", message | view.of_event(account, room))
        self._server.platform.pushes.ack(envelope)

    def _hand_out_deed(self, session: GatewaySession, envelope: Envelope, deed: Deed, room: Room) -> None:
        view, account = self._server.view, envelope.address.account
        message, direct = self._server.platform.board.get(room, deed.of), room.kind is ChatKind.DIRECT
        where: Json = {"channel_id": view.channel_id(account, room)} | ({} if direct else {"guild_id": view.guild_id})
        if deed.kind in (DeedKind.REACT, DeedKind.UNREACT):
            if not session.intents & (_DIRECT_REACTIONS if direct else _GUILD_REACTIONS):
                return
            data = where | {"user_id": envelope.peer.id, "message_id": deed.of, "type": 0, "burst": False}
            data["emoji"] = {"id": None, "name": envelope.text}
            added = deed.kind is DeedKind.REACT
            if added and not direct:
                data["member"] = view.member(envelope.peer.id, envelope.roles)
            self._say(session, "MESSAGE_REACTION_ADD" if added else "MESSAGE_REACTION_REMOVE", data)
        elif session.intents & (_DIRECT_MESSAGES if direct else _GUILD_MESSAGES) and message is not None:
            if deed.kind is DeedKind.DELETE:
                self._say(session, "MESSAGE_DELETE", {**where, "id": deed.of})
                return
            edited = {"content": envelope.text, "edited_timestamp": view.date(envelope.sent_at)}
            self._say(session, "MESSAGE_UPDATE", view.message(account, message) | view.of_event(account, room) | edited)

    def announce_message(self, account: str, room: Room, message: Json) -> None:
        for session in tuple(self.sessions.values()):
            if session.account == account and session.intents & _GUILD_MESSAGES:
                self._announce(session, room)
                self._say(session, "MESSAGE_CREATE", message | self._server.view.of_event(account, room))

    def announce_thread(self, account: str, room: Room) -> None:
        for session in tuple(self.sessions.values()):
            if session.account == account:
                self._announce(session, room)

    def _announce(self, session: GatewaySession, room: Room) -> None:
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
