"""Client sends, outside any turn: requests, plans and outcomes.

`plan_send` decides everything that can be decided before anything is stored or sent; `core.runtime.client_sends`
applies it. Idempotency: one key is one send. A call with the key of a running send joins it; a call after the delivery
gets the same result; after a failure that surely sent nothing, the key may be used again.
"""

from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum, auto
from typing import ClassVar

import msgspec

from trunkline.core.channels import ChannelRulebook
from trunkline.core.channels.rules import WEB_CHAT
from trunkline.core.config import GatewayConfig
from trunkline.core.errors import InvalidSend, KeyFormatError, TargetError
from trunkline.core.message_parts import MessageParts
from trunkline.core.profile_rules import OURS, ProfileRules
from trunkline.core.reasons import Reason
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.sessions.named_key import SessionRules, read_named_key
from trunkline.core.text.model_text import split_media
from trunkline.core.values import Address, IntentState, Poll, SessionEntry
from trunkline.core.well_formed import well_formed

_NO_ACCOUNTS: Mapping[str, str] = {}


class SendMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A client's request to send a message."""

    #: a target as text (see `trunkline.core.channels`), or an exact place
    to: str | Address
    #: the text; lines ``MEDIA:<address>`` outside code also name media
    text: str = ""
    #: URLs or paths of files
    media: tuple[str, ...] = ()
    #: None: the only channel that has an adapter
    channel: str | None = None
    account: str | None = None
    thread: str | None = None
    reply_to: str | None = None
    #: the agent whose session mirrors it; None: that of the session key, else the default agent
    agent: str | None = None
    #: the session that mirrors it; None: that of the target conversation
    session_key: str | None = None
    #: a poll instead of a text
    poll: Poll | None = None
    #: platform-specific JSON; the text is the fallback for clients that cannot show it
    payload: str | None = None
    #: buttons, a card, silence, ...
    parts: MessageParts | None = None
    #: make only one attempt, and report a failure in the outcome instead of raising
    best_effort: bool = False
    #: only report what would be sent, where, and which session would mirror it; no hook runs
    dry_run: bool = False
    #: idempotency key
    key: str


class SendStatus(StrEnum):
    """The status of a send. Only `delivered` means that people can see it."""

    DELIVERED = "delivered"
    #: durable, but not yet delivered
    QUEUED = "queued"
    DRY_RUN = "dry-run"
    #: only for a best-effort send; see `detail`
    NOT_DELIVERED = "not-delivered"


class SendOutcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of a send. `cached`: it is that of another call with the same key."""

    key: str
    status: SendStatus = SendStatus.DELIVERED
    #: the platform's id of the last chunk; None: it was not delivered
    message_id: str | None
    channel: str
    conversation: str
    session_key: str | None
    cached: bool
    #: a dry run: the chunks that would be sent
    preview: tuple[str, ...] = ()
    detail: str = ""


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A target of a broadcast."""

    to: str | Address
    channel: str | None = None
    account: str | None = None
    thread: str | None = None

    @property
    def name(self) -> str:
        """The unique name among the targets, for keys and reports."""
        parts = (str(self.to), self.channel, self.account, self.thread)
        return "/".join(part for part in parts if part)


class Broadcasted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result for one target of a broadcast. Without an outcome it failed, and `error` says how."""

    target: Target
    outcome: SendOutcome | None = None
    error: str = ""


class SendPlan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Everything that is decided about a send before it is stored."""

    #: as given by the client, but for its text and files: lines that name media are read
    message: SendMessage
    agent: str
    channel: str
    #: as given by the client, or as resolved by a directory
    target: str
    account: str | None
    #: as given by the client
    thread: str | None
    #: the message that it quotes
    reply_to: str | None
    #: None only in a profile that delivers to targets without a route
    route: OutboundRoute | None
    #: key of the session that mirrors it, if any
    session_key: str | None
    named_session: bool
    #: the entry for a missing session; None if the client named the session
    entry: SessionEntry | None


