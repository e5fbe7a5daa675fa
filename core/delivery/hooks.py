"""Hooks: what a user's code may do to a message before it is stored, and how it learns what became of it (seed 003).

`message_sending` hooks run one after another, by priority, highest first; each sees what the ones before have left. The
first that cancels is final: no later hook can undo it (upstream lets one, #10066). Hooks run once for a message: what
they leave is stored, and every later attempt sends that. `message_sent` hooks are told the outcome of each message that
has entered the first kind, also of one that was cancelled or failed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from trunkline.core.errors import HookError
from trunkline.core.reasons import Reason
from trunkline.core.values import Address, IntentId, IntentKind, IntentState, Receipt


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """What a `message_sending` hook sees."""

    intent: IntentId
    kind: IntentKind
    agent: str
    address: Address
    #: as the hooks before have left it
    text: str
    #: as it was said
    original: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    #: the session that will remember it
    session_key: str | None = None


class Change(msgspec.Struct, frozen=True):
    """A hook's answer: this text instead. An empty one leaves nothing to be seen."""

    text: str


class Cancel(msgspec.Struct, frozen=True):
    """A hook's answer: it is not sent."""

    why: str = ""


class Sent(msgspec.Struct, frozen=True, kw_only=True):
    """What a `message_sent` hook sees. `text` is what was sent, or was to be; of a cancelled message there is none."""

    intent: IntentId
    kind: IntentKind
    agent: str
    address: Address
    state: IntentState
    reason: Reason
    text: str
    receipts: tuple[Receipt, ...] = ()

    @property
    def success(self) -> bool:
        """Whether all of it was delivered where it was to be."""
        return self.state is IntentState.DELIVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingHook:
    """A `message_sending` hook. `call` answers with `Change`, `Cancel`, or none to leave the message as it is."""

    name: str
    call: Callable[[Outgoing], Awaitable[object]]
    priority: int = 0
    #: when it fails: true cancels the message, false lets it go on without the hook
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentHook:
    """A `message_sent` hook. After a crash it may be told of a message again: told at least once."""

    name: str
    call: Callable[[Sent], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """The hooks of a gateway."""

    sending: tuple[SendingHook, ...] = ()
    sent: tuple[SentHook, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sending or self.sent)

    @property
    def in_order(self) -> tuple[SendingHook, ...]:
        """Highest priority first; those of equal priority as they were given."""
        return tuple(sorted(self.sending, key=lambda hook: -hook.priority))


class HookFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that failed."""

    hook: str
    reason: Reason
    detail: str


class HookResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the hooks made of a message. `cancelled` tells why it is not sent; none: it is."""

    text: str
    #: hooks that changed it, or the one that cancelled it
    by: tuple[str, ...] = ()
    cancelled: Reason | None = None
    why: str = ""
    failures: tuple[HookFailure, ...] = ()

    @property
    def verdict(self) -> str:
        """One word: ``kept``, ``modified`` or ``cancelled``."""
        return "cancelled" if self.cancelled is not None else "modified" if self.by else "kept"

    @property
    def reason(self) -> Reason:
        """The verdict's reason."""
        return self.cancelled or (Reason.MODIFIED_BY_HOOK if self.by else Reason.KEPT_BY_HOOKS)


def start(text: str) -> HookResult:
    """What there is before the first hook."""
    return HookResult(text=text)


def apply(so_far: HookResult, hook: SendingHook, answer: object) -> HookResult:
    """What a hook's answer makes of a message that is not cancelled. Raises `HookError` for nonsense."""
    if answer is None:
        return so_far
    if isinstance(answer, Cancel):
        return msgspec.structs.replace(so_far, by=(hook.name,), cancelled=Reason.CANCELLED_BY_HOOK, why=str(answer.why))
    if not isinstance(answer, Change) or not isinstance(answer.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise HookError(f"{hook.name} answered {answer!r:.80}: expected Change(text), Cancel(why) or None")
    if answer.text == so_far.text:
        return so_far
    return msgspec.structs.replace(so_far, text=answer.text, by=(*so_far.by, hook.name))


def failed(so_far: HookResult, hook: SendingHook, error: Exception) -> HookResult:
    """What the failure of a hook makes of a message: it goes on without it, or is cancelled where it is required."""
    nonsense = isinstance(error, HookError)
    reason = Reason.BAD_HOOK_ANSWER if nonsense else Reason.HOOK_RAISED
    detail = error.facts if isinstance(error, HookError) else f"{type(error).__name__}: {error}"
    failures = (*so_far.failures, HookFailure(hook=hook.name, reason=reason, detail=detail))
    if not hook.required:
        return msgspec.structs.replace(so_far, failures=failures)
    return msgspec.structs.replace(so_far, failures=failures, by=(hook.name,), cancelled=reason, why=detail)
