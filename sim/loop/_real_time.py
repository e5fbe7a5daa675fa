"""An event loop in real time, with sockets and with the simulator's processes.

It runs what `SimLoop` runs: nodes can be killed and frozen at any moment. But the clock is the machine's, times a
factor, and the loop waits for sockets. So a run on it is no function of its seed.
"""
# See `_loop` for the private attributes.
# pyright: reportPrivateUsage=false

import asyncio
import errno
import ipaddress
import selectors
import time
from asyncio import events
from collections.abc import Callable
from contextvars import Context
from typing import Any, TypeVarTuple, Unpack, cast

from trunkline.sim.loop._compat import LoopHandle
from trunkline.sim.loop._loop import SimLoop
from trunkline.sim.loop._nodes import NODE, Node

_Ts = TypeVarTuple("_Ts")
#: real seconds after which the loop looks at its clock again, whatever happens
_LONGEST_WAIT = 3600.0


class RealTimeLoop(SimLoop, asyncio.SelectorEventLoop):
    """A `SimLoop` whose time passes by itself, `factor` times as fast as the machine's, and that has sockets.

    Timeouts of libraries pass by the loop's time too, so they keep their proportions at any factor.

    With `waits_only` the factor is for waiting alone, and work takes no time, as in a `SimLoop`: the clock advances
    only while nothing is ready and no socket has data. That needs both ends of every connection in this loop. Then a
    busy machine makes a run slower, and not its timeouts shorter.
    """

    _selector: selectors.BaseSelector

    def __init__(
        self, seed: int = 0, *, factor: float = 1.0, waits_only: bool = False, max_steps: int | None = None
    ) -> None:
        super().__init__(seed, order="fifo", max_steps=max_steps)
        #: seconds of the loop in a second of the machine
        self.factor = factor
        self._waits_only = waits_only
        self._began = self._machine()
        #: transports of the connections of each process, and of the world
        self._connections: dict[Node | None, list[Any]] = {}
        #: the sockets on which processes listen
        self._listening: dict[Node, list[Any]] = {}
        #: what the sockets of a frozen process wait for: descriptor, events, callbacks
        self._asleep: dict[Node, list[tuple[int, int, Any]]] = {}

    @staticmethod
    def _machine() -> float:
        return time.monotonic()  # noqa: TID251 -- this loop is the clock of its run

    def _look_at_clock(self) -> None:
        if not self._waits_only:
            self._now = max(self._now, (self._machine() - self._began) * self.factor)

    def time(self) -> float:
        """Seconds since the start of the run, by this loop's clock."""
        self._look_at_clock()
        return self._now

    def call_later(
        self, delay: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """As call_soon, from any thread: libraries have threads of their own."""
        handle = events.Handle(callback, args, self, context)
        self._ready.append(cast(LoopHandle, handle))
        self._write_to_self()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        return handle

    async def getaddrinfo(self, host: Any, *args: Any, **options: Any) -> Any:
        """Look a name up, in the loop itself: all names are this machine's."""
        import socket

        self._check_nearby(host)
        return socket.getaddrinfo(host, *args, **options)

    async def sock_connect(self, sock: Any, address: Any) -> None:
        """Connect a socket; with `waits_only` to this machine alone. Raises `OSError`."""
        # The address of a Unix socket is its path.
        host: Any = "localhost" if isinstance(address, str | bytes) else address[0]
        self._check_nearby(host)
        await super().sock_connect(sock, address)

    def _check_nearby(self, host: Any) -> None:
        """Refuse other machines if the clock stands still while they answer: both ends have to be in this loop."""
        name = host.decode(errors="replace") if isinstance(host, bytes) else str(host or "localhost")
        if self._waits_only and name != "localhost" and not _is_loopback(name):
            raise OSError(errno.ENETUNREACH, f"{name} is not on this machine, and a run reaches no other")

    def _make_socket_transport(self, *args: Any, **options: Any) -> Any:
        make = cast("Any", super()._make_socket_transport)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
        transport = make(*args, **options)
        there = self._connections.setdefault(NODE.get(), [])
        there[:] = [transport for transport in there if transport._sock is not None]
        there.append(transport)
        return transport

    def _start_serving(self, protocol_factory: Any, sock: Any, *args: Any, **options: Any) -> None:
        node = NODE.get()
        if node is not None:
            self._listening.setdefault(node, []).append(sock)
        super()._start_serving(protocol_factory, sock, *args, **options)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    def close_connections(self, node: Node) -> None:
        """Close the sockets of a dead process at once, as its operating system does."""
        for sock in self._listening.pop(node, []):
            if sock.fileno() >= 0:
                self._forget(sock.fileno())
                sock.close()
        for _, _, callbacks in self._asleep.pop(node, []):
            _cancel(callbacks)
        self._close_all(node)

    def _close_all(self, node: Node | None) -> None:
        for transport in self._connections.pop(node, []):
            sock = transport._sock
            if sock is not None:
                self._forget(sock.fileno())
                # Nothing of the process runs any more, and what is left of it must not touch the descriptor's next use.
                transport._closing, transport._conn_lost, transport._sock = True, 1, None
                sock.close()

    def _forget(self, descriptor: int) -> None:
        try:
            key = self._selector.unregister(descriptor)
        except KeyError:
            return
        _cancel(key.data)

    def thaw(self, node: Node) -> None:
        """Thaw a frozen node: its held callbacks become ready now, and what its sockets have received is read."""
        super().thaw(node)
        for descriptor, mask, callbacks in self._asleep.pop(node, []):
            self._selector.register(descriptor, mask, callbacks)

    def _process_events(self, event_list: list[tuple[selectors.SelectorKey, int]]) -> None:
        """Schedule the callbacks of sockets that are ready. Those of a process that stands still wait in the kernel."""
        awake: list[tuple[selectors.SelectorKey, int]] = []
        for key, mask in event_list:
            waiting = next(handle for handle in key.data if handle is not None)
            node = waiting._context.get(NODE)
            if node is None or not node.still:
                awake.append((key, mask))
                continue
            self._selector.unregister(key.fileobj)
            if node.alive:
                self._asleep.setdefault(node, []).append((key.fd, key.events, key.data))
        super()._process_events(awake)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]

    def close(self) -> None:
        for node in tuple(self._connections):
            self._close_all(node)
        super().close()

    def _run_once(self) -> None:
        self._look_at_clock()
        if self._ready or self._stopping:
            self._process_events(self._selector.select(0.0))
        else:
            self._wait()
        self._look_at_clock()
        if self._timers and self._timers[0][0] <= self._now:
            self._fire_due()
        # What becomes ready meanwhile, also from other threads, waits for the next iteration.
        for _ in range(len(self._ready)):
            self._run_handle(self._ready.popleft())

    def _wait(self) -> None:
        wait = max(0.0, self._timers[0][0] - self._now) if self._has_next_timer() else _LONGEST_WAIT * self.factor
        began = self._machine()
        found = self._selector.select(wait / self.factor)
        self._process_events(found)
        if self._waits_only:
            # What ends a wait early was on its way when it began.
            self._now += min(wait, self._machine() - began) if found else wait


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _cancel(callbacks: Any) -> None:
    for handle in callbacks:
        if handle is not None:
            handle.cancel()
