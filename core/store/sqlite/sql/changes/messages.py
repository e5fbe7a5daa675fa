"""The SQL that finds whose message an id is, without an index of its own: sends pay nothing for it.

An own message is looked for in the sessions of its place, whose transcripts name their intents, and among the newest
intents, since not every message is mirrored there.
"""

import sqlite3

import msgspec

from trunkline.core.delivery.line_changes import place_of
from trunkline.core.records.messages import KnownMessage, OwnMessage
from trunkline.core.records.rows import IntentRow
from trunkline.core.store.queries import FindMessage
from trunkline.core.store.sqlite.sql.intent_reads import read_intents
from trunkline.core.store.sqlite.sql.session_lookup import SESSIONS_OF_KEYS, lane_text
from trunkline.core.store.sqlite.sql.sessions import known_as
from trunkline.core.values import Address, InboundId, IntentId, Receipt

_json = msgspec.json.Encoder().encode
#: newest intents that are looked at
_NEWEST = 5000
#: intents that may have an id in their receipts
_MOST = 50
_KEYS = (
    "SELECT session_key FROM session_places WHERE agent_id IN (SELECT value FROM json_each(?)) AND lane = ?"
    " UNION SELECT value FROM json_each(?)"
)
_MIRRORED = (
    f"SELECT i.id FROM ({SESSIONS_OF_KEYS}) s JOIN transcript t ON t.session_id = s.session_id"  # noqa: S608 -- fixed texts
    " JOIN intents i ON i.id = t.ref WHERE instr(i.receipts, :id) ORDER BY i.n DESC LIMIT :most"
)
_RECENT = (
    "SELECT id FROM intents WHERE n > (SELECT max(n) FROM intents) - :newest AND instr(receipts, :id)"
    " ORDER BY n DESC LIMIT :most"
)


def find_message(c: sqlite3.Connection, query: FindMessage) -> KnownMessage:
    named, _ = read_intents(c, (IntentId(query.name),))
    if named:
        _, row, receipts = named[0]
        return KnownMessage(ours=_sent(row, receipts, None))
    inbound = known_as(c, query.identities)
    if inbound is not None:
        return KnownMessage(inbound=InboundId(inbound))
    return KnownMessage(ours=None if query.place is None else _own(c, query, query.place))


def _own(c: sqlite3.Connection, query: FindMessage, place: Address) -> OwnMessage | None:
    """The own message with a platform's id: that of the place, else one of another conversation of the account."""
    found: list[OwnMessage] = []
    for ids in (_recent, _mirrored):
        found += [
            _sent(row, receipts, chunk)
            for _, row, receipts in reversed(read_intents(c, ids(c, query, place))[0])
            for chunk, receipt in enumerate(receipts)
            if receipt.provider_id == query.name and _of_account(row.address, place) and row.extra.action is None
        ]
        here = next(
            (message for message in found if place.lane in (message.address.lane, place_of(message).lane)), None
        )
        if here is not None:
            return here
    return next(iter(found), None)


def _recent(c: sqlite3.Connection, query: FindMessage, _place: Address) -> list[IntentId]:
    rows = c.execute(_RECENT, {"id": _json(query.name).decode(), "most": _MOST, "newest": _NEWEST})
    return [IntentId(name) for (name,) in rows]


def _mirrored(c: sqlite3.Connection, query: FindMessage, place: Address) -> list[IntentId]:
    """The intents in transcripts that may have the id. It takes a time that grows with them: 1 ms for 1,000 lines."""
    agents, more = _json(query.agents).decode(), _json(query.keys).decode()
    keys = [key for (key,) in c.execute(_KEYS, (agents, lane_text(place), more))]
    rows = c.execute(_MIRRORED, {"keys": _json(keys).decode(), "id": _json(query.name).decode(), "most": _MOST})
    return [IntentId(name) for (name,) in rows]


def _of_account(place: Address, other: Address) -> bool:
    return (place.channel, place.account) == (other.channel, other.account)


def _sent(row: IntentRow, receipts: tuple[Receipt, ...], chunk: int | None) -> OwnMessage:
    return OwnMessage(
        intent=row.id,
        agent=row.agent,
        address=row.address,
        state=row.progress.state,
        chunks=len(row.content.chunks),
        receipts=receipts,
        chunk=chunk,
        identity=row.bound.identity,
        change=row.extra.action is not None,
    )
