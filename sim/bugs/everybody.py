"""Defects by which somebody is not heard, not answered or refused for nothing, and of what a configuration says."""

from typing import Any

import msgspec

from trunkline.core.actions.result import ActionResult
from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.answers import AnswerFacts, decide_answer
from trunkline.core.errors import DelegationRefused
from trunkline.core.gateway import Gateway
from trunkline.core.hands.port import Delegated
from trunkline.core.reasons import Reason
from trunkline.core.records.inbound import InboundReceipt
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.values import Envelope, WorkKind
from trunkline.sim.bugs.base import bug, configured, deciding, making
from trunkline.sim.bugs.turn_wrappers import TurnWrapper, each_turn

#: characters of an answer that counts as one
_SHORT = 3


@bug("silence-is-an-error", deciding("decide_answer"), caught_by=("E1",))
def _trips_over_silence(facts: AnswerFacts) -> Reason | None:
    """The end of a turn takes the answer apart without asking whether there is one: silent turns fail."""
    if facts.answer is None and facts.work is WorkKind.MESSAGE:
        raise TypeError("'NoneType' object is not iterable")
    return decide_answer(facts)


@bug("second-wake-up-is-a-repeat", making("gateway"), caught_by=("E2",))
class _WakesOnce(Gateway):
    """Wake-ups of one agent have one name, so the second one of a process is taken for the first again."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        self._woken: dict[str, InboundReceipt] = {}

    async def wake(self, agent: str, text: str, cause: int | None = None, *, key: str | None = None) -> InboundReceipt:
        """Wake an agent once."""
        if agent not in self._woken:
            self._woken[agent] = await super().wake(agent, text, cause, key=key)
        return self._woken[agent]


@bug("short-answers-are-silent", deciding("decide_answer"), caught_by=("E3",))
def _needs_words(facts: AnswerFacts) -> Reason | None:
    """An answer of a few characters counts as none."""
    short = facts.answer is not None and 0 < len(facts.answer.strip()) <= _SHORT
    return Reason.NO_REPLY if short and facts.work is WorkKind.MESSAGE else decide_answer(facts)


@bug("one-hand-at-a-time", each_turn, caught_by=("E4",))
class _BusyHands(TurnWrapper):
    """A second hand is refused while the first one works, whatever number is configured."""

    async def send_async(self, agent_id: str, message: str, **more: Any) -> Delegated:
        """Refuse while anything of the session is open."""
        if await self.inner.delegations():
            raise DelegationRefused("this session has an open delegation; wait for it", Reason.SESSION_CAP)
        return await self.inner.send_async(agent_id, message, **more)


@bug("preview-names-home", each_turn, caught_by=("A3",))
class _PreviewsAtHome(TurnWrapper):
    """The answer to a dry run names the place of the turn, whatever target the agent has given."""

    async def send(self, text: str, to: Any = None, **where: Any) -> ActionResult:
        """Send; a dry run names the place of the turn."""
        result = await self.inner.send(text, to, **where)
        home = msgspec.structs.replace(result, place=self.inner.place, session_key=None)
        return home if where.get("dry_run") else result


@bug("kinds-match-nobody", deciding("resolve_route"), caught_by=("S6",))
def _without_kinds(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """A route rule for all people, or for all groups, matches none of them."""
    kept = tuple(rule for rule in config.bindings if rule.match.peer is None or rule.match.peer.id != "*")
    return resolve_route(envelope, config.model_copy(update={"bindings": kept}).numbered(config.revision))


def _with_heartbeat(config: GatewayConfig, **changed: Any) -> dict[str, Any]:
    return {} if config.heartbeat is None else {"heartbeat": config.heartbeat.model_copy(update=changed)}


@bug("every-other-heartbeat", configured, caught_by=("H6",))
def _half_as_often(config: GatewayConfig) -> dict[str, Any]:
    """The interval of a heartbeat is taken twice, so every other run is missing, and nothing promises it."""
    return {} if config.heartbeat is None else _with_heartbeat(config, every=config.heartbeat.every * 2)


@bug("owner-is-who-wrote-last", configured, caught_by=("H7",))
def _for_the_last(config: GatewayConfig) -> dict[str, Any]:
    """A heartbeat that is for an owner goes to the last person who wrote."""
    return _with_heartbeat(config, target="last")


@bug("commands-go-to-the-agent", configured, caught_by=("K1",))
def _without_control(config: GatewayConfig) -> dict[str, Any]:
    """Commands to the gateway are switched on, and messages with them go to the agent like any others."""
    return {"control": config.control.model_copy(update={"enabled": False})}
