"""One process that serves a gateway: store, accounts, agents and HTTP side by side, until it is stopped."""

from __future__ import annotations

import errno
import socket
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field

import anyio
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from trunkline.app.serve.accounts import adapters_of, connecting
from trunkline.app.serve.config import LISTEN
from trunkline.app.serve.event_log_lines import EventLogLines
from trunkline.app.serve.logs import LOGGER, Logs
from trunkline.app.serve.parts import NoFunctions, agents_of, http_settings, meter, tokens_of
from trunkline.app.serve.record import RotatingRecording
from trunkline.app.serve.redaction import secrets_of
from trunkline.app.serve.reload import Reloader
from trunkline.app.serve.settings import Settings
from trunkline.core.agent import Agent
from trunkline.core.agents.factory import prepare, running
from trunkline.core.env import Env, system_env
from trunkline.core.errors import ConfigError, UsageError
from trunkline.core.events import Event, EventLog
from trunkline.core.events.delivery import AttemptEnded, AttemptStarted
from trunkline.core.events.gateway import TurnEnded, TurnStarted
from trunkline.core.events.leases import LeaseAwaited, LeaseTaken
from trunkline.core.gateway import Gateway
from trunkline.core.http.app import build_app
from trunkline.core.http.chat.routes import chat_routes
from trunkline.core.http.event_stream import event_streams
from trunkline.core.http.page.routes import page_routes
from trunkline.core.http.served import Served
from trunkline.core.http.server import HttpServer
from trunkline.core.http.settings import HttpSettings, is_loopback
from trunkline.core.store.sqlite import SqliteStore, connect_file


def streams(served: Served) -> Sequence[BaseRoute]:
    """The routes of streams and pages."""
    return (event_streams(served).route(), *chat_routes(served), *page_routes())


_BACKLOG = 2048


def address_of(settings: Settings) -> tuple[str, int]:
    """Host and port to listen on. Raises `ConfigError` for an unusable one, and for a public one without a token."""
    given = settings.overrides.listen
    host, port = _split(settings.config.http.listen if given is None else given)
    if settings.overrides.port is not None:
        port = settings.overrides.port
    if not 0 <= port <= 65535:
        raise ConfigError(f"{port} is not a port: expected 0 to 65535, where 0 takes a free one")
    if not is_loopback(host) and not settings.token_named:
        raise ConfigError(
            f"{host} is not a loopback address, so other machines could reach the gateway: say which token lets them"
            " in, with `token_file` or `tokens` under `http` of the configuration, or with --token-file FILE"
        )
    return host, port


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `UsageError` that names the port and what to do."""
    try:
        # A name may have addresses of both families; the first one is taken.
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"cannot listen on {host!r}: it is no address of this machine ({error})") from error
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
        made.setblocking(False)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            remedy = "stop what has it, or take another port with --port; --port 0 takes a free one"
            raise UsageError(f"port {port} on {host} is taken, perhaps by another gateway: {remedy}") from error
        raise UsageError(f"cannot listen on port {port} of {host}: {error.strerror or error}") from error
    return made


def url_of(made: socket.socket, host: str, *, tls: bool) -> str:
    """The address of the server, for people on this machine."""
    found = made.getsockname()
    shown = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 -- shown, not bound
    name = f"[{shown}]" if ":" in shown else shown
    return f"{'https' if tls else 'http'}://{name}:{found[1]}"


def _split(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif not colon or ":" in host or text.endswith("]"):
        host, port = text.removeprefix("[").removesuffix("]"), "8420"
    if not host or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ConfigError(f"{text!r} is not an address to listen on: expected HOST:PORT, e.g. {LISTEN} or [::1]:8420")
    return host, int(port)


#: seconds between two looks
_LOOK = 0.02
#: seconds of rest after which nothing more is expected; between a turn and the sending of its answer lies a commit
_QUIET = 0.1


class InProgress:
    """Follows a log. Events come from several threads."""

    def __init__(self, log: EventLog) -> None:
        self._open = set[str]()
        self._lock = threading.Lock()
        log.subscribe(self._see, TurnStarted, TurnEnded, AttemptStarted, AttemptEnded)

    def _see(self, event: Event) -> None:
        # The log calls its subscribers one after another.
        begins = isinstance(event.body, TurnStarted | AttemptStarted)
        name = event.turn if isinstance(event.body, TurnStarted | TurnEnded) else event.intent
        with self._lock:
            if begins:
                self._open.add(name or "")
            else:
                self._open.discard(name or "")

    def __len__(self) -> int:
        return len(self._open)

    async def rest(self) -> None:
        """Return once nothing has been in progress for a moment."""
        quiet = 0.0
        while quiet < _QUIET:
            await anyio.sleep(_LOOK)
            quiet = 0.0 if self._open else quiet + _LOOK


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A server that accepts connections."""

    #: its address, e.g. ``http://127.0.0.1:8420``
    url: str
    #: the token of the token file; empty if there is no such file
    token: str = field(repr=False)
    gateway: Gateway
    served: Served
    reloader: Reloader
    #: ends the stop at once, if it is set while the server stops
    at_once: anyio.Event

    @property
    def settings(self) -> Settings:
        """The settings that hold now."""
        return self.reloader.settings


