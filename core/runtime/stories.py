"""Stories that several writes have: of work that was admitted, and of a callback that has changed."""

from __future__ import annotations

from trunkline.core.events import EventSink
from trunkline.core.events.gateway import (
    InboundAdmitted,
    SessionShared,
    TranscriptAppended,
)
from trunkline.core.events.hands import CallbackChanged
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import CallbackChange, SessionRow, Work
from trunkline.core.runtime.context import Context
from trunkline.core.values import WorkKind


def record_admitted(ctx: Context, work: Work, session: SessionRow, cause: int | None) -> int:
    """Record the session, admission and transcript line of admitted work; returns the seq of the admission."""
    ctx.record_session(session, work.agent, None if work.binding else work.reply_to, "inbound", cause)
    if session.people:
        shared = SessionShared(
            session_key=session.key, reason=Reason.SHARED_MAIN, peer=work.peer, people=session.people
        )
        cause = ctx.events.record(shared, cause, inbound=work.id)
    admitted = ctx.events.record(
        InboundAdmitted(work=work.kind, session_id=session.id, session_key=session.key),
        cause,
        inbound=work.id,
        delegation=None if work.callback is None else work.callback.delegation,
    )
    role = "hand" if work.kind is WorkKind.CALLBACK else "user"
    ctx.events.record(
        TranscriptAppended(session_id=session.id, session_key=session.key, role=role, text=work.text),
        admitted,
        inbound=work.id,
    )
    return admitted


def record_callback(
    events: EventSink, change: CallbackChange | None, cause: int | None, **ids: str | None
) -> int | None:
    """Record a change of a callback; returns its seq, or `cause` where nothing has changed.

    `ids`: what it belongs to in addition to the delegation.
    """
    if change is None:
        return cause
    body = CallbackChanged(before=change.before, state=change.state, reason=change.reason)
    return events.record(body, cause, **{**ids, "delegation": change.delegation})
