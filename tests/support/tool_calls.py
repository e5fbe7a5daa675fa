"""A gateway whose agent calls its message tool, and what each call gives."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.support.changing import CHANGES, Acting
from tests.support.sending import serving
from tests.support.small_gateway import ANA, Echo, Running, TinyPlatform
from trunkline import Action, ActionQuery, ActionResult, Address, Capability, Hooks, Turn
from trunkline.core.errors import PlatformError, UsageError
from trunkline.core.events.gateway import TurnEnded

#: all that a platform may be able to send
EVERYTHING = frozenset(Capability)
QUESTIONS = frozenset(action for action in Action if action.spec.kind.value == "query")


class Answering(Acting):
    """A platform that can do everything, and that answers questions with `answer`, or raises it."""

    def __init__(self, channel: str = "discord", **can: Any) -> None:
        extra = frozenset({Action.STICKER, Action.SEND_WITH_EFFECT})
        super().__init__(channel, **{"actions": CHANGES | QUESTIONS | extra, "can": EVERYTHING, **can})
        self.answer: object = {"found": 1}
        self.questions: list[ActionQuery] = []

    async def ask(self, query: ActionQuery) -> object:
        self.questions.append(query)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


Outcome = ActionResult | UsageError | PlatformError
Call = Mapping[str, object] | Callable[[Turn], Awaitable[ActionResult]]


async def outcome_of(call: Call, turn: Turn) -> Outcome:
    """The result of a call, or the error that the agent gets."""
    try:
        return await (turn.message(call) if isinstance(call, Mapping) else call(turn))
    except (UsageError, PlatformError) as error:
        return error


def calling(calls: list[Call], outcomes: list[Outcome]) -> Echo:
    """An agent that makes these calls in each turn, and answers nothing."""

    async def act(turn: Turn) -> None:
        for call in calls:
            outcomes.append(await outcome_of(call, turn))

    return Echo(act)


async def called(
    path: Path,
    *platforms: TinyPlatform,
    calls: list[Call],
    at: Address | None = ANA,
    hooks: Hooks | None = None,
    see: Callable[[Running], Awaitable[None]] | None = None,
    **config: Any,
) -> tuple[list[Outcome], Running]:
    """The outcomes of calls in one turn at a place; without a place, in a wake-up. `see`: looks before the end."""
    outcomes: list[Outcome] = []
    async with serving(path, *platforms, agent=calling(calls, outcomes), hooks=hooks, **config) as running:
        if at is None:
            await running.gateway.wake("main", "look around")
        else:
            next(one for one in platforms if (one.channel, one.account) == (at.channel, at.account)).say("m1", at)
        await running.until(TurnEnded)
        if see is not None:
            await see(running)
    return outcomes, running


def the_result(outcomes: list[Outcome]) -> ActionResult:
    """The result of the only call."""
    [outcome] = outcomes
    assert isinstance(outcome, ActionResult), outcome
    return outcome


def the_error(outcomes: list[Outcome]) -> UsageError | PlatformError:
    """The error of the only call."""
    [outcome] = outcomes
    assert isinstance(outcome, UsageError | PlatformError), outcome
    return outcome
