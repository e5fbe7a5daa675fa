"""The gateway that the HTTP API serves: as operators see it, as its process administers it, and with its metrics."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio
import msgspec
from starlette.requests import ClientDisconnect

from trunkline.core.env import Env
from trunkline.core.errors import AnswerRefused, IllegalTransition, StoreError, UnknownName
from trunkline.core.events import Event, EventLog
from trunkline.core.events.delivery import IntentPrepared, IntentSettled
from trunkline.core.events.gateway import StoreFailed, TurnEnded
from trunkline.core.events.hands import CallbackChanged, DelegationAccepted
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import HandTask
from trunkline.core.http.accounts import AccountStates
from trunkline.core.http.clients import Disconnect
from trunkline.core.http.metrics import Metrics
from trunkline.core.http.problems import refusing
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.runtime.queue_admin import QueueAdmin
from trunkline.core.states.binding import BindingStatus
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store import Store
from trunkline.core.store.delegations import HandPost, PostVerb
from trunkline.core.store.mailbox import Outcome, ReadOutcomes
from trunkline.core.store.operators.erasure import Erased
from trunkline.core.store.operators.hands import HandInspection, HandPosted, InspectDelegation
from trunkline.core.store.queries import FindBinding, FindHolder, Read
from trunkline.core.values import DelegationId, InboundId

# Outcomes of inbound messages for clients that wait: they are woken by events, and never poll.

_Asked = asyncio.Future[Outcome | None]


class _Watch:
    """A caller that waits for the outcome of an inbound message. The store's thread changes `open`."""

    __slots__ = ("changed", "deserted", "late", "open")

    def __init__(self) -> None:
        self.changed = asyncio.Event()
        #: ids of messages that are prepared and have not ended
        self.open: set[str | None] = set()
        self.deserted = False
        self.late = False

    def expire(self) -> None:
        self.late = True
        self.changed.set()

    def desert(self) -> None:
        self.deserted = True
        self.changed.set()

    def see(self, event: Event) -> bool:
        """Take note of an event; answers whether the caller may have to wake."""
        body = type(event.body)
        if body is IntentPrepared:
            self.open.add(event.intent)
            return False
        if body is IntentSettled:
            self.open.discard(event.intent)
        # While a message is under way, its end wakes them.
        return not self.open


class OutcomeWatch:
    def __init__(self, log: EventLog, store: Store, stopping: anyio.Event) -> None:
        self._store = store
        self._stopping = stopping
        #: wakes everybody when the server stops; there only while somebody waits
        self._stopper: asyncio.Task[None] | None = None
        self._watches: dict[str, set[_Watch]] = {}
        #: watches whose callers are to wake, and whether the loop will do so: it is called once for many
        self._changed = deque[_Watch]()
        self._waking = False
        self._loop: asyncio.AbstractEventLoop | None = None
        #: questions to the store, and the task that asks them
        self._asked: list[tuple[InboundId, _Asked]] = []
        self._reader: asyncio.Task[None] | None = None
        log.subscribe(self._see, IntentPrepared, IntentSettled, TurnEnded, DelegationAccepted, CallbackChanged)

    @contextmanager
    def watching(self, inbound: InboundId, disconnect: Disconnect) -> Generator[_Watch]:
        """Take note of what comes of a message from now on. A caller that goes away leaves nothing behind."""
        watch = _Watch()
        self._loop = asyncio.get_running_loop()
        self._watches.setdefault(inbound, set()).add(watch)
        if self._stopper is None:
            self._stopper = asyncio.create_task(self._wake_at_stop())
        try:
            with disconnect.notifying(watch.desert):
                yield watch
        finally:
            there = self._watches[inbound]
            there.discard(watch)
            if not there:
                del self._watches[inbound]
            if not self._watches:
                self._stopper.cancel()
                self._stopper = None

    async def _wake_at_stop(self) -> None:
        await self._stopping.wait()
        for watches in self._watches.values():
            for watch in watches:
                watch.changed.set()

    async def wait(self, inbound: InboundId, watch: _Watch, seconds: float, *, before: bool) -> Outcome | None:
        """The outcome of a message once it is complete, after some seconds, or when the server stops.

        `before`: it may have been complete before the watch began. None: it is not stored. Raises `ClientDisconnect`
        when nobody waits any more.
        """
        timer = asyncio.get_running_loop().call_later(seconds, watch.expire)
        try:
            if not before:
                await watch.changed.wait()
            while True:
                watch.changed.clear()
                if watch.deserted:
                    raise ClientDisconnect
                outcome = await self.read_outcome(inbound)
                if outcome is None or outcome.complete or watch.late or self._stopping.is_set():
                    return outcome
                await watch.changed.wait()
        finally:
            timer.cancel()

    async def read_outcome(self, inbound: InboundId) -> Outcome | None:
        """The outcome of a message so far; none: it is not stored.

        Questions of the same moment go to the store together: a hop to its thread costs more than an answer.
        """
        asked: _Asked = asyncio.get_running_loop().create_future()
        self._asked.append((inbound, asked))
        if self._reader is None:
            self._reader = asyncio.create_task(self._read_all())
        return await asked

    async def _read_all(self) -> None:
        try:
            while self._asked:
                some, self._asked = self._asked, []
                try:
                    found = await self._store.read(ReadOutcomes(inbounds=tuple(inbound for inbound, _ in some)))
                except Exception as error:  # noqa: BLE001 (those who ask get it)
                    for _, asked in some:
                        if not asked.done():
                            asked.set_exception(error)
                    continue
                for (_, asked), outcome in zip(some, found, strict=True):
                    if not asked.done():
                        asked.set_result(outcome)
        finally:
            self._reader = None

    def _see(self, event: Event) -> None:
        watches = self._watches
        name = event.inbound or event.intent or event.delegation
        if not watches or name is None:
            return
        # What a message causes has its id and a dot in front.
        end = len(name)
        while end > 0:
            found = watches.get(name[:end])
            if found is not None:
                for watch in tuple(found):
                    if watch.see(event):
                        self._wake(watch)
                return
            end = name.rfind(".", 0, end)

    def _wake(self, watch: _Watch) -> None:
        """Let the loop wake a caller. Called by the thread that records."""
        self._changed.append(watch)
        # Before the loop takes the watches, it says that it is not waking: none is forgotten.
        if not self._waking and self._loop is not None:
            self._waking = True
            # The loop may have closed.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake_changed)

    def _wake_changed(self) -> None:
        self._waking = False
        while self._changed:
            watch = self._changed.popleft()
            if not watch.open:
                watch.changed.set()


