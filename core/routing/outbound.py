"""Outbound routes: from a target to its place on the platform, and to the session whose transcript mirrors the message.

The session is that of the target conversation, with the key that an inbound message from there has (invariant S1),
never the running one. Sends, explanations and the conformance tables share this code.
"""

import msgspec

from trunkline.core.channels import (
    ChannelRulebook,
    ChannelRules,
    CurrentConversation,
    Hints,
    OutboundPlace,
    ParsedTarget,
)
from trunkline.core.channels.rules import DEFAULT_ACCOUNT, given
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import TargetError
from trunkline.core.keys import SessionKey
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.scopes import place_key
from trunkline.core.values import Address, ChatKind


class OutboundQuestion(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A send to a target, as an agent, an operator or a client requests it."""

    agent: str
    channel: str
    #: the target as text, see `trunkline.core.channels.rules`
    target: str
    #: account that sends; None: the default one
    account: str | None = None
    #: the kind of the target according to a directory
    kind: ChatKind | None = None
    thread: str | None = None
    reply_to: str | None = None
    #: the conversation that the agent works in
    current: CurrentConversation | None = None


class OutboundRoute(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The place of a send and the session that it is mirrored into, with the reasons."""

    agent: str
    channel: str
    #: as requested; `address.account` is the one that sends
    account: str | None
    address: Address
    #: `kind` is used in session keys, `chat_type` in session entries
    kind: ChatKind
    chat_type: ChatKind
    peer: str
    sender: str
    to: str
    thread_id: str | int | None
    #: key of the conversation without its thread
    base: SessionKey
    key: SessionKey
    #: sentences that explain the target, the thread and the key
    steps: tuple[str, ...]


class SendKeyRules:
    """What a profile decides of the session keys of sends."""

    def keys(
        self, agent: str, address: Address, target: ParsedTarget, placed: OutboundPlace, config: GatewayConfig
    ) -> tuple[SessionKey, SessionKey]:
        """The session key without and with the thread: those that inbound messages from there have."""
        whole = place_key(agent, msgspec.structs.replace(address, thread=None), config)
        return whole, place_key(agent, address, config)


def resolve_outbound_route(question: OutboundQuestion, config: GatewayConfig) -> OutboundRoute:
    """Decide the place and session of a send. Raises `TargetError` if the target does not name a place."""
    channel = question.channel.strip().lower()
    if not channel:
        raise TargetError(f"{question.target!r}: the channel is missing")
    by, settings = config.rules, config.channel(channel)
    rules = by[ChannelRulebook].of(channel)
    hints = Hints(kind=question.kind, group_dms=frozenset(settings.group_dms), rooms=frozenset(settings.rooms))
    target = rules.read(question.target, hints)
    for id in (question.thread, question.reply_to):  # noqa: A001 -- the word
        if id is not None and id.strip():
            rules.clean(id)
    thread, how = _thread(question, target, rules)
    placed = rules.place(target, thread, question.reply_to)
    named = given(question.account)
    address = Address(
        channel=channel,
        account=named or settings.default_account or DEFAULT_ACCOUNT,
        kind=target.kind,
        conversation=placed.conversation,
        thread=placed.thread,
        parent=placed.parent,
    )
    base, key = by[SendKeyRules].keys(question.agent, address, target, placed, config)
    return OutboundRoute(
        agent=question.agent,
        channel=channel,
        account=named,
        address=address,
        kind=target.kind,
        chat_type=target.chat_type or target.kind,
        peer=placed.peer,
        sender=placed.sender,
        to=placed.to,
        thread_id=placed.thread_id,
        base=base,
        key=key,
        steps=_steps(question, target, placed, how, config_key(key, config)),
    )


def _thread(question: OutboundQuestion, target: ParsedTarget, rules: ChannelRules) -> tuple[str | None, str]:
    """The thread of a send and its source: named, else inherited from the conversation that the agent works in."""
    named = given(question.thread)
    if named is not None:
        return named, "named by the caller"
    if question.reply_to is None and question.current is not None:
        inherited = rules.inherit(target, question.current)
        if inherited is not None:
            return inherited, "inherited: the agent works in that thread of the same conversation"
    return None, ""


def _steps(
    question: OutboundQuestion, target: ParsedTarget, placed: OutboundPlace, how: str, key: str
) -> tuple[str, ...]:
    """Sentences that explain the decision."""
    steps = [f"{question.target!r} is {target.understood}, id {target.id}"]
    if placed.thread is not None:
        source = "part of the target" if target.thread else how or "the message that is replied to"
        steps.append(f"thread {placed.thread}: {source}")
    elif placed.parent is not None:
        steps.append(f"thread {placed.conversation} of {placed.parent}: {how}")
    elif how or question.reply_to:
        steps.append("no thread: the place has none of that kind")
    steps.append(f"mirrored into the session of that place: {key}")
    return tuple(steps)
