"""Which system prompts a turn would have, and the setting that gives each of them."""

from dataclasses import dataclass

import msgspec

from trunkline.core.channels.rules import DEFAULT_ACCOUNT
from trunkline.core.config import GatewayConfig
from trunkline.core.decisions import Decisions
from trunkline.core.explain.decide import channel_notes
from trunkline.core.profile_rules import Profile
from trunkline.core.prompts import Prompt, PromptKind, PromptQuestion, joined
from trunkline.core.values import Address, ChatKind


@dataclass(frozen=True, kw_only=True)
class PromptsQuestion:
    """A turn. The fields are the options of `trunkline explain prompts`."""

    agent: str | None = None
    """The agent whose turn it is; by default the default agent."""
    channel: str | None = None
    """The platform on which it answers; if omitted, it answers nowhere."""
    account: str = DEFAULT_ACCOUNT
    """The account by which it answers."""
    callback: bool = False
    """It receives the result of a delegation."""


class SourcedPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt of the turn, and the place of the text."""

    prompt: Prompt
    #: its path in the configuration
    path: str


class PromptsAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts of a turn, in their order."""

    profile: Profile
    question: PromptQuestion
    given: tuple[SourcedPrompt, ...]
    #: what the agent gets as one text; none: it has no prompt
    text: str | None
    notes: tuple[str, ...]


def decide_prompts(asked: PromptsQuestion, config: GatewayConfig) -> PromptsAnswer:
    """Compose the prompts of a turn. Raises `UnknownName` for an agent that the configuration does not have."""
    agent = config.known_agent(asked.agent)
    channel = None if asked.channel is None else asked.channel.strip().lower()
    to = (
        None
        if channel is None
        # Of the place only the platform and the account count.
        else Address(channel=channel, account=asked.account, kind=ChatKind.DIRECT, conversation="any")
    )
    question = PromptQuestion(agent=agent, reply_to=to, callback=asked.callback)
    prompts = config.rules[Decisions].compose_prompts(question, config)
    return PromptsAnswer(
        profile=config.profile,
        question=question,
        given=tuple(SourcedPrompt(prompt=prompt, path=_path(prompt.kind, question, config)) for prompt in prompts),
        text=joined(prompts),
        notes=() if channel is None else channel_notes(channel, config),
    )


def _path(kind: PromptKind, question: PromptQuestion, config: GatewayConfig) -> str:
    """The setting that gives a prompt."""
    if kind is PromptKind.CALLBACK:
        return "hands.prompt" if "prompt" in config.hands.model_fields_set else "hands.prompt (the default)"
    if kind is PromptKind.BASE or question.reply_to is None:
        number = next(n for n, agent in enumerate(config.agents) if agent.id == question.agent)
        return f"agents[{number}].prompt"
    to = question.reply_to
    settings = config.channel(to.channel)
    if settings.account(to.account).prompt is not None:
        return f"channels.{to.channel}.accounts.{to.account}.prompt"
    below = f"prompts.{question.agent}" if question.agent in settings.prompts else "prompt"
    return f"channels.{to.channel}.{below}"
