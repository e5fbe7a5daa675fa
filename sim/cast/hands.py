"""Scripted hands in the gateway's process. What they really return is a fact of the world."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import anyio

from trunkline.core.errors import HandError, UnknownName
from trunkline.core.hands.port import HandTask
from trunkline.core.states.delegation import HandOutcome
from trunkline.core.well_formed import describe, plain_text
from trunkline.sim.cast.cast_world import CastWorld
from trunkline.sim.cast.nonsense import talk_nonsense
from trunkline.sim.cast.working_agents import FAILED, InProcess
from trunkline.sim.events.hands import HandAnswered, HandBegan, HandProgressed
from trunkline.sim.scenario.model.hands import HandRule
from trunkline.sim.scenario.templates import fill
from trunkline.sim.scenario.text_pattern import text_matches


class ScriptedHands:
    """`core.HandRunner` that plays the rules of a scenario: takes a while, then returns a result or fails."""

    def __init__(
        self,
        world: CastWorld,
        process: InProcess,
        rules: Mapping[str, Sequence[HandRule]],
        plugin: Callable[[str], Any],
    ) -> None:
        self._world, self._process = world, process
        self._rules, self._plugin = rules, plugin

    def has(self, hand: str) -> bool:
        return hand in self._rules

    async def run(self, task: HandTask) -> str:
        """Play the first rule that matches the task."""
        process = self._process
        began = HandBegan(hand=task.hand, task=task.task, process=process.name, generation=process.generation)
        cause = self._world.events.record(began, delegation=task.delegation)
        try:
            text = await self._play(task)
        except Exception as error:
            text = error.facts if isinstance(error, HandError) else describe(error)
            self._record_answer(task, HandOutcome.ERROR, text, cause)
            raise
        said = plain_text(text)
        if said is not None:
            self._record_answer(task, HandOutcome.OK, said, cause)
        return text

    def _record_answer(self, task: HandTask, outcome: HandOutcome, text: str, cause: int) -> None:
        body = HandAnswered(
            hand=task.hand,
            outcome=outcome,
            text=text,
            process=self._process.name,
            generation=self._process.generation,
            marks=self._world.words.marks(text),
        )
        self._world.events.record(body, cause, delegation=task.delegation)

    async def _play(self, task: HandTask) -> str:
        for rule in self._rules[task.hand]:
            if rule.when.text is None or text_matches(rule.when.text, task.task):
                break
        else:
            raise UnknownName(f"hand {task.hand!r} has no rule for {task.task!r}")
        self._world.reached.note(rule)
        kind, extra = self._world.hand_fault(task.task) or ("", 0.0)
        if kind == "drop":
            await anyio.sleep_forever()
        number = self._world.number(task.hand, task.delegation)
        slots = {"task": task.task, "text": task.task, "hand": task.hand, "n": str(number)}
        await self._work(rule, task, slots, extra if kind == "slow" else 0.0)
        if kind == "error":
            raise HandError(FAILED)
        if rule.fails is not None:
            raise HandError(rule.fails)
        if rule.plugin is not None:
            return await self._plugin(rule.plugin).run(task)
        if rule.nonsense is not None:
            return cast("str", await talk_nonsense(rule.nonsense))
        return sized(fill(rule.result or "done", slots), rule.result_size)

    async def _work(self, rule: HandRule, task: HandTask, slots: Mapping[str, str], extra: float) -> None:
        """Take the time of a task, and report progress meanwhile."""
        passed = 0.0
        for report in sorted(rule.progress, key=lambda planned: planned.at):
            if report.at > rule.takes:
                break
            await anyio.sleep(report.at - passed)
            passed = report.at
            text = fill(report.text, slots)
            self._world.events.record(HandProgressed(hand=task.hand, text=text), delegation=task.delegation)
            await task.progress(text)
        await anyio.sleep(rule.takes + extra - passed)


def sized(text: str, size: int | None) -> str:
    """The text, repeated until it has a size."""
    if size is None:
        return text
    words = f"{text} " if text else "x"
    return (words * (size // len(words) + 1))[:size]
