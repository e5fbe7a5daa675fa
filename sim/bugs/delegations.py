"""Defects of delegations: work that nobody accepted, completions announced twice or forgotten, callbacks for others."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import anyio.abc
import msgspec

from trunkline.core.agent import Agent, Turn
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.errors import HandError
from trunkline.core.events import Body, hands
from trunkline.core.events.hands import CompletionStep
from trunkline.core.gateway import Gateway
from trunkline.core.hands.callback_message import callback_message
from trunkline.core.hands.completion_plan import DIRECT, TURN, CompletionPlan, HandCompletion, plan_completion
from trunkline.core.hands.port import Delegated, HandRunner, HandTask
from trunkline.core.prompts import Prompt, PromptKind, PromptQuestion, compose_prompts
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.rows import Admission, Unfinished, Work
from trunkline.core.states.delegation import CallbackState
from trunkline.core.store.commands import AckChunk, Admit, FinishTurn
from trunkline.core.store.delegations import AcceptDelegation, FinishDelegation
from trunkline.core.store.port import answer
from trunkline.core.store.queries import LoadUnfinished
from trunkline.core.store.sqlite.handlers import RunSql, execute
from trunkline.core.values import DelegationId, Peer, SessionId, TranscriptLine, WorkKind
from trunkline.sim.bugs.base import Installer, bug, changing_write, deciding, making, replacing_read, replacing_write
from trunkline.sim.bugs.turn_wrappers import DelegatingTurn, TurnWrapper, each_turn, fields, taking_turns, work_of
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import changing_events
from trunkline.sim.cast.nonsense import take_gateway_down
from trunkline.sim.store.rewired import RewiredStore


@bug("ids-of-callers", each_turn, reports=("004-D04",), caught_by=("C5",))
class _OneId(DelegatingTurn):
    """A delegation has the id that its caller chooses, so a second task replaces the first."""

    async def call(self, tool: str, called: tuple[Any, ...], more: dict[str, Any]) -> Any:
        vars(self.inner)["_calls"] = 0
        return await super().call(tool, called, more)


class _Synchronous(TurnWrapper):
    """A turn that runs hands itself, and waits."""

    hands: HandRunner

    async def delegate(self, hand: str, task: str, **more: Any) -> Any:
        return (await self._run(hand, task))[0]

    async def send_async(self, agent_id: str, message: str, **more: Any) -> Any:
        return Delegated(delegation=(await self._run(agent_id, message))[0], hand=agent_id)

    async def _run(self, hand: str, task: str) -> tuple[DelegationId, str]:
        id = DelegationId(f"{work_of(self.inner).id}.sync")  # noqa: A001 -- the word
        try:
            return id, await self.hands.run(HandTask(delegation=id, hand=hand, task=task))
        except HandError as error:
            return id, error.facts


@bug("silently-synchronous", reports=("004-D14", "B148"), caught_by=("C5",))
def _install_synchronous(wiring: Wiring) -> None:
    """Without the context of a session the tool runs the hand at once and waits, and says that it was accepted."""
    make = wiring.make_gateway

    def synchronous(*, agents: Mapping[str, Agent], hands: HandRunner, **parts: Any) -> Gateway:
        each_turn(type("_Waiting", (_Synchronous,), {"hands": hands}))(wiring)
        waiting = {name: wiring.wrap_agent(agent) for name, agent in agents.items()}
        return make(agents=waiting, hands=hands, **parts)

    wiring.make_gateway = synchronous


#: characters of a result that is passed on as it is
_INLINE = 200


@bug("callback-without-prompt", deciding("compose_prompts"), caught_by=("C2",))
def _without_prompt(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
    """The bridge ignores the prompt of a turn, so the agent takes a result for an ordinary message."""
    return compose_prompts(msgspec.structs.replace(question, callback=False), config)


@bug("callback-prompt-replaces", deciding("compose_prompts"), caught_by=("C2",))
def _prompt_replaces(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
    """The prompt of a callback stands before those of the agent and the channel instead of after them."""
    return tuple(sorted(compose_prompts(question, config), key=lambda prompt: prompt.kind is not PromptKind.CALLBACK))


@bug("callback-prompt-is-kept", caught_by=("C2",))
def _install_kept_prompt(wiring: Wiring) -> None:
    """The prompt of a callback stays with its agent, so the next message is presented as a result too."""
    kept: dict[str, Prompt] = {}

    def compose(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
        prompts = compose_prompts(question, config)
        if question.callback:
            kept[question.agent] = prompts[-1]
            return prompts
        left = kept.pop(question.agent, None)
        return prompts if left is None else (*prompts, left)

    wiring.replace(compose_prompts=compose)


def _of_callbacks(change: Callable[[Turn], Any]) -> Callable[[Turn], Any]:
    return lambda turn: turn if turn.callback is None else change(turn)


@bug("callback-without-sender", lambda change: each_turn(_of_callbacks(change)), caught_by=("C2",))
def _without_sender(turn: Turn) -> Any:
    """A result comes from the person who asked, as if they had written it."""
    return fields(turn, peer=turn.asked_by or Peer(id=""))


@bug("result-as-user-text", lambda change: each_turn(_of_callbacks(change)), reports=("004-D06",), caught_by=("C2",))
def _as_user_text(turn: Turn) -> Any:
    """The raw output of a hand is a message of a user for the model, so instructions in it are obeyed."""
    return fields(turn, for_model=turn.text)


@bug("dangling-handle", lambda change: each_turn(_of_callbacks(change)), reports=("004-D12",), caught_by=("C8",))
def _dangling(turn: Turn) -> Any:
    """A long result is replaced by a reference to a place that its reader cannot open."""
    done = turn.callback
    if done is None or len(turn.text) <= _INLINE:
        return turn
    text = f"artifact://results/{done.delegation} ({len(turn.text)} characters)"
    return fields(turn, text=text, for_model=callback_message(hand=done.hand, outcome=done.outcome, text=text))


@bug("retry-without-sender", changing_write(FinishDelegation), reports=("004-D15",), caught_by=("C2",))
def _stored_without_sender(command: FinishDelegation) -> FinishDelegation:
    """Only the first run of a callback turn has its sender: a second one, after a crash, gets the text alone."""
    if command.callback is None:
        return command
    work = msgspec.structs.replace(command.callback.work, peer=Peer(id="user", name="user"))
    return msgspec.structs.replace(command, callback=msgspec.structs.replace(command.callback, work=work))


@bug("asked-by-last-speaker", caught_by=("C2",))
def _install_last_speaker(wiring: Wiring) -> None:
    """A group is one person: a result is presented to the last person who spoke there."""
    last: dict[str, Peer | None] = {}

    def wrap(turn: Turn) -> Any:
        if turn.callback is None:
            last[turn.session_id] = turn.asked_by
            return turn
        return fields(turn, asked_by=last.get(turn.session_id))

    each_turn(wrap)(wiring)


@bug("hand-sender-not-escaped", each_turn, caught_by=("C7",))
def _not_escaped(turn: Turn) -> Any:
    """A person who is called `hand:clerk` is shown to agents like that hand."""
    return turn if turn.work is not WorkKind.MESSAGE else fields(turn, peer=work_of(turn).peer)


@bug("results-shared-by-agent", reports=("004-D13",), caught_by=("C1",))
def _install_shared_results(wiring: Wiring) -> None:
    """Finished results are put into the next turn of their agent, with any other person."""
    finished: dict[str, str] = {}

    def wrap(turn: Turn) -> Any:
        done = turn.callback
        if done is not None:
            finished[turn.agent] = f"{done.hand} is done: {turn.text}"
            return turn
        news = finished.pop(turn.agent, None)
        return turn if news is None else fields(turn, text=f"{turn.text} ({news})")

    each_turn(wrap)(wiring)


class _RemembersForAll(TurnWrapper):
    """A turn whose history has lines of all sessions of its agent."""

    shared: tuple[TranscriptLine, ...] = ()

    async def history(self, last: int | None = None) -> tuple[TranscriptLine, ...]:
        return (*await self.inner.history(last), *self.shared)


def _sharing_history(is_shared: Callable[[Turn], bool]) -> Installer:
    """Remember the texts of some turns by agent."""

    def install(wiring: Wiring) -> None:
        lines: dict[str, tuple[TranscriptLine, ...]] = {}

        def wrap(turn: Turn) -> Any:
            known = lines.get(turn.agent, ())
            if is_shared(turn):
                line = TranscriptLine(role="hand", text=turn.text, ref=turn.id, partial=False, at=0.0)
                lines[turn.agent] = (*known, line)
            return type("_Remembering", (_RemembersForAll,), {"shared": known})(turn)

        each_turn(wrap)(wiring)

    return install


@bug("history-has-all-results", _sharing_history, caught_by=("C1",))
def _is_result(turn: Turn) -> bool:
    """Results are remembered by agent, so the history of any of its sessions has those of all."""
    return turn.callback is not None


@bug("history-has-all-messages", _sharing_history, caught_by=("P1",))
def _is_message(turn: Turn) -> bool:
    """Messages of people are remembered by agent, so the history of any of its sessions has those of all."""
    return turn.callback is None


@bug("suppressed-without-reason", changing_events, caught_by=("C4",))
def _without_reason(body: Body) -> Body:
    """A result is not reported, and nothing says why."""
    suppressed = isinstance(body, hands.CallbackChanged) and body.state is CallbackState.SUPPRESSED
    return msgspec.structs.replace(body, reason=None) if suppressed else body


@bug("chain-without-end", caught_by=("C10",))
def _chain_without_end(wiring: Wiring) -> None:
    """Nothing counts the turns that follow from each other: results are delegated again and bots answered for ever."""
    wiring.replace(is_chain_over=lambda *_: False)
    wiring.change_write(Admit, lambda command: msgspec.structs.replace(command, chain=None))


#: seconds between the two scans of a start
_LATER = 0.01
#: the channel whose listener gives up at a conflict
_GIVES_UP = "telegram"


@bug("announce-busy-twice", deciding("plan_completion"), reports=("B001", "004-D13"), caught_by=("D2",))
def _announce_when_busy(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion that finds its requester busy is announced directly and again by the queued turn."""
    plan = plan_completion(done, config)
    if not done.requester_busy or done.reply_to is None:
        return plan
    extra = CompletionStep(mode=DIRECT, reason=Reason.DIRECT_ANNOUNCE, address=done.reply_to)
    return CompletionPlan(steps=(extra, *plan.steps))


