"""An event loop in real time, with sockets and with the simulator's processes.

It runs what `SimLoop` runs: nodes can be killed and frozen at any moment. But the clock is the machine's, times a
factor, and the loop waits for sockets. So a run on it is no function of its seed.
"""
# See `_loop` for the private attributes.
# pyright: reportPrivateUsage=false

import asyncio
import selectors
import time
from asyncio import events
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVarTuple, Unpack, cast

from trunkline.sim.loop._compat import LoopHandle
from trunkline.sim.loop._loop import SimLoop
from trunkline.sim.loop._nodes import NODE, Node

__all__ = ["RealTimeLoop"]

_Ts = TypeVarTuple("_Ts")
#: real seconds after which the loop looks at its clock again, whatever happens
_LONGEST_WAIT = 3600.0


class RealTimeLoop(SimLoop, asyncio.SelectorEventLoop):
    """A `SimLoop` whose time passes by itself, `factor` times as fast as the machine's, and that has sockets.

    Timeouts of libraries pass by the loop's time too, so they keep their proportions at any factor.
    """

    _selector: selectors.BaseSelector

    def __init__(self, seed: int = 0, *, factor: float = 1.0, max_steps: int | None = None) -> None:
        super().__init__(seed, order="fifo", max_steps=max_steps)
        #: seconds of the loop in a second of the machine
        self.factor = factor
        self._began = time.monotonic()  # noqa: TID251 -- this loop is the clock of its run
        #: transports of the connections of each process
        self._connections: dict[Node, list[Any]] = {}

    def _look_at_clock(self) -> None:
        self._now = max(self._now, (time.monotonic() - self._began) * self.factor)  # noqa: TID251 -- see above

    def time(self) -> float:
        """Seconds since the start of the run, by this loop's clock."""
        self._look_at_clock()
        return self._now

    def call_later(
        self, delay: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run the callback after a delay in the loop's seconds."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As call_soon, from any thread: libraries have threads of their own."""
        handle = events.Handle(callback, args, self, context)
        self._ready.append(cast(LoopHandle, handle))
        self._write_to_self()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        return handle

    async def getaddrinfo(self, *args: Any, **options: Any) -> Any:
        """Look a name up, in the loop itself: all names are this machine's."""
        import socket

        return socket.getaddrinfo(*args, **options)

    # ------------------------------------------------------------ connections of processes

    def _make_socket_transport(self, *args: Any, **options: Any) -> Any:
        transport = super()._make_socket_transport(*args, **options)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
        node = NODE.get()
        if node is not None:
            there = self._connections.setdefault(node, [])
            there[:] = [one for one in there if one._sock is not None]
            there.append(transport)
        return transport

    def close_connections(self, node: Node) -> None:
        """Close the connections of a dead process at once, as its operating system does."""
        for transport in self._connections.pop(node, []):
            sock = transport._sock
            if sock is not None:
                self._selector_forget(sock)
                sock.close()

    def _selector_forget(self, sock: Any) -> None:
        for forget in (self._remove_reader, self._remove_writer):  # pyright: ignore[reportAttributeAccessIssue]
            forget(sock.fileno())

    # ------------------------------------------------------------ one iteration

    def _run_once(self) -> None:
        self._look_at_clock()
        wait: float | None = 0.0
        if not self._ready and not self._stopping:
            wait = _LONGEST_WAIT
            if self._has_next_timer():
                wait = min(wait, max(0.0, (self._timers[0][0] - self._now) / self.factor))
        self._process_events(self._selector.select(wait))  # pyright: ignore[reportAttributeAccessIssue]
        self._look_at_clock()
        if self._timers and self._timers[0][0] <= self._now:
            self._fire_due()
        # What becomes ready meanwhile, also from other threads, waits for the next iteration.
        for _ in range(len(self._ready)):
            self._run_handle(self._ready.popleft())
