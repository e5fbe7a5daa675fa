"""The session map, from a key to the durable session, created at most once; and sessions for operators."""

from collections.abc import Callable

from trunkline.core.env import Env
from trunkline.core.errors import IllegalTransition, InvalidCall, KeyFormatError
from trunkline.core.events import EventSink
from trunkline.core.events.gateway import SessionReset
from trunkline.core.events.leases import PersonErased
from trunkline.core.keys import SessionKey
from trunkline.core.records.rows import NewSession, ResetResult, SessionRow
from trunkline.core.routing.key_text import read_config_key
from trunkline.core.routing.scopes import place_key
from trunkline.core.runtime.context import Context
from trunkline.core.sessions.entries import new_session, session_created, session_moved
from trunkline.core.store.commands import EnsureSession, ResetSession
from trunkline.core.store.operators.erasure import ErasePerson, Erasure
from trunkline.core.store.operators.sessions import DescribeSession
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
        """The session of a key, created and recorded if none exists. Concurrent callers get the same session."""
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
        return await reset_session(self._store, self._env, self._events, self._new(key), cause)

    def _new(self, key: SessionKey, address: Address | None = None) -> NewSession:
        return new_session(self._env, str(key), key.agent, address)


async def reset_session(
    store: Store, env: Env, events: EventSink, session: NewSession, cause: int | None
) -> SessionRow | None:
    """Start a new session and record it. Work of the old session is not applied to the new one (invariant S4)."""

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


class SessionAdmin:
    def __init__(self, context: Context, forget_places: Callable[[], None]) -> None:
        self._ctx = context
        self._forget_places = forget_places

    async def erase(self, channel: str, person: str, by: str) -> Erasure:
        """Erase a person; see `ErasePerson`, and `Store.scrub`, which is left to the caller."""
        await self._ctx.until_up()
        ctx = self._ctx

        def story(done: Erasure) -> Erasure:
            ctx.events.record(PersonErased(by=by, rows=sum(done.rows.values())))
            return done

        command = ErasePerson(channel=channel, person=person, by=by, now=ctx.env.now())
        done = await ctx.store.write(command, story)
        # What sends have found out about places: texts, and sessions that are no longer there.
        ctx.memo = None
        self._forget_places()
        return done

    async def reset_place(self, agent: str, place: Address, cause: int | None = None) -> SessionRow | None:
        await self._ctx.until_up()
        ctx = self._ctx
        session = ctx.new_session(ctx.key_text(place_key(agent, place, ctx.config)), agent, place)
        return await reset_session(ctx.store, ctx.env, ctx.events, session, cause)

    async def reset(self, name: str, cause: int | None = None) -> tuple[SessionRow, str]:
        """Start a new session under the key of a session, which is named by any form of its key, or by its id.

        Answers the new session, and the id of the one before. Turns in the old session end there. Raises `UnknownName`;
        `IllegalTransition` for a session that has ended; and `InvalidCall` for one whose key cannot be read.
        """
        await self._ctx.until_up()
        ctx = self._ctx
        found = (await ctx.store.read(DescribeSession(name=name))).session
        if found.ended is not None:
            raise IllegalTransition(f"{found.session_id} has ended already ({found.ended})")
        try:
            agent = read_config_key(found.session_key, ctx.config).agent
        except KeyFormatError as error:
            raise InvalidCall(f"the key of {found.session_id} cannot be read: {error.facts}") from error
        session = ctx.new_session(found.session_key, agent, None)
        row = await reset_session(ctx.store, ctx.env, ctx.events, session, cause)
        if row is None:
            raise IllegalTransition(f"{found.session_id} has no key any more")
        return row, found.session_id