A = TypeVar("A")
#: seconds between two tries of a write from which on those who wait for it get an error: it began as long before
_LONG = 1.5
_OF_REPORTS = (PostVerb.RETRY_CALLBACK, PostVerb.DISCARD)


class OperatedGateway(Protocol):
    """A gateway as operators and workers see it. A store file is operated beside its gateway, or without one."""

    @property
    def queue(self) -> QueueAdmin: ...

    def now(self) -> float: ...

    async def read(self, query: Read[A]) -> A:
        """Answer a query of the store. Raises what the query documents."""
        ...

    async def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        """End a binding; the record after it. Raises `UnknownName` or `IllegalTransition`."""
        ...

    async def post(self, post: HandPost) -> HandPosted:
        """Apply an answer, progress or an operator's request, or leave it for the gateway.

        Raises `UnknownName`, `AnswerRefused` with a reason, or `IllegalTransition`; then nothing is changed.
        """
        ...

    async def take(self, hand: str, worker: str) -> HandTask | None: ...

    async def erase(self, channel: str, person: str, by: str) -> Erased:
        """Erase a person from the store and the bytes of the file, from memory and recordings.

        Raises `IllegalTransition`, and nothing is changed; or another `StoreError` where it has to be repeated.
        """
        ...


class RunningGateway:
    """The gateway of this process (see `OperatedGateway`): it carries out at once what it is asked for."""

    def __init__(self, gateway: Gateway, store: Store, env: Env, admin: "Administration") -> None:
        self._gateway = gateway
        self._store = store
        self._env = env
        self._admin = admin

    @property
    def queue(self) -> QueueAdmin:
        return self._gateway.queue

    def now(self) -> float:
        return self._env.now()

    async def read(self, query: Read[A]) -> A:
        return await self._store.read(query)

    async def unbind(self, binding: str, reason: str) -> SessionBindingRecord:
        bindings = self._gateway.bindings
        ended = await bindings.unbind(binding_id=binding, reason=reason) if binding.strip() else ()
        if ended:
            return ended[0]
        try:
            record = await self.read(FindBinding(binding=binding))
        except (ValueError, TypeError) as error:
            raise IllegalTransition(f"the row of binding {binding} cannot be read; it binds nothing") from error
        if record is None:
            raise UnknownName(f"no binding {binding!r}; `trunkline bindings list --ended` lists all")
        has = "has ended already" if record.status is BindingStatus.ENDED else "ends already, once its work is finished"
        raise IllegalTransition(f"{binding} {has}")

    async def take(self, hand: str, worker: str) -> HandTask | None:
        return await self._gateway.hands.take(hand, worker)

    async def erase(self, channel: str, person: str, by: str) -> Erased:
        erasure = await self._gateway.sessions.erase(channel, person, by)
        try:
            deleted = [await anyio.to_thread.run_sync(forget) for forget in self._admin.forget_events]
        except OSError as error:
            raise StoreError(f"the rows are erased, but a recording cannot be deleted, repeat it: {error}") from error
        await self._store.scrub()
        return Erased(erasure=erasure, recordings=sum(deleted))

    async def post(self, post: HandPost) -> HandPosted:
        found = await self._inspect(post.delegation)
        first = await self._apply(post, found)
        done = msgspec.structs.replace(post, delegation=DelegationId(found.id), ticket=None)
        return HandPosted(post=done, first=first, holder=await self.read(FindHolder(now=self.now())))

    async def _inspect(self, delegation: str) -> HandInspection:
        return await self.read(InspectDelegation(delegation=delegation, now=self.now()))

    async def _apply(self, post: HandPost, found: HandInspection) -> bool:
        """Carry out a post; of an answer, whether it is the first. Raises where it does not fit."""
        verb = post.verb
        if verb is PostVerb.ANSWER and post.outcome not in (HandOutcome.OK, HandOutcome.ERROR):
            raise AnswerRefused(f"{found.id}: the outcome of an answer is ok or error", Reason.BAD_RESULT)
        if verb in _OF_REPORTS and found.details is not None and verb not in found.can:
            state = found.details.row.callback.value
            raise IllegalTransition(f"{found.id}: {verb.value} is not possible, its report is {state}")
        done = await self._gateway.hands.post(post)
        if not done and verb is not PostVerb.ANSWER:
            details = (await self._inspect(found.id)).details
            state = "" if details is None else f": it is {details.row.state.value}"
            raise AnswerRefused(f"{found.id} has ended{state}", Reason.ALREADY_FINISHED)
        return done


