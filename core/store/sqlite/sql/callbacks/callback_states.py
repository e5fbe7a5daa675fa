"""The SQL that moves the callback of a delegation along its table."""

import sqlite3

from trunkline.core.errors import IllegalTransition
from trunkline.core.hands.callback_fold import ReportMessage, can_resume, event_of_messages
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import CallbackChange, IntentRow
from trunkline.core.states.delegation import CALLBACK_TRANSITIONS, CallbackEvent, CallbackState, next_callback_state
from trunkline.core.store.delegations import BeginCallback, CallbackBegun, ChangeCallback
from trunkline.core.store.sqlite.sql.callbacks import posts, results
from trunkline.core.values import DelegationId, IntentKind, IntentState

#: the result is no longer needed; a callback that could not be delivered may be tried again
_OVER = frozenset({CallbackState.DELIVERED, CallbackState.SUPPRESSED})
#: these come with a turn or a message, which has a command of its own
_WITH_MORE = frozenset({CallbackEvent.ADMIT, CallbackEvent.POST, CallbackEvent.ENQUEUE, CallbackEvent.RERUN})


def state_of(c: sqlite3.Connection, delegation: str) -> CallbackState | None:
    """The callback of a delegation; none: it is not stored, or cannot be read."""
    found = c.execute("SELECT CAST(callback AS BLOB) FROM delegations WHERE id = ?", (delegation,)).fetchone()
    try:
        return None if found is None else CallbackState(found[0].decode())
    except ValueError:
        return None


def is_discarded(c: sqlite3.Connection, delegation: str) -> bool:
    """Handle `IsDiscarded`. A withheld report is suppressed too, but its notice is still to be sent."""
    values = (delegation, CallbackState.SUPPRESSED.value, Reason.DISCARDED.value)
    found = c.execute("SELECT 1 FROM delegations WHERE id = ? AND callback = ? AND callback_reason = ?", values)
    return found.fetchone() is not None


def move(
    c: sqlite3.Connection, delegation: str, before: CallbackState, event: CallbackEvent, reason: Reason | None
) -> CallbackChange:
    """Store the state after an event. Raises `IllegalTransition` for one that the table does not allow.

    The result of work that nothing reports stays for operators; what was reported is not needed any more.
    """
    after = next_callback_state(before, event)
    c.execute(
        "UPDATE delegations SET callback = ?, callback_reason = ? WHERE id = ?",
        (after.value, None if reason is None else reason.value, delegation),
    )
    if after in _OVER and before is not CallbackState.WAITING:
        results.release(c, delegation)
    return CallbackChange(delegation=DelegationId(delegation), before=before, state=after, reason=reason)


def change(c: sqlite3.Connection, command: ChangeCallback) -> CallbackChange | None:
    if command.event in _WITH_MORE:
        raise IllegalTransition(f"{command.event.value!r} is no change of a callback alone")
    if not posts.take_post(c, command.post):
        return None
    before = state_of(c, command.delegation)
    if before is None or command.event not in CALLBACK_TRANSITIONS[before]:
        return None
    if command.event is CallbackEvent.PARK and _is(c, command.delegation, before, command.reason):
        return None
    return move(c, command.delegation, before, command.event, command.reason)


def begin(c: sqlite3.Connection, command: BeginCallback) -> CallbackBegun:
    """Handle `BeginCallback`. A delegation whose row cannot be read stops nothing: its turn runs anyway."""
    due = c.execute("SELECT 1 FROM inbox WHERE id = ? AND state = 'pending'", (command.work.id,)).fetchone()
    if due is None:
        return CallbackBegun(due=False)
    name, before = command.delegation, state_of(c, command.delegation)
    if is_discarded(c, name):
        # The turn itself records its end, in whichever process it comes up: a discarded report ends no turn unseen.
        c.execute("UPDATE inbox SET state = 'done' WHERE id = ?", (command.work.id,))
        return CallbackBegun(due=False)
    change = None
    # A turn that runs again changes nothing.
    if before not in (None, CallbackState.IN_TURN) and CallbackEvent.BEGIN in CALLBACK_TRANSITIONS[before]:
        change = move(c, name, before, CallbackEvent.BEGIN, None)
    text = None if command.work.text_ref is None else results.find(c, command.work.text_ref)
    return CallbackBegun(due=True, change=change, text=text)


