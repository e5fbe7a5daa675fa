"""Texts about a delivery that ended badly: a note to the agent, and a notice to the person.

A note is a line of the transcript with the role ``delivery``. It has no text of the message: the session remembers what
people saw, and this is what they did not see. Notices are messages; nothing is ever said about the end of a notice, but
one that finds its thread gone may go to the room.
"""

from trunkline.core.channels import rules_for
from trunkline.core.config.delivery import DeliveryConfig
from trunkline.core.reasons import Reason
from trunkline.core.records.messages import NOTE
from trunkline.core.records.rows import IntentRow, Work
from trunkline.core.values import Address, InboundId, IntentKind, IntentState, Peer, WorkKind

#: in a note, of a message that is parked
MAY_NOT_HAVE_ARRIVED = "may not have arrived"
#: a partial delivery has its mirror, which is marked as a part
_WHAT = {
    IntentState.FAILED: "did not arrive",
    IntentState.DEAD: "did not arrive",
    IntentState.EXPIRED: "did not arrive",
    IntentState.UNKNOWN: MAY_NOT_HAVE_ARRIVED,
    IntentState.MISPLACED: "arrived at another place",
}
_UNDONE = {
    IntentState.FAILED: "was not carried out",
    IntentState.DEAD: "was not carried out",
    IntentState.EXPIRED: "was not carried out",
    IntentState.UNKNOWN: "may not have been carried out",
    IntentState.MISPLACED: "concerned another place",
    IntentState.PARTIAL: "was carried out in part",
}
#: ends after which the person surely has nothing of the message
_NOTHING_SEEN = frozenset({IntentState.FAILED, IntentState.DEAD, IntentState.EXPIRED})
#: reasons that would end a notice at the same place too
_DEAD_PLACE = frozenset(
    {
        *(Reason.PLACE_GONE, Reason.PLACE_CLOSED, Reason.CALL_ENDED, Reason.NO_SECOND_CHANNEL),
        *(Reason.UNAUTHORIZED, Reason.NO_ADAPTER, Reason.BROKEN_ROW),
    }
)
#: end of the id of a notice about an answer: about one that ended badly, or instead of one
NOTICE_SUFFIX = ".notice"
#: end of the id of a notice about an answer that waits for its place
CLOSED_SUFFIX = f".closed{NOTICE_SUFFIX}"
#: end of the id of a notice that is repeated since its first intent may have reached nobody
AGAIN_SUFFIX = f".again{NOTICE_SUFFIX}"
#: part of the id of work that such an end starts
_WOKEN = "undelivered"


def delivery_note(row: IntentRow, state: IntentState, reason: Reason) -> str | None:
    """The line for the transcript of an intent that ends in `state`; none for a good end and for notices."""
    if row.extra.action is not None:
        undone = _UNDONE.get(state)
        if undone is None:
            return None
        action, of = row.extra.action.action, row.extra.action.message_id or row.extra.action.of
        meant = f" of message {of}" if of else ""
        return (
            f"The action {action}{meant} in {row.address} {undone} ({state.value}, {reason.value}). {reason.sentence}"
        )
    arrived = state is IntentState.FAILED and row.progress.acked > 0
    what = "was accepted, and is not there any more" if arrived else _WHAT.get(state)
    if what is None or row.kind is IntentKind.NOTICE:
        return None
    return f"The message to {row.address} {what} ({state.value}, {reason.value}). {reason.sentence}"


def work_about(row: IntentRow, note: str) -> Work | None:
    """The work that wakes the agent after a bad end. None for a message of such work: nothing loops."""
    if row.inbound is not None and _WOKEN in row.inbound.split("."):
        return None
    return Work(
        id=InboundId(f"{row.id}.{_WOKEN}"),
        kind=WorkKind.WAKE,
        agent=row.agent,
        # The store sets the key: that of the session which has the note.
        session_key=row.mirror_key or "",
        peer=Peer(id=NOTE, name=NOTE),
        text=note,
    )


def notice_of(row: IntentRow, state: IntentState, reason: Reason, config: DeliveryConfig) -> tuple[Address, str] | None:
    """Where a person waits for an answer that ended badly, and the notice: never at a place that takes nothing.

    A thread that is gone has its room, if the configuration says so; also when only the notice finds it gone.
    """
    if row.kind is IntentKind.NOTICE:
        return _moved_notice(row, state, reason, config)
    # An answer that an equal send in doubt has replaced is as much in doubt.
    in_doubt = state is IntentState.UNKNOWN or (state is IntentState.CANCELLED and reason is Reason.PARKED)
    text = config.doubt_notice if in_doubt else config.failed_notice
    surely_missing = state in _NOTHING_SEEN and not row.progress.acked
    if not text or row.kind is not IntentKind.REPLY or not (surely_missing or in_doubt):
        return None
    if reason not in _DEAD_PLACE:
        return row.address, text
    room = _room_instead(row, reason, config)
    return None if room is None else (room, text)


def _moved_notice(
    row: IntentRow, state: IntentState, reason: Reason, config: DeliveryConfig
) -> tuple[Address, str] | None:
    """The same notice for the room, if the thread of a notice about an answer is gone."""
    ended_badly = state in (IntentState.FAILED, IntentState.UNKNOWN)
    if row.progress.acked or not row.id.endswith(NOTICE_SUFFIX) or not ended_badly:
        return None
    room = _room_instead(row, reason, config)
    return None if room is None else (room, row.content.text)


def is_unheard(row: IntentRow) -> bool:
    """Whether an intent is a notice that has ended, and that surely or perhaps nobody has read.

    It is repeated once, when somebody writes where it belongs: that message is answered, so its place can be reached.
    """
    repeatable = row.id.endswith(NOTICE_SUFFIX) and not row.id.endswith(AGAIN_SUFFIX)
    ended_badly = row.progress.state in _WHAT and row.progress.state is not IntentState.MISPLACED
    return row.kind is IntentKind.NOTICE and repeatable and ended_badly and not row.progress.acked


def closed_notice_of(row: IntentRow, config: DeliveryConfig) -> tuple[Address, str] | None:
    """The room of a closed thread, and the notice there about an answer for the thread; None: no notice.

    Answers behind it in the same thread wait with it, without a notice of their own.
    """
    room = _room_instead(row, Reason.PLACE_CLOSED, config)
    waits = row.kind is IntentKind.REPLY and not row.progress.acked
    return (room, config.closed_notice) if waits and room is not None and config.closed_notice else None


def _room_instead(row: IntentRow, reason: Reason, config: DeliveryConfig) -> Address | None:
    room = rules_for(row.address.channel).room_above(row.address)
    unusable = reason in (Reason.PLACE_GONE, Reason.PLACE_CLOSED)
    return room if config.notice_in_room and unusable and room != row.address else None
