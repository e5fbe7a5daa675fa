"""One process that serves a gateway: store, accounts, agents and HTTP side by side, until it is stopped."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import anyio

from trunkline.app.serve.in_progress import InProgress
from trunkline.app.serve.listening import address_of, listen, url_of
from trunkline.app.serve.parts import NoFunctions, adapters_of, agents_of, http_settings, tokens_of
from trunkline.app.serve.settings import Settings
from trunkline.app.serve.streams import streams
from trunkline.core.agents.factory import running
from trunkline.core.env import Env, system_env
from trunkline.core.events import EventLog
from trunkline.core.gateway import Gateway
from trunkline.core.http.app import build_app
from trunkline.core.http.served import Served
from trunkline.core.http.server import HttpServer
from trunkline.core.store.sqlite import SqliteStore, connect_file


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A server that accepts connections."""

    #: its address, e.g. ``http://127.0.0.1:8420``
    url: str
    #: the token of the token file; empty if there is no such file
    token: str
    settings: Settings
    gateway: Gateway
    served: Served
    #: ends the stop at once, if it is set while the server stops
    at_once: anyio.Event


@asynccontextmanager
async def serving(
    settings: Settings, *, env: Env | None = None, log: EventLog | None = None, at_once: anyio.Event | None = None
) -> AsyncGenerator[Serving]:
    """Serve a gateway while the block runs, then stop: what is in progress is finished first, within its limit.

    `at_once` ends the stop early, if it is set. `log` must be empty; by default there is a new one.
    Started, the server accepts connections; the gateway may still wait for its store. Raises `ConfigError` and
    `UsageError` before anything has begun, and what ends the gateway, such as `LeaseLost`, in a group.
    """
    host, port = address_of(settings)
    tokens = tokens_of(settings)
    http = http_settings(settings, host, tokens)
    env = system_env() if env is None else env
    agents = agents_of(settings, env)
    log = EventLog(env.now, keep=False) if log is None else log
    events = log.recorder("gateway")
    path = settings.store
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with listen(host, port) as listening:
        store = SqliteStore(lambda: connect_file(path), events)
        gateway = Gateway(
            config=settings.config.gateway,
            store=store,
            adapters=adapters_of(settings, store, env),
            agents=agents,
            hands=NoFunctions(),
            env=env,
            events=events,
        )
        served = Served(gateway=gateway, store=store, log=log, events=events, env=env)
        server = HttpServer(build_app(served, http, more=streams(served)), served, http)
        made = Serving(
            url=url_of(listening, host, tls=http.tls is not None),
            token=tokens[0].secret if settings.token_file is not None else "",
            settings=settings,
            gateway=gateway,
            served=served,
            at_once=at_once or anyio.Event(),
        )
        progress = InProgress(log)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(running(agents.values()))
            group = await stack.enter_async_context(anyio.create_task_group())
            await group.start(server.run, [listening], name="http")
            group.start_soon(gateway.run, name="gateway")
            try:
                yield made
            finally:
                await _stop(server, progress, made)
                group.cancel_scope.cancel()


async def _stop(server: HttpServer, progress: InProgress, made: Serving) -> None:
    """Take no more requests, and wait for what is in progress: at most `finish_within`."""
    server.stop()
    with anyio.move_on_after(made.settings.config.finish_within, shield=True):
        async with anyio.create_task_group() as group:

            async def cut() -> None:
                await made.at_once.wait()
                group.cancel_scope.cancel()

            group.start_soon(cut)
            await server.ended.wait()
            await progress.rest()
            group.cancel_scope.cancel()
    server.stop(at_once=True)
