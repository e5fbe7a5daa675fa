"""Defects of hands: answers that count twice or not, reports lost or repeated, results where somebody else is."""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import msgspec

from trunkline.core.agent import Turn
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.decisions import ReplyPlan, plan_reply
from trunkline.core.events.hands import CompletionStep
from trunkline.core.gateway import Gateway
from trunkline.core.hands.completion_plan import DIRECT, KEPT, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.hands.port import HandRunner, HandTask
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import Unfinished, Work
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.states.delegation import CallbackEvent, CallbackState
from trunkline.core.store.commands import Admit, FinishTurn
from trunkline.core.store.delegations import (
    AcceptDelegation,
    ChangeCallback,
    DropPost,
    FinishDelegation,
    HandFinish,
    HandPost,
    PostToGateway,
    ReadPosts,
    RetryCallback,
    TakeTask,
)
from trunkline.core.store.port import answer
from trunkline.core.store.queries import ListOpenIntents, LoadUnfinished, OpenIntent
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql, execute
from trunkline.core.values import Address, Envelope, WorkKind
from trunkline.sim.bugs.base import bug, deciding, replacing_read, replacing_write
from trunkline.sim.bugs.routing import main_channel
from trunkline.sim.bugs.turn_wrappers import DelegatingTurn, each_turn, work_of, works_for
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.store.rewired import RewiredStore

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


#: how often a report is tried in all that nobody sees
_MOST_REPEATS = 5


@bug("posts-removed-when-read", replacing_read(ReadPosts), caught_by=("C6",))
async def _removed_first(store: RewiredStore, query: ReadPosts) -> tuple[HandPost, ...]:
    """What workers have left is removed as soon as it is read, so a process that dies before it counts loses it."""
    found = await store.inner.read(query)
    for post in found:
        await store.inner.write(DropPost(n=post.n), answer)
    # Nothing is left that its command could remove.
    return tuple(msgspec.structs.replace(post, n=None) for post in found)


@bug("parked-report-is-forgotten", replacing_read(ListOpenIntents), caught_by=("L1", "L6"))
async def _forgotten(store: RewiredStore, query: ListOpenIntents) -> tuple[OpenIntent, ...]:
    """A process that starts loads only what is on its way, and leaves out reports that wait for their account."""
    sql = "SELECT i.id FROM intents i JOIN delegations d ON d.id = i.delegation_id WHERE d.callback = ?"
    state = (CallbackState.PARKED.value,)
    parked = {name for (name,) in await store.inner.read(ReadSql(op=lambda c: c.execute(sql, state).fetchall()))}
    return tuple(delegation for delegation in await store.inner.read(query) if delegation.id not in parked)


@bug("discard-stops-nothing", replacing_write(ChangeCallback), caught_by=("C4",))
async def _still_sent(store: RewiredStore, command: ChangeCallback, story: Any, then: Any) -> Any:
    """A discarded report is only shown as discarded: its messages stay in the queue, and are sent."""
    return await store.inner.write(command, story, None if command.event is CallbackEvent.DISCARD else then)


@bug("retry-is-only-noted", replacing_write(RetryCallback), caught_by=("C4", "L1"))
async def _only_noted(store: RewiredStore, command: RetryCallback, story: Any, _then: Any) -> Any:
    """A report that an operator retries is marked as due, and its turn does not run before the next start."""
    return await store.inner.write(command, story)


