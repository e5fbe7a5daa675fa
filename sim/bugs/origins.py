"""Defects of origins: a delegation belongs to the wrong turn, or its result goes where somebody else is."""

from collections.abc import Callable
from typing import Any

import msgspec

from trunkline.core.agent import Turn
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.decisions import ReplyPlan, plan_reply
from trunkline.core.events.hands import CompletionStep
from trunkline.core.hands.completion_plan import DIRECT, KEPT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Work
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.store.commands import Admit
from trunkline.core.values import Address, Envelope, WorkKind
from trunkline.sim.bugs.base import bug, deciding
from trunkline.sim.bugs.return_address import main_channel
from trunkline.sim.bugs.turn_wrappers import DelegatingTurn, each_turn, work_of, works_for
from trunkline.sim.bugs.wiring import Wiring

#: what a delegation is made for, of the work of its turn
_Of = Callable[[Work], Work]


class _Delegating(DelegatingTurn):
    """A turn whose delegations are made for other work."""

    of: _Of

    async def call(self, tool: str, called: tuple[Any, ...], more: dict[str, Any]) -> Any:
        own = work_of(self.inner)
        works_for(self.inner, type(self).of(own))
        try:
            return await super().call(tool, called, more)
        finally:
            works_for(self.inner, own)


def _delegating(of: _Of) -> Callable[[Turn], Any]:
    return type("_Elsewhere", (_Delegating,), {"of": staticmethod(of)})


def _remembering(wiring: Wiring, key: Callable[[Work], str], whole: bool) -> None:
    """Delegate in the context of the message that came last under a key, as it was when it came."""
    last: dict[str, Work] = {}

    def note(command: Admit) -> Admit:
        if command.work.kind is WorkKind.MESSAGE:
            last[key(command.work)] = command.work
        return command

    def of(work: Work) -> Work:
        seen = last.get(key(work), work)
        if whole:
            return seen
        return msgspec.structs.replace(work, reply_to=seen.reply_to, place=seen.place, open_on=seen.open_on)

    wiring.change_write(Admit, note)
    each_turn(_delegating(of))(wiring)


@bug("context-by-agent", reports=("004-D01",), caught_by=("C1", "C3"))
def _install_by_agent(wiring: Wiring) -> None:
    """The context of a delegation is kept by agent, and the next message of anybody replaces it before the call."""
    _remembering(wiring, lambda work: work.agent, whole=True)


@bug("context-of-the-process", reports=("B144",), caught_by=("C1", "C3", "R1"))
def _install_of_process(wiring: Wiring) -> None:
    """Chat and thread are variables of the process, which the message of another thread replaces."""
    _remembering(wiring, lambda _: "", whole=False)


@bug("account-not-in-context", reports=("004-D07",), caught_by=("C3",))
def _install_without_account(wiring: Wiring) -> None:
    """The context has no account: with two bots, a result leaves through the one that heard something last."""
    _remembering(wiring, lambda work: f"{work.agent} {work.place.lane[2:] if work.place else ''}", whole=True)


@bug("result-to-active-conversation", reports=("B145",), caught_by=("C1", "C3", "R1"))
def _install_newest(wiring: Wiring) -> None:
    """A result goes to the conversation that is active when it is there, not to the one that asked."""
    newest: list[Address] = []

    def reply(envelope: Envelope, config: GatewayConfig) -> ReplyPlan:
        plan = plan_reply(envelope, config)
        newest[:] = [plan.address]
        return plan

    def complete(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
        if not newest:
            return plan_completion(done, config)
        step = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=newest[0])
        return CompletionPlan(steps=(step,))

    wiring.replace(plan_reply=reply, plan_completion=complete)


@bug("results-for-voice-only", deciding("plan_completion"), reports=("B142",), caught_by=("L2",))
def _voice_only(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """Results have one way out, which is that of voice calls: of any other conversation they are dropped."""
    if done.reply_to is not None and done.reply_to.channel == "voice":
        return plan_completion(done, config)
    return CompletionPlan(steps=(CompletionStep(mode=KEPT, reason=Reason.NO_ORIGIN, address=None),))


@bug("answer-stays-with-callee", deciding("plan_completion"), reports=("B150",), caught_by=("L2",))
def _stays(_done: HandCompletion, _config: HandsConfig) -> CompletionPlan:
    """The answer of another agent stays in the session of that agent, and the one that asked gets nothing."""
    return CompletionPlan(steps=())


@bug("account-rules-never-match", deciding("resolve_route"), reports=("004-D16",), caught_by=("S3",))
def _without_account(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Route rules have an account, and no message does, so a rule for one account never matches."""
    place = msgspec.structs.replace(envelope.address, account="default")
    return resolve_route(msgspec.structs.replace(envelope, address=place), config)


@bug("channel-spelled-twice", reports=("004-D08",), caught_by=("R4",))
def _install_other_spelling(wiring: Wiring) -> None:
    """A delegation stores the name of its adapter where results look for the type of its channel."""

    def of(work: Work) -> Work:
        if work.reply_to is None:
            return work
        return msgspec.structs.replace(
            work, reply_to=msgspec.structs.replace(work.reply_to, account=f"{work.reply_to.channel}-adapter")
        )

    each_turn(_delegating(of))(wiring)


@bug("last-channel-without-thread", reports=("004-D11",), caught_by=("C3", "R1"))
def _install_last_channel(wiring: Wiring) -> None:
    """What is delivered later goes to the last channel, and the thread that is stored with it is ignored."""

    def of(work: Work) -> Work:
        return work if work.reply_to is None else msgspec.structs.replace(work, reply_to=main_channel(work.reply_to))

    each_turn(_delegating(of))(wiring)
