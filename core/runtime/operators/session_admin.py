"""Sessions for operators inside the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from trunkline.core.errors import IllegalTransition, InvalidCall, KeyFormatError
from trunkline.core.records.rows import SessionRow
from trunkline.core.routing.key_text import read_config_key
from trunkline.core.routing.scopes import place_key
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.session_map import reset_session
from trunkline.core.store.operators.sessions import DescribeSession
from trunkline.core.values import Address


class SessionAdmin:
    """Sessions for operators inside the process."""

    def __init__(self, context: Context, *, up: Callable[[], Awaitable[None]]) -> None:
        self._ctx = context
        self._up = up

    async def reset_place(self, agent: str, place: Address, cause: int | None = None) -> SessionRow | None:
        """Start a new session for a place; None if it has no session yet."""
        await self._up()
        ctx = self._ctx
        session = ctx.new_session(ctx.key_text(place_key(agent, place, ctx.config)), agent, place)
        return await reset_session(ctx.store, ctx.env, ctx.events, session, cause)

    async def reset(self, name: str, cause: int | None = None) -> tuple[SessionRow, str]:
        """Start a new session under the key of a session, which is named by any form of its key, or by its id.

        Answers the new session, and the id of the one before. Turns in the old session end there. Raises `UnknownName`;
        `IllegalTransition` for a session that has ended; and `InvalidCall` for one whose key cannot be read.
        """
        await self._up()
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
