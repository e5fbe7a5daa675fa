"""Sending on behalf of a client, outside of any turn: what is asked, what is planned, what came of it (seed 000).

`plan_send` decides everything that can be decided before anything is stored or sent; `core.runtime.client_sends.sends`
applies it. The
rules of idempotency: one key is one send. Whoever comes with the key while the first one runs joins it; whoever comes
after it was delivered gets its result; after a failure that surely sent nothing, the key may be used again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.delivery.mirror_text import mirror_text
from trunkline.core.errors import InvalidSend, KeyFormatError
from trunkline.core.keys import canonical_key, parse_openclaw
from trunkline.core.keys.openclaw import agent_id, fold_key
from trunkline.core.profiles import Profile
from trunkline.core.reasons import Reason
from trunkline.core.routing.key_text import config_key
from trunkline.core.routing.outbound import OutboundRoute
from trunkline.core.sessions.session_map import entry_of_route, todays_key
from trunkline.core.values import Address, IntentState, Poll, SessionEntry
from trunkline.core.well_formed import well_formed

_MEDIA = "MEDIA:"
_FENCE = re.compile(r" {0,3}(```|~~~)")
_QUOTED = re.compile(r"([`\"'])(.+)\1")
#: what can be the address of a file: a URL, a path, or a name with an ending
_URL = re.compile(r"(?:https?|file)://\S", re.IGNORECASE)
_PATH = re.compile(r"[/~\\]|\.{1,2}/|[a-z]:[/\\]", re.IGNORECASE)
_NAME = re.compile(r"[^:]*\.\w{1,10}")
#: a client that the gateway itself serves; there is nobody to send to
_INTERNAL = "webchat"
_NO_ACCOUNTS: Mapping[str, str] = {}


class SendMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A send as a client asks for it."""

    #: a target (see `trunkline.core.channels`), or an exact place
    to: str | Address
    #: lines ``MEDIA:<address>`` outside of code name media, too
    text: str = ""
    #: URLs or paths of files
    media: tuple[str, ...] = ()
    #: none: the only one that is served
    channel: str | None = None
    account: str | None = None
    thread: str | None = None
    reply_to: str | None = None
    #: whose session remembers it; none: that of the session key, else the default agent
    agent: str | None = None
    #: the session that remembers it; none: that of the target conversation
    session_key: str | None = None
    #: a question with options, instead of a text
    poll: Poll | None = None
    #: JSON that only the platform knows, beside the text that people without it read
    payload: str | None = None
    #: one attempt and no more; what came of it is told, not raised
    best_effort: bool = False
    #: say what would be sent, where to, and who would remember it; nothing is stored or sent, and no hook runs
    dry_run: bool = False
    #: idempotency key
    key: str


class SendStatus(StrEnum):
    """What is known of a send. Only `delivered` says that people can see it."""

    DELIVERED = "delivered"
    #: durable, and not delivered yet
    QUEUED = "queued"
    DRY_RUN = "dry-run"
    #: of a best-effort send: `detail` tells what is known
    NOT_DELIVERED = "not-delivered"


class SendOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a send. `cached`: another call with the same key did it."""

    key: str
    status: SendStatus = SendStatus.DELIVERED
    #: the platform's id of the last message that it became; none: it was not delivered
    message_id: str | None
    channel: str
    conversation: str
    session_key: str | None
    cached: bool
    #: a dry run: the chunks that would be sent
    preview: tuple[str, ...] = ()
    detail: str = ""


class Target(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One of the targets of a broadcast."""

    to: str | Address
    channel: str | None = None
    account: str | None = None
    thread: str | None = None

    @property
    def name(self) -> str:
        """What tells it from the other targets, in keys and reports."""
        parts = (str(self.to), self.channel, self.account, self.thread)
        return "/".join(part for part in parts if part)


