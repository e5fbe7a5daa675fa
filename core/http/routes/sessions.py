"""Sessions: list, show, transcript, reset. A session is named by its key, in any form, or by its id."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trunkline.core.http.clients import Scope
from trunkline.core.http.endpoint import Call, Cursor, Endpoint, Limit, Verb, VerbCall
from trunkline.core.store.operators import sessions
from trunkline.core.store.operators.erasure import Erased, Erasure, ListErasures


class SessionsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page."""

    cursor: Cursor = ""
    limit: Limit = 100


class TranscriptQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which page: from the beginning to what is newer, or from the end to what is older."""

    cursor: Cursor = ""
    direction: Literal["newer", "older"] = "newer"
    limit: Limit = 100


class EraseBody(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The person to erase."""

    #: ``<channel>:<id>``, as `control.owners` names people, byte for byte
    person: Annotated[str, Meta(pattern=r"^[^:]+:.", max_length=2000)]


class ErasureList(msgspec.Struct, frozen=True, kw_only=True):
    """The erasures of a store: when, at whose demand, and how many rows."""

    erasures: tuple[Erasure, ...]


class SessionWasReset(msgspec.Struct, frozen=True, kw_only=True):
    """The session that a key has now, and the id of the one before."""

    session: sessions.SessionHeader
    before: str


@Verb("GET", "/v1/sessions", Scope.READ, query=SessionsQuery, answer=sessions.SessionsPage, problems=(400,))
async def list_sessions(call: VerbCall) -> sessions.SessionsPage:
    """List sessions by key and generation, also those that have ended."""
    asked: SessionsQuery = call.query
    return await call.operated.read(sessions.ReadSessions(cursor=asked.cursor, limit=asked.limit))


@Verb("GET", "/v1/sessions/{session}", Scope.READ, answer=sessions.SessionSummary, problems=(404,))
async def show_session(call: VerbCall) -> sessions.SessionSummary:
    """Show one session, by its key or id."""
    return await call.operated.read(sessions.DescribeSession(name=call.path["session"]))


@Verb(
    "GET",
    "/v1/sessions/{session}/transcript",
    Scope.READ,
    query=TranscriptQuery,
    answer=sessions.TranscriptPage,
    problems=(400, 404),
)
async def read_transcript(call: VerbCall) -> sessions.TranscriptPage:
    """Read a page of a transcript, from its beginning or from its end."""
    asked: TranscriptQuery = call.query
    query = sessions.ReadTranscriptPage(
        name=call.path["session"], cursor=asked.cursor, backwards=asked.direction == "older", limit=asked.limit
    )
    return await call.operated.read(query)


@Endpoint("POST", "/v1/sessions/{session}/reset", Scope.OPERATE, answer=SessionWasReset, problems=(404, 409))
async def reset_session(call: Call) -> SessionWasReset:
    """Reset a session: its key gets a new one. Turns in the old session end there."""
    row, before = await call.served.gateway.sessions.reset(call.path["session"])
    header = sessions.SessionHeader(session_key=row.key, session_id=row.id, generation=row.generation)
    return SessionWasReset(session=header, before=before)


@Verb("POST", "/v1/erasures", Scope.OPERATE, body=EraseBody, answer=Erased, problems=(409, 503))
async def erase_person(call: VerbCall) -> Erased:
    """Erase a person for a legal request: what they wrote and got, and all recordings.

    Erase a person. It may be repeated at any time, and is to be repeated where it was interrupted.
    """
    channel, _, person = call.body.person.partition(":")
    return await call.operated.erase(channel, person, call.caller.name)


@Verb("GET", "/v1/erasures", Scope.READ, answer=ErasureList)
async def list_erasures(call: VerbCall) -> ErasureList:
    """List the records of erasures, oldest first. They name nobody who was erased."""
    return ErasureList(erasures=await call.operated.read(ListErasures()))