@bug("no-reply-is-failure", reports=("B141",), caught_by=("C4",))
def _install_registry(wiring: Wiring) -> None:
    """A callback turn that is silent on purpose counts as a failed delivery, and is repeated until a limit."""
    gateways: list[Gateway] = []
    repeats: Counter[str] = Counter()
    make = wiring.make_gateway

    def gateway(**parts: Any) -> Gateway:
        gateways[:] = [make(**parts)]
        return gateways[0]

    async def finish(store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
        done = command.work.callback
        if done is None or command.callback is not CallbackEvent.SUPPRESS:
            return await store.inner.write(command, story, then)
        failed = msgspec.structs.replace(command, callback=CallbackEvent.FAIL, callback_reason=Reason.NO_RECEIPT)
        written = await store.inner.write(failed, story, then)
        repeats[done.delegation] += 1
        if repeats[done.delegation] < _MOST_REPEATS:
            await gateways[0].hands.retry_callback(done.delegation, by="registry")
        return written

    wiring.make_gateway = gateway
    wiring.replace_write(FinishTurn, finish)


#: what everybody shows instead of a ticket
_ANY = "any-ticket"
#: seconds by which a commit comes later than the start of the hand
_LATE = 0.01


@bug("wrong-ticket-accepted", caught_by=("C6",))
def _install_any_ticket(wiring: Wiring) -> None:
    """An answer counts without the ticket of the worker that took the task, so a stranger can give it."""
    wiring.change_write(TakeTask, lambda command: msgspec.structs.replace(command, ticket=_ANY))

    def unchecked(command: PostToGateway) -> PostToGateway:
        return msgspec.structs.replace(command, post=msgspec.structs.replace(command.post, ticket=_ANY))

    wiring.change_write(PostToGateway, unchecked)


class _Hands:
    """Hands whose runs a defect changes."""

    def __init__(self, inner: HandRunner) -> None:
        self.inner = inner

    def has(self, hand: str) -> bool:
        return self.inner.has(hand)

    async def run(self, task: HandTask) -> str:
        return await self.inner.run(task)


def _with_hands(wiring: Wiring, wrap: Callable[[HandRunner], HandRunner]) -> None:
    make = wiring.make_gateway

    def gateway(*, hands: HandRunner, **parts: Any) -> Gateway:
        return make(hands=wrap(hands), **parts)

    wiring.make_gateway = gateway


class _FirstWords(_Hands):
    """Takes what a hand reports first for its result."""

    async def run(self, task: HandTask) -> str:
        found: list[str] = []
        async with anyio.create_task_group() as group:

            async def progress(text: str) -> None:
                found.append(text)
                group.cancel_scope.cancel()
                await anyio.sleep_forever()

            async def work() -> None:
                found.append(await self.inner.run(msgspec.structs.replace(task, progress=progress)))

            group.start_soon(work)
        return found[0]


@bug("progress-is-result", caught_by=("C6",))
def _install_first_words(wiring: Wiring) -> None:
    """The first thing that a hand reports is taken for its result, and the rest is never read."""
    _with_hands(wiring, _FirstWords)


@bug("late-result-too", replacing_write(FinishDelegation), caught_by=("C6",))
async def _finished_again(store: RewiredStore, command: FinishDelegation, story: Any, then: Any) -> Any:
    """A result that comes after the end ends the task once more, and is reported like the first."""

    def write(c: sqlite3.Connection) -> HandFinish:
        found = execute(c, command)
        if found.first or found.again:
            return found
        c.execute("UPDATE delegations SET state = 'running', callback = 'waiting' WHERE id = ?", (command.delegation,))
        again = None if command.callback is None else _once_more(command.callback)
        return execute(c, msgspec.structs.replace(command, post=None, callback=again))

    return await store.inner.write(RunSql(op=write), story, then)


def _once_more(callback: Any) -> Any:
    """The callback under another identity, so that it is no repeat."""
    return msgspec.structs.replace(callback, identity=f"{callback.identity}/again")


class _Early(_Hands):
    """Hands that have begun before their delegation is stored."""

    def __init__(self, inner: HandRunner) -> None:
        super().__init__(inner)
        self._begun: dict[str, asyncio.Task[str]] = {}

    def begin(self, task: HandTask) -> None:
        self._begun[task.delegation] = asyncio.ensure_future(self.inner.run(task))

    async def run(self, task: HandTask) -> str:
        begun = self._begun.pop(task.delegation, None)
        return await (self.inner.run(task) if begun is None else begun)


@bug("begins-before-it-is-stored", reports=("004-D03",), caught_by=("C5",))
def _install_early(wiring: Wiring) -> None:
    """A hand is started first and its handle stored afterwards, so one that ends at once is never found again."""
    hands: list[_Early] = []

    def wrap(inner: HandRunner) -> HandRunner:
        hands[:] = [_Early(inner)]
        return hands[0]

    async def accept(store: RewiredStore, command: AcceptDelegation, story: Any, then: Any) -> Any:
        row = command.row
        hands[0].begin(HandTask(delegation=row.id, hand=row.hand, task=row.task))
        await anyio.sleep(_LATE)
        return await store.inner.write(command, story, then)

    _with_hands(wiring, wrap)
    wiring.replace_write(AcceptDelegation, accept)


@bug("stale-run-is-resumed", replacing_read(LoadUnfinished), reports=("B115",), caught_by=("C5",))
async def _resume_stale_runs(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """After a long time without a process a run is resumed, however old it is and whatever it is still worth."""
    found = await store.inner.read(query)
    young = [msgspec.structs.replace(row, accepted_at=1e12, deadline=None) for row in found.delegations]
    return msgspec.structs.replace(found, delegations=tuple(young))


@bug("injection-error-swallowed", caught_by=("L2", "C4"), reports=("004-D02",))
def _install_swallowed(wiring: Wiring) -> None:
    """Whether the result was injected is never looked at: an error there ends everything, in no log and for nobody."""

    def lost(command: FinishDelegation) -> FinishDelegation:
        return msgspec.structs.replace(command, callback=None, intents=(), callback_reason=None)

    wiring.change_write(FinishDelegation, lost)
