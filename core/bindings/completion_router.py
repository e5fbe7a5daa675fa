"""The bound-delivery router: chooses the bound conversation that the completion of a sub-agent goes to, if any.

It chooses only the destination, not the content, and sends nothing. A decision in the mode ``fallback`` names no
destination; the configuration decides whether the completion visibly goes elsewhere (invariant R2). See
docs/bindings.md.

Our rules: only active, unexpired bindings of exactly that session count. The requester's own conversation wins, then
the only binding of a thread under it, then the only one on its channel and account. A decision never crosses to another
channel or account, and without a requester nothing is guessed unless the caller fails open.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from trunkline.core.bindings.conversation_match import hangs_under, place_of, same_place
from trunkline.core.errors import TargetError, UsageError
from trunkline.core.events.bindings import RouterCandidate
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address

#: the only kind of event that this router handles
TASK_COMPLETION = "task_completion"

Records = Sequence[SessionBindingRecord]
Requester = Address | ConversationRef | None


class RouterDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The destination of a completion, and why every other bound conversation of the session lost."""

    #: the binding of the destination; None: no bound conversation qualifies
    binding: SessionBindingRecord | None
    mode: Literal["bound", "fallback"]
    reason: Reason
    candidates: tuple[RouterCandidate, ...] = ()


class RouterVerdict(msgspec.Struct, frozen=True, gc=False):
    """The chosen binding, if any, and the reason."""

    reason: Reason
    binding: SessionBindingRecord | None = None


class CompletionRouting:
    """The choice of a destination. A profile may replace what counts, and what is chosen of that."""

    def resolve(
        self,
        *,
        event_kind: str,
        target_session_key: str,
        requester: Requester,
        fail_closed: bool,
        bindings: Records,
        now: float,
    ) -> RouterDecision:
        """Choose the destination of a completion.

        `bindings` may include those of other sessions, which are ignored. Raises `UsageError` for any other kind of
        event.
        """
        if event_kind != TASK_COMPLETION:
            raise UsageError(f"the router handles only {TASK_COMPLETION}, not {event_kind!r}")
        key = target_session_key.strip()
        own = [record for record in bindings if key and record.target_session_key.strip() == key]
        live = [record for record in own if self.counts(record, now)]
        verdict = _first(key, live) or self.choose(requester, live, fail_closed=fail_closed)
        return RouterDecision(
            binding=verdict.binding,
            mode="fallback" if verdict.binding is None else "bound",
            reason=verdict.reason,
            candidates=tuple(_candidates(own, live, verdict, requester)),
        )

    def counts(self, record: SessionBindingRecord, now: float) -> bool:
        """Whether a binding of the session is a possible destination."""
        return record.routes(now)

    def choose(self, requester: Requester, live: Records, *, fail_closed: bool) -> RouterVerdict:
        """Choose among the bindings that count, of which there is at least one."""
        if requester is None:
            return RouterVerdict(Reason.MISSING_REQUESTER) if fail_closed else alone(live)
        place = _place(requester)
        if place is None:
            return RouterVerdict(Reason.INVALID_REQUESTER)
        near = [record for record in live if _lost(record, place) is Reason.OTHER_CONVERSATION]
        found = (
            next((record for record in near if same_place(record.conversation, place)), None)
            or only(record for record in near if hangs_under(record.conversation, place))
            or only(near)
        )
        # A lone binding on another channel or account is never used.
        return RouterVerdict(Reason.NO_REQUESTER_MATCH if found is None else Reason.REQUESTER_MATCH, found)


resolve_destination = CompletionRouting().resolve


class BoundDeliveryRouter:
    """The router over a source of bindings."""

    def __init__(
        self,
        list_by_session: Callable[[str], Records],
        resolve: Callable[..., RouterDecision],
        now: Callable[[], float],
    ) -> None:
        self._list_by_session = list_by_session
        self._resolve = resolve
        self._now = now

    def resolve_destination(
        self, event_kind: str, target_session_key: str, requester: Requester, fail_closed: bool = True
    ) -> RouterDecision:
        key = target_session_key.strip()
        return self._resolve(
            event_kind=event_kind,
            target_session_key=key,
            requester=requester,
            fail_closed=fail_closed,
            bindings=self._list_by_session(key) if key else (),
            now=self._now(),
        )


def _first(key: str, live: Records) -> RouterVerdict | None:
    """The verdict that does not depend on the requester, under every profile."""
    if not key:
        return RouterVerdict(Reason.MISSING_TARGET_SESSION)
    return None if live else RouterVerdict(Reason.NO_ACTIVE_BINDING)


def alone(live: Records) -> RouterVerdict:
    """The verdict without a requester if guessing is allowed: only an unambiguous guess."""
    if len(live) == 1:
        return RouterVerdict(Reason.SINGLE_ACTIVE_BINDING, live[0])
    return RouterVerdict(Reason.AMBIGUOUS_WITHOUT_REQUESTER)


def only(records: Iterable[SessionBindingRecord]) -> SessionBindingRecord | None:
    """The one record among some, if it is the only one."""
    found = tuple(records)
    return found[0] if len(found) == 1 else None


def _place(requester: Address | ConversationRef) -> Address | None:
    """The requester's conversation, or None if channel or conversation is missing."""
    try:
        return place_of(requester) if isinstance(requester, ConversationRef) else _checked(requester)
    except TargetError:
        return None


def _checked(place: Address) -> Address | None:
    return place if place.channel.strip() and place.conversation.strip() else None


def _candidates(own: Records, live: Records, verdict: RouterVerdict, requester: Requester) -> Iterable[RouterCandidate]:
    """Every binding of the session, with the reason for or against it."""
    alive = {id(record) for record in live}
    place = None if requester is None else _place(requester)
    for record in own:
        chosen = record is verdict.binding
        if chosen:
            reason = verdict.reason
        elif id(record) not in alive:
            active = record.status is BindingStatus.ACTIVE
            reason = record.expiry_reason if active else Reason.NOT_ACTIVE
        else:
            # Without a requester all bindings lost for the reason of the decision.
            reason = verdict.reason if place is None else _lost(record, place)
        yield RouterCandidate(
            binding=record.binding_id,
            conversation=record.conversation,
            status=record.status.value,
            chosen=chosen,
            reason=reason,
        )


def _lost(record: SessionBindingRecord, place: Address) -> Reason:
    """How a binding differs from the requester's conversation: in channel, account, or only the conversation."""
    if record.conversation.channel != place.channel:
        return Reason.OTHER_CHANNEL
    same = record.conversation.account.lower() == place.account.lower()
    return Reason.OTHER_CONVERSATION if same else Reason.OTHER_ACCOUNT
