"""Stores the work of heartbeats and of the schedule, each once, together with the timer that started it."""

from __future__ import annotations

from trunkline.core.events import Body
from trunkline.core.records.rows import Admission, Work
from trunkline.core.runtime.context import Context
from trunkline.core.runtime.heartbeat.timers import Timers
from trunkline.core.runtime.stories import record_admitted
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.store.commands import Admit
from trunkline.core.store.schedule import Fire, Timer
from trunkline.core.values import SessionId


class Admissions:
    """Admits work that no message started."""

    def __init__(self, context: Context, timers: Timers, turns: TurnQueue) -> None:
        self._ctx = context
        self._timers = timers
        self._turns = turns

    async def start(
        self, work: Work, body: Body, again: Body, cause: int | None, *, timer: Timer | None, taken: int = 0
    ) -> None:
        """Store work and start its turn. Recorded: `body`, or `again` for work that was stored before."""
        ctx = self._ctx
        session = ctx.new_session(work.session_key, work.agent, None)
        admit = Admit(work=work, identity=f"schedule/{work.id}", session=session, now=ctx.env.now())

        def story(admission: Admission | None) -> tuple[SessionId, int] | None:
            if timer is not None:
                self._timers.keep(timer)
            if admission is None or admission.session is None:
                ctx.events.record(again, cause)
                return None
            seq = ctx.events.record(body, cause, inbound=work.id)
            return admission.session.id, record_admitted(ctx, work, admission.session, seq)

        def then(admitted: tuple[SessionId, int] | None) -> None:
            if admitted is not None:
                self._turns.enqueue(work, *admitted)

        await ctx.store.write(Fire(timer=timer, admit=admit, taken=taken, now=ctx.env.now()), story, then=then)
