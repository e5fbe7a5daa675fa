"""The web chat on a small real gateway: the server, and a client that speaks its frames.

``python -m tests.support.web_chat STORE PORT`` serves it in a process of its own, until it is killed.
"""

import json
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.frames import Close

from tests.support.http import ALL, SETTINGS
from tests.support.small_gateway import Clerk, Echo
from trunkline import EventLog, Gateway, GatewayConfig, SqliteStore, Turn, connect_file, system_env
from trunkline.core.adapters.mailbox import MailboxAdapter
from trunkline.core.agent import Agent
from trunkline.core.http.app import build_app
from trunkline.core.http.auth import Tokens
from trunkline.core.http.chat.socket import PATH, ChatLimits, chat_routes
from trunkline.core.http.page.routes import page_routes
from trunkline.core.http.served import Served
from trunkline.core.http.server import HttpServer
from trunkline.core.http.settings import HttpSettings

#: seconds that a slow machine gets
PATIENCE = 30.0


@dataclass
class WebChat:
    """A web chat that serves."""

    port: int
    served: Served
    server: HttpServer
    tokens: Tokens

    @property
    def url(self) -> str:
        """Address of the socket."""
        return f"ws://127.0.0.1:{self.port}{PATH}"


@asynccontextmanager
async def web_chat(
    path: Path,
    agent: Agent | None = None,
    *,
    accounts: Sequence[tuple[str, str]] = (("webchat", "default"),),
    settings: HttpSettings = SETTINGS,
    limits: ChatLimits | None = None,
    port: int = 0,
    standby: bool = False,
    **config: Any,
) -> AsyncGenerator[WebChat]:
    """A web chat on a store file and a socket of 127.0.0.1, until the block ends.

    `standby`: it does not wait until its gateway takes work.
    """
    env = system_env()
    log = EventLog(env.now, keep=False)
    events = log.recorder("gateway")
    store = SqliteStore(lambda: connect_file(path, durability="normal"), events)
    gateway = Gateway(
        config=GatewayConfig.model_validate(config),
        store=store,
        adapters=[MailboxAdapter(channel, account, store, env) for channel, account in accounts],
        agents={"main": agent or Echo()},
        hands=Clerk(),
        env=env,
        events=events,
    )
    served = Served.of(gateway=gateway, store=store, log=log, env=env)
    app = build_app(served, settings, more=[*chat_routes(served, limits), *page_routes()])
    server = HttpServer(app, served, settings)
    listener = socket.create_server(("127.0.0.1", port))
    async with anyio.create_task_group() as group:
        group.start_soon(gateway.run)
        with anyio.fail_after(PATIENCE):
            while not (standby or gateway.serving):  # noqa: ASYNC110 (the gateway has no event for it)
                await anyio.sleep(0.01)
            await group.start(server.run, [listener])
        yield WebChat(listener.getsockname()[1], served, server, app.state.tokens)
        server.stop()
        group.cancel_scope.cancel()


@dataclass
class Client:
    """One socket of a person, who has said hello."""

    connection: ClientConnection
    #: all frames that came
    frames: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def send(self, **frame: Any) -> None:
        """Send a frame."""
        await self.connection.send(json.dumps(frame))

    async def next(self) -> dict[str, Any]:
        """The next frame, whatever it is."""
        with anyio.fail_after(PATIENCE):
            self.frames.append(json.loads(await self.connection.recv()))
        return self.frames[-1]

    async def until(self, type_: str, **fields: Any) -> dict[str, Any]:
        """Read until a frame of a type with these fields comes."""
        while True:
            frame = await self.next()
            if frame["type"] == type_ and all(frame.get(name) == value for name, value in fields.items()):
                return frame

    async def closed(self) -> tuple[int, str]:
        """Read to the end; code and reason of the close frame."""
        ended: Close | None = None
        while self.connection.close_code is None:
            try:
                await self.next()
            except ConnectionClosed as end:
                ended = end.rcvd
        assert ended is not None, "the connection broke without a close frame"
        return ended.code, ended.reason

    def texts(self) -> list[str]:
        """The texts of the messages that came."""
        return [frame["text"] for frame in self.frames if frame["type"] == "message"]


@asynccontextmanager
async def client(url: str, who: str | None = "ana", *, small: bool = False, **hello: Any) -> AsyncGenerator[Client]:
    """A client of the socket; one without a name has not said hello. `small`: its system takes little on its own."""
    headers = hello.pop("headers", None)
    options: dict[str, Any] = {"sock": _small_socket(url), "max_queue": 1} if small else {}
    async with connect(url, additional_headers=headers, proxy=None, max_size=None, **options) as connection:
        one = Client(connection)
        if who is not None:
            frame = {"token": ALL, "peer": {"id": who, "name": who.title()}, **hello}
            await one.send(type="hello", **frame)
        yield one


def _small_socket(url: str) -> socket.socket:
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    one.connect(("127.0.0.1", urlsplit(url).port or 0))
    one.setblocking(False)
    return one


async def _echo_or_buttons(turn: Turn) -> str | None:
    if turn.text == "please fail":
        raise RuntimeError("as asked")
    if turn.text != "buttons":
        return f"you said {turn.text}"
    rows = [[{"text": "Yes", "callback_data": "I say yes"}, {"text": "Page", "url": "https://example.org/"}]]
    await turn.message({"action": "send", "message": "Shall I?", "buttons": rows})
    return None


async def _serve(store: str, port: int) -> None:
    # Without a notice only the page says that a turn has failed. A notice is a message, and hides that line.
    async with web_chat(Path(store), Echo(_echo_or_buttons), port=port, turns={"error_notice": ""}):
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(_serve, sys.argv[1], int(sys.argv[2]))
