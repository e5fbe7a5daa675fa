"""Defects of turn output: answers doubled, lost or in part, and heartbeats that run or say what they should not."""

import sqlite3
from typing import Any, cast

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.actions.requests import ActionRequest
from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import Agent, Turn
from trunkline.core.channels import ChannelAdapter
from trunkline.core.config import GatewayConfig, HandsConfig
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.events.delivery import IntentPrepared, IntentSuppressed
from trunkline.core.gateway import Gateway
from trunkline.core.hands.completion_plan import CompletionPlan, HandCompletion, plan_completion
from trunkline.core.heartbeat.guards import GuardFacts, RunDecision, decide_run
from trunkline.core.heartbeat.reply import ReplyDecision, ReplyFacts, decide_reply
from trunkline.core.heartbeat.token import TOKEN
from trunkline.core.profile_rules import ProfileRules
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.open_intents import QueuedIntent
from trunkline.core.store.commands import Enqueue, FinishTurn, TurnFinish
from trunkline.core.store.port import answer
from trunkline.core.store.schedule import FindLastRoute, FindSaid, Fire, LastRoute, ListTimers, SaidBefore, Timer
from trunkline.core.store.sqlite.handlers import RunSql
from trunkline.core.text.model_text import ModelText, read_model_text
from trunkline.core.values import (
    Address,
    Envelope,
    IntentId,
    IntentKind,
    IntentState,
    Peer,
    Receipt,
    SendRequest,
    TurnId,
)
from trunkline.sim.bugs.base import (
    bug,
    changing_write,
    configured,
    deciding,
    gateway_part,
    making,
    replacing_read,
    replacing_write,
)
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, taking_turns
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import AdapterWrapper, HearingWrapper, wrapping
from trunkline.sim.store.rewired import RewiredStore


class _RecordedTurn(TurnWrapper):
    """A turn that remembers the last text of its message tool."""

    sent: str | None = None

    async def send(self, text: str, to: Any = None, **where: Any) -> ActionResult:
        """Send, and remember the text."""
        result = await self.inner.send(text, to, **where)
        self.sent = text
        return result


async def _answer_again(agent: Agent, turn: Turn) -> str | None:
    """Return the agent's answer, or else its last tool send."""
    recorded = _RecordedTurn(turn)
    answer = await agent.turn(cast("Turn", recorded))
    return recorded.sent if answer is None else answer


@bug("answers-are-not-compared", deciding("decide_answer"), caught_by=("D3",))
def _uncompared(facts: AnswerFacts) -> Reason | None:
    """The answer of a turn is not compared with the sends of the message tool."""
    return decide_answer(msgspec.structs.replace(facts, said=()))


@bug("repeats-are-forgotten", gateway_part("delivery_type"), caught_by=("D3",))
class _ForgetfulDelivery(Delivery):
    """An answer that is queued behind an open equal send of its turn is sent, too, when that send has arrived."""

    async def _end_of_repeat(self, item: QueuedIntent, row: IntentRow) -> None:
        """None: every answer is sent."""


@bug("failed-send-counts-as-said", deciding("decide_answer"), caught_by=("D3",))
def _counts_failures(facts: AnswerFacts) -> Reason | None:
    """An answer is left out for a send of its turn with the same text, also if that has failed."""
    said = tuple(msgspec.structs.replace(sent, state=IntentState.DELIVERED) for sent in facts.said)
    return decide_answer(msgspec.structs.replace(facts, said=said))


@bug("answer-repeats-tool-send", reports=("B010",), caught_by=("D3",))
def _install_answers_again(wiring: Wiring) -> None:
    """The tool send of a turn is sent once more as its final reply."""
    taking_turns(_answer_again)(wiring)
    wiring.replace(decide_answer=_uncompared)


