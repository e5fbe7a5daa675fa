"""Captures the origin of what a turn delegates, from the turn alone."""

from __future__ import annotations

from trunkline.core.records.origin import Origin
from trunkline.core.records.rows import Work
from trunkline.core.values import SessionId


def origin_of(work: Work, session: SessionId, now: float) -> Origin:
    """The origin of a turn's delegations: the origin of the work, or else this turn.

    Nothing is looked up: neither by agent nor by who wrote last. So a message that arrives before the call changes
    nothing.
    """
    if work.origin is not None:
        return work.origin
    return Origin(
        agent=work.agent,
        session_key=work.session_key,
        session=session,
        work=work.kind,
        inbound=work.id,
        turn=work.turn,
        place=work.place,
        reply_to=work.reply_to,
        open_on=work.open_on,
        asked_by=work.asked_by,
        message_id=work.message_id,
        at=now,
    )
