"""Plans client sends: everything that is decided before anything is stored (see `trunkline.core.sends.api`)."""

from operator import attrgetter
from typing import Protocol

import msgspec
from cachetools import LRUCache

from trunkline.core.channels import rules_for
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.errors import SendFailed, TargetError, UsageError
from trunkline.core.events import EventSink
from trunkline.core.events.delivery import SendRefused, TargetResolved
from trunkline.core.records.bindings import SessionBindingRecord
from trunkline.core.records.rows import SendRow
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundQuestion, OutboundRoute
from trunkline.core.runtime.client_sends.target_resolution import DirectoryAnswer, refusal, resolve
from trunkline.core.sends import api
from trunkline.core.values import Address, Receipt
from trunkline.core.well_formed import well_formed

#: maximum number of remembered failures that stored nothing
_MOST_SPENT = 1000
_MOST_KNOWN = 20_000
#: the fields of a message that decide its plan, besides its content
_asked = attrgetter("to", "channel", "account", "thread", "reply_to", "agent", "session_key")


class SendResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of the latest try of a send. Without a receipt it failed, and `detail` says how."""

    tries: int
    receipt: Receipt | None
    channel: str
    session_key: str | None
    detail: str = ""
    #: it failed but may be visible, at least in part, so nothing is retried
    final: bool = False
    #: it was still open and was waited for
    waited: bool = False


class StoredSend(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A durable send. `new`: stored by this call. `fate`: the result of an ended earlier try with the key."""

    plan: api.SendPlan
    send: SendRow
    new: bool
    fate: SendResult | None = None


class SendPorts(Protocol):
    @property
    def config(self) -> GatewayConfig: ...

    @property
    def decisions(self) -> Decisions: ...

    @property
    def channels(self) -> tuple[str, ...]: ...

    def session(self, text: str | None) -> tuple[str, str] | None:
        """The stored key and the agent of a session named by a client. Raises `InvalidSend`."""
        ...

    def account(self, channel: str, named: str | None) -> str | None:
        """The sending account. Raises `UnknownName`."""
        ...

    async def look_up(self, channel: str, account: str, text: str) -> DirectoryAnswer:
        """A directory's answer for a target. May raise `TargetError`."""
        ...

    async def fate(self, key: str) -> SendResult | None:
        """The result of an earlier send with this key, waiting for an open one."""
        ...

    async def store(self, plan: api.SendPlan, cause: int | None) -> StoredSend:
        """Store and queue the send, unless its key was used before. Raises `InvalidSend`."""
        ...

    async def wait_for_end(self, stored: StoredSend) -> SendResult: ...

    def bound(self, address: Address) -> SessionBindingRecord | None: ...

    def forget_sessions(self) -> None: ...

    def preview(self, plan: api.SendPlan) -> tuple[Address, tuple[str, ...]]:
        """The place and the chunks of a send, for a dry run. Raises `InvalidSend`."""
        ...


