"""The events of a daemon of signal-cli: received while somebody listens, kept in memory, sent again by their id."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from trunkline.core.errors import PlatformError
from trunkline.core.values import ChatKind, Envelope
from trunkline.sim.loop import Node
from trunkline.sim.platforms.api.inbound_pushes import Connection
from trunkline.sim.platforms.channels.signal import FakeSignal

#: events that the daemon keeps
_KEPT = 1000


class DaemonEvent:
    """An event with its id."""

    def __init__(self, number: int, id: str, data: str) -> None:  # noqa: A002 -- the word
        self.number, self.id, self.data = number, id, data


class DaemonEvents:
    """The events of one account. The daemon receives while a client is connected (``--receive-mode=manual``).

    It acknowledges each message to Signal as it receives it, as signal-cli does: from then on only this memory has it.
    """

    def __init__(self, platform: FakeSignal, account: str, started: int) -> None:
        self._platform = platform
        self._account = account
        #: distinguishes the ids of this run of the daemon
        self._run = started
        self._events: deque[DaemonEvent] = deque(maxlen=_KEPT)
        self._last = 0
        self._clients: list[asyncio.Queue[DaemonEvent | None]] = []
        self._receiver: asyncio.Task[None] | None = None
        self._connection: Connection | None = None

    @property
    def silent(self) -> bool:
        """Whether a fault lets nothing through, not even signs of life."""
        return self._connection is not None and self._connection.silent

    def join(self, last_id: str | None) -> asyncio.Queue[DaemonEvent | None]:
        """Connect a client. With an id it first gets what it has missed since; all that is kept, for an unknown one."""
        queue: asyncio.Queue[DaemonEvent | None] = asyncio.Queue()
        if last_id is not None:
            after = self._number(last_id)
            for event in self._events:
                if event.number > after:
                    queue.put_nowait(event)
        self._clients.append(queue)
        if self._receiver is None:
            self._receiver = asyncio.get_running_loop().create_task(self._receive())
        return queue

    def leave(self, queue: asyncio.Queue[DaemonEvent | None]) -> None:
        """A client has gone; without one the daemon receives no more."""
        if queue in self._clients:
            self._clients.remove(queue)
        if not self._clients:
            self._stop()

    def _stop(self) -> None:
        receiver, self._receiver = self._receiver, None
        if receiver is not None:
            receiver.cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._platform.pushes.disconnect(self._account, connection)

    def close(self) -> None:
        """End the streams of all clients."""
        for queue in self._clients:
            queue.put_nowait(None)
        self._clients.clear()
        self._stop()

    def forget(self, started: int) -> None:
        """The daemon starts again: what it kept is gone, and ids begin again."""
        self.close()
        self._events.clear()
        self._run, self._last = started, 0

    def emit(self, body: dict[str, Any]) -> None:
        """Send an event to all clients, and keep it."""
        self._last += 1
        event = DaemonEvent(self._last, f"{self._run}-{self._last}", json.dumps(body))
        self._events.append(event)
        for queue in self._clients:
            queue.put_nowait(event)

    def _number(self, last_id: str) -> int:
        run, _, number = last_id.partition("-")
        return int(number) if run == str(self._run) and number.isdecimal() else 0

    async def _receive(self) -> None:
        connection = self._connection = self._platform.pushes.connect(self._account, Node("signal-cli"))
        while True:
            found = await connection.queue.get()
            if isinstance(found, PlatformError):
                break
            self.emit(event_of(self._platform, found))
            self._platform.pushes.ack(found)
        self._receiver = self._connection = None
        self.close()


def event_of(platform: FakeSignal, envelope: Envelope) -> dict[str, Any]:
    """A person's message as signal-cli shows it."""
    author, time = envelope.peer.id, int(envelope.message_id)
    data: dict[str, Any] = {"timestamp": time, "message": envelope.text, "expiresInSeconds": 0, "viewOnce": False}
    if envelope.address.kind is ChatKind.GROUP:
        group = {"groupId": envelope.address.conversation, "groupName": "", "revision": 1, "type": "DELIVER"}
        data["groupInfo"] = group
    if envelope.reply_to is not None:
        data["quote"] = {"id": int(envelope.reply_to), "author": author, "text": "", "attachments": []}
    shown: dict[str, Any] = {
        "source": author,
        "sourceNumber": author,
        "sourceUuid": platform.account_id(author),
        "sourceName": envelope.peer.name,
        "sourceDevice": 1,
        "timestamp": time,
        "serverReceivedTimestamp": time + 1,
        "serverDeliveredTimestamp": time + 2,
        "dataMessage": data,
    }
    return {"envelope": shown, "account": platform.bot_id(envelope.address.account)}
