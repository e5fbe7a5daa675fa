"""Scripted agents: they play the first rule that matches. Texts are templates; nothing is executed."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import cast

import anyio

from trunkline.core.agent import Agent, Turn
from trunkline.core.declared import filled
from trunkline.core.records.rows import CallbackFacts
from trunkline.core.values import WorkKind
from trunkline.core.well_formed import describe, plain_text
from trunkline.sim.cast.cast_world import CastWorld
from trunkline.sim.cast.delegating import HandUser
from trunkline.sim.cast.message_tool import RecordedTurn, ToolUser, TurnSpeech
from trunkline.sim.cast.nonsense import TAKEN_DOWN, talk_nonsense
from trunkline.sim.cast.working_agents import WorkingAgents
from trunkline.sim.events.hands import AgentAnswered, AgentGiven, GivenPrompt
from trunkline.sim.scenario.model.agent_actions import AgentAction, SendAction
from trunkline.sim.scenario.model.rules import Match
from trunkline.sim.scenario.model.scenario import AgentRule
from trunkline.sim.scenario.templates import fill, uses
from trunkline.sim.scenario.text_pattern import text_matches

#: kinds of work of which the input is recorded: results, tasks, and what nobody has written
_RECORDED = (WorkKind.CALLBACK, WorkKind.TASK, WorkKind.HEARTBEAT, WorkKind.CRON)
#: how the sender of a result begins
_OF_HANDS = "hand:"


class ScriptFailure(Exception):
    """Raised by a scripted agent or hook on ``fail``."""


class ScriptedAgent:
    """`core.Agent` that plays the rules of a scenario.

    An invalid tool call has no effect, and the gateway records it; the agent continues with its next action.
    """

    def __init__(
        self, world: CastWorld, rules: Sequence[AgentRule], *, tool: ToolUser, hands: HandUser, tasks: WorkingAgents
    ) -> None:
        self._world = world
        self._rules = rules
        self._tool, self._hands, self._tasks = tool, hands, tasks

    async def turn(self, turn: Turn) -> str | None:
        """Play the first rule that matches; without one, stay silent."""
        given = given_of(turn)
        if given is not None:
            callback = turn.callback
            self._world.events.record(given, turn=turn.id, delegation=None if callback is None else callback.delegation)
        try:
            answer = await self._tasks.run(turn, self._work)
        except BaseException as error:
            task = asyncio.current_task()
            # A process that stops cancels its agents, which have not failed unless they have stopped it.
            failed = isinstance(error, Exception | SystemExit) or TAKEN_DOWN in error.args
            if failed or task is None or not task.cancelling():
                self._record_answer(turn, None, describe(error))
            raise
        text = plain_text(answer)
        self._record_answer(turn, text, "" if text is not None or answer is None else type(answer).__name__)
        return answer

    def _record_answer(self, turn: Turn, text: str | None, failed: str) -> None:
        answered = filled(AgentAnswered, turn, given=turn.text, text=text, failed=failed)
        self._world.events.record(answered, turn=turn.id)

    async def _work(self, turn: Turn) -> str | None:
        rule = next((rule for rule in self._rules if self._fits(rule.when, turn)), None)
        if rule is None:
            return None
        self._world.reached.note(rule)
        slots = {**_slots(turn), "n": str(self._world.number(turn.session_key, turn.id))}
        speech = TurnSpeech(turn.agent, turn.id, self._world.events.record, self._world.words.hidden)
        answer = await self._play(rule, turn, slots, speech)
        speech.end()
        return answer

    async def _play(self, rule: AgentRule, turn: Turn, slots: dict[str, str], speech: TurnSpeech) -> str | None:
        for number, action in enumerate(rule.do, 1):
            if action.reply is not None:
                text = await _fill(action.reply, turn, slots)
                speech.returns(text)
                return text
            if action.silent:
                return None
            if action.plugin is not None:
                return await self._delegate_turn(self._tasks.plugin(action.plugin), turn, speech)
            if action.nonsense is not None:
                return cast("str", await talk_nonsense(action.nonsense))
            await self._act(action, turn, slots, speech, number)
        return None

    async def _delegate_turn(self, agent: Agent, turn: Turn, speech: TurnSpeech) -> str | None:
        """Let the agent of a plug-in take the turn; what it says is recorded as of any agent."""
        text = await agent.turn(cast("Turn", RecordedTurn(turn, speech)))
        if isinstance(text, str):
            speech.returns(text)
        return text

    async def _act(
        self, action: AgentAction, turn: Turn, slots: dict[str, str], speech: TurnSpeech, number: int
    ) -> None:
        if action.think is not None:
            await anyio.sleep(action.think)
        elif action.send is not None:
            text = await _fill(action.send.text, turn, slots)
            if not action.send.dry_run:
                speech.asks(self._named(action.send, turn), text)
            slots |= await self._tool.send(action.send, turn, text, speech)
        elif action.act is not None:
            for where, text in self._tool.texts_of(action.act, turn, slots):
                speech.asks(where, text)
            slots |= await self._tool.act(action.act, turn, slots, number, speech)
        elif action.delegate is not None:
            task = await _fill(action.delegate.task, turn, slots)
            slots |= await self._hands.delegate(action.delegate, turn, task, number)
        elif action.cancel is not None:
            slots |= await self._hands.cancel(action.cancel, turn)
        elif action.check:
            slots |= await self._hands.check(turn)
        elif action.fail is not None:
            raise ScriptFailure(action.fail)

    def _named(self, send: SendAction, turn: Turn) -> str:
        """The place of a send, as the agent names it; empty for the place of the turn."""
        if send.to is not None:
            return "" if self._world.address(send.to) == turn.place else send.to
        return "/".join(part for part in (send.channel, send.account, send.target, send.thread) if part)

    def _fits(self, when: Match, turn: Turn) -> bool:
        callback = turn.callback
        if (when.callback is None) is not (callback is None) or not _starts_it(when, turn):
            return False
        if callback is not None and not _callback_fits(when, callback):
            return False
        if when.person is not None and when.person not in self._names(turn):
            return False
        if when.place is not None and (turn.place is None or not self._world.is_at(when.place, turn.place)):
            return False
        return when.text is None or text_matches(when.text, turn.text)

    def _names(self, turn: Turn) -> tuple[str, ...]:
        """The names of the sender in rules: the scenario's key, or the id. Display names may be anybody's."""
        key = None if turn.place is None else self._world.person(turn.place.channel, turn.peer.id)
        return key or turn.peer.name, turn.peer.id


async def _fill(template: str, turn: Turn, slots: Mapping[str, str]) -> str:
    """Fill a template; reads the session's history only if the template uses it."""
    if uses(template, "memory"):
        slots = {**slots, "memory": " | ".join(line.text for line in await turn.history())}
    return fill(template, slots)


