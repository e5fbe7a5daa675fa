"""Where upstream delivers the completion of a sub-agent, and in which order it tries (facts on routing, section 7.1).

Ours is `core.hands.completion_plan` with `core.bindings.completion_router`. Upstream reads the
requester's conversation from the text
of a target, asks its router with an open failure mode, and fills what a bound destination lacks from the requester's
origin where their channels agree.
"""

import re
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

import msgspec

from trunkline.core.bindings.completion_router import TASK_COMPLETION
from trunkline.core.decisions import Decisions
from trunkline.core.profile_rules import Profile, profile_rules
from trunkline.core.profiles.openclaw.keys import account_id, fold
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord

_PREFIXES = ("channel:", "conversation:", "group:", "room:", "dm:")
_MENTION = re.compile(r"<#([0-9]+)>")
_DIGITS = re.compile(r"[0-9]{6,}")

Phase = Literal["direct-primary", "queue-primary", "queue-fallback"]


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A place as upstream's sessions remember it; any part may be missing."""

    channel: str | None = None
    account_id: str | None = None
    to: str | None = None
    thread_id: str | int | None = None


class CompletionDestination(msgspec.Struct, frozen=True, kw_only=True):
    """Where a completion goes, and how that came about."""

    mode: Literal["bound", "fallback"]
    reason: Reason
    requester: ConversationRef | None
    #: none: nobody knows where it belongs
    destination: Origin | None


def completion_destination(
    child_session_key: str,
    origin: Origin | None,
    bindings: Sequence[SessionBindingRecord],
    profile: Profile,
    hook: Origin | None = None,
) -> CompletionDestination:
    """Choose the destination as upstream does. `hook` is what a plugin answered, which counts before the origin."""
    known = None if origin is None else _normal(origin)
    requester = None if known is None else requester_conversation(known)
    decision = profile_rules(profile)[Decisions].resolve_destination(
        event_kind=TASK_COMPLETION,
        target_session_key=child_session_key,
        requester=requester,
        # Every caller upstream leaves the failure mode open.
        fail_closed=False,
        bindings=bindings,
        now=0.0,
    )
    if decision.binding is not None:
        destination = _filled(_bound(ConversationRef.of(decision.binding.conversation)), known)
    else:
        destination = known if hook is None else _filled(_normal(hook), known)
    return CompletionDestination(
        mode=decision.mode, reason=decision.reason, requester=requester, destination=destination
    )


def requester_conversation(origin: Origin) -> ConversationRef | None:
    """The conversation that an origin names: its thread, else the id in its target, if the target tells one."""
    channel = fold(origin.channel)
    conversation = _text(origin.thread_id) or conversation_in(origin.to or "")
    if not channel or conversation is None:
        return None
    return ConversationRef(channel=channel, account_id=account_id(origin.account_id), conversation_id=conversation)


def conversation_in(target: str) -> str | None:
    """The conversation that a target names: behind one of the usual prefixes, in a mention, or as digits alone."""
    text = target.strip()
    for prefix in _PREFIXES:
        if text.lower().startswith(prefix):
            return text[len(prefix) :].strip() or None
    mention = _MENTION.fullmatch(text)
    return mention[1] if mention else text if _DIGITS.fullmatch(text) else None


def _bound(ref: ConversationRef) -> Origin:
    """A bound conversation as a target. Matrix has the room there, and the conversation as the thread."""
    place = Origin(channel=ref.channel, account_id=ref.account_id)
    if ref.channel != "matrix":
        return msgspec.structs.replace(place, to=f"channel:{ref.conversation_id}")
    parent = ref.parent_conversation_id
    if parent is None or parent == ref.conversation_id:
        return msgspec.structs.replace(place, to=f"room:{ref.conversation_id}")
    return msgspec.structs.replace(place, to=f"room:{parent}", thread_id=ref.conversation_id)


def _filled(place: Origin, other: Origin | None) -> Origin:
    """What is missing is taken from elsewhere, unless that is on another channel."""
    if other is None or (place.channel and other.channel and place.channel != other.channel):
        return place
    return Origin(
        channel=place.channel or other.channel,
        account_id=place.account_id or other.account_id,
        to=place.to or other.to,
        thread_id=other.thread_id if place.thread_id is None else place.thread_id,
    )


def _normal(origin: Origin) -> Origin:
    return Origin(
        channel=fold(origin.channel) or None,
        account_id=account_id(origin.account_id) if _text(origin.account_id) else None,
        to=_text(origin.to),
        thread_id=origin.thread_id if isinstance(origin.thread_id, int) else _text(origin.thread_id),
    )


def _text(value: str | int | None) -> str | None:
    return None if value is None else str(value).strip() or None


# -------------------------------------------------------------------- order


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """How an announcement ended."""

    delivered: bool
    #: ``direct``, ``queued``, ``steered`` or ``none``
    path: str
    phases: tuple[Phase, ...] = ()


class Tries(Protocol):
    """The two ways to announce, tried when they are asked for."""

    def queue(self) -> str:
        """Put it into the requester's running turn or queue: ``steered``, ``queued``, ``dropped`` or ``none``."""
        ...

    def direct(self) -> bool:
        """Call the requester's agent."""
        ...


def announce(tries: Tries, *, completion: bool, aborted: Callable[[], bool]) -> Announced:
    """Announce as upstream does: a completion directly first, anything else through the queue first."""
    if aborted():
        return Announced(delivered=False, path="none")
    return _completion(tries, aborted) if completion else _other(tries)


def _completion(tries: Tries, aborted: Callable[[], bool]) -> Announced:
    first: tuple[Phase, ...] = ("direct-primary",)
    if tries.direct():
        return Announced(delivered=True, path="direct", phases=first)
    if aborted():
        return Announced(delivered=False, path="direct", phases=first)
    both: tuple[Phase, ...] = (*first, "queue-fallback")
    path = _taken(tries.queue())
    return Announced(delivered=path is not None, path=path or "direct", phases=both)


def _other(tries: Tries) -> Announced:
    first: tuple[Phase, ...] = ("queue-primary",)
    outcome = tries.queue()
    path = _taken(outcome)
    # What a full queue has dropped is not announced in another way (museum B023).
    if path is not None or outcome == "dropped":
        return Announced(delivered=path is not None, path=path or "none", phases=first)
    return Announced(delivered=tries.direct(), path="direct", phases=(*first, "direct-primary"))


def _taken(outcome: str) -> str | None:
    return outcome if outcome in ("queued", "steered") else None
