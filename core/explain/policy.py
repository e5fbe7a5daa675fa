"""The decision of the cross-context policy, and the setting that decides it."""

from dataclasses import dataclass

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.config import GatewayConfig, Model
from trunkline.core.decisions import Decisions
from trunkline.core.errors import UsageError
from trunkline.core.events.actions import PolicyDecided
from trunkline.core.explain.decide import channel_notes
from trunkline.core.message_tool.policy import ContextDecision, ContextQuestion, policy_decided
from trunkline.core.profile_rules import Profile
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.values import Address, WorkKind

#: turns that work in no conversation, by their names on the command line
NOWHERE = (WorkKind.HEARTBEAT, WorkKind.CRON, WorkKind.WAKE)


@dataclass(frozen=True, kw_only=True)
class PolicyQuestion:
    """An action of a turn. The fields are the options of `trunkline explain policy`."""

    from_: str
    """Where the turn works: a place such as `slack:channel:C1`, or `heartbeat`, `cron` or `wake`."""
    to: str
    """The place that the action concerns, e.g. `telegram:970312941`."""
    action: str = Action.SEND.value
    """The action of the message tool."""
    agent: str | None = None
    """The agent whose turn it is; by default the default agent."""
    name: str = ""
    """The name of the place where the turn works, as a directory knows it."""
    last: str | None = None
    """The place where somebody wrote to the agent last."""
    embeds: bool = False
    """The platform of the target shows embeds."""


class DecidingSetting(msgspec.Struct, frozen=True, kw_only=True):
    """The setting that decided, and where it is given."""

    #: its path in the configuration
    path: str
    value: str
    #: nobody gave it
    default: bool


class PolicyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an action is allowed, and how its message is marked."""

    profile: Profile
    question: ContextQuestion
    decision: ContextDecision
    #: as the gateway records it
    decided: PolicyDecided
    #: none: nothing can change it
    setting: DecidingSetting | None
    notes: tuple[str, ...]


def decide_policy(asked: PolicyQuestion, config: GatewayConfig) -> PolicyAnswer:
    """Ask the cross-context policy. Raises `UsageError` or `TargetError`."""
    agent = config.known_agent(asked.agent)
    word = asked.from_.strip().lower()
    nowhere = next((kind for kind in NOWHERE if kind.value == word), None)
    question = ContextQuestion(
        action=_action(asked.action),
        agent=agent,
        work=nowhere or WorkKind.MESSAGE,
        origin=None if nowhere is not None else _place("--from", asked.from_, agent, config),
        target=_place("--to", asked.to, agent, config),
        target_text=asked.to.strip().partition(":")[2].strip(),
        label=asked.name,
        last=None if asked.last is None else _place("--last", asked.last, agent, config),
        embeds=asked.embeds,
    )
    decision = config.rules[Decisions].decide_context(question, config)
    channels = [place.channel for place in (question.origin, question.target) if place is not None]
    return PolicyAnswer(
        profile=config.profile,
        question=question,
        decision=decision,
        decided=policy_decided(question, decision),
        setting=_setting(decision.setting, agent, config) if decision.setting else None,
        notes=tuple(note for channel in dict.fromkeys(channels) for note in channel_notes(channel, config)),
    )


def _action(text: str) -> Action:
    try:
        return Action(text.strip())
    except ValueError:
        raise UsageError(f"--action: there is no action {text!r}; there are: {', '.join(Action)}") from None


def _place(option: str, text: str, agent: str, config: GatewayConfig) -> Address:
    """A place from ``CHANNEL:TARGET``."""
    channel, colon, target = (part.strip() for part in text.partition(":"))
    if not channel or not colon or not target:
        raise UsageError(f"{option}: {text!r} is no place; write CHANNEL:TARGET, e.g. slack:channel:C1")
    question = OutboundQuestion(agent=agent, channel=channel.lower(), target=target)
    return config.rules[Decisions].resolve_outbound(question, config).address


def _setting(name: str, agent: str, config: GatewayConfig) -> DecidingSetting:
    """Where a setting below `tools.message` is given: for the agent, for all agents, or nowhere."""
    path = name.split(".")
    number, own = next((n, known) for n, known in enumerate(config.agents) if known.id == agent)
    for at, model in ((f"agents[{number}].tools.message", own.tools.message), ("tools.message", config.tools.message)):
        if _given(model, path):
            return DecidingSetting(path=f"{at}.{name}", value=_value(model, path), default=False)
    return DecidingSetting(path=f"tools.message.{name}", value=_value(config.tools.message, path), default=True)


def _given(model: Model, path: list[str]) -> bool:
    """Whether the configuration gives a setting below a model."""
    first, *rest = path
    below = getattr(model, first)
    return first in model.model_fields_set and (not rest or _given(below, rest))


def _value(model: Model, path: list[str]) -> str:
    """A setting below a model, as configuration files write it."""
    found: object = model
    for name in path:
        found = getattr(found, name)
    return str(msgspec.json.encode(found), "utf-8")