def _starts_it(when: Match, turn: Turn) -> bool:
    """Whether the rule is about what started the turn."""
    delegated = turn.work is WorkKind.TASK
    if delegated is not (when.task is not None) or (delegated and when.task not in ("*", turn.peer.name)):
        return False
    woken, heartbeat = turn.work is WorkKind.WAKE, turn.work is WorkKind.HEARTBEAT
    if bool(when.wake) is not woken or bool(when.heartbeat) is not heartbeat:
        return False
    if turn.work is not WorkKind.CRON:
        return when.cron is None
    return when.cron is not None and when.cron in ("*", turn.peer.name)


def _callback_fits(when: Match, callback: CallbackFacts) -> bool:
    if when.label not in (None, callback.label):
        return False
    return when.callback in ("*", callback.hand) and when.outcome in (None, callback.outcome.value)


def _slots(turn: Turn) -> dict[str, str]:
    callback = turn.callback
    return {
        "text": turn.text,
        "peer": turn.peer.name or turn.peer.id,
        "result": turn.text if callback is not None else "",
        "hand": "" if callback is None else callback.hand,
        "outcome": "" if callback is None else callback.outcome.value,
        "label": "" if callback is None else callback.label,
        "asked_by": "" if turn.asked_by is None else turn.asked_by.name or turn.asked_by.id,
    }


def given_of(turn: Turn) -> AgentGiven | None:
    """The event of what the agent was given; None for a plain message without a prompt, which costs no event.

    A message of somebody who bears the sender of a hand is recorded (invariant C7).
    """
    names = (turn.peer.id, turn.peer.name)
    like_a_hand = any(name.strip().lower().startswith(_OF_HANDS) for name in names)
    if turn.work not in _RECORDED and not turn.prompt and not like_a_hand:
        return None
    callback = turn.callback
    return filled(
        AgentGiven,
        turn,
        prompts=tuple(GivenPrompt(kind=prompt.kind.value, text=prompt.text) for prompt in turn.prompts),
        hand="" if callback is None else callback.hand,
        outcome=None if callback is None else callback.outcome,
        label="" if callback is None else callback.label,
        frame="" if callback is None else _frame(turn),
    )


def _frame(turn: Turn) -> str:
    """The frame around the text in what a model is given; without a text before its last line there is no frame."""
    message, text = turn.for_model, turn.text
    last = message.rfind("\n") if message != text else -1
    first = last - len(text)
    if first < 0 or message[first:last] != text:
        return ""
    return f"{message[:first]}{{text}}{message[last:]}"
