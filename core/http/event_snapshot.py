"""The present of a gateway as the beginning of a trace: events that show what the store holds, in the usual vocabulary.

They have the times of what they show and are in the order of time, after `run.joined`. So a reader of traces needs
nothing but a trace, also of a gateway that has run for days.
"""

from collections.abc import Iterator

import msgspec

from trunkline.core.declared import filled
from trunkline.core.events import Body, Event, actions, bindings, delivery, gateway, hands
from trunkline.core.reasons import Reason
from trunkline.core.records.bindings import Placement, SessionBindingRecord
from trunkline.core.records.delegations import DelegationRow
from trunkline.core.records.messages import NOTE
from trunkline.core.records.rows import StoredIntent, Work
from trunkline.core.runtime.bindings.service import bound_event
from trunkline.core.runtime.context import ids_of, prepared_event
from trunkline.core.runtime.delegation.completions import ids_of_delegation
from trunkline.core.runtime.delegation.delegations import accepted_event
from trunkline.core.states.binding import BindingStatus
from trunkline.core.states.delegation import CallbackState, WorkState
from trunkline.core.store.operators.present import Present, PresentSession
from trunkline.core.values import IntentState, SessionId, TranscriptLine

#: recorder of the events that show the store
NODE = "snapshot"
_WHY = Reason.SHOWN_AS_STORED


def snapshot_of(present: Present, started: gateway.ProcessStarted, now: float) -> list[Event]:
    """The events for the content of the store, numbered from 1. `now`: when the store was read."""
    shown = [
        *(event for session in present.sessions for event in _session(session, now)),
        *(event for binding in present.bindings for event in _binding(binding)),
        *(event for work, session in present.works for event in _work(work, session, now)),
        *(event for intent in present.intents for event in _intent(intent)),
        *(event for row in present.delegations for event in _delegation(row)),
    ]
    # Stable: what belongs together keeps its order. A clock that was set back must not put the present before the past.
    shown.sort(key=lambda event: event.at)
    first = min([now, *(event.at for event in shown)])
    head = (gateway.RunJoined(after=present.mark, joined_at=now, left_out=present.left_out), started)
    events = [*(_event(first, body) for body in head), *shown]
    return [msgspec.structs.replace(event, seq=n, at=max(min(event.at, now), 0.0)) for n, event in enumerate(events, 1)]


def _event(at: float, body: Body, **ids: str | None) -> Event:
    return msgspec.structs.replace(Event(seq=0, at=at, node=NODE, body=body), **ids)


def _session(session: PresentSession, now: float) -> Iterator[Event]:
    at = min((line.at for line in session.lines), default=now)
    yield _event(at, filled(gateway.SessionCreated, session, session_key=session.key, session_id=session.id, by=NODE))
    latest = at
    for line in session.lines:
        latest = max(latest, line.at)
        for event in _line(session, line):
            yield _event(latest, event.body, inbound=event.inbound, intent=event.intent)


def _line(session: PresentSession, line: TranscriptLine) -> Iterator[Event]:
    key, id_ = session.key, session.id
    first = line.was[0] if line.was else line.text
    if line.role == "assistant":
        of = {"intent": line.ref}
        body = delivery.MirrorAppended(session_id=id_, session_key=key, text=first, partial=line.partial)
    else:
        # A note about what a person did is about no delivery.
        of = {"intent": line.ref.removeprefix(f"{NOTE}/")} if line.ref.startswith(f"{NOTE}/") else {}
        of = of if line.role == NOTE else {"inbound": line.ref}
        body = gateway.TranscriptAppended(session_id=id_, session_key=key, role=line.role, text=first)
    yield _event(line.at, body, **of)
    if line.was or line.deleted:
        before = line.text if line.deleted else line.was[-1]
        text = "" if line.deleted else line.text
        changed = actions.TranscriptChanged(
            session_id=id_, session_key=key, line=line.ref, before=before, text=text, deleted=line.deleted
        )
        yield _event(line.at, changed, **of)


def _binding(record: SessionBindingRecord) -> Iterator[Event]:
    yield _event(record.bound_at, bound_event(record, Placement.CURRENT, None), binding=record.binding_id)
    if record.status is BindingStatus.ENDING:
        ending = bindings.BindingEnding(
            conversation=record.conversation,
            session_key=record.target_session_key,
            reason=record.reason or _WHY,
            under_way=0,
        )
        yield _event(max(record.bound_at, record.last_activity_at), ending, binding=record.binding_id)


def _work(work: Work, session: SessionId, now: float) -> Iterator[Event]:
    if work.place is not None and work.message_id:
        received = filled(gateway.InboundReceived, work, address=work.place)
        yield _event(now, received, inbound=work.id)
    yield _event(
        now, gateway.InboundAdmitted(work=work.kind, session_id=session, session_key=work.session_key), inbound=work.id
    )


def _intent(intent: StoredIntent) -> Iterator[Event]:
    row, progress, ids = intent.row, intent.row.progress, ids_of(intent.row)
    prepared = prepared_event(row, targeted=False, reason=_WHY)
    yield _event(row.created_at, prepared, binding=row.bound.binding, **ids)
    at = max(row.created_at, row.updated_at)
    for chunk, receipt in enumerate(intent.receipts):
        acked = delivery.ChunkAcked(chunk=chunk, provider_id=receipt.provider_id, address=receipt.address, reason=_WHY)
        yield _event(at, acked, **ids)
    why = progress.reason or _WHY
    if progress.state is IntentState.UNKNOWN:
        yield _event(at, delivery.IntentSettled(state=progress.state, reason=why, attempts=progress.attempts), **ids)
    elif progress.state is IntentState.SENDING:
        started = delivery.AttemptStarted(chunk=progress.acked, attempt=max(progress.attempts, 1), address=row.address)
        yield _event(at, started, **ids)
    elif progress.attempts:
        chunk, attempt, at_next = progress.acked, progress.attempts, progress.next_at
        ended = delivery.AttemptEnded(chunk=chunk, attempt=attempt, reason=why, decision="retry", retry_at=at_next)
        yield _event(at, ended, **ids)


def _delegation(row: DelegationRow) -> Iterator[Event]:
    ids = ids_of_delegation(row)
    yield _event(row.accepted_at, accepted_event(row, row.deadline), **ids)
    at = row.accepted_at
    if row.started_at is not None or row.state is not WorkState.ACCEPTED:
        at = max(at, row.started_at or at)
        yield _event(at, hands.DelegationStarted(hand=row.hand, worker=row.worker), **ids)
    if row.progress:
        yield _event(at, hands.DelegationProgressed(hand=row.hand, text=row.progress), **ids)
    if row.outcome is not None:
        at = max(at, row.finished_at or at)
        finished = hands.DelegationFinished(hand=row.hand, outcome=row.outcome, text=row.result or "")
        yield _event(at, finished, **ids)
    if row.callback is not CallbackState.WAITING:
        changed = hands.CallbackChanged(before=CallbackState.WAITING, state=row.callback, reason=row.callback_reason)
        yield _event(at, changed, **ids)