class Unroutable(Enum):
    """The outcome of a send to a target without a route."""

    #: it is refused, and the key is free
    REFUSED = auto()
    #: it has failed like a delivery, and the key is used up
    FAILED = auto()
    #: it is sent, and no session mirrors it
    SENT_UNMIRRORED = auto()


class SendRules:
    """What a profile decides of sends of clients."""

    #: whether a key never sends again once a send with it has failed
    keeps_failures: ClassVar[bool] = False

    def may_send_for(self, agent: str, owner: str) -> bool:
        """Whether an agent's send may be mirrored into a session of another one."""
        return agent == owner

    def unroutable(self, error: TargetError, session_key: str | None) -> Unroutable:
        """The outcome of a send to a target without a route. `session_key`: as given by the client."""
        return Unroutable.REFUSED


def check_key(key: str) -> None:
    """Raise `InvalidSend` for an invalid idempotency key."""
    if not key.strip():
        raise InvalidSend("the idempotency key is empty: give each send its own key", Reason.BAD_IDEMPOTENCY_KEY)
    if well_formed(key) != key:
        raise InvalidSend(f"the idempotency key {key!r} cannot be stored", Reason.BAD_IDEMPOTENCY_KEY)


def may_try_again(state: IntentState) -> bool:
    """Whether a key may send again after its last try ended in a state: only if nothing of it is visible."""
    return state in _UNSEEN


_UNSEEN = frozenset({IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.CANCELLED})


def spread(message: SendMessage, targets: Sequence[Target]) -> tuple[SendMessage, ...]:
    """The sends of a broadcast, each with its own key. Raises `InvalidSend` for no targets or a duplicate one."""
    if not targets:
        raise InvalidSend("a broadcast needs at least one target", Reason.BAD_TARGET)
    names = [target.name for target in targets]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidSend(f"named twice: {', '.join(twice)}", Reason.BAD_TARGET)
    return tuple(
        msgspec.structs.replace(
            message,
            to=target.to,
            channel=target.channel or message.channel,
            account=target.account or message.account,
            thread=target.thread or message.thread,
            key=f"{message.key}/{target.name}",
        )
        for target in targets
    )


def check_send(message: SendMessage, by: ProfileRules = OURS) -> tuple[str, tuple[str, ...]]:
    """Text and media of a send. Raises `InvalidSend` if both, the key or the target are missing."""
    check_key(message.key)
    for text in (message.text, *message.media, message.payload or ""):
        if not text.isascii() and well_formed(text) != text:
            raise InvalidSend(f"send {message.key!r}: {text!r:.80} is not valid Unicode", Reason.BAD_TEXT)
    text, media = split_media(message.text, message.media, by)
    if message.poll is not None:
        text = text if text.strip() else message.poll.question
    if not text.strip() and not media and not (message.parts is not None and message.parts.is_visible):
        raise InvalidSend(f"send {message.key!r} has neither text nor media", Reason.NOTHING_TO_SEND)
    if isinstance(message.to, Address):
        check_exact(message.to, message.channel, message.account, message.thread)
    elif not message.to.strip():
        raise InvalidSend(f"send {message.key!r} has no target", Reason.BAD_TARGET)
    return text, media


def checked(message: SendMessage, config: GatewayConfig) -> SendMessage:
    """A message with the text and files of the send. Raises `InvalidSend`."""
    text, media = check_send(message, config.rules)
    return msgspec.structs.replace(message, text=text, media=media)


def check_exact(place: Address, channel: str | None, account: str | None, thread: str | None) -> None:
    """Raise `InvalidSend` if channel, account or thread contradict an exact place."""
    if not (channel or account or thread):
        return
    beside = (
        ("channel", channel, (place.channel,), Reason.UNKNOWN_CHANNEL),
        ("account", account, (place.account,), Reason.UNKNOWN_ACCOUNT),
        # On some platforms a thread is the conversation.
        ("thread", thread, (place.thread, place.conversation), Reason.BAD_TARGET),
    )
    for what, named, exact, reason in beside:
        if (text := (named or "").strip()) and text not in exact:
            raise InvalidSend(f"{place} is an exact place, and {what} {text!r} contradicts it", reason)


