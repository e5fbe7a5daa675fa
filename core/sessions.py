"""The session map: from a session key to the session that holds its conversation, durable, created at most once.

Seed 001: the same peer has the same session across restarts, and different peers share none unless configured.
"""

from __future__ import annotations

from core.env import Env
from core.events import EventSink
from core.events.bodies import SessionCreated
from core.keys import SessionKey
from core.store.port import Store
from core.store.rows import NewSession, SessionRow
from core.values import Address, SessionId


def new_session(env: Env, key: str, agent: str, address: Address | None) -> NewSession:
    """A session to be created if its key has none yet."""
    return NewSession(key=key, agent=agent, id=SessionId(env.ids.new("session", key)), address=address)


def session_created(row: SessionRow, agent: str, address: Address | None, by: str) -> SessionCreated:
    """The event of a session that has just been created."""
    return SessionCreated(
        agent=agent,
        session_key=row.key,
        session_id=row.id,
        generation=row.generation,
        address=address,
        by=by,
    )


class SessionMap:
    """Sessions by key, over a store whose writer runs (that of a running gateway, for one)."""

    def __init__(self, store: Store, env: Env, events: EventSink) -> None:
        self._store = store
        self._env = env
        self._events = events

    async def get_or_create(self, key: SessionKey, address: Address | None = None) -> SessionRow:
        """The session of a key; created, and told, when there is none. Callers side by side get the same one."""
        new = new_session(self._env, str(key), key.agent, address)

        def story(row: SessionRow) -> SessionRow:
            if row.created:
                self._events.record(session_created(row, key.agent, address, "caller"))
            return row

        return await self._store.ensure_session(new, self._env.now(), story)

    async def get(self, key: SessionKey) -> SessionRow | None:
        """The session of a key, if there is one."""
        return await self._store.session(str(key))