@asynccontextmanager
async def serving(
    settings: Settings, *, env: Env | None = None, logs: Logs | None = None, at_once: anyio.Event | None = None
) -> AsyncGenerator[Serving]:
    """Serve a gateway while the block runs, then stop: what is in progress is finished first, within its limit.

    `at_once` ends the stop early, if it is set. Started, the server accepts connections and has
    opened its store, but may wait for another process that holds it. Raises `UsageError` before anything has begun, and
    in a group what ends the gateway, such as `LeaseLost` or `StoreError`.
    """
    host, port = address_of(settings)
    tokens = tokens_of(settings)
    http = http_settings(settings, host, tokens)
    env = system_env() if env is None else env
    if logs is not None:
        logs.redaction.add([*(token.secret for token in tokens), *secrets_of(settings)])
    agents = agents_of(settings, env)
    async with AsyncExitStack() as stack:
        listening = stack.enter_context(listen(host, port))
        log = EventLog(env.now, keep=False)
        if (record := settings.record) is not None:
            stack.enter_context(closing(RotatingRecording(record, log)))
        if logs is not None:
            logs.watch = EventLogLines(log, LOGGER.level).set_level
        progress = InProgress(log)
        served = _served(settings, agents, log, env)
        app = build_app(served, http, more=streams(served))
        if logs is not None:
            served.admin.redact = logs.redaction.of
        reloader = _reloader(settings, served, app, http, logs)
        made = Serving(
            url=url_of(listening, host, tls=http.tls is not None),
            token=tokens[0].secret if settings.token_file is not None else "",
            gateway=served.gateway,
            served=served,
            reloader=reloader,
            at_once=at_once or anyio.Event(),
        )
        server = HttpServer(app, served, http)
        await stack.enter_async_context(running(agents.values()))
        await stack.enter_async_context(connecting(list(served.gateway.adapters.values())))
        group = await stack.enter_async_context(anyio.create_task_group())
        await group.start(server.run, [listening], name="http")
        opened = _opened(log)
        group.start_soon(made.gateway.run, name="gateway")
        try:
            await opened.wait()
            # Not before: it would hold up the start.
            group.start_soon(prepare, agents.values(), name="agents")
            yield made
        except BaseException:
            # The gateway has ended, or the caller: what is in progress can no longer be finished.
            server.stop(at_once=True)
            raise
        await _stop(server, progress, made)
        group.cancel_scope.cancel()


def _opened(log: EventLog) -> anyio.Event:
    """Set once the store is open: this process has it, or waits for it."""
    opened = anyio.Event()
    # The keeper of the lease records both on the loop.
    log.subscribe(lambda _event: opened.set(), LeaseTaken, LeaseAwaited)
    return opened


def _served(settings: Settings, agents: dict[str, Agent], log: EventLog, env: Env) -> Served:
    """The gateway with its store. Raises `ConfigError`."""
    path, events = settings.store, log.recorder("gateway")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"the store {path}: its folder cannot be made: {error.strerror or error}") from error
    store = SqliteStore(lambda: connect_file(path), events)
    gateway = Gateway(
        config=settings.config.gateway,
        store=store,
        adapters=adapters_of(settings, store, env, events),
        agents=agents,
        hands=NoFunctions(),
        env=env,
        events=events,
    )
    served = Served.of(gateway=gateway, store=store, log=log, env=env)
    meter(agents, served.metrics)
    return served


def _reloader(settings: Settings, served: Served, app: Starlette, http: HttpSettings, logs: Logs | None) -> Reloader:
    reloader = Reloader(settings=settings, gateway=served.gateway, tokens=app.state.tokens, http=http, logs=logs)
    served.admin.reload = reloader.reload
    return reloader


async def _stop(server: HttpServer, progress: InProgress, made: Serving) -> None:
    """Take no more requests, and wait for what is in progress: at most `finish_within`."""
    server.stop()
    if progress:
        LOGGER.info("stopping: %d turns and sends are in progress", len(progress))
    with anyio.move_on_after(made.settings.config.finish_within, shield=True) as limit:
        async with anyio.create_task_group() as group:

            async def cut() -> None:
                await made.at_once.wait()
                group.cancel_scope.cancel()

            group.start_soon(cut)
            await server.ended.wait()
            await progress.rest()
            group.cancel_scope.cancel()
    if limit.cancelled_caught:
        LOGGER.warning("stopping: %d turns and sends are left to the next process", len(progress))
    server.stop(at_once=True)
