"""The timers of heartbeats and of the schedule, in memory as they are stored, and the work that they start.

Times are on the wall clock: people configure them by it, and the next process continues with them.
"""

import math
from collections.abc import Iterable

import msgspec

from trunkline.core.events import Body
from trunkline.core.records.rows import Admission, Work
from trunkline.core.runtime.context import Context, record_admitted
from trunkline.core.runtime.turn_queue import TurnQueue
from trunkline.core.store.commands import Admit
from trunkline.core.store.schedule import Fire, ListTimers, SetTimer, Timer
from trunkline.core.values import SessionId

#: how the names of timers begin
HEARTBEAT, CRON = "heartbeat/", "cron/"


class Timers:
    def __init__(self, context: Context, turns: TurnQueue) -> None:
        self._ctx = context
        self._turns = turns
        #: every timer of the store; and the names of those that are configured
        self._stored: dict[str, Timer] = {}
        self._wanted: set[str] = set()

    async def load(self) -> None:
        self._stored = {timer.name: timer for timer in await self._ctx.store.read(ListTimers())}

    def want(self, names: Iterable[str]) -> None:
        """Only the timers with these names fire."""
        self._wanted = set(names)

    def find(self, name: str) -> Timer | None:
        return self._stored.get(name)

    def keep(self, timer: Timer) -> None:
        self._stored[timer.name] = timer

    async def store(self, timer: Timer, body: Body, cause: int | None) -> int:
        """Store a timer, and record the event with the cause; returns the seq."""

        def story(_: None) -> int:
            self.keep(timer)
            return self._ctx.events.record(body, cause)

        return await self._ctx.store.write(SetTimer(timer=timer), story)

    async def start(
        self, work: Work, body: Body, again: Body, cause: int | None, *, timer: Timer | None, taken: int = 0
    ) -> None:
        """Store work, once, with the timer that started it, and start its turn.

        Recorded: `body`, or `again` for work that was stored before.
        """
        ctx = self._ctx
        session = ctx.new_session(work.session_key, work.agent, None)
        admit = Admit(work=work, identity=f"schedule/{work.id}", session=session, now=ctx.env.now())

        def story(admission: Admission | None) -> tuple[SessionId, int] | None:
            if timer is not None:
                self.keep(timer)
            if admission is None or admission.session is None:
                ctx.events.record(again, cause)
                return None
            seq = ctx.events.record(body, cause, inbound=work.id)
            return admission.session.id, record_admitted(ctx, work, admission.session, seq)

        def then(admitted: tuple[SessionId, int] | None) -> None:
            if admitted is not None:
                self._turns.enqueue(work, *admitted)

        await ctx.store.write(Fire(timer=timer, admit=admit, taken=taken, now=ctx.env.now()), story, then=then)

    def due(self, now: float) -> list[Timer]:
        found = [timer for timer in self._active() if timer.next_at is not None and timer.next_at <= now]
        return sorted(found, key=lambda timer: (timer.next_at, timer.name))

    def next_at(self, besides: Iterable[str] = ()) -> float | None:
        """When the next timer is due, but for some names."""
        left_out = set(besides)
        times = [timer.next_at for timer in self._active() if timer.name not in left_out]
        return min((at for at in times if at is not None), default=None)

    def _active(self) -> Iterable[Timer]:
        return (timer for name, timer in self._stored.items() if name in self._wanted)


def moved(timer: Timer, next_at: float | None, fired_at: float | None = None) -> Timer:
    """A timer with its next time; `fired_at`: it has fired. The latest such time stays: a clock may be set back."""
    fired = [at for at in (timer.last_at, fired_at) if at is not None]
    return msgspec.structs.replace(timer, next_at=next_at, last_at=max(fired, default=None))


def stamp(at: float) -> str:
    """A time as a part of an id."""
    return str(int(at)) if math.isfinite(at) and at == int(at) else repr(at)
