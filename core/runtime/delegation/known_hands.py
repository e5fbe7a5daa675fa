"""Which hands there are: functions of the runner, agents of the gateway, and workers of the configuration."""

from collections.abc import Mapping

from trunkline.core.agent import Agent
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import ConfigError, DelegationRefused
from trunkline.core.hands.admission import AdmissionFacts
from trunkline.core.hands.port import DelegationRequest, HandRunner, ListsHands
from trunkline.core.reasons import Reason
from trunkline.core.records.delegations import HandKind
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.user_code import UserCode
from trunkline.core.well_formed import describe, plain_text


def kind_of(ctx: Context, hand: str) -> HandKind | None:
    """The kind of hand under a name; none: there is none. Raises `DelegationRefused` if the runner cannot say."""
    config = ctx.config.hands
    if hand in config.each and config.each[hand].worker:
        return HandKind.WORKER
    if config.agents and hand in ctx.agents:
        return HandKind.AGENT
    try:
        return HandKind.FUNCTION if _has(ctx.hands, hand) else None
    except Exception as error:
        raise DelegationRefused(f"no hand {hand!r}: {describe(error)}", Reason.UNKNOWN_HAND) from error


def admit(ctx: Context, request: DelegationRequest, facts: AdmissionFacts) -> HandKind:
    """The kind of hand for a task. Raises `DelegationRefused`."""
    refused = ctx.decisions.admit_delegation(request, facts, ctx.config.hands)
    if refused is not None:
        raise refused
    if facts.kind is None:
        # A custom decision: nothing would ever work on it.
        raise DelegationRefused(f"no hand {request.hand!r}", Reason.UNKNOWN_HAND)
    return facts.kind


def hands_for(ctx: Context, agent: str) -> tuple[str, ...]:
    """The hands that an agent may use, as far as their names are known: a runner need not list its own."""
    config = ctx.config.hands
    names = {name for name, settings in config.each.items() if settings.worker or _quietly_has(ctx.hands, name)}
    names |= set(_listed(ctx.hands))
    if config.agents:
        names |= set(ctx.agents)
    return config.usable_by(agent, names)


def check_hands(config: GatewayConfig, agents: Mapping[str, Agent], hands: HandRunner) -> None:
    """Raise `ConfigError` for a name that two of them would have: it would be open which works on its tasks."""
    workers = {name for name, settings in config.hands.each.items() if settings.worker}
    for name in sorted(workers):
        if _quietly_has(hands, name):
            raise ConfigError(f"hands.each.{name} is a worker, and a hand of the runner has the same name; rename one")
    if not config.hands.agents:
        return
    for name in sorted(agents):
        if name in workers:
            raise ConfigError(f"hands.each.{name} is a worker, and an agent has the same id; rename one")
        if _quietly_has(hands, name):
            remedy = "rename one, or set hands.agents to false"
            raise ConfigError(f"the agent {name} and a hand of the runner have the same name; {remedy}")


def _has(hands: HandRunner, hand: str) -> bool:
    with UserCode():
        return bool(hands.has(hand))


def _quietly_has(hands: HandRunner, hand: str) -> bool:
    """Whether the runner has a hand; no, if it cannot say: a call of it is refused."""
    try:
        return _has(hands, hand)
    except Exception:  # noqa: BLE001 -- user code; the answer of a call says what is wrong
        return False


def _listed(hands: HandRunner) -> tuple[str, ...]:
    if not isinstance(hands, ListsHands):
        return ()
    try:
        with UserCode():
            return tuple(name for name in map(plain_text, hands.names()) if name)
    except Exception:  # noqa: BLE001 -- user code; an agent does without a list that cannot be made
        return ()