@bug("hand-announces-too", deciding("plan_completion"), reports=("B002",), caught_by=("D2",))
def _hand_announces_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion is announced by the requester and by the hand's own session, in the main channel."""
    plan = plan_completion(done, config)
    if done.reply_to is None:
        return plan
    room = done.reply_to.parent or done.reply_to.conversation
    main = msgspec.structs.replace(done.reply_to, conversation=room, parent=None)
    extra = CompletionStep(mode=DIRECT, reason=Reason.HAND_SESSION_ROUTE, address=main)
    return CompletionPlan(steps=(*plan.steps, extra))


@bug("parent-never-learns", changing_write(FinishDelegation), reports=("B138",), caught_by=("L2",))
def _without_a_line(command: FinishDelegation) -> FinishDelegation:
    """A result that is posted in the work's own thread is not in the transcript of the session that delegated."""
    return msgspec.structs.replace(command, line=None)


@bug("opening-not-stored", changing_write(AcceptDelegation), caught_by=("R4",))
def _forgets_the_opening(command: AcceptDelegation) -> AcceptDelegation:
    """After a restart nobody knows that the thread of an answer must be opened, and a result is refused there."""
    return msgspec.structs.replace(command, row=msgspec.structs.replace(command.row, open_on=None))


@bug("mirror-in-left-session", changing_write(AckChunk), caught_by=("M1",))
def _where_it_was_decided(command: AckChunk) -> AckChunk:
    """An answer is remembered in the session of its turn, although its conversation has left that one meanwhile."""
    if command.mirror is None or command.intent.session is None:
        return command
    return msgspec.structs.replace(command, mirror=msgspec.structs.replace(command.mirror, address=None))