class Reloaded(msgspec.Struct, frozen=True, kw_only=True):
    """The changes by a reload of the configuration file."""

    #: number of the configuration that the gateway follows now
    revision: int
    #: fields of the file that hold from now on
    changed: tuple[str, ...]
    #: fields that differ from what the process runs with, and that only a restart can change
    needs_restart: tuple[str, ...]


@dataclass(slots=True)
class Administration:
    """The administration of a process, which sets the fields once it is composed. None: not offered."""

    #: reads the configuration file again; raises `ConfigError` or `FileError`, and then nothing is changed
    reload: Callable[[], Reloaded] | None = None
    #: leaves the secrets of the configuration out of a text
    redact: Callable[[str], str] = str
    #: each deletes events that are kept, and answers how many files; an `OSError` says that it has to be repeated
    forget_events: list[Callable[[], int]] = field(default_factory=list[Callable[[], int]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The running gateway, as the routes see it."""

    gateway: Gateway
    #: the same gateway, as operators see it
    operated: OperatedGateway
    store: Store
    log: EventLog
    env: Env
    #: counts what happens from the start of the process
    metrics: Metrics
    #: the accounts, and which of them are connected
    accounts: AccountStates
    #: wakes clients that wait for the outcomes of inbound messages
    outcomes: OutcomeWatch
    #: set when the server stops: streams end then
    stopping: anyio.Event
    #: what the process offers
    admin: Administration = field(default_factory=Administration)

    def check_writable(self) -> None:
        """Raise `Problem` 503 while the store refuses writes: what is asked for would wait for as long."""
        if self.store.refusal:
            raise refusing(self.store.refusal)

    @classmethod
    def of(cls, *, gateway: Gateway, store: Store, log: EventLog, env: Env) -> "Served":
        """A gateway with new parts, which follow its log from now on."""
        accounts, stopping, admin = AccountStates(gateway.adapters, log), anyio.Event(), Administration()

        def see_refused(event: Event) -> None:
            assert isinstance(event.body, StoreFailed)
            if event.body.retry_in >= _LONG:
                gateway.refuse_waiting(
                    f"the store refuses writes ({event.body.error}): repeat it with the same message id"
                )

        log.subscribe(see_refused, StoreFailed)
        return cls(
            gateway=gateway,
            operated=RunningGateway(gateway, store, env, admin),
            store=store,
            log=log,
            env=env,
            metrics=Metrics(log, gateway, accounts, started=env.now()),
            accounts=accounts,
            outcomes=OutcomeWatch(log, store, stopping),
            stopping=stopping,
            admin=admin,
        )
