"""The bound-delivery router: chooses the bound conversation that the completion of a sub-agent goes to, if any.

It chooses only the destination, not the content, and sends nothing. A decision in the mode ``fallback`` names no
destination; the configuration decides whether the completion visibly goes elsewhere (invariant R2). See
docs/bindings.md.

Our rules: only active, unexpired bindings of exactly that session count. The requester's own conversation wins, then
the only binding of a thread under it, then the only one on its channel and account. A decision never crosses to another
channel or account, and without a requester nothing is guessed unless the caller fails open.

Upstream's rules are those of the conformance table `delivery_router`, defects included: a lone binding on another
channel is used when the caller fails open (March), and expired bindings count until they are swept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import msgspec

from trunkline.core.bindings.conversation_match import hangs_under, place_of, ref_of, same_place
from trunkline.core.errors import TargetError, UsageError
from trunkline.core.events.bindings import RouterCandidate
from trunkline.core.keys.openclaw import account_id, fold
from trunkline.core.profile_rules import Profile
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address

#: the only kind of event that this router handles
TASK_COMPLETION = "task_completion"

Records = Sequence[SessionBindingRecord]


class RouterDecision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The destination of a completion, and why every other bound conversation of the session lost."""

    #: the binding of the destination; None: no bound conversation qualifies
    binding: SessionBindingRecord | None
    mode: Literal["bound", "fallback"]
    reason: Reason
    candidates: tuple[RouterCandidate, ...] = ()


class _Verdict(msgspec.Struct, frozen=True, gc=False):
    """The chosen binding, if any, and the reason."""

    reason: Reason
    binding: SessionBindingRecord | None = None


def resolve_destination(
    *,
    event_kind: str,
    target_session_key: str,
    requester: Address | ConversationRef | None,
    fail_closed: bool,
    bindings: Records,
    now: float,
    profile: Profile = Profile.TRUNKLINE,
) -> RouterDecision:
    """Choose the destination of a completion.

    `bindings` may include those of other sessions, which are ignored. Raises `UsageError` for any other kind of event.
    """
    if event_kind != TASK_COMPLETION:
        raise UsageError(f"the router handles only {TASK_COMPLETION}, not {event_kind!r}")
    key = target_session_key.strip()
    own = [record for record in bindings if key and record.target_session_key.strip() == key]
    # Upstream: an expired binding counts until it is swept.
    counts = _is_active if profile.upstream else _routes_at(now)
    live = [record for record in own if counts(record)]
    judge = _upstream if profile.upstream else _ours
    verdict = _first(key, live) or judge(requester, live, fail_closed=fail_closed, profile=profile)
    return RouterDecision(
        binding=verdict.binding,
        mode="fallback" if verdict.binding is None else "bound",
        reason=verdict.reason,
        candidates=tuple(_candidates(own, live, verdict, requester)),
    )


class BoundDeliveryRouter:
    """The router over a source of bindings."""

    def __init__(
        self,
        list_by_session: Callable[[str], Records],
        profile: Profile,
        now: Callable[[], float],
    ) -> None:
        self._list_by_session = list_by_session
        self._profile = profile
        self._now = now

    def resolve_destination(
        self,
        event_kind: str,
        target_session_key: str,
        requester: ConversationRef | Address | None,
        fail_closed: bool = True,
    ) -> RouterDecision:
        key = target_session_key.strip()
        return resolve_destination(
            event_kind=event_kind,
            target_session_key=key,
            requester=requester,
            fail_closed=fail_closed,
            bindings=self._list_by_session(key) if key else (),
            now=self._now(),
            profile=self._profile,
        )


# -------------------------------------------------------------------- verdicts


def _is_active(record: SessionBindingRecord) -> bool:
    return record.status is BindingStatus.ACTIVE


def _routes_at(now: float) -> Callable[[SessionBindingRecord], bool]:
    return lambda record: record.routes(now)


def _first(key: str, live: Records) -> _Verdict | None:
    """The verdict that does not depend on the requester, under every profile."""
    if not key:
        return _Verdict(Reason.MISSING_TARGET_SESSION)
    return None if live else _Verdict(Reason.NO_ACTIVE_BINDING)