def choose_channel(message: SendMessage, served: tuple[str, ...], by: ProfileRules = OURS) -> str:
    """The channel of a send: the named one, else the only one that has an adapter. Raises `InvalidSend`."""
    named = message.to.channel if isinstance(message.to, Address) else (message.channel or "").strip().lower()
    served = tuple(filter(by[ChannelRulebook].delivers, served))
    there = f"there are: {', '.join(served)}" if served else "none is served"
    if named == WEB_CHAT and named not in served:
        raise InvalidSend(f"channel {named!r} is internal: name one that carries messages", Reason.UNKNOWN_CHANNEL)
    if named and named not in served:
        raise InvalidSend(f"channel {named!r} is not served; {there}", Reason.UNKNOWN_CHANNEL)
    if named:
        return named
    if len(served) != 1:
        raise InvalidSend(f"the channel is missing; {there}", Reason.UNKNOWN_CHANNEL)
    return served[0]


def choose_agent(message: SendMessage, config: GatewayConfig) -> str:
    """The agent of a send: the named one, else that of the session key, else the default. Raises `InvalidSend`."""
    named = (message.agent or "").strip()
    session = named_session(message.session_key, config)
    agent = named or (config.default_agent if session is None else session[1])
    if session is not None and not config.rules[SendRules].may_send_for(agent, session[1]):
        facts = f"agent {named!r} is named, and {session[0]} is a session of {session[1]!r}: leave one of them out"
        raise InvalidSend(facts, Reason.BAD_SESSION_KEY)
    if not config.accepts_agent(agent):
        known = ", ".join(agent.id for agent in config.agents)
        raise InvalidSend(f"no agent {agent!r}; there are: {known}", Reason.UNKNOWN_AGENT)
    return agent


def named_session(
    text: str | None, config: GatewayConfig, accounts: Mapping[str, str] = _NO_ACCOUNTS
) -> tuple[str, str] | None:
    """The stored key and the agent of a session that a caller names; None for a blank text.

    `accounts`: the default account of each channel. Raises `InvalidSend` for an invalid key or an unknown agent.
    """
    trimmed = (text or "").strip()
    if not trimmed:
        return None
    try:
        key = read_named_key(trimmed, config, accounts)
    except KeyFormatError as error:
        raise InvalidSend(error.facts, Reason.BAD_SESSION_KEY) from error
    if not config.accepts_agent(key.agent):
        known = ", ".join(agent.id for agent in config.agents)
        raise InvalidSend(f"{trimmed!r}: no agent {key.agent!r}; there are: {known}", Reason.UNKNOWN_AGENT)
    return key.text, key.agent


def session_of(message: SendMessage, route: OutboundRoute | None, config: GatewayConfig) -> tuple[str | None, bool]:
    """The session that mirrors a send, and whether the client named it."""
    named = named_session(message.session_key, config)
    if named is not None:
        return named[0], True
    return (None if route is None else config_key(route.key, config)), False


def plan_send(
    message: SendMessage,
    *,
    agent: str,
    channel: str,
    target: str,
    account: str | None,
    route: OutboundRoute | None,
    config: GatewayConfig,
) -> SendPlan:
    """The plan of a send. Raises `InvalidSend`."""
    message = checked(message, config)
    session_key, named = session_of(message, route, config)
    quoted = (message.reply_to or "").strip() or None
    # On some platforms a reply is a thread: then it is part of the place, not a quote.
    threaded = route is not None and quoted in (route.address.thread, route.address.conversation)
    return SendPlan(
        message=message,
        agent=agent,
        channel=channel,
        target=target,
        account=account,
        thread=(message.thread or "").strip() or None,
        reply_to=None if threaded else quoted,
        route=route,
        session_key=session_key,
        named_session=named,
        entry=None if named or route is None else config.rules[SessionRules].entry(route),
    )