class Broadcasted(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one target of a broadcast. `outcome` none: it failed, and `error` tells how."""

    target: Target
    outcome: SendOutcome | None = None
    error: str = ""


class SendPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is decided before a send is stored."""

    key: str
    agent: str
    channel: str
    #: as the client gave it, or as a directory resolved it
    target: str
    account: str | None
    #: as the client gave it
    thread: str | None
    #: the message that it answers, where that is no thread
    reply_to: str | None
    text: str
    media: tuple[str, ...]
    poll: Poll | None = None
    payload: str | None = None
    best_effort: bool = False
    #: none only in the upstream profiles: a target without a route is delivered all the same
    route: OutboundRoute | None
    #: session that remembers it, as text; none: none does
    session_key: str | None
    named_session: bool
    #: the session's entry, to be created when missing; none when the client named the session
    entry: SessionEntry | None

    @property
    def mirror_text(self) -> str:
        """What the transcript will say."""
        return mirror_text(self.text, self.media) or ""


# -------------------------------------------------------------------- what is sent


def split_media(text: str, media: tuple[str, ...], profile: Profile = Profile.TRUNKLINE) -> tuple[str, tuple[str, ...]]:
    """Text and media of a message; blanks, and what is named twice, are dropped.

    A line ``MEDIA:<address>...`` names media too, unless it stands in a block of code or what it names cannot be the
    address of a file.
    """
    if not media and not profile.upstream and _MEDIA not in text:
        return text, ()
    kept: list[str] = []
    found: list[str] = []
    fence, cut = "", False
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        named = [] if fence or mark else _named(line, profile)
        if mark:
            fence = "" if fence == mark[1] else fence or mark[1]
        found += named
        blank = not line.strip()
        # The blank lines around a line that was cut out are one blank line.
        if not named and not (cut and blank and not (kept and kept[-1].strip())):
            kept.append(line)
        cut = bool(named) or (cut and blank)
    rest = "\n".join(kept).strip() if found or profile.upstream else text
    if found and profile.upstream:
        # Upstream takes out all blank lines then.
        rest = re.sub(r"\n\s*\n", "\n", rest)
    return rest, tuple(dict.fromkeys(one.strip() for one in (*media, *found) if one.strip()))


def _named(line: str, profile: Profile) -> list[str]:
    """The media that a line names; none when it is text."""
    trimmed = line.strip()
    word, rest = trimmed[: len(_MEDIA)], trimmed[len(_MEDIA) :].strip()
    # Upstream (March) reads the word in any case.
    if (word.upper() if profile.upstream else word) != _MEDIA:
        return []
    quoted = _QUOTED.fullmatch(rest)
    addresses = [quoted[2].strip()] if quoted else rest.split()
    return addresses if all(_URL.match(one) or _PATH.match(one) or _NAME.fullmatch(one) for one in addresses) else []


def check_key(key: str) -> None:
    """Raise `InvalidSend` for an idempotency key that is none."""
    if not key.strip():
        raise InvalidSend("the idempotency key is empty: give each send one of its own", Reason.BAD_IDEMPOTENCY_KEY)
    if well_formed(key) != key:
        raise InvalidSend(f"the idempotency key {key!r} cannot be stored", Reason.BAD_IDEMPOTENCY_KEY)


def may_try_again(state: IntentState) -> bool:
    """Whether a key may send again after its last try has ended so: nothing of it can be seen by anybody."""
    return state in _UNSEEN


_UNSEEN = frozenset({IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED, IntentState.CANCELLED})


def spread(message: SendMessage, targets: Sequence[Target]) -> tuple[SendMessage, ...]:
    """The sends of a broadcast, each with a key of its own. Raises `InvalidSend` for none, or for one named twice."""
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


def check_send(message: SendMessage, profile: Profile = Profile.TRUNKLINE) -> tuple[str, tuple[str, ...]]:
    """Text and media of a send. Raises `InvalidSend` for one without either, without key or target."""
    check_key(message.key)
    for one in (message.text, *message.media, message.payload or ""):
        if not one.isascii() and well_formed(one) != one:
            raise InvalidSend(f"send {message.key!r}: {one!r:.80} is no valid Unicode", Reason.BAD_TEXT)
    text, media = split_media(message.text, message.media, profile)
    if message.poll is not None:
        text = text if text.strip() else message.poll.question
    if not text.strip() and not media:
        raise InvalidSend(f"send {message.key!r} has neither text nor media", Reason.NOTHING_TO_SEND)
    if isinstance(message.to, Address):
        check_exact(message.to, message.channel, message.account, message.thread)
    elif not message.to.strip():
        raise InvalidSend(f"send {message.key!r} has no target", Reason.BAD_TARGET)
    return text, media


def check_exact(place: Address, channel: str | None, account: str | None, thread: str | None) -> None:
    """Raise `InvalidSend` where what is named beside an exact place says something else than the place does."""
    beside = (
        ("channel", channel, (place.channel,), Reason.UNKNOWN_CHANNEL),
        ("account", account, (place.account,), Reason.UNKNOWN_ACCOUNT),
        # On some platforms a thread is a conversation.
        ("thread", thread, (place.thread, place.conversation), Reason.BAD_TARGET),
    )
    for what, named, exact, reason in beside:
        if (text := (named or "").strip()) and text not in exact:
            raise InvalidSend(f"{place} is an exact place, and {what} {text!r} contradicts it", reason)


# -------------------------------------------------------------------- by whom, and who remembers it


def choose_channel(message: SendMessage, served: tuple[str, ...]) -> str:
    """The channel of a send: named, else the only one that is served. Raises `InvalidSend`."""
    named = message.to.channel if isinstance(message.to, Address) else (message.channel or "").strip().lower()
    there = f"there are: {', '.join(served)}" if served else "none is served"
    if named == _INTERNAL:
        raise InvalidSend(f"channel {named!r} is internal: name one that carries messages", Reason.UNKNOWN_CHANNEL)
    if named and named not in served:
        raise InvalidSend(f"channel {named!r} is not served; {there}", Reason.UNKNOWN_CHANNEL)
    if named:
        return named
    if len(served) != 1:
        raise InvalidSend(f"the channel is missing; {there}", Reason.UNKNOWN_CHANNEL)
    return served[0]


def choose_agent(message: SendMessage, config: GatewayConfig) -> str:
    """The agent of a send: named, else that of the session key, else the default one. Raises `InvalidSend`."""
    named = (message.agent or "").strip()
    session = named_session(message.session_key, config)
    if session is None:
        agent = named or config.default_agent
    elif not named or config.profile.upstream:
        # Upstream: the agent that is named beats that of the session, and the key stays.
        agent = named or session[1]
    elif named != session[1]:
        facts = f"agent {named!r} is named, and {session[0]} is a session of {session[1]!r}: leave one of them out"
        raise InvalidSend(facts, Reason.BAD_SESSION_KEY)
    else:
        agent = named
    known = [one.id for one in config.agents]
    if agent not in known and not config.profile.upstream:
        raise InvalidSend(f"no agent {agent!r}; there are: {', '.join(known)}", Reason.UNKNOWN_AGENT)
    return agent


def named_session(
    text: str | None, config: GatewayConfig, accounts: Mapping[str, str] = _NO_ACCOUNTS
) -> tuple[str, str] | None:
    """The key, as it is stored, and the agent of a session that a caller names; none for a blank.

    A key in upstream's form becomes the one that its session has after the move to ours; `accounts`: the default one
    of each channel. Raises `InvalidSend` for a text that is no key, and for an agent that does not exist.
    """
    trimmed = (text or "").strip()
    if not trimmed:
        return None
    if config.profile.upstream:
        # Upstream folds what it is given and takes it as it is; what names no agent is the default one's.
        parsed = parse_openclaw(trimmed, config.profile)
        return fold_key(trimmed, config.profile), config.default_agent if parsed is None else agent_id(parsed.agent)
    try:
        key = canonical_key(trimmed)
        if str(key) != trimmed.lower() and parse_openclaw(trimmed) is not None:
            key = todays_key(key, config, accounts)
    except KeyFormatError as error:
        raise InvalidSend(error.facts, Reason.BAD_SESSION_KEY) from error
    known = [one.id for one in config.agents]
    if key.agent not in known:
        raise InvalidSend(f"{trimmed!r}: no agent {key.agent!r}; there are: {', '.join(known)}", Reason.UNKNOWN_AGENT)
    return str(key), key.agent


def session_of(message: SendMessage, route: OutboundRoute | None, config: GatewayConfig) -> tuple[str | None, bool]:
    """The session that remembers a send, and whether the client named it. A named one is obeyed, or the send fails."""
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
    """Put together what was decided. Raises `InvalidSend`."""
    text, media = check_send(message, config.profile)
    session_key, named = session_of(message, route, config)
    quoted = (message.reply_to or "").strip() or None
    # On some platforms an answer is a thread: that is the place then, and no quotation.
    threaded = route is not None and quoted in (route.address.thread, route.address.conversation)
    return SendPlan(
        key=message.key,
        agent=agent,
        channel=channel,
        target=target,
        account=account,
        thread=(message.thread or "").strip() or None,
        reply_to=None if threaded else quoted,
        text=text,
        media=media,
        poll=message.poll,
        payload=message.payload,
        best_effort=message.best_effort,
        route=route,
        session_key=session_key,
        named_session=named,
        entry=None if named or route is None else entry_of_route(route, config),
    )
