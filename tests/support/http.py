"""The HTTP API on a small real gateway: in the process, and through a real socket."""

import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from tests.support.small_gateway import Running, TinyPlatform, serving
from trunkline.core.agent import Agent
from trunkline.core.env import Env, system_env
from trunkline.core.http.app import ENDPOINTS, build_app
from trunkline.core.http.clients import Bound, Caller, Scope
from trunkline.core.http.endpoint import Endpoint
from trunkline.core.http.served import Served
from trunkline.core.http.server import HttpServer
from trunkline.core.http.settings import HttpSettings, Token
from trunkline.core.values import ChatKind

#: a token with every scope, and one with each
ALL = "token-with-every-scope"
TOKENS = (
    Token(caller=Caller(name="all", scopes=frozenset(Scope)), secret=ALL),
    *(Token(caller=Caller(name=one, scopes=frozenset({one})), secret=f"token-{one}") for one in Scope),
)
#: with every scope, and bound to one person
BOUND = Token(
    caller=Caller(
        name="ana", scopes=frozenset(Scope), bound=Bound(conversations=frozenset({("webchat", ChatKind.DIRECT, "ana")}))
    ),
    secret="token-ana",
)
SETTINGS = HttpSettings(tokens=(*TOKENS, BOUND))


def authorised(secret: str = ALL) -> dict[str, str]:
    """The header of a token."""
    return {"Authorization": f"Bearer {secret}"}


@dataclass
class Api:
    """The HTTP API of a gateway that serves."""

    app: Starlette
    served: Served
    #: its gateway, store and event log
    running: Running
    #: a client with every scope
    http: httpx.AsyncClient
    settings: HttpSettings


@asynccontextmanager
async def api(
    path: Path,
    *,
    settings: HttpSettings = SETTINGS,
    agent: Agent | None = None,
    platform: TinyPlatform | None = None,
    endpoints: Sequence[Endpoint] = ENDPOINTS,
    more: Sequence[BaseRoute] = (),
    env: Env | None = None,
    **config: Any,
) -> AsyncGenerator[Api]:
    """The API on a store file, asked in the process. `env`: that of the routes."""
    own = platform or TinyPlatform()
    async with closed_after(own, platform is None), serving(path, own, agent, **config) as running:
        served = Served.of(gateway=running.gateway, store=running.store, log=running.log, env=env or system_env())
        app = build_app(served, settings, endpoints=endpoints, more=more)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=authorised()) as client:
            await ready(running)
            yield Api(app, served, running, client, settings)


@asynccontextmanager
async def closed_after(platform: TinyPlatform, ours: bool) -> AsyncGenerator[None]:
    """Close a platform of our own in the end."""
    try:
        yield
    finally:
        if ours:
            platform.close()


async def ready(running: Running) -> None:
    """Wait until the gateway takes work."""
    with anyio.fail_after(30):
        while not running.gateway.serving:  # noqa: ASYNC110 (the gateway has no event for it)
            await anyio.sleep(0.01)


@asynccontextmanager
async def over_socket(api: Api) -> AsyncGenerator[tuple[httpx.AsyncClient, int]]:
    """The same API through a real socket: a client with every scope, and the port on 127.0.0.1."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    server = HttpServer(api.app, api.served, api.settings)
    async with anyio.create_task_group() as group:
        await group.start(server.run, [listener])
        base = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=base, headers=authorised(), timeout=30, trust_env=False) as client:
            yield client, port
        server.stop()
