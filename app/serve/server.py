"""A gateway as a process: store, accounts, agents and HTTP side by side, until it is stopped."""

import errno
import logging
import socket
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from starlette.routing import BaseRoute

from trunkline.app.serve.config import LISTEN
from trunkline.app.serve.logs import LOGGER, Logs
from trunkline.app.serve.machine import check_writable
from trunkline.app.serve.parts import NoFunctions, adapters_of, agents_of, http_settings, meter, tls_of, tokens_of
from trunkline.app.serve.record import RotatingRecording
from trunkline.app.serve.redaction import secrets_of
from trunkline.app.serve.reload import Reloader
from trunkline.app.serve.settings import Settings
from trunkline.core.agent import Agent
from trunkline.core.agents.factory import prepare, running
from trunkline.core.config.base import is_loopback
from trunkline.core.env import Env, system_env
from trunkline.core.errors import ConfigError, StoreError, StoreTooNew, UsageError
from trunkline.core.events import Body, Event, EventLog, EventSink, delivery, gateway, leases, trace
from trunkline.core.events.adapters import AdapterConnected, DeliveryFailed, UpdateDropped, WebhookRefused
from trunkline.core.gateway import Gateway
from trunkline.core.http.app import build_app
from trunkline.core.http.chat.socket import chat_routes
from trunkline.core.http.event_stream import event_streams
from trunkline.core.http.page.routes import page_routes
from trunkline.core.http.served import Served
from trunkline.core.http.server import HttpServer
from trunkline.core.reasons import Reason
from trunkline.core.store.opening import open_store
from trunkline.core.store.sqlite.connection import connect_file
from trunkline.core.store.sqlite.offline.opening import reading
from trunkline.core.store.sqlite.store import SqliteStore
from trunkline.core.values import IntentState

# Which events of a gateway get a line in the log, and at which level.
#
# Worth a line is what an operator has to know: the life of the process, that a message came and that an answer arrived,
# what is lost or waits for a decision, and what fails and is tried again. The lines have ids and no texts: those are
# only written at the level ``debug``, where every event has a line.

LOG = logging.getLogger("trunkline.gateway")
_INFO, _WARNING, _ERROR = logging.INFO, logging.WARNING, logging.ERROR
#: messages that are dropped for a defect, not because they came twice or were empty
_BAD_MESSAGES = frozenset({Reason.BAD_ENVELOPE, Reason.UNDECIDABLE})
#: ends of messages that nobody has to look at
_GOOD_ENDS = frozenset({IntentState.DELIVERED, IntentState.CANCELLED})

#: level and text of an entry; none: no entry
Line = tuple[int, str] | None


def _settled(body: delivery.IntentSettled) -> Line:
    if body.state in _GOOD_ENDS:
        return _INFO, f"a message was {body.state.value}"
    waits = "; it waits for an operator" if body.state is IntentState.UNKNOWN else ""
    return _WARNING, f"a message ended as {body.state.value}: {body.reason.value}{waits}"


def _turn_ended(body: gateway.TurnEnded) -> Line:
    if body.outcome != "failed":
        return None
    return _WARNING, f"a turn failed: {body.reason.value if body.reason else 'no reason'}"


def _dropped(body: gateway.InboundDropped) -> Line:
    return (_WARNING, f"a message was refused: {body.reason.value}") if body.reason in _BAD_MESSAGES else None


def _webhook(body: WebhookRefused) -> Line:
    more = f", and {body.before} requests before it" if body.before else ""
    return _WARNING, f"a webhook of {body.channel}:{body.account} was refused: {body.reason.value}{more}"


def _update_dropped(body: UpdateDropped) -> Line:
    # People join and leave all day.
    level = _INFO if body.reason is Reason.SERVICE_MESSAGE else _WARNING
    return level, f"an update of {body.channel}:{body.account} was dropped: {body.reason.value}"


def _store_warned(body: leases.StoreWarned) -> Line:
    return (_WARNING if body.reason is Reason.STORE_FILE else _ERROR), f"the store: {body.detail}"


def _says(level: int, text: str) -> Callable[[Any], Line]:
    """A line with the fields of the body filled in."""
    return lambda body: (level, text.format(body))


