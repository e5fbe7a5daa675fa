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


class SessionMap:
    """Sessions by key, over a store whose writer runs (that of a running gateway, for one)."""

    def __init__(self, store: Store, env: Env, events: EventSink) -> None:
        self._store = store
        self._env = env
        self._events = events

    async def get_or_create(self, key: SessionKey, address: Address | None = None) -> SessionRow:
        """The session of a key; created, and told, when there is none. Callers side by side get the same one."""
        text = str(key)
        new = NewSession(key=text, agent=key.agent, id=SessionId(self._env.ids.new("session", text)), address=address)

        def story(row: SessionRow) -> SessionRow:
            if row.created:
                body = SessionCreated(
                    agent=key.agent,
                    session_key=row.key,
                    session_id=row.id,
                    generation=row.generation,
                    address=address,
                    by="caller",
                )
                self._events.record(body)
            return row

        return await self._store.ensure_session(new, self._env.now(), story)

    async def get(self, key: SessionKey) -> SessionRow | None:
        """The session of a key, if there is one."""
        return await self._store.session(str(key))