def _alone(live: Records) -> _Verdict:
    """The verdict without a requester if guessing is allowed: only an unambiguous guess."""
    if len(live) == 1:
        return _Verdict(Reason.SINGLE_ACTIVE_BINDING, live[0])
    return _Verdict(Reason.AMBIGUOUS_WITHOUT_REQUESTER)


def _ours(
    requester: Address | ConversationRef | None, live: Records, *, fail_closed: bool, profile: Profile
) -> _Verdict:
    if requester is None:
        return _Verdict(Reason.MISSING_REQUESTER) if fail_closed else _alone(live)
    place = _place(requester)
    if place is None:
        return _Verdict(Reason.INVALID_REQUESTER)
    near = [record for record in live if _lost(record, place) is Reason.OTHER_CONVERSATION]
    found = (
        next((record for record in near if same_place(record.conversation, place)), None)
        or _only(record for record in near if hangs_under(record.conversation, place))
        or _only(near)
    )
    # Unlike upstream, never use a lone binding on another channel or account.
    return _Verdict(Reason.NO_REQUESTER_MATCH) if found is None else _Verdict(Reason.REQUESTER_MATCH, found)


def _upstream(
    requester: Address | ConversationRef | None, live: Records, *, fail_closed: bool, profile: Profile
) -> _Verdict:
    if requester is None:
        # Without a requester, August guesses nothing; March guesses even if the caller fails closed.
        return _Verdict(Reason.MISSING_REQUESTER) if profile.august else _alone(live)
    ref = _upstream_ref(requester, profile)
    if not ref.channel or not ref.conversation_id:
        return _Verdict(Reason.INVALID_REQUESTER)
    near = [record for record in live if _upstream_near(record, ref, profile)]
    exact = (record for record in near if ref_of(record.conversation).conversation_id.strip() == ref.conversation_id)
    found = next(exact, None) or _only(near)
    if found is not None:
        return _Verdict(Reason.REQUESTER_MATCH, found)
    if len(live) == 1 and not fail_closed and not profile.august:
        return _Verdict(Reason.SINGLE_ACTIVE_BINDING_FALLBACK, live[0])
    return _Verdict(Reason.NO_REQUESTER_MATCH)


def _only(records: Iterable[SessionBindingRecord]) -> SessionBindingRecord | None:
    found = tuple(records)
    return found[0] if len(found) == 1 else None


# -------------------------------------------------------------------- conversations


def _place(requester: Address | ConversationRef) -> Address | None:
    """The requester's conversation, or None if channel or conversation is missing."""
    try:
        return place_of(requester) if isinstance(requester, ConversationRef) else _checked(requester)
    except TargetError:
        return None


def _checked(place: Address) -> Address | None:
    return place if place.channel.strip() and place.conversation.strip() else None


def _upstream_ref(requester: Address | ConversationRef, profile: Profile) -> ConversationRef:
    """The requester as upstream compares it: channel in lower case, the rest trimmed."""
    ref = ref_of(requester) if isinstance(requester, Address) else requester
    return ConversationRef(
        channel=fold(ref.channel),
        # March takes the account as written; August normalises it as in session keys.
        account_id=account_id(ref.account_id) if profile.august else ref.account_id.strip(),
        conversation_id=ref.conversation_id.strip(),
    )


def _upstream_near(record: SessionBindingRecord, ref: ConversationRef, profile: Profile) -> bool:
    account = record.conversation.account
    if profile.august:
        account = account_id(account)
    return record.conversation.channel == ref.channel and account == ref.account_id


# -------------------------------------------------------------------- explanations


def _candidates(
    own: Records, live: Records, verdict: _Verdict, requester: Address | ConversationRef | None
) -> Iterable[RouterCandidate]:
    """Every binding of the session, with the reason for or against it."""
    alive = {id(record) for record in live}
    place = None if requester is None else _place(requester)
    for record in own:
        chosen = record is verdict.binding
        if chosen:
            reason = verdict.reason
        elif id(record) not in alive:
            reason = Reason.NOT_ACTIVE if not _is_active(record) else record.expiry_reason
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
