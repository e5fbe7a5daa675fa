"""Defects of turn output: a tool send is repeated as the reply, or suppresses it; an answer is lost, or doubled."""

from typing import Any, cast

import msgspec

from trunkline.core.actions.result import ActionResult
from trunkline.core.agent import Agent, Turn
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.events.delivery import IntentPrepared, IntentSuppressed
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.outbound.delivery_loop import Delivery
from trunkline.core.runtime.outbound.open_intents import QueuedIntent
from trunkline.core.store.commands import Enqueue, FinishTurn, TurnFinish
from trunkline.core.text.model_text import ModelText
from trunkline.core.values import IntentId, IntentState, TurnId
from trunkline.sim.bugs.base import bug, changing_write, deciding, gateway_part, replacing_write
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, taking_turns
from trunkline.sim.bugs.wiring import Wiring
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
