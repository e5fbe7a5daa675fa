"""Questions about key texts in the ``openclaw`` form, and its small changes: threads, aliases, kinds of sessions.

All of them take any text, as a client, an operator or an old store may hand in.
"""

import re
from enum import StrEnum

import msgspec

from tests.support.profiles import fold_key, parse_openclaw
from trunkline.core.errors import KeyFormatError
from trunkline.core.profile_rules import Profile
from trunkline.core.profiles.openclaw.keys import (
    DEFAULT_AGENT,
    DEFAULT_MAIN_KEY,
    KIND_TOKENS,
    UNKNOWN,
    account_id,
    agent_id,
    fold,
    main_text,
)
from trunkline.core.values import ChatKind

_MARKS = (":thread:", ":topic:")
_SUBAGENT = ":subagent:"
_CRON_RUN = re.compile(r"cron:[^:]+:run:[^:]+")
#: what kind a conversation is, in this order when a key has several of the words
_KIND_ORDER = ("group", "channel", "direct", "dm")
_OLD_DISCORD = re.compile(r"discord:(?:[^:]+:)?guild-[^:]+:channel-[^:]+")


class KeyShape(StrEnum):
    """What a text looks like."""

    #: nothing was given
    MISSING = "missing"
    #: a scoped key
    AGENT = "agent"
    #: begins like a scoped key, and is none
    MALFORMED_AGENT = "malformed_agent"
    #: anything else: a name such as ``main``, or a key of old
    LEGACY_OR_ALIAS = "legacy_or_alias"


class ThreadKey(msgspec.Struct, frozen=True, kw_only=True):
    """The key of a thread, and that of the session it started from, where the caller named one."""

    key: str
    parent: str | None


class Flags(msgspec.Struct, frozen=True, kw_only=True):
    """What kind of session a key names, besides conversations."""

    subagent: bool
    acp: bool
    cron: bool
    #: one run of a schedule, not the schedule
    cron_run: bool
    #: sub-agents of sub-agents count
    subagent_depth: int


def key_shape(text: str | None, profile: Profile = Profile.OPENCLAW) -> KeyShape:
    """What a text looks like."""
    trimmed = (text or "").strip()
    if not trimmed:
        return KeyShape.MISSING
    if parse_openclaw(trimmed, profile):
        return KeyShape.AGENT
    return KeyShape.MALFORMED_AGENT if trimmed.lower().startswith("agent:") else KeyShape.LEGACY_OR_ALIAS


def to_store_key(
    request: str | None, agent: str, main_key: str = DEFAULT_MAIN_KEY, profile: Profile = Profile.OPENCLAW
) -> str:
    """The key under which a store has what a client asks for. A scoped key keeps its own agent."""
    trimmed = (request or "").strip()
    if trimmed.lower() in ("", DEFAULT_MAIN_KEY):
        return main_text(agent, main_key)
    parsed = parse_openclaw(trimmed, profile)
    if parsed is not None:
        return f"agent:{parsed.agent}:{parsed.rest}"
    folded = fold_key(trimmed, profile)
    return folded if folded.startswith("agent:") else f"agent:{agent_id(agent)}:{folded}"


def to_request_key(text: str | None, profile: Profile = Profile.OPENCLAW) -> str | None:
    """What a client would ask for to get a stored key: the part after the agent; other text as it is."""
    parsed = parse_openclaw(text, profile)
    return parsed.rest if parsed else (text or "").strip() or None


def agent_of(text: str | None, profile: Profile = Profile.OPENCLAW, default: str | None = None) -> str:
    """The agent of a key. March takes ``main`` where the key names none.

    August raises `KeyFormatError` for a malformed key, and for one that names none when there is no `default`.
    """
    parsed = parse_openclaw(text, profile)
    if parsed is not None:
        return agent_id(parsed.agent)
    if profile is not Profile.OPENCLAW_2026_08:
        return DEFAULT_AGENT
    if key_shape(text, profile) is KeyShape.MALFORMED_AGENT:
        raise KeyFormatError(f"{text!r}: it begins with agent: and names no session")
    if not default:
        raise KeyFormatError(f"{text!r}: it names no agent, and no default agent is configured")
    return agent_id(default)


def with_thread(base: str, thread: str | None, parent: str | None = None, *, suffix: bool = True) -> ThreadKey:
    """The key of a thread of `base`. A blank thread is none; a second suffix goes after the first.

    Without `suffix` the thread's own id is in the base already (Discord), and only the parent is carried.
    """
    folded = fold(thread)
    if not folded:
        return ThreadKey(key=base, parent=None)
    return ThreadKey(key=f"{base}:thread:{folded}" if suffix else base, parent=parent)


def thread_parent(text: str | None) -> str | None:
    """The key that a thread's or topic's key hangs under, or none. Cut at the last mark; case is kept."""
    trimmed = (text or "").strip()
    at = max(trimmed.lower().rfind(mark) for mark in _MARKS)
    return trimmed[:at].strip() or None if at > 0 else None


def flags(text: str | None, profile: Profile = Profile.OPENCLAW) -> Flags:
    """What kind of session a key names. Sub-agents and ACP count without an agent too, schedules do not."""
    folded = fold(text)
    parsed = parse_openclaw(text, profile)
    rest = parsed.rest.lower() if parsed else ""
    return Flags(
        subagent=folded.startswith("subagent:") or rest.startswith("subagent:"),
        acp=folded.startswith("acp:") or rest.startswith("acp:"),
        cron=rest.startswith("cron:"),
        cron_run=_CRON_RUN.fullmatch(rest) is not None,
        subagent_depth=folded.count(_SUBAGENT),
    )


def chat_type_of(text: str | None) -> ChatKind | None:
    """What kind of conversation a key of any age names, as far as its words tell."""
    parsed = parse_openclaw(text)
    scoped = parsed.rest if parsed else fold(text)
    tokens = frozenset(scoped.split(":"))
    word = next((word for word in _KIND_ORDER if word in tokens), None)
    if word is not None:
        return KIND_TOKENS[word]
    return ChatKind.CHANNEL if _OLD_DISCORD.fullmatch(scoped) else None


def history_key(channel: str | None, account: str | None, kind: ChatKind, peer: str | None) -> str:
    """Under which name the unread history of a group is kept: unlike its session, per account."""
    return f"{fold(channel) or UNKNOWN}:{account_id(account)}:{kind.value}:{fold(peer) or UNKNOWN}"
