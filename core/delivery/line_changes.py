"""Decides the transcript line of a changed or a lost message. Pure."""

from collections.abc import Sequence

import msgspec

from trunkline.core.action_catalogue import Action
from trunkline.core.channels.registry import is_misplaced
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import REMOVES, OwnMessage
from trunkline.core.records.rows import IntentRow
from trunkline.core.states.intent import DeliveryEvent, next_state
from trunkline.core.text.mirror_text import mirror_text
from trunkline.core.values import Address, IntentId, IntentState, Receipt


def place_of(sent: OwnMessage) -> Address:
    """Where people see a message: where it was sent to, unless its receipt shows another place."""
    astray = [one.address for one in sent.receipts if is_misplaced(sent.address, one)]
    return astray[-1] if astray else sent.address


class LineChange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A change of the line that an intent left."""

    line: IntentId
    #: the new text; none: the line is marked as deleted
    text: str | None = None


def line_change(row: IntentRow) -> LineChange | None:
    """Changes of a transcript by the change that ended as `row`. Reactions and pins leave no line."""
    part = row.extra.action
    if part is None or part.of is None:
        return None
    delivered = row.progress.state is IntentState.DELIVERED
    if part.action is Action.EDIT and delivered:
        return LineChange(line=part.of, text=row.content.chunks[0])
    # Of a message that was sent in part only, there is no more to delete.
    whole = delivered or (row.progress.acked > 0 and row.progress.reason is Reason.NOTHING_TO_CHANGE)
    return LineChange(line=part.of) if part.action in REMOVES and whole else None


def lost(row: IntentRow, receipts: Sequence[Receipt], reason: Reason) -> tuple[IntentRow, LineChange]:
    """The intent after the loss of the marked chunks, and the change of the line to the text of the others."""
    # There is a receipt for each leading chunk that was accepted.
    there = [row.content.chunks[chunk] for chunk, receipt in enumerate(receipts) if not receipt.lost]
    state = next_state(row.progress.state, DeliveryEvent.LOSE, accepted_chunks=len(there))
    after = row.with_progress(state=state, reason=reason)
    return after, LineChange(line=row.id, text="\n".join(there) if there else None)


def edited_text(change: LineChange, media: tuple[str, ...]) -> str:
    """The line of an edited message: the names of its files stay."""
    return mirror_text(change.text, media) or ""