def _is(c: sqlite3.Connection, delegation: str, state: CallbackState, reason: Reason | None) -> bool:
    (stored,) = c.execute("SELECT callback_reason FROM delegations WHERE id = ?", (delegation,)).fetchone()
    return state is CallbackState.PARKED and stored == (None if reason is None else reason.value)


def after_turn(
    c: sqlite3.Connection, delegation: str, event: CallbackEvent, reason: Reason | None
) -> CallbackChange | None:
    """The end of a callback turn: what it says itself, and its messages that have ended before it."""
    before, messages = state_of(c, delegation), messages_of(c, delegation)
    if before is None or event not in CALLBACK_TRANSITIONS[before]:
        return None
    if event is CallbackEvent.SUPPRESS and any(not message.is_notice for message in messages):
        # It returned nothing, because it has sent its messages during the turn.
        event, reason = CallbackEvent.ENQUEUE, None
    return _with_messages(c, move(c, delegation, before, event, reason), messages)


def _with_messages(c: sqlite3.Connection, moved: CallbackChange, messages: list[ReportMessage]) -> CallbackChange:
    """A change, and what follows at once because all messages have ended."""
    found = event_of_messages(moved.state, messages)
    if found is None:
        return moved
    then = move(c, moved.delegation, moved.state, found.event, found.reason)
    return CallbackChange(delegation=moved.delegation, before=moved.before, state=then.state, reason=then.reason)


def first(c: sqlite3.Connection, delegation: str, event: CallbackEvent, reason: Reason | None) -> CallbackChange:
    """The end of the work, whose messages are stored by now."""
    moved = move(c, delegation, CallbackState.WAITING, event, reason)
    return _with_messages(c, moved, messages_of(c, delegation)) if event is CallbackEvent.POST else moved


def follow(c: sqlite3.Connection, delegation: DelegationId | None) -> CallbackChange | None:
    """Change a callback as the end of one of its messages demands; returns the change. Free where there is none."""
    if delegation is None:
        return None
    before = state_of(c, delegation)
    found = None if before is None else event_of_messages(before, messages_of(c, delegation))
    if before is None or found is None:
        return None
    after = next_callback_state(before, found.event)
    return None if after is before else move(c, delegation, before, found.event, found.reason)


def resume(c: sqlite3.Connection, intent: IntentRow, reason: Reason) -> CallbackChange | None:
    """Change a callback whose message is sent again; returns the change. A notice is no message of its report."""
    delegation = None if intent.kind is IntentKind.NOTICE else intent.delegation
    before = None if delegation is None else state_of(c, delegation)
    if delegation is None or before is None or not can_resume(before):
        return None
    return move(c, delegation, before, CallbackEvent.RESUME, reason)


def without_messages(c: sqlite3.Connection, delegation: str) -> CallbackChange | None:
    """Change a callback whose messages an operator has removed; returns the change."""
    before, left = state_of(c, delegation), messages_of(c, delegation)
    if before is not CallbackState.PARKED or any(not message.is_notice for message in left):
        return follow(c, DelegationId(delegation))
    # The outcome of the removed messages cannot be known any more.
    return move(c, delegation, before, CallbackEvent.DISCARD, Reason.DISCARDED)


def messages_of(c: sqlite3.Connection, delegation: str) -> list[ReportMessage]:
    """The messages of a delegation. One whose row cannot be read says nothing."""
    found: list[ReportMessage] = []
    for row in c.execute(_MESSAGES, (delegation,)):
        name, kind, state, reason = (None if value is None else value.decode("utf-8", "replace") for value in row)
        try:
            found.append(
                ReportMessage(
                    str(name), IntentKind(kind), IntentState(state), None if reason is None else Reason(reason)
                )
            )
        except ValueError:
            continue
    return found


_MESSAGES = (
    "SELECT CAST(id AS BLOB), CAST(kind AS BLOB), CAST(state AS BLOB), CAST(reason AS BLOB) FROM intents"
    " WHERE delegation_id = ? ORDER BY n"
)