#: what the log says of an event
_LINES: dict[type[Body], Callable[[Any], Line]] = {
    gateway.ProcessStarted: _says(_INFO, "the gateway starts, with configuration {0.revision}"),
    leases.LeaseTaken: _says(_INFO, "this process holds the store"),
    leases.LeaseAwaited: _says(_WARNING, "{0.holder} holds the store: this process stands by until it stops"),
    leases.LeaseGone: _says(_ERROR, "another process has taken over the store"),
    gateway.ProcessRecovered: _says(
        _INFO,
        "unfinished work of an earlier process goes on: {0.inbounds} turns, {0.intents} messages,"
        " {0.delegations} delegations",
    ),
    gateway.ConfigReloaded: _says(_INFO, "the gateway follows configuration {0.revision}"),
    gateway.StoreFailed: _says(_ERROR, "the store refused a write, tried again in {0.retry_in:g} s: {0.error}"),
    leases.StoreWarned: _store_warned,
    gateway.AdapterFailed: _says(
        _WARNING, "the connection of {0.channel}:{0.account} failed, opened again in {0.retry_in:g} s"
    ),
    gateway.AdapterEnded: _says(_WARNING, "{0.channel}:{0.account} ended: nothing more is received from it"),
    leases.AdapterInstalled: _says(_INFO, "{0.channel}:{0.account} was added"),
    AdapterConnected: _says(_INFO, "{0.channel}:{0.account} is connected"),
    UpdateDropped: _update_dropped,
    WebhookRefused: _webhook,
    DeliveryFailed: _says(_WARNING, "{0.channel}:{0.account} takes an accepted message back: {0.reason.value}"),
    leases.StorePruned: _says(_INFO, "old rows were removed: {0.inbounds} inbound, {0.intents} outbound"),
    leases.PersonErased: _says(_INFO, "a person was erased for {0.by}: {0.rows} rows were removed"),
    delivery.BacklogWaiting: _says(_WARNING, "the queue is full with {0.open} messages: new ones wait"),
    delivery.OperatorActed: _says(_INFO, "an operator's command: {0.verb}"),
    delivery.MirrorRefused: _says(_WARNING, "a transcript could not be written: {0.reason.value}"),
    gateway.SessionShared: _says(_WARNING, "{0.people} people who are not linked share one session"),
    delivery.IntentSettled: _settled,
    gateway.InboundAdmitted: _says(_INFO, "a {0.work.value} came for {0.session_key}"),
    gateway.TurnEnded: _turn_ended,
    gateway.InboundDropped: _dropped,
}
#: names under which an entry has the ids of its event
_IDS = ("inbound", "turn", "intent", "delegation", "binding")


class EventLogLines:
    def __init__(self, log: EventLog, level: int) -> None:
        self._log = log
        self._all = False
        log.subscribe(self._see, *_LINES)
        self.set_level(level)

    def set_level(self, level: int) -> None:
        """Follow a new level. Every event is only looked at once that was asked for."""
        if level <= logging.DEBUG and not self._all:
            self._all = True
            self._log.subscribe(self._see_any)

    def _see(self, event: Event) -> None:
        line = _LINES[type(event.body)](event.body)
        if line is not None and LOG.isEnabledFor(line[0]):
            LOG.log(line[0], line[1], extra=_fields(event))

    def _see_any(self, event: Event) -> None:
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("%s", trace.encode_event(event).decode("utf-8", "replace"))


def _fields(event: Event) -> dict[str, object]:
    found: dict[str, object] = {"event": event.kind, "seq": event.seq}
    for name in _IDS:
        if (value := getattr(event, name)) is not None:
            found[name] = value
    detail: object = getattr(event.body, "detail", "")
    if detail:
        found["detail"] = detail
    return found


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


def problems_of(settings: Settings) -> list[str]:
    """The reasons why a server with these settings would not start. Writes nothing, and opens no connection."""
    env = system_env()
    events = EventLog(env.now, keep=False).recorder("gateway")
    checks: tuple[Callable[[], object], ...] = (
        lambda: address_of(settings),
        lambda: tokens_of(settings, make=False),
        lambda: tls_of(settings),
        lambda: agents_of(settings, env),
        # Only a gateway that runs opens the store.
        lambda: adapters_of(settings, _store_of(settings, events), env, events),
        lambda: settings.server is None and settings.store.exists() and check_writable(settings.store),
    )
    found: list[str] = []
    for check in checks:
        try:
            check()
        except (ConfigError, UsageError) as error:
            found.append(error.facts)
    return found


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
    if text.isascii() and text.isdigit():
        raise ConfigError(f"{text!r} is a port without a host: write 127.0.0.1:{text}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif not colon or ":" in host or text.endswith("]"):
        host, port = text.removeprefix("[").removesuffix("]"), "8420"
    if not host or not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise ConfigError(f"{text!r} is not an address to listen on: expected HOST:PORT, e.g. {LISTEN} or [::1]:8420")
    return host, int(port)


