"""Composes the system prompts of a turn from the configuration. Pure.

They are composed when the turn starts and stored nowhere. So a reload between a delegation and its callback counts:
what is stored is where the answer goes, and not how it is to be written.
"""

from enum import StrEnum
from typing import cast

import msgspec

from trunkline.core.config import ChannelConfig, GatewayConfig
from trunkline.core.values import Address
from trunkline.core.well_formed import is_well_formed

#: between the prompts of one turn
BETWEEN = "\n\n"


class PromptKind(StrEnum):
    """The source of a prompt, in the order of the prompts of a turn."""

    #: the agent's own
    BASE = "base"
    #: that of the platform, or of the account, by which the turn answers
    CHANNEL = "channel"
    #: that of a turn which receives a result, and of no other turn
    CALLBACK = "callback"


class Prompt(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A system prompt of a turn."""

    kind: PromptKind
    text: str


class PromptQuestion(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A turn whose prompts are wanted."""

    agent: str
    #: where its answer goes; none: nowhere, so it has no prompt of a channel
    reply_to: Address | None
    #: it receives the result of a delegation
    callback: bool = False


def compose_prompts(question: PromptQuestion, config: GatewayConfig) -> tuple[Prompt, ...]:
    """The prompts of a turn: the agent's, the channel's, and the callback's. Blank prompts are left out.

    The prompt of a channel is the most specific prompt that is set: that of the account, else that of the agent on this
    channel, else that of the channel. One that is set to nothing switches the less specific ones off.
    """
    base = next((agent.prompt for agent in config.agents if agent.id == question.agent), "")
    to = question.reply_to
    texts = (
        (PromptKind.BASE, base),
        (PromptKind.CHANNEL, "" if to is None else _of_channel(question.agent, to, config.channel(to.channel))),
        (PromptKind.CALLBACK, config.hands.prompt if question.callback else ""),
    )
    return tuple(Prompt(kind=kind, text=text) for kind, text in texts if text.strip())


def _of_channel(agent: str, to: Address, settings: ChannelConfig) -> str:
    own = settings.account(to.account).prompt
    return settings.prompts.get(agent, settings.prompt) if own is None else own


def joined(prompts: tuple[Prompt, ...]) -> str | None:
    """The prompts of a turn as a single text; None if there are none."""
    return BETWEEN.join(prompt.text for prompt in prompts) if prompts else None


def check_prompts(value: object) -> str:
    """The fault in prompts composed by a decision, which may be user code; empty if there is none."""
    if type(value) is not tuple:
        return f"of type {type(value).__name__} instead of a tuple of Prompts"
    for number, prompt in enumerate(cast("tuple[object, ...]", value)):
        if not isinstance(prompt, Prompt):
            return f"number {number} is of type {type(prompt).__name__} instead of a Prompt"
        kind, text = cast("tuple[object, object]", (prompt.kind, prompt.text))
        if not isinstance(kind, PromptKind):
            return f"number {number} has the kind {kind!r:.40} instead of a PromptKind"
        if not isinstance(text, str) or not is_well_formed(text):
            return f"number {number} ({kind}) is no text, or has half a character"
    return ""
