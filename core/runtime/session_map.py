"""The session map: from a session key to its durable session, which is created at most once."""

from __future__ import annotations

from trunkline.core.env import Env
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import SessionReset
from trunkline.core.keys import SessionKey
from trunkline.core.records.rows import NewSession, ResetResult, SessionRow
from trunkline.core.sessions.entries import new_session, session_created, session_moved
from trunkline.core.store.commands import EnsureSession, ResetSession
from trunkline.core.store.port import Store
from trunkline.core.store.queries import FindSession
from trunkline.core.values import Address


class SessionMap:
    """Sessions by key, over an open store, such as that of a running gateway."""

    def __init__(self, store: Store, env: Env, events: EventSink) -> None:
        self._store = store
        self._env = env
        self._events = events

    async def get_or_create(self, key: SessionKey, address: Address | None = None) -> SessionRow:
        """The session of a key, created and recorded if there is none. Concurrent callers get the same one."""
        found = await self.get(key)
        if found is not None:
            return found

        def story(row: SessionRow) -> SessionRow:
            if row.created:
                self._events.record(session_created(row, key.agent, address, "caller"))
            return row

        return await self._store.write(EnsureSession(session=self._new(key, address), now=self._env.now()), story)

    async def get(self, key: SessionKey) -> SessionRow | None:
        return await self._store.read(FindSession(key=str(key)))

    async def reset(self, key: SessionKey, cause: int | None = None) -> SessionRow | None:
        """Start a new session for a key, in the next generation; None if it has no session."""
        return await reset_session(self._store, self._env, self._events, self._new(key), cause)

    def _new(self, key: SessionKey, address: Address | None = None) -> NewSession:
        return new_session(self._env, str(key), key.agent, address)


async def reset_session(
    store: Store, env: Env, events: EventSink, session: NewSession, cause: int | None
) -> SessionRow | None:
    """Start a new session and record it. Work of the old session is not applied to the new one (invariant S5)."""

    def story(reset: ResetResult | None) -> SessionRow | None:
        if reset is None:
            return None
        row = reset.row
        if row.moved_from is not None:
            events.record(session_moved(row, row.moved_from, reset.before), cause)
        body = SessionReset(session_key=row.key, session_id=row.id, generation=row.generation, before=reset.before)
        events.record(body, cause)
        return row

    return await store.write(ResetSession(session=session, now=env.now()), story)