#: seconds between two looks at a store that this version does not know
_LOOK_AGAIN = 5.0
#: seconds in which those who have waited in vain get their answer
_ANSWER = 1.0
#: seconds between two looks
_LOOK = 0.02
#: seconds of rest after which nothing more is expected; between a turn and the sending of its answer lies a commit
_QUIET = 0.1


class InProgress:
    """Follows a log. Events come from several threads."""

    def __init__(self, log: EventLog) -> None:
        self._open = set[str]()
        self._lock = threading.Lock()
        log.subscribe(self._see, gateway.TurnStarted, gateway.TurnEnded, delivery.AttemptStarted, delivery.AttemptEnded)

    def _see(self, event: Event) -> None:
        # The log calls its subscribers one after another.
        begins = isinstance(event.body, gateway.TurnStarted | delivery.AttemptStarted)
        name = event.turn if isinstance(event.body, gateway.TurnStarted | gateway.TurnEnded) else event.intent
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
        recording: RotatingRecording | None = None
        if (record := settings.record) is not None:
            recording = stack.enter_context(closing(RotatingRecording(record, log)))
        if logs is not None:
            logs.watch = EventLogLines(log, LOGGER.level).set_level
        progress = InProgress(log)
        served = _served(settings, agents, log, env)
        if recording is not None:
            served.admin.forget_events.append(recording.delete)
        app = build_app(served, http, more=streams(served))
        if logs is not None:
            served.admin.redact = logs.redaction.of
        reloader = Reloader(settings=settings, gateway=served.gateway, tokens=app.state.tokens, http=http, logs=logs)
        served.admin.reload = reloader.reload
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
        await stack.enter_async_context(running(list(served.gateway.adapters.values())))
        group = await stack.enter_async_context(anyio.create_task_group())
        await group.start(server.run, [listening], name="http")
        opened = _opened(log)
        group.start_soon(_run, settings, made.gateway, name="gateway")
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


async def _run(settings: Settings, gateway: Gateway) -> None:
    """Run a gateway, once its store is one that it knows, if that is to be waited for."""
    look = partial(_look_for_newer, settings.server or settings.store)
    while settings.config.newer_store == "wait" and (why := await anyio.to_thread.run_sync(look)):
        LOGGER.warning("waiting for a store that this version knows: %s", why)
        await anyio.sleep(_LOOK_AGAIN)
    await gateway.run()


def _look_for_newer(store: Path | str) -> str:
    """Why a store is for a newer version only; empty: it is not, or the start says what else is wrong."""
    try:
        with open_store(store, reading):
            return ""
    except StoreError as error:
        return error.facts if isinstance(error, StoreTooNew) else ""


def _opened(log: EventLog) -> anyio.Event:
    """Set once the store is open: this process has it, or waits for it."""
    opened = anyio.Event()
    # The keeper of the lease records both on the loop.
    log.subscribe(lambda _event: opened.set(), leases.LeaseTaken, leases.LeaseAwaited)
    return opened


def _store_of(settings: Settings, events: EventSink) -> SqliteStore:
    """The store, not open yet: a file, or on a server. Raises `UsageError` for an address that is none."""
    url = settings.server
    if url is None:
        return SqliteStore(lambda: connect_file(settings.store), events)
    from trunkline.core.store.postgres.store import PostgresStore, connect_server

    return PostgresStore(lambda: connect_server(url), events)


def _served(settings: Settings, agents: dict[str, Agent], log: EventLog, env: Env) -> Served:
    """The gateway with its store. Raises `ConfigError`."""
    path, events = settings.store, log.recorder("gateway")
    if settings.server is None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"the store {path}: its folder cannot be made: {error.strerror or error}") from error
        check_writable(path)
    store = _store_of(settings, events)
    served_gateway = Gateway(
        config=settings.config.gateway,
        store=store,
        adapters=adapters_of(settings, store, env, events),
        agents=agents,
        hands=NoFunctions(),
        env=env,
        events=events,
    )
    served = Served.of(gateway=served_gateway, store=store, log=log, env=env)
    meter(agents, served.metrics)
    return served


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
    made.gateway.refuse_waiting("the gateway is stopping: repeat it with the same message id")
    with anyio.move_on_after(_ANSWER, shield=True):
        await server.ended.wait()
    server.stop(at_once=True)
