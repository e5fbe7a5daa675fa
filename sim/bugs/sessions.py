"""Defects of sessions: keys that collide or are forgotten; sessions created twice, lost, or silently shared."""

import sqlite3
from typing import Any

import msgspec

from trunkline.core.config import GatewayConfig
from trunkline.core.events import Body, gateway
from trunkline.core.gateway import Gateway
from trunkline.core.keys import SessionKey
from trunkline.core.records.rows import SessionRow
from trunkline.core.routing import RouteDecision, resolve_route
from trunkline.core.store.commands import Admit, FinishTurn, MigrateKeys, TurnFinish
from trunkline.core.store.delegations import AcceptDelegation
from trunkline.core.store.queries import FindRequester, FindSession
from trunkline.core.store.sqlite.handlers import ReadSql, RunSql, execute
from trunkline.core.values import Envelope
from trunkline.sim.bugs.base import bug, changing_write, deciding, making, replacing_write
from trunkline.sim.bugs.wiring import Wiring
from trunkline.sim.bugs.wrappers import swallowing
from trunkline.sim.store.rewired import RewiredStore

_COLUMNS = "session_key, agent_id, session_id, generation, address, entry, codec, created_at, updated_at"


@bug("keys-joined-by-colons", deciding("resolve_route"), reports=("B076",), caught_by=("S3",))
def _joined_by_colons(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Key parts are joined by colons without escaping, so two conversations share a session."""
    decision = resolve_route(envelope, config)
    place, key = envelope.address, decision.key
    if place.thread is None or key.is_main:
        return decision
    joined = f"{place.conversation}:{place.thread}"
    return msgspec.structs.replace(decision, key=msgspec.structs.replace(key, peer=joined, thread=None))


@bug("one-session-for-all", deciding("resolve_route"), reports=("B078",), caught_by=("S3", "P1"))
def _one_for_all(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """One shared session serves direct chats and groups, and answers a group with private content."""
    decision = resolve_route(envelope, config)
    return msgspec.structs.replace(decision, key=SessionKey(agent=decision.agent))


@bug("topics-share-a-session", deciding("resolve_route"), reports=("B079",), caught_by=("S3",))
def _without_topic(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """The thread is not part of the key for groups: all topics share one session."""
    decision = resolve_route(envelope, config)
    return msgspec.structs.replace(decision, key=msgspec.structs.replace(decision.key, thread=None))


@bug("links-ignored", deciding("resolve_route"), caught_by=("S3",))
def _links_ignored(envelope: Envelope, config: GatewayConfig) -> RouteDecision:
    """Identity links are applied to outbound keys only: a linked person has two sessions."""
    session = config.session.model_copy(update={"identity_links": {}})
    return resolve_route(envelope, config.model_copy(update={"session": session}))


@bug("shared-in-silence", swallowing, reports=("B081",), caught_by=("S3",))
def _sharing(body: Body) -> bool:
    """The default scope shares one session between all users, and nobody is warned."""
    return isinstance(body, gateway.SessionShared)


def _lose(c: sqlite3.Connection, where: str, *values: object) -> None:
    """Remove sessions from the map; their ids are never used again."""
    gone = f"SELECT session_id, session_key, generation, 'lost', 0 FROM session_map {where}"  # noqa: S608
    c.execute(f"INSERT OR IGNORE INTO session_history {gone}", values)
    c.execute(f"DELETE FROM session_map {where}", values)  # noqa: S608


@bug("old-keys-left-behind", replacing_write(MigrateKeys), reports=("B071",), caught_by=("S1",))
async def _skip_migration(store: RewiredStore, command: MigrateKeys, story: Any, then: Any) -> Any:
    """The form of keys changed, and stored ones were not migrated: history is lost after the upgrade."""
    return story(None)


@bug("scope-change-abandons", changing_write(Admit), reports=("B072",), caught_by=("S1",))
def _admit_by_key_only(command: Admit) -> Admit:
    """After a change of scope the new key is looked up exactly, and the old session is abandoned silently."""
    return msgspec.structs.replace(command, session=msgspec.structs.replace(command.session, key_of=None))


@bug("first-messages-fork", replacing_write(Admit), reports=("B074",), caught_by=("S4",))
async def _admit_in_two_steps(store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
    """Looking a session up and creating it are two steps: two first messages at once make two sessions."""
    missing = await store.inner.read(FindSession(key=command.session.key)) is None

    def write(c: sqlite3.Connection) -> Any:
        if missing:
            _lose(c, "WHERE session_key = ?", command.session.key)
        return execute(c, command)

    return await store.inner.write(RunSql(op=write), story, then)


class _Snapshot:
    """Reads the whole session map at an admission, and writes it back at the end of the turn."""

    rows: list[tuple[Any, ...]] | None = None

    async def admit(self, store: RewiredStore, command: Admit, story: Any, then: Any) -> Any:
        """Take a snapshot, if there is none."""
        if self.rows is None:
            sql = f"SELECT {_COLUMNS} FROM session_map"  # noqa: S608 -- the text above
            self.rows = await store.inner.read(ReadSql(op=lambda c: c.execute(sql).fetchall()))
        return await store.inner.write(command, story, then)

    async def finish_turn(self, store: RewiredStore, command: FinishTurn, story: Any, then: Any) -> Any:
        """Write the snapshot back, with only the turn's own entry up to date: what others wrote is gone."""
        snapshot, self.rows = self.rows or [], None

        def write(c: sqlite3.Connection) -> TurnFinish:
            own = c.execute(
                f"SELECT {_COLUMNS} FROM session_map WHERE session_key = ?",  # noqa: S608
                (command.work.session_key,),
            ).fetchall()
            _lose(c, "")
            marks = ", ".join("?" * len(_COLUMNS.split(",")))
            rows = f"INSERT OR REPLACE INTO session_map ({_COLUMNS}) VALUES ({marks})"  # noqa: S608
            c.executemany(rows, [*snapshot, *own])
            return execute(c, command)

        return await store.inner.write(RunSql(op=write), story, then)


@bug("stale-snapshot-write", reports=("B075",), caught_by=("S4",))
def _install_snapshot(wiring: Wiring) -> None:
    """The whole session map is written back from an old snapshot, over what others wrote meanwhile."""
    snapshot = _Snapshot()
    wiring.replace_write(Admit, snapshot.admit)
    wiring.replace_write(FinishTurn, snapshot.finish_turn)


@bug("turns-at-once", making("gateway"), caught_by=("S4",))
class _TurnsAtOnce(Gateway):
    """Each message of a session gets its turn at once, also while another one runs."""

    def __init__(self, **parts: Any) -> None:
        super().__init__(**parts)
        lanes = self._turn_queue.lanes
        put = lanes.put
        lanes.put = lambda lane, item: put(f"{lane}/{item.work.id}", item)


async def _session_of_same_key(store: RewiredStore, query: FindRequester) -> SessionRow | None:
    """The session that has the key now, when the one asked for was reset."""
    found = await store.inner.read(query)
    sql = "SELECT session_key FROM session_history WHERE session_id = ?"
    rows = await store.inner.read(ReadSql(op=lambda c: c.execute(sql, (query.session,)).fetchall()))
    return await store.inner.read(FindSession(key=rows[0][0])) if found is None and rows else found


@bug("callback-into-new-session", reports=("B094",), caught_by=("S4",))
def _install_unfenced_delegations(wiring: Wiring) -> None:
    """A hand's result is given to whichever session has the requester's key now, also after a reset."""
    wiring.replace_read(FindRequester, _session_of_same_key)
    wiring.change_write(
        AcceptDelegation,
        lambda command: msgspec.structs.replace(command, row=msgspec.structs.replace(command.row, session=None)),
    )