class SendPlanner:
    """Plans sends. Plans for exact places are cached, because clients often send to the same place again."""

    def __init__(self, ports: SendPorts, events: EventSink) -> None:
        self._ports = ports
        self._events = events
        #: plans and their events by target; valid for one configuration
        self._known: dict[tuple[object, ...], tuple[api.SendPlan, TargetResolved]] = {}
        self._config = ports.config
        #: keys that failed for good before anything was stored
        self.spent: LRUCache[str, str] = LRUCache(_MOST_SPENT)

    def forget_places(self) -> None:
        self._known.clear()
        self._ports.forget_sessions()

    async def plan(self, message: api.SendMessage, asked: int) -> tuple[api.SendPlan, int]:
        """Decide text, channel, agent, account, place and session, and record the decision. Raises `UsageError`."""
        if self._config is not self._ports.config:
            self._known.clear()
            self._config = self._ports.config
        if not isinstance(message.to, Address):
            plan, resolved = await self._plan(message, asked)
        else:
            what = _asked(message)
            known = self._known.get(what)
            if known is not None:
                again = api.checked(message, self._config)
                plan, resolved = msgspec.structs.replace(known[0], message=again), known[1]
            else:
                plan, resolved = await self._plan(message, asked)
                if resolved is not None:
                    # The oldest goes: an LRU cache costs more at each send than planning a few places again.
                    if len(self._known) >= _MOST_KNOWN:
                        del self._known[next(iter(self._known))]
                    self._known[what] = plan, resolved
        if plan.route is not None and not plan.named_session:
            plan, resolved = self._at_home(plan, plan.route.address, resolved)
        return plan, asked if resolved is None else self._events.record(resolved, asked)

    def _at_home(
        self, plan: api.SendPlan, address: Address, resolved: TargetResolved | None
    ) -> tuple[api.SendPlan, TargetResolved | None]:
        """Mirror a send to a bound conversation into the bound session."""
        bound = self._ports.bound(address)
        if bound is None:
            return plan, resolved
        key = bound.target_session_key
        plan = msgspec.structs.replace(plan, session_key=key, entry=None)
        if resolved is not None:
            steps = (*resolved.steps, f"that conversation is bound to the session {key}, by {bound.binding_id}")
            resolved = msgspec.structs.replace(resolved, session_key=key, steps=steps, answered_by=None)
        return plan, resolved

    async def _plan(self, message: api.SendMessage, asked: int) -> tuple[api.SendPlan, TargetResolved | None]:
        ports = self._ports
        api.check_send(message, ports.config.rules)
        channel = api.choose_channel(message, ports.channels, ports.config.rules)
        session = ports.session(message.session_key)
        if session is not None:
            message = msgspec.structs.replace(message, session_key=session[0])
        agent = api.choose_agent(message, ports.config)
        named = message.to.account if isinstance(message.to, Address) else message.account
        account = ports.account(channel, named)
        question, note = await self._question(message, agent, channel, account)
        route = self._route(message, question, note, asked)
        plan = self._ports.decisions.plan_send(
            message,
            agent=agent,
            channel=channel,
            target=question.target,
            account=account,
            route=route,
            config=ports.config,
        )
        return plan, None if route is None else self._resolved(question, route, note)

    async def _question(
        self, message: api.SendMessage, agent: str, channel: str, account: str | None
    ) -> tuple[OutboundQuestion, str]:
        """The routing question after the directory look-up, and a note on it. Exact places are not looked up."""
        question = OutboundQuestion(
            agent=agent, channel=channel, target="", account=account, thread=message.thread, reply_to=message.reply_to
        )
        if isinstance(message.to, Address):
            written = rules_for(channel).write(message.to)
            thread = written.thread or message.thread
            return msgspec.structs.replace(question, target=written.target, thread=thread), ""
        looked = await self._ports.look_up(channel, account or "", message.to.strip())
        return looked.answer(msgspec.structs.replace(question, target=message.to.strip())), looked.note

    def _route(
        self, message: api.SendMessage, question: OutboundQuestion, note: str, cause: int
    ) -> OutboundRoute | None:
        """The route of a send; None: it is sent without one, and without a mirror."""
        try:
            return resolve(self._ports.decisions, question, note, self._ports.config)
        except TargetError as error:
            decided = self._ports.config.rules[api.SendRules].unroutable(error, message.session_key)
            if decided is api.Unroutable.REFUSED:
                raise
            if decided is api.Unroutable.FAILED:
                self._events.record(refused(message.key, error), cause)
                # Remember it: the key never sends again.
                self.spent[message.key] = error.facts
                raise SendFailed(error.facts, final=True) from error
            return None

    def _resolved(self, question: OutboundQuestion, route: OutboundRoute, note: str) -> TargetResolved:
        other = self._ports.decisions.other_agent_at(route.address, question.agent, self._ports.config)
        return TargetResolved(
            channel=question.channel,
            target=question.target,
            address=route.address,
            session_key=config_key(route.key, self._ports.config),
            steps=(*([note] if note else ()), *route.steps),
            answered_by=None if other is None else other.agent,
        )


def refused(key: str, error: UsageError) -> SendRefused:
    return SendRefused(key=well_formed(key), reason=refusal(error), detail=well_formed(error.facts))
