"""Records the admission of work: what began, in which session, and why."""

from __future__ import annotations

from trunkline.core.events.gateway import (
    InboundAdmitted,
    SessionShared,
    TranscriptAppended,
)
from trunkline.core.reasons import Reason
from trunkline.core.records.rows import SessionRow, Work
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