@bug("posted-and-forwarded", deciding("plan_completion"), reports=("B011",), caught_by=("D2",))
def _forwarded_too(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A result that is posted is handed to the main agent too, which forwards it to the same place."""
    plan = plan_completion(done, config)
    if done.requester_replaced or all(step.mode == TURN for step in plan.steps):
        return plan
    extra = CompletionStep(mode=TURN, reason=Reason.CALLBACK_TURN, address=done.reply_to)
    return CompletionPlan(steps=(*plan.steps, extra))


@bug("orphans-scanned-twice", making("gateway"), reports=("B020",), caught_by=("D5",))
class ScanningTwice(Gateway):
    """Two scanners with marks of their own look for interrupted hands, and each resumes what it finds."""

    async def _recover(self, started: int, group: anyio.abc.TaskGroup) -> None:
        left = await self._ctx.store.read(LoadUnfinished())
        await super()._recover(started, group)
        group.start_soon(self._scan_too, left.delegations, started, name="second scan")

    async def _scan_too(self, orphans: tuple[DelegationRow, ...], cause: int) -> None:
        await anyio.sleep(_LATER)
        for orphan in orphans:
            self._delegations.recover(orphan, 0, cause)


@bug("busy-requester-misses-result", deciding("plan_completion"), reports=("B022",), caught_by=("L2",))
def _busy_is_gone(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """A completion that finds its requester in the middle of a turn is given up, and never retried."""
    return CompletionPlan(steps=()) if done.requester_busy else plan_completion(done, config)


@bug("steered-is-read", making("gateway"), reports=("B023",), caught_by=("L1", "L2"))
class Steering(Gateway):
    """A result is put into the run that is about to end, and counts as delivered, but is never read."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._delegations.endings.reporter.start_turn = self._hand_over

    def _hand_over(self, work: Work, session: SessionId, cause: int) -> None:
        if not self._turn_queue.has_session(session):
            self._turn_queue.enqueue(work, session, cause)
        elif self._group is not None:
            self._group.start_soon(self._count_as_read, work, name=f"steer {work.id}")

    async def _count_as_read(self, work: Work) -> None:
        await self._ctx.store.write(FinishTurn(work=work, intents=(), now=self._ctx.env.now()), lambda _: None)


@bug("orphans-pruned", replacing_read(LoadUnfinished), reports=("B025",), caught_by=("L2",))
async def _without_orphans(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """Running work whose session entry is missing at the start is deleted silently."""
    await store.inner.write(RunSql(op=_prune), answer)
    return await store.inner.read(query)


def _prune(c: sqlite3.Connection) -> None:
    c.execute(
        "DELETE FROM delegations WHERE state IN ('accepted', 'running')"
        " AND session_id NOT IN (SELECT session_id FROM session_map)"
    )


@bug("conflict-drops-message", replacing_write(Admit), reports=("B041",), caught_by=("L1", "V1"))
async def _admit_once(store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
    """A message whose admission meets a conflict is tried again on one channel, and dropped on another."""
    if command.work.place is None or command.work.place.channel != _GIVES_UP:
        return await store.inner.write(command, story, then)
    tries = 0

    def write(c: sqlite3.Connection) -> Admission | None:
        nonlocal tries
        tries += 1
        return execute(c, command) if tries == 1 else None

    def record(admission: Admission | None) -> Any:
        return (Admission(session=None), 0) if admission is None else story(admission)

    return await store.inner.write(RunSql(op=write), record, then)


@bug("turns-unbounded", replacing_read(LoadUnfinished), reports=("B116",), caught_by=("L1",))
async def _without_runs(store: RewiredStore, query: LoadUnfinished) -> Unfinished:
    """Nothing counts the runs of a turn that end with the process, so each process runs it again."""
    return msgspec.structs.replace(await store.inner.read(query), runs={})


async def _end_the_gateway(agent: Agent, turn: Turn) -> str | None:
    """Take the turn; a stray cancellation of the agent is taken for one of the gateway."""
    try:
        return await agent.turn(turn)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        await take_gateway_down()


@bug("stray-cancellation-ends-the-gateway", caught_by=("L1",))
def _install_stray_cancellation(wiring: Wiring) -> None:
    """A `CancelledError` that an agent lets out ends the gateway, and its turn is run again by each process."""
    taking_turns(_end_the_gateway)(wiring)
    wiring.replace_read(LoadUnfinished, _without_runs)