class _Silencer:
    """Drops the answer of a turn that has sent something with its tool, to whatever place."""

    def __init__(self) -> None:
        self._turns: set[TurnId | None] = set()

    async def enqueue(self, store: RewiredStore, command: Enqueue, story: Any, then: Any) -> Any:
        """Note what the tool sends."""
        self._turns.add(command.intent.turn)
        return await store.inner.write(command, story, then)

    async def finish_turn(self, store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
        """Store the turn without its answer."""
        work = command.work
        if work.turn not in self._turns:
            return await store.inner.write(command, story, then)

        def suppress_and_answer(done: TurnFinish) -> Any:
            answer = story(done)
            for intent in command.intents:
                body = IntentSuppressed(reason=Reason.ALREADY_QUEUED, text=intent.content.text)
                store.events.record(body, inbound=work.id, turn=work.turn)
            return answer

        return await store.inner.write(msgspec.structs.replace(command, intents=()), suppress_and_answer, then)


@bug("tool-send-silences-answer", reports=("B035",), caught_by=("D3",))
def _install_silencer(wiring: Wiring) -> None:
    """Any tool send of the turn suppresses the final reply, wherever it went."""
    silencer = _Silencer()
    wiring.replace_write(Enqueue, silencer.enqueue)
    wiring.replace_write(FinishTurn, silencer.finish_turn)


@bug("reasoning-is-said", deciding("read_answer"), caught_by=("C9",))
def _read_nothing(text: str, _by: object) -> ModelText:
    """Answers are said as the model wrote, with reasoning and directives."""
    return ModelText(text=text)


@bug("answer-forgotten", changing_write(FinishTurn), caught_by=("V1",))
def _without_answer(command: FinishTurn) -> FinishTurn:
    """The end of a turn is stored without its answer, so nothing is left to send."""
    return msgspec.structs.replace(command, intents=())


@bug("answered-twice", replacing_write(FinishTurn), caught_by=("D3",))
async def _answered_twice(store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
    """The answer of a turn is queued once more under another id."""
    answer = await store.inner.write(command, story, then)
    for intent in (prepared for prepared in command.intents if prepared.progress.state is IntentState.PREPARED):
        again = msgspec.structs.replace(intent, id=IntentId(f"{intent.id}.again"))
        body = IntentPrepared(
            intent_kind=again.kind,
            address=again.address,
            targeted=False,
            text=again.content.text,
            chunks=len(again.content.chunks),
            key=again.id,
            reason=Reason.REPLY_TO_ORIGIN,
            mirror_key=again.mirror_key,
        )
        seq = store.events.record(body, None, intent=again.id, turn=again.turn, inbound=again.inbound)
        await store.inner.write(Enqueue(intent=again, now=command.now), lambda _, seq=seq: seq)
        then((again, seq))
    return answer


_OK = (Reason.OK_TOKEN, Reason.OK_EMPTY)


@bug("heartbeat-token-shown", deciding("decide_reply"), reports=("B117",), caught_by=("H1",))
def _shows_the_token(reply: str | None, facts: ReplyFacts) -> ReplyDecision:
    """The final text of a heartbeat skips the step that takes the token away, so people see it each time."""
    decision = decide_reply(reply, facts)
    if decision.reason not in _OK or facts.undeliverable is not None:
        return decision
    return msgspec.structs.replace(decision, text=TOKEN)


@bug("heartbeat-forgets-what-it-said", replacing_read(FindSaid), caught_by=("H2",))
async def _forgets(_store: RewiredStore, _query: FindSaid) -> SaidBefore | None:
    """What a heartbeat said is remembered by nobody, so the same alert comes with every run."""
    return None


@bug("heartbeat-forgets-its-sends", changing_write(Enqueue), caught_by=("H2",))
def _forgets_sends(command: Enqueue) -> Enqueue:
    """The sends of a heartbeat with the message tool are not remembered, only the returned text is."""
    return msgspec.structs.replace(command, said=None)


@bug("heartbeat-dedupe-without-place", reports=("B121",), caught_by=("H2",))
def _install_without_place(wiring: Wiring) -> None:
    """Only the text of an alert is compared, so a new destination never gets it."""
    said: set[str] = set()

    async def find(_store: RewiredStore, query: FindSaid) -> SaidBefore | None:
        return SaidBefore(at=None) if query.text in said else None

    def note(command: FinishTurn) -> FinishTurn:
        if command.said is not None:
            said.add(command.said.text)
        return command

    wiring.replace_read(FindSaid, find)
    wiring.change_write(FinishTurn, note)


@bug("heartbeat-without-hours", deciding("decide_run"), reports=("B124",), caught_by=("H3",))
def _at_any_hour(facts: GuardFacts) -> RunDecision:
    """A wake-up does not look at the active hours."""
    return decide_run(msgspec.structs.replace(facts, active=True))


@bug("heartbeat-timer-from-boot", replacing_read(ListTimers), reports=("B123",), caught_by=("H4",))
async def _from_boot(_store: RewiredStore, _query: ListTimers) -> tuple[Timer, ...]:
    """The interval counts from the start of the process, so restarts put a heartbeat off for ever."""
    return ()


@bug("heartbeat-due-again", replacing_write(Fire), caught_by=("H4",))
async def _due_again(store: RewiredStore, command: Fire, story: Any, then: Any) -> Any:
    """The timer of a heartbeat moves in memory only, and its runs have no identity, so a restart repeats them."""
    if command.timer is None or command.admit is None:
        return await store.inner.write(command, story, then)
    work = command.admit.work.id

    def forget(c: sqlite3.Connection) -> None:
        c.execute(
            "UPDATE inbox SET id = id || '~', identity = identity || '~' WHERE id = ? AND state = 'done'", (work,)
        )
        c.execute("UPDATE transcript SET ref = ref || '~' WHERE ref = ?", (work,))

    await store.inner.write(RunSql(op=forget), answer)
    timer = msgspec.structs.replace(command.timer, next_at=command.timer.last_at)
    return await store.inner.write(msgspec.structs.replace(command, timer=timer), story, then)


@bug("heartbeat-moves-route", reports=("B083",), caught_by=("H5",))
def _install_moves_route(wiring: Wiring) -> None:
    """What an agent sends during a heartbeat counts as the last place of its conversation with a person."""
    last: list[Address] = []

    def note(command: Enqueue) -> Enqueue:
        if (command.intent.inbound or "").startswith("heartbeat"):
            last[:] = [command.intent.address]
        return command

    async def find(store: RewiredStore, query: FindLastRoute) -> Any:
        return LastRoute(address=last[0], peer=Peer(id="heartbeat")) if last else await store.inner.read(query)

    wiring.change_write(Enqueue, note)
    wiring.replace_read(FindLastRoute, find)


@bug("words-lost-on-the-way-in", wrapping, caught_by=("T1",))
class _LosesWords(HearingWrapper):
    """Of a message of several lines the gateway hears the first."""

    async def hear(self, envelope: Envelope) -> Envelope:
        return msgspec.structs.replace(envelope, text=envelope.text.partition("\n")[0])


@bug("answers-lose-their-last-word", deciding("read_answer"), caught_by=("T2",))
def _without_last_word(text: str, by: ProfileRules) -> ModelText:
    """Each answer loses its last word, if it has several."""
    answer = read_model_text(text, by)
    words = answer.text.rstrip().rpartition(" ")
    return msgspec.structs.replace(answer, text=words[0] or answer.text)


@bug("thoughts-beside-no-reply", deciding("decide_answer"), caught_by=("T2",))
def _token_alone(facts: AnswerFacts) -> Reason | None:
    """Only an answer that is the token and nothing else is silent; what stands beside the token is published."""
    answer = facts.answer or ""
    if answer.strip() == "NO_REPLY" or not answer.strip():
        return decide_answer(facts)
    return decide_answer(msgspec.structs.replace(facts, answer=answer.replace("NO_REPLY", "")))


class _Prepares(Gateway):
    """A gateway that prepares messages in another way."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        prepare = self._preparer.prepare

        async def prepare_otherwise(draft: IntentRow, text: str, *more: Any, **named: Any) -> IntentRow:
            return self.prepared(await prepare(draft, self.text(draft, text), *more, **named))

        self._preparer.prepare = prepare_otherwise

    def text(self, _draft: IntentRow, text: str) -> str:
        return text

    def prepared(self, row: IntentRow) -> IntentRow:
        """The message as it is stored and sent."""
        return row


@bug("last-part-is-lost", making("gateway"), caught_by=("T2",))
class _LosesTheLastPart(_Prepares):
    """A text that is too long for one message is prepared without its last part."""

    def prepared(self, row: IntentRow) -> IntentRow:
        """The message without its last part."""
        content = row.content
        if len(content.chunks) < 2:
            return row
        content = msgspec.structs.replace(content, chunks=content.chunks[:-1], forms=content.forms[:-1])
        return msgspec.structs.replace(row, content=content)


@bug("limit-of-the-platform-only", configured, caught_by=("T2",))
def _unlimited(config: GatewayConfig) -> dict[str, Any]:
    """The configured length of texts is ignored: they are as long as the platform allows."""
    unlimited, channels = {"text_limit": None}, dict[str, Any]()
    for name, channel in config.channels.items():
        accounts = {own: account.model_copy(update=unlimited) for own, account in channel.accounts.items()}
        channels[name] = channel.model_copy(update={**unlimited, "accounts": accounts})
    return {"channels": channels}


@bug("edits-lose-their-last-word", wrapping, caught_by=("T2",))
class _CutsEdits(AdapterWrapper):
    """The new text of an edited message is shown without its last word."""

    async def act(self, request: ActionRequest) -> Receipt:
        """Carry out, with less of the text."""
        text = request.text.rpartition(" ")[0] if request.action is Action.EDIT else ""
        return await super().act(msgspec.structs.replace(request, text=text, html=None) if text else request)


@bug("html-of-the-first", wrapping, caught_by=("T2",))
class _ShowsTheFirst(AdapterWrapper):
    """The HTML of an account's first message is kept and shown for each later one, whatever its text is."""

    def __init__(self, inner: ChannelAdapter) -> None:
        super().__init__(inner)
        self._html: str | None = None

    async def send(self, request: SendRequest) -> Receipt:
        """Send with the HTML of the first message."""
        self._html = self._html or request.html
        return await self.inner.send(msgspec.structs.replace(request, html=self._html))


@bug("closed-is-open", deciding("plan_completion"), caught_by=("T3",))
def _falls_back(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
    """The result of bound work goes back to the requester, with a recorded fallback, whatever is configured."""
    return plan_completion(msgspec.structs.replace(done, may_fall_back=True), config)


@bug("notice-has-the-result", caught_by=("T3",))
def _install_telling_notices(wiring: Wiring) -> None:
    """The notice that a result is withheld quotes the result."""
    results: dict[str | None, str] = {}

    def plan_and_note(done: HandCompletion, config: HandsConfig) -> CompletionPlan:
        results[done.delegation] = done.result.text
        return plan_completion(done, config)

    class Telling(_Prepares):
        def text(self, draft: IntentRow, text: str) -> str:
            """The text of a notice, with the result."""
            return f"{text} {results.get(draft.delegation, '')}" if draft.kind is IntentKind.NOTICE else text

    wiring.replace(plan_completion=plan_and_note)
    wiring.make_gateway = Telling
