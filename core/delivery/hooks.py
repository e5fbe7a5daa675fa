"""Hooks: user code that may change or cancel a message before it is stored, and that is notified of its outcome.

`message_sending` hooks run in order of priority, highest first; each sees the result of the ones before. A cancellation
is final: no later hook can undo it (upstream allows that, openclaw/openclaw#10066). Hooks run once per message: their
result is stored, and every later attempt sends it. `message_sent` hooks are notified of the outcome of every message
that entered the first kind, including cancelled and failed ones.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from trunkline.core.errors import HookError, PolicyDenied
from trunkline.core.reasons import Reason
from trunkline.core.untrusted import check_address
from trunkline.core.values import Address, IntentId, IntentKind, IntentState, Receipt
from trunkline.core.well_formed import describe, is_well_formed

#: what a hook may change
CHANGEABLE = ("text", "media", "reply_to", "to")


class Outgoing(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The message that a `message_sending` hook sees."""

    intent: IntentId
    kind: IntentKind
    agent: str
    address: Address
    #: the text after the earlier hooks
    text: str
    #: the text before any hook
    original: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    #: the session that will mirror it
    session_key: str | None = None


class Change(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """A hook's answer: replace what is given; the rest stays. With neither text nor files left nothing is sent."""

    text: str | UnsetType = UNSET
    #: URLs or paths of files; with an empty tuple there are none
    media: tuple[str, ...] | UnsetType = UNSET
    #: the message that is quoted, by the platform's id; None: none
    reply_to: str | UnsetType | None = UNSET
    #: another place, or a target of the same channel and account as text. It passes the cross-context policy, and its
    #: session remembers the message; what is quoted stays behind, unless `reply_to` names a message there
    to: Address | str | UnsetType = UNSET


class Cancel(msgspec.Struct, frozen=True, gc=False):
    """A hook's answer: do not send the message."""

    why: str = ""


class Sent(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome that a `message_sent` hook sees. `text` is the final text; empty for a cancelled message."""

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
        """Whether the whole message was delivered to the right place."""
        return self.state is IntentState.DELIVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingHook:
    """A `message_sending` hook. `call` returns `Change`, `Cancel`, or None to leave the message unchanged."""

    name: str
    call: Callable[[Outgoing], Awaitable[object]]
    priority: int = 0
    #: if the hook fails: True cancels the message, False sends it without the hook
    required: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SentHook:
    """A `message_sent` hook. It is notified at least once per message: after a crash perhaps again."""

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
        """Highest priority first; hooks of equal priority in the given order."""
        return tuple(sorted(self.sending, key=lambda hook: -hook.priority))


class HookFailure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A hook that failed."""

    hook: str
    reason: Reason
    detail: str


class HookResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of the hooks for a message. `cancelled` is the reason why it is not sent; None: it is sent."""

    text: str
    media: tuple[str, ...] = ()
    reply_to: str | None = None
    #: where it goes
    to: Address | None = None
    #: what they changed: ``text``, ``media``, ``reply_to``, ``to``
    changed: tuple[str, ...] = ()
    #: names of the hooks that changed it, or of the one that cancelled it
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
        return self.cancelled or (Reason.MODIFIED_BY_HOOK if self.by else Reason.KEPT_BY_HOOKS)


def apply(so_far: HookResult, hook: SendingHook, answer: object, *, change_only: bool = False) -> HookResult:
    """Apply a hook's answer to a message that is not cancelled. Raises `HookError` for an invalid answer.

    A text `to` must be resolved to a place before. `change_only`: it is a change of a message, of which only the text
    may be replaced.
    """
    if answer is None:
        return so_far
    if isinstance(answer, Cancel):
        return msgspec.structs.replace(so_far, by=(hook.name,), cancelled=Reason.CANCELLED_BY_HOOK, why=str(answer.why))
    wrong = _wrong(answer, change_only)
    if wrong or not isinstance(answer, Change):
        raise HookError(f"{hook.name} answered {_shown(answer)}: {wrong}")
    given: dict[str, object] = {name: value for name in CHANGEABLE if (value := getattr(answer, name)) is not UNSET}
    if given.get("to", so_far.to) != so_far.to and "reply_to" not in given:
        # A message of another conversation cannot be quoted.
        given["reply_to"] = None
    changed = {name: value for name, value in given.items() if value != getattr(so_far, name)}
    if not changed:
        return so_far
    names = tuple(name for name in CHANGEABLE if name in changed or name in so_far.changed)
    return msgspec.structs.replace(so_far, **changed, changed=names, by=(*so_far.by, hook.name))


def _wrong(answer: object, change_only: bool) -> str:
    """The defect of a hook's answer. Hooks are not type-checked."""
    if not isinstance(answer, Change):
        return "expected Change(text), Cancel(why) or None"
    if not (answer.text is UNSET or isinstance(answer.text, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        return "expected a str as text"
    if change_only and not (answer.media is UNSET and answer.reply_to is UNSET and answer.to is UNSET):
        return "an edit keeps its place, its files and what it quotes"
    if not (answer.media is UNSET or _is_media(answer.media)):
        return "expected a tuple of texts as media"
    if not (answer.reply_to is UNSET or answer.reply_to is None or _is_text(answer.reply_to)):
        return "expected a text or None as reply_to"
    if answer.to is UNSET:
        return ""
    return check_address(answer.to)


def _is_media(value: object) -> bool:
    return isinstance(value, tuple) and all(map(_is_text, cast("tuple[object, ...]", value)))


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip()) and is_well_formed(value)


def _shown(answer: object) -> str:
    """An invalid answer in a few words; its own form may be endless, or raise."""
    try:
        return f"{answer!r:.80}"
    except Exception:  # noqa: BLE001 -- the answer is invalid in any case
        return f"a value of type {type(answer).__name__}"


def _failure(error: Exception) -> tuple[Reason, str]:
    if isinstance(error, PolicyDenied):
        return error.reason, error.facts
    if isinstance(error, HookError):
        return Reason.BAD_HOOK_ANSWER, error.facts
    return Reason.HOOK_RAISED, describe(error)


def failed(so_far: HookResult, hook: SendingHook, error: Exception) -> HookResult:
    """Apply the failure of a hook: a required hook cancels the message, any other is skipped."""
    reason, detail = _failure(error)
    failures = (*so_far.failures, HookFailure(hook=hook.name, reason=reason, detail=detail))
    if not hook.required:
        return msgspec.structs.replace(so_far, failures=failures)
    return msgspec.structs.replace(so_far, failures=failures, by=(hook.name,), cancelled=reason, why=detail)
