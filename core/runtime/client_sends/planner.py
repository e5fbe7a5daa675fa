"""Planning sends of clients: everything that is decided before anything is stored (see `trunkline.core.sends.api`)."""

from __future__ import annotations

from typing import Protocol

import msgspec

from trunkline.core.bindings.records import SessionBindingRecord
from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import AmbiguousTarget, SendFailed, TargetError, UsageError
from trunkline.core.events import EventSink
from trunkline.core.events.delivery import SendRefused, TargetResolved
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute
from trunkline.core.runtime.client_sends.target_resolution import DirectoryAnswer, refusal, resolve
from trunkline.core.sends.api import SendMessage, SendPlan, check_send, choose_agent, choose_channel
from trunkline.core.values import Address, IntentId, Receipt
from trunkline.core.well_formed import well_formed

#: upstream: failures that are remembered without a delivery
_MOST_SPENT = 1000
#: plans that are remembered
_MOST_KNOWN = 20_000
_Asked = tuple[Address, str | None, str | None, str | None, str | None, str | None, str | None]


class SendResult(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the latest try of a send. `receipt` none: it failed, and `detail` tells how."""

    tries: int
    receipt: Receipt | None
    channel: str
    session_key: str | None
    detail: str = ""
    #: it failed, and may be seen all the same, at least in part: nothing is tried again
    final: bool = False
    #: it was open still, and waited for
    waited: bool = False


class StoredSend(msgspec.Struct, frozen=True, kw_only=True):
    """A send that is durable. `new`: by this call. `fate`: of an earlier try with the key, where that has ended."""

    plan: SendPlan
    intent: IntentId
    session_key: str | None
    tries: int
    new: bool
    fate: SendResult | None = None


class SendPorts(Protocol):
    """What a send needs of the gateway around it."""

    @property
    def config(self) -> GatewayConfig:
        """Today's configuration."""
        ...

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that are served."""
        ...

    def session(self, text: str | None) -> tuple[str, str] | None:
        """The key, as it is stored, and the agent of a session that a client names. Raises `InvalidSend`."""
        ...

    def account(self, channel: str, named: str | None) -> str | None:
        """The account that sends. Raises `UnknownName`."""
        ...

    async def look_up(self, channel: str, account: str, text: str) -> DirectoryAnswer:
        """What a directory says of a target. May raise `TargetError`."""
        ...

    async def fate(self, key: str) -> SendResult | None:
        """What became of an earlier send with this key, waiting for one that is still open."""
        ...

    async def store(self, plan: SendPlan, cause: int | None) -> StoredSend:
        """Have the send durable and queued, unless its key has sent before. Raises `InvalidSend`."""
        ...

    async def ended(self, stored: StoredSend) -> SendResult:
        """How it ends, waiting for that."""
        ...

    def bound(self, address: Address) -> SessionBindingRecord | None:
        """The binding by which a place belongs to a session now."""
        ...

    def preview(self, plan: SendPlan) -> tuple[Address, tuple[str, ...]]:
        """Where a send would go, and its chunks. Raises `InvalidSend`."""
        ...


class SendPlanner:
    """Plans sends. Of exact places the plan is remembered: who writes to a place once often does so again."""

    def __init__(self, ports: SendPorts, events: EventSink, decisions: Decisions) -> None:
        self._ports = ports
        self._events = events
        self._decisions = decisions
        #: plans without what is said, with the events that tell of them; they hold for one configuration
        self._known: dict[_Asked, tuple[SendPlan, TargetResolved]] = {}
        self._config = ports.config
        #: upstream: keys that failed before anything was stored
        self.spent: dict[str, str] = {}

    async def plan(self, message: SendMessage, asked: int) -> tuple[SendPlan, int]:
        """Decide text, channel, agent, account, place and session; and the event that tells. Raises `UsageError`."""
        if self._config is not self._ports.config:
            self._known.clear()
            self._config = self._ports.config
        if not isinstance(message.to, Address):
            plan, resolved = await self._planned(message, asked)
        else:
            what = (
                message.to,
                message.channel,
                message.account,
                message.thread,
                message.reply_to,
                message.agent,
                message.session_key,
            )
            known = self._known.get(what)
            if known is not None:
                plan, resolved = _said(known[0], message, self._config), known[1]
            else:
                plan, resolved = await self._planned(message, asked)
                if resolved is not None:
                    self._remember(what, plan, resolved)
        if plan.route is not None and not plan.named_session:
            plan, resolved = self._at_home(plan, plan.route.address, resolved)
        return plan, asked if resolved is None else self._events.record(resolved, asked)

    def _at_home(
        self, plan: SendPlan, address: Address, resolved: TargetResolved | None
    ) -> tuple[SendPlan, TargetResolved | None]:
        """What goes to a bound conversation is remembered in the session that the conversation belongs to."""
        bound = self._ports.bound(address)
        if bound is None:
            return plan, resolved
        key = bound.target_session_key
        plan = msgspec.structs.replace(plan, session_key=key, entry=None)
        if resolved is not None:
            steps = (*resolved.steps, f"that conversation is bound to the session {key}, by {bound.binding_id}")
            resolved = msgspec.structs.replace(resolved, session_key=key, steps=steps)
        return plan, resolved

    def _remember(self, what: _Asked, plan: SendPlan, resolved: TargetResolved) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[what] = plan, resolved

    async def _planned(self, message: SendMessage, asked: int) -> tuple[SendPlan, TargetResolved | None]:
        ports = self._ports
        check_send(message, ports.config.profile)
        channel = choose_channel(message, ports.channels)
        session = ports.session(message.session_key)
        if session is not None:
            message = msgspec.structs.replace(message, session_key=session[0])
        agent = choose_agent(message, ports.config)
        named = message.to.account if isinstance(message.to, Address) else message.account
        account = ports.account(channel, named)
        question, note = await self._question(message, agent, channel, account)
        route = self._route(message, question, note, asked)
        plan = self._decisions.plan_send(
            message,
            agent=agent,
            channel=channel,
            target=question.target,
            account=account,
            route=route,
            config=ports.config,
        )
        return plan, None if route is None else self._told(question, route, note)

    async def _question(
        self, message: SendMessage, agent: str, channel: str, account: str | None
    ) -> tuple[OutboundQuestion, str]:
        """Where it is to go, after a directory was asked; and a note on that. An exact place is not looked up."""
        question = OutboundQuestion(
            agent=agent,
            channel=channel,
            target="",
            account=account,
            thread=message.thread,
            reply_to=message.reply_to,
        )
        if isinstance(message.to, Address):
            written = rules_for(channel).write(message.to)
            thread = written.thread or message.thread
            return msgspec.structs.replace(question, target=written.target, thread=thread), ""
        looked = await self._ports.look_up(channel, account or "", message.to.strip())
        return looked.answer(msgspec.structs.replace(question, target=message.to.strip())), looked.note

    def _route(self, message: SendMessage, question: OutboundQuestion, note: str, cause: int) -> OutboundRoute | None:
        """The route of a send; none only in the upstream profiles, which then send without a mirror."""
        try:
            return resolve(self._decisions, question, note, self._ports.config)
        except TargetError as error:
            if not self._ports.config.profile.upstream:
                raise
            if isinstance(error, AmbiguousTarget) and not (message.session_key or "").strip():
                # Upstream asks for the route where no session is named only, and fails then as a delivery does.
                self._events.record(refused(message.key, error), cause)
                raise self._spend(message.key, error) from error
            return None

    def _spend(self, key: str, error: TargetError) -> SendFailed:
        """Upstream: remember a failure of which nothing is stored."""
        if len(self.spent) >= _MOST_SPENT:
            del self.spent[next(iter(self.spent))]
        self.spent[key] = error.facts
        return SendFailed(error.facts, final=True)

    def _told(self, question: OutboundQuestion, route: OutboundRoute, note: str) -> TargetResolved:
        return TargetResolved(
            channel=question.channel,
            target=question.target,
            address=route.address,
            session_key=config_key(route.key, self._ports.config),
            steps=(*([note] if note else ()), *route.steps),
        )


def _said(plan: SendPlan, message: SendMessage, config: GatewayConfig) -> SendPlan:
    """A remembered plan with what is said this time. Raises `InvalidSend`."""
    text, media = check_send(message, config.profile)
    return msgspec.structs.replace(
        plan,
        key=message.key,
        text=text,
        media=media,
        poll=message.poll,
        payload=message.payload,
        best_effort=message.best_effort,
    )


def refused(key: str, error: UsageError) -> SendRefused:
    """The event of a send that cannot be done as asked."""
    return SendRefused(key=well_formed(key), reason=refusal(error), detail=well_formed(error.facts))
