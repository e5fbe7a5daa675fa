"""Makes one attempt at a change: finds the message that it concerns, and asks the adapter to carry it out."""

from __future__ import annotations

from trunkline.core.actions.catalogue import SPECS
from trunkline.core.actions.requests import ActionPart, ActionRequest
from trunkline.core.channels import Actions, ChannelAdapter, require_action
from trunkline.core.delivery.policy import (
    AttemptOutcome,
    DeliveryDecision,
    NextStep,
    is_misplaced,
    outcome_of,
    outcome_of_error,
)
from trunkline.core.errors import Ambiguous, InvalidAction
from trunkline.core.message_tool.references import MeantMessage, needs_receipts
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import IntentRow
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.deadlines import Deadlines
from trunkline.core.states.intent import DeliveryEvent
from trunkline.core.store.queries import FindIntentFate
from trunkline.core.untrusted import check_receipt
from trunkline.core.values import Receipt


class ChangeAttempts:
    """Makes attempts at changes."""

    def __init__(self, context: Context) -> None:
        self._ctx = context
        self._limits = Deadlines()

    async def find_message_meant(self, row: IntentRow, part: ActionPart) -> MeantMessage:
        """The message that the next request concerns, by the receipts of the intent that sends it."""
        if part.of is None or not needs_receipts(part, len(row.content.chunks)):
            return MeantMessage(message_id=part.message_id)
        fate = await self._ctx.store.read(FindIntentFate(intent=part.of))
        receipts = () if fate is None else fate.receipts
        return self._ctx.decisions.message_meant(part, row.progress.acked, row.address, receipts)

    async def make(
        self, adapter: ChannelAdapter, row: IntentRow, part: ActionPart, meant: MeantMessage, cause: int
    ) -> AttemptOutcome:
        """Ask the adapter to carry out the change."""
        try:
            where = f"{row.address.channel}:{row.address.account}"
            require_action(adapter, adapter.capabilities, part.action, where)
            assert isinstance(adapter, Actions)
            with self._limits.within(self._ctx.config.delivery.request_timeout):
                receipt = await adapter.act(_request(row, part, meant, cause))
                return _accepted(row, part, receipt)
            return outcome_of(Ambiguous("no answer in time"))
        except InvalidAction as error:
            # The adapter is another one since the change was stored.
            return AttemptOutcome(reason=error.reason, detail=error.facts)
        except Exception as error:  # noqa: BLE001 -- any error of an adapter is an outcome
            return outcome_of_error(error)


def nothing_to_change(meant: MeantMessage) -> DeliveryDecision | None:
    """The end of a change whose message does not exist; none: it exists."""
    if meant.reason is None:
        return None
    return DeliveryDecision(next=NextStep.FAIL, event=DeliveryEvent.REFUSE, reason=meant.reason)


def _request(row: IntentRow, part: ActionPart, meant: MeantMessage, cause: int) -> ActionRequest:
    chunk = row.progress.acked
    forms = row.content.forms
    form = forms[chunk] if forms else None
    return ActionRequest(
        action=part.action,
        address=row.address,
        key=row.key(chunk),
        intent=row.id,
        attempt=row.progress.attempts,
        chunk=chunk,
        message_id=meant.message_id,
        text=row.content.chunks[chunk],
        html=None if form is None else form.html,
        styles=() if form is None else form.styles,
        remove=part.remove,
        fields=part.fields,
        identity=row.bound.identity,
        cause=cause,
    )


def _accepted(row: IntentRow, part: ActionPart, receipt: Receipt) -> AttemptOutcome:
    wrong = check_receipt(receipt)
    if wrong:
        return AttemptOutcome(reason=Reason.NO_RECEIPT, ambiguous=True, detail=f"the adapter's answer: {wrong}")
    # What was created is at a place of its own.
    astray = SPECS[part.action].of_message and is_misplaced(row.address, receipt)
    return AttemptOutcome(receipt=receipt, misplaced=astray)
