"""The gateway that the HTTP API serves: as operators see it, as its process administers it, and with its metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import anyio
import msgspec

from trunkline.core.env import Env
from trunkline.core.errors import AnswerRefused, IllegalTransition, UnknownName
from trunkline.core.events import EventLog
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import HandTask
from trunkline.core.http.accounts import AccountStates
from trunkline.core.http.metrics.metrics import Metrics
from trunkline.core.http.outcome_watch import OutcomeWatch
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.runtime.queue_admin import QueueAdmin
from trunkline.core.states.binding import BindingStatus
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.store import Store
from trunkline.core.store.delegations import HandPost, PostVerb
from trunkline.core.store.operators.hands import HandInspection, HandPosted, InspectDelegation
from trunkline.core.store.operators.holder import FindHolder
from trunkline.core.store.queries import FindBinding, Read
from trunkline.core.values import DelegationId

A = TypeVar("A")
_OF_REPORTS = (PostVerb.RETRY_CALLBACK, PostVerb.DISCARD)


class OperatedGateway(Protocol):
    """A gateway as operators and workers see it. A store file is operated beside its gateway, or without one."""

    @property
    def queue(self) -> QueueAdmin:
        """The intents, and what operators change in them."""
        ...

    def now(self) -> float:
        """The time, on the gateway's clock."""
        ...

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

    async def take(self, hand: str, worker: str) -> HandTask | None:
        """Take the next task of a hand for a worker; None if there is no task."""
        ...


class RunningGateway:
    """The gateway of this process (see `OperatedGateway`): it carries out at once what it is asked for."""

    def __init__(self, gateway: Gateway, store: Store, env: Env) -> None:
        self._gateway = gateway
        self._store = store
        self._env = env

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
    """What a reload of the configuration file has changed."""

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

    @classmethod
    def of(cls, *, gateway: Gateway, store: Store, log: EventLog, env: Env) -> Served:
        """A gateway with new parts, which follow its log from now on."""
        accounts, stopping = AccountStates(gateway.adapters, log), anyio.Event()
        return cls(
            gateway=gateway,
            operated=RunningGateway(gateway, store, env),
            store=store,
            log=log,
            env=env,
            metrics=Metrics(log, gateway, accounts, started=env.now()),
            accounts=accounts,
            outcomes=OutcomeWatch(log, store, stopping),
            stopping=stopping,
        )
