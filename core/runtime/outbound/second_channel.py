"""Prepares what a person gets on their second channel, because the call for which it was meant has ended."""

from __future__ import annotations

import msgspec

from trunkline.core.errors import UsageError
from trunkline.core.events.delivery import Fallback
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.routing.outbound import OutboundQuestion
from trunkline.core.routing.second_channel import SecondChannel
from trunkline.core.runtime.context import Context, ids_of
from trunkline.core.runtime.intent_drafts import IntentDrafts
from trunkline.core.runtime.outbound.prepare import Preparer
from trunkline.core.values import Address, ChatKind, IntentKind, IntentState

#: what a turn says, and what a hand reports; notices and clients' sends go nowhere else
_KINDS = frozenset({IntentKind.REPLY, IntentKind.TOOL, IntentKind.ANNOUNCE})
#: ends after which the person surely does not have all of it
_NOT_SAID = frozenset({IntentState.FAILED, IntentState.PARTIAL})


class Elsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a message whose call has ended."""

    #: of the end of the message
    reason: Reason
    #: the same words at the second channel, or None
    row: IntentRow | None = None
    detail: str = ""


class SecondChannels:
    """Finds the second channel of a person, and prepares the message for it."""

    def __init__(self, context: Context, preparer: Preparer, drafts: IntentDrafts) -> None:
        self._ctx = context
        self._preparer = preparer
        self._drafts = drafts

    async def after_call(
        self, row: IntentRow, state: IntentState, reason: Reason, cause: int | None
    ) -> Elsewhere | None:
        """What to store with the end of a message. None: the end is no matter of a call, or nothing is configured."""
        if reason is not Reason.CALL_ENDED or row.kind not in _KINDS or row.address.thread is None:
            return None
        found = self._ctx.decisions.second_channel(row.address, self._ctx.config)
        if found is None or state not in _NOT_SAID:
            return None
        if found.target is None:
            return Elsewhere(reason=Reason.NO_SECOND_CHANNEL, detail=found.why)
        try:
            to = self._place(row, found, found.target)
        except UsageError as error:
            return Elsewhere(reason=Reason.NO_SECOND_CHANNEL, detail=error.facts)
        draft = self._drafts.second(row, to)
        # Utterances are sentences of one text.
        prepared = await self._preparer.prepare_notice(draft, " ".join(row.content.chunks).strip(), cause)
        return Elsewhere(reason=reason, row=prepared)

    def _place(self, row: IntentRow, found: SecondChannel, target: str) -> Address:
        """The person's direct conversation there, by the account of the agent. Raises `UsageError`."""
        ctx, accounts = self._ctx, self._ctx.accounts(found.channel)
        named = ctx.decisions.account_of_agent(row.agent, found.channel, None, accounts, ctx.config)
        account = ctx.decisions.choose_account(found.channel, named, None, accounts, ctx.config)
        question = OutboundQuestion(
            agent=row.agent, channel=found.channel, target=target, account=account, kind=ChatKind.DIRECT
        )
        route = ctx.decisions.resolve_outbound(question, ctx.config)
        if route.kind is not ChatKind.DIRECT:
            raise UsageError(f"{target!r} on {found.channel} is no direct conversation")
        return route.address

    def record(self, row: IntentRow, second: IntentRow, cause: int) -> int:
        """Record the fallback, visible and committed with the end of the message; returns the seq of the second."""
        body = Fallback(asked=row.address, used=second.address, reason=Reason.SECOND_CHANNEL)
        seq = self._ctx.events.record(body, cause, **ids_of(second))
        return self._ctx.record_prepared(second, targeted=False, reason=Reason.SECOND_CHANNEL, cause=seq)
