"""Which bound conversation OpenClaw sends a completion to, by the conformance table `delivery_router`."""

from __future__ import annotations

from trunkline.core.bindings.completion_router import CompletionRouting, Records, Requester, Verdict, alone, only
from trunkline.core.bindings.conversation_match import ref_of
from trunkline.core.profiles.openclaw.keys import account_id, fold
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import ConversationRef, SessionBindingRecord
from trunkline.core.states.binding import BindingStatus
from trunkline.core.values import Address


class OpenClawRouting(CompletionRouting):
    """The choice in August 2026: without a requester nothing is guessed."""

    def counts(self, record: SessionBindingRecord, now: float) -> bool:
        """An expired binding counts until it is swept."""
        return record.status is BindingStatus.ACTIVE

    def choose(self, requester: Requester, live: Records, *, fail_closed: bool) -> Verdict:
        if requester is None:
            return self.unasked(live)
        ref = ref_of(requester) if isinstance(requester, Address) else requester
        # The channel is compared in lower case, the rest trimmed.
        channel, conversation = fold(ref.channel), ref.conversation_id.strip()
        if not channel or not conversation:
            return Verdict(Reason.INVALID_REQUESTER)
        near = [record for record in live if record.conversation.channel == channel and self.same_account(record, ref)]
        exact = (record for record in near if ref_of(record.conversation).conversation_id.strip() == conversation)
        found = next(exact, None) or only(near)
        return self.unmatched(live, fail_closed) if found is None else Verdict(Reason.REQUESTER_MATCH, found)

    def unasked(self, live: Records) -> Verdict:
        """The verdict without a requester."""
        return Verdict(Reason.MISSING_REQUESTER)

    def same_account(self, record: SessionBindingRecord, ref: ConversationRef) -> bool:
        """Whether a binding is of the requester's account. Accounts are normalised as in session keys."""
        return account_id(record.conversation.account) == account_id(ref.account_id)

    def unmatched(self, live: Records, fail_closed: bool) -> Verdict:
        """The verdict if no binding is near the requester."""
        return Verdict(Reason.NO_REQUESTER_MATCH)


class MarchRouting(OpenClawRouting):
    """March guesses: without a requester, and if the caller fails open also on another channel or account."""

    def unasked(self, live: Records) -> Verdict:
        return alone(live)

    def same_account(self, record: SessionBindingRecord, ref: ConversationRef) -> bool:
        """Accounts are compared as written."""
        return record.conversation.account == ref.account_id.strip()

    def unmatched(self, live: Records, fail_closed: bool) -> Verdict:
        if len(live) == 1 and not fail_closed:
            return Verdict(Reason.SINGLE_ACTIVE_BINDING_FALLBACK, live[0])
        return super().unmatched(live, fail_closed)
