"""Sessions: list, show, transcript, reset. A session is named by its key, in any form, or by its id."""

from __future__ import annotations

from typing import Literal

import msgspec

from trunkline.core.http.endpoint import Call, Endpoint, Scope
from trunkline.core.http.routes.pages import Cursor, Limit
from trunkline.core.store.operators.sessions import (
    DescribeSession,
    ReadSessions,
    ReadTranscriptPage,
    SessionHeader,
    SessionsPage,
    SessionSummary,
    TranscriptPage,
)

TAG = "Sessions"


class SessionsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page."""

    cursor: Cursor = ""
    limit: Limit = 100


class TranscriptQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page: from the beginning to what is newer, or from the end to what is older."""

    cursor: Cursor = ""
    direction: Literal["newer", "older"] = "newer"
    limit: Limit = 100


class SessionWasReset(msgspec.Struct, frozen=True, kw_only=True):
    """The session that a key has now, and the id of the one before."""

    session: SessionHeader
    before: str


async def list_sessions(call: Call) -> SessionsPage:
    """A page of the sessions."""
    asked: SessionsQuery = call.query
    return await call.served.store.read(ReadSessions(cursor=asked.cursor, limit=asked.limit))


async def show_session(call: Call) -> SessionSummary:
    """One session."""
    return await call.served.store.read(DescribeSession(name=call.path["session"]))


async def read_transcript(call: Call) -> TranscriptPage:
    """A page of a transcript."""
    asked: TranscriptQuery = call.query
    query = ReadTranscriptPage(
        name=call.path["session"], cursor=asked.cursor, backwards=asked.direction == "older", limit=asked.limit
    )
    return await call.served.store.read(query)


async def reset_session(call: Call) -> SessionWasReset:
    """Give the key of a session a new, empty session."""
    row, before = await call.served.gateway.sessions.reset(call.path["session"])
    header = SessionHeader(session_key=row.key, session_id=row.id, generation=row.generation)
    return SessionWasReset(session=header, before=before)


ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/v1/sessions",
        scope=Scope.READ,
        summary="List sessions by key and generation, also those that have ended.",
        run=list_sessions,
        query=SessionsQuery,
        answer=SessionsPage,
        problems=(400,),
        tag=TAG,
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions/{session}",
        scope=Scope.READ,
        summary="Show one session, by its key or id.",
        run=show_session,
        answer=SessionSummary,
        problems=(404,),
        tag=TAG,
    ),
    Endpoint(
        method="GET",
        path="/v1/sessions/{session}/transcript",
        scope=Scope.READ,
        summary="Read a page of a transcript, from its beginning or from its end.",
        run=read_transcript,
        query=TranscriptQuery,
        answer=TranscriptPage,
        problems=(400, 404),
        tag=TAG,
    ),
    Endpoint(
        method="POST",
        path="/v1/sessions/{session}/reset",
        scope=Scope.OPERATE,
        summary="Reset a session: its key gets a new one. Turns in the old session end there.",
        run=reset_session,
        answer=SessionWasReset,
        problems=(404, 409),
        tag=TAG,
    ),
)
