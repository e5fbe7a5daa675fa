"""Sessions: list, show, transcript, reset. A session is named by its key, in any form, or by its id."""

from __future__ import annotations

from typing import Literal

import msgspec

from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Endpoint, Verb, VerbCall
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


@Verb("GET", "/v1/sessions", Scope.READ, query=SessionsQuery, answer=SessionsPage, problems=(400,))
async def list_sessions(call: VerbCall) -> SessionsPage:
    """List sessions by key and generation, also those that have ended.

    A page of the sessions.
    """
    asked: SessionsQuery = call.query
    return await call.operated.read(ReadSessions(cursor=asked.cursor, limit=asked.limit))


@Verb("GET", "/v1/sessions/{session}", Scope.READ, answer=SessionSummary, problems=(404,))
async def show_session(call: VerbCall) -> SessionSummary:
    """Show one session, by its key or id.

    One session.
    """
    return await call.operated.read(DescribeSession(name=call.path["session"]))


@Verb(
    "GET",
    "/v1/sessions/{session}/transcript",
    Scope.READ,
    query=TranscriptQuery,
    answer=TranscriptPage,
    problems=(400, 404),
)
async def read_transcript(call: VerbCall) -> TranscriptPage:
    """Read a page of a transcript, from its beginning or from its end.

    A page of a transcript.
    """
    asked: TranscriptQuery = call.query
    query = ReadTranscriptPage(
        name=call.path["session"], cursor=asked.cursor, backwards=asked.direction == "older", limit=asked.limit
    )
    return await call.operated.read(query)


@Endpoint("POST", "/v1/sessions/{session}/reset", Scope.OPERATE, answer=SessionWasReset, problems=(404, 409))
async def reset_session(call: Call) -> SessionWasReset:
    """Reset a session: its key gets a new one. Turns in the old session end there.

    Give the key of a session a new, empty session.
    """
    row, before = await call.served.gateway.sessions.reset(call.path["session"])
    header = SessionHeader(session_key=row.key, session_id=row.id, generation=row.generation)
    return SessionWasReset(session=header, before=before)


ENDPOINTS: tuple[Endpoint, ...] = (list_sessions, show_session, read_transcript, reset_session)
