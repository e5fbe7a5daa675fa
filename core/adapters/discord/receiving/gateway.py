"""The gateway's socket, by discord.py's `DiscordWebSocket`.

The library's socket is used for sending and for its lifetime: IDENTIFY, RESUME, the limit of payloads per minute,
close codes. What it receives is handled here, because the library moves its sequence number when an event arrives, not
when the message is durable, and because its heartbeats come from a thread of their own, by the machine's clock, which
nothing stops when a simulated process is killed. Here they come from a task: if a heartbeat was not answered when the
next is due, the socket is dead without saying so, and is closed; then the account connects again and resumes.
"""
# The library's socket is made for its own `Client`, so what it reads from that is set here, by private names.
# pyright: reportPrivateUsage=false

import asyncio
import json
import zlib
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import aiohttp
import anyio
import msgspec
import yarl
from discord.errors import ConnectionClosed
from discord.gateway import DiscordWebSocket, ReconnectWebSocket

from trunkline.core.adapters.discord.client import OneRequestClient
from trunkline.core.adapters.discord.errors import of_close
from trunkline.core.errors import NotSent

#: the events that the account gets: servers, their messages, direct messages
_INTENTS = (1 << 0) | (1 << 9) | (1 << 10) | (1 << 12) | (1 << 13)
_MESSAGE_CONTENT = 1 << 15
_DISPATCH, _HEARTBEAT, _RECONNECT, _INVALID_SESSION, _HELLO, _HEARTBEAT_ACK = 0, 1, 7, 9, 10, 11
_SYNC_FLUSH = b"\x00\x00\xff\xff"
#: close codes after which a session cannot be resumed: an unknown number, and a session that timed out
_SESSION_OVER = frozenset({4003, 4007, 4009})
#: seconds between two heartbeats
_SHORTEST_BEAT, _USUAL_BEAT, _LONGEST_BEAT = 0.05, 41.25, 600.0
#: numbers of events are smaller
_NO_SEQ = 1 << 53


class GatewayEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the gateway. For an unreadable event `data` is None, and `wrong` says why."""

    name: str
    seq: int | None
    data: Any = None
    wrong: str = ""


class SessionLost(NotSent):
    """The session cannot be resumed."""


class GatewaySocket(DiscordWebSocket):
    def __init__(self, socket: aiohttp.ClientWebSocketResponse, client: OneRequestClient, patience: float) -> None:
        super().__init__(socket, loop=asyncio.get_running_loop())
        self.token = client.token
        self.shard_id = self.shard_count = None
        self._initial_identify = False
        self._max_heartbeat_timeout = patience
        self._inflated = zlib.decompressobj()
        self._deflated = bytearray()
        #: events that were not taken yet
        self.events: deque[GatewayEvent] = deque()
        #: seconds between two beats; 0 before HELLO
        self.interval = 0.0
        self._answered = True
        self._waits = False
        self._dead = False
        #: nobody waited for the socket at some time since the last beat, so its answer may be there unread
        self._away = True
        #: number of the last event that is durable
        self.durable: Callable[[], int] = lambda: 0

    @classmethod
    async def connect(cls, client: OneRequestClient, url: str, patience: float) -> "GatewaySocket":
        """Connect, and wait for HELLO. Raises `PlatformError`."""
        try:
            address = yarl.URL(url)
            if address.scheme not in ("ws", "wss", "http", "https") or not address.host:
                raise ValueError
        except ValueError:
            raise NotSent("the gateway's address is none") from None
        full = address.with_query(v=10, encoding="json", compress="zlib-stream")
        gateway = cls(await client.ws_connect(str(full)), client, patience)
        try:
            while not gateway.interval:
                await gateway.receive()
        except BaseException:
            with anyio.CancelScope(shield=True):
                await gateway.close()
            raise
        return gateway

    async def start_session(self, *, message_content: bool) -> None:
        intents = SimpleNamespace(value=_INTENTS | (_MESSAGE_CONTENT if message_content else 0))
        state = SimpleNamespace(_activity=None, _status=None, _intents=intents)
        self._connection = cast("Any", state)
        self.call_hooks = _no_hooks
        await self._say(self.identify())

    async def resume_session(self, session: str, seq: int) -> None:
        self.session_id, self.sequence = session, seq
        await self._say(self.resume())

    async def say(self, payload: object) -> None:
        """Send a payload. Raises `NotSent` on a closed socket."""
        await self._say(self.send_as_json(payload))

    async def _say(self, sending: Any) -> None:
        try:
            await sending
        except (ConnectionClosed, aiohttp.ClientError, RuntimeError, OSError) as error:
            raise NotSent(f"the gateway's socket is closed: {type(error).__name__}") from error

    async def receive(self) -> None:
        """Wait for the next payload and handle the content; events are added to `events`.

        Raises `PlatformError` when the connection is over, `SessionLost` if its session cannot be resumed.
        """
        try:
            await self._poll()
        except ReconnectWebSocket:
            code = self.socket.close_code
            if self._dead:
                raise NotSent("the gateway did not answer a heartbeat") from None
            if code in _SESSION_OVER and self._close_code is None:
                raise SessionLost(f"close code {code}") from None
            raise NotSent(f"the gateway's connection is over (close code {code})") from None
        except ConnectionClosed as error:
            raise of_close(error.code) from None
        except (aiohttp.ClientError, OSError, zlib.error) as error:
            raise NotSent(f"the gateway's connection broke: {type(error).__name__}") from error

    async def _poll(self) -> None:
        self._waits = True
        try:
            await self.poll_event()
        finally:
            self._waits, self._away = False, True

    async def received_message(self, msg: Any, /) -> None:
        """Handle a frame: a part of a compressed payload, or a whole payload."""
        if isinstance(msg, bytes):
            self._deflated += msg
            if not msg.endswith(_SYNC_FLUSH):
                return
            whole, self._deflated = bytes(self._deflated), bytearray()
            msg = self._inflated.decompress(whole)
        payload = read_payload(msg)
        if isinstance(payload, GatewayEvent):
            self.events.append(payload)
            return
        await self._control(*payload)

    async def _control(self, op: int, data: Any) -> None:
        if op == _HELLO:
            interval = cast("dict[str, Any]", data).get("heartbeat_interval") if isinstance(data, dict) else None
            self.interval = _USUAL_BEAT
            if isinstance(interval, int | float) and 0 < interval <= _LONGEST_BEAT * 1000:
                self.interval = max(_SHORTEST_BEAT, interval / 1000)
            # An answer to a beat comes at least once in an interval.
            self._max_heartbeat_timeout = 2.5 * self.interval
        elif op == _HEARTBEAT_ACK:
            self._answered = True
        elif op == _HEARTBEAT:
            await self._beat()
        elif op == _RECONNECT:
            await self.close()
            raise NotSent("the gateway asks to connect again")
        elif op == _INVALID_SESSION:
            await self.close()
            raise NotSent("the session is to be resumed again") if data is True else SessionLost()
        # Other operations are of a future version, and need no answer.

    async def keep_alive(self, first: float) -> None:
        """Beat until the socket is closed; the first time after a part of the interval. A silent peer is dead.

        A peer is silent if the account waited for it during a whole interval. While the gateway stores messages, or a
        long history is read, nobody reads the socket, and the answer to a beat may be in it.
        """
        await anyio.sleep(self.interval * first)
        while not self.socket.closed:
            if not self._answered and not self._away:
                self._dead = True
                await self.close()
                return
            self._answered, self._away = False, not self._waits
            try:
                await self._beat()
            except (aiohttp.ClientError, ConnectionClosed, RuntimeError, OSError):
                return
            await anyio.sleep(self.interval)

    async def _beat(self) -> None:
        await self.send_heartbeat({"op": _HEARTBEAT, "d": self.durable() or None})


def read_payload(text: str | bytes) -> GatewayEvent | tuple[int, Any]:
    """An event, or the number and the data of another operation. An event with bad content says what is wrong."""
    try:
        # Not by msgspec: one half of a surrogate pair must not hide the number of the event.
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return GatewayEvent(name="", seq=None, wrong="no JSON")
    if not isinstance(payload, dict):
        return GatewayEvent(name="", seq=None, wrong="no JSON object")
    found = cast("dict[str, Any]", payload)
    op, seq, name = found.get("op"), found.get("s"), found.get("t")
    number = seq if isinstance(seq, int) and not isinstance(seq, bool) and 0 <= seq < _NO_SEQ else None
    if not isinstance(op, int):
        return GatewayEvent(name="", seq=number, wrong="no operation")
    if op != _DISPATCH:
        return op, found.get("d")
    if not isinstance(name, str):
        return GatewayEvent(name="", seq=number, wrong="an event without a name")
    return GatewayEvent(name=name, seq=number, data=found.get("d"))


async def _no_hooks(*_: object, **__: object) -> None:
    """Do nothing: the library calls this hook of the client before IDENTIFY."""
